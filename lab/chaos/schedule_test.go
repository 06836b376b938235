package chaos

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/lab/fault"
)

func plan() Plan {
	return Plan{
		Kill: 5 * time.Second, CoordinatorKill: 20 * time.Second, BrokerRestart: 30 * time.Second,
		Pause: fault.Outage{Length: 3 * time.Second, Every: 30 * time.Second},
	}
}

// events are those up to an end, asked for at the given times.
func events(seed uint64, end, every time.Duration) (list []event) {
	s := newSchedule(seed, plan())
	for now := every; now <= end; now += every {
		list = append(list, s.due(now)...)
	}
	return list
}

func TestSchedule_IsAFunctionOfTheSeed(t *testing.T) {
	first := events(1, time.Hour, time.Second)
	if !slices.Equal(first, events(1, time.Hour, time.Second)) {
		t.Error("one seed gave two schedules")
	}
	if slices.Equal(first, events(2, time.Hour, time.Second)) {
		t.Error("two seeds gave one schedule")
	}
	if !slices.Equal(first, events(1, time.Hour, time.Hour)) {
		t.Error("the schedule depends on when it is asked")
	}
}

func TestSchedule_Rates(t *testing.T) {
	count := make(map[act]int)
	last := time.Duration(0)
	for _, e := range events(1, 10*time.Hour, time.Second) {
		count[e.act]++
		if e.at < last {
			t.Fatal("the events are not in order")
		}
		last = e.at
		if e.act == pauseWorker && e.down != 3*time.Second || e.down < 0 || e.down > 3*time.Second {
			t.Fatalf("%v for %v", e.act, e.down)
		}
	}
	for act, want := range map[act]int{killWorker: 7200, killCoordinator: 1800, restartBroker: 1200, pauseWorker: 1200} {
		if got := count[act]; got < want*95/100 || got > want*105/100 {
			t.Errorf("%d of %v in 10 h, want about %d", got, act, want)
		}
	}
	if s := newSchedule(1, Plan{}); len(s.due(time.Hour)) != 0 {
		t.Error("an empty plan has events")
	}
}

// Parallel lines: each process has its own level, and the slope is common.
func TestFit(t *testing.T) {
	var list []sample
	for process := range 3 {
		for age := 0.0; age <= 600; age += 10 {
			rss := 1000*float64(process) + 36*age/3600
			if age <= 150 {
				rss = -5000 // before it is warm
			}
			list = append(list, sample{role: "worker", name: "w", generation: process, age: age, rss: rss + 5000, goroutines: -1})
		}
	}
	list = append(list, sample{role: "worker", name: "short", age: 100, rss: 1e9}, sample{role: "broker", name: "b", age: 100, rss: 1e9})
	g, ok := fit(list, "worker", func(p sample) float64 { return p.rss })
	if !ok || g.PerHour < 35.9 || g.PerHour > 36.1 || g.Processes != 3 || g.Samples != 3*45 {
		t.Errorf("got %+v, %v", g, ok)
	}
	if g, ok := fit(list, "worker", func(p sample) float64 { return p.goroutines }); ok {
		t.Errorf("unknown numbers grow: %+v", g)
	}
	if _, ok := fit(list, "broker", func(p sample) float64 { return p.rss }); ok {
		t.Error("one sample has a slope")
	}
}
