package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/lab/fault"
)

// everything is a plan with each kind of fault.
func everything() Plan {
	p := plan()
	p.Faults = fault.Spec{
		Drop: 0.01, Dup: 0.01, Corrupt: 0.01, NaN: 0.01, Delay: fault.Delay{Most: time.Second, Share: 0.1},
		Partition: fault.Outage{Length: time.Second, Every: time.Minute}, DiskFull: fault.Outage{Length: time.Second, Every: time.Minute},
	}
	return p
}

// A run that passes says for each kind of fault that it happened, and that it met something.
func TestIdle(t *testing.T) {
	cfg := &Config{Plan: everything(), Audit: 0.1, Servers: true, Sums: true}
	bitten := func() (map[string]int64, *Effects) {
		faults := make(map[string]int64)
		for _, name := range cfg.Plan.asked() {
			faults[name] = 1
		}
		return faults, &Effects{Restores: 1, Reissued: 1, Audits: 1, Servers: 1, Summed: 1}
	}
	faults, effects := bitten()
	if list := idle(cfg, faults, effects); len(list) != 0 {
		t.Errorf("all faults did something, and yet: %q", list)
	}
	if n := len(cfg.Plan.asked()); n != 11 {
		t.Errorf("%d kinds of fault are asked for, want all 11", n)
	}
	for _, name := range cfg.Plan.asked() {
		faults, effects := bitten()
		delete(faults, name)
		if list := idle(cfg, faults, effects); len(list) != 1 || !strings.HasPrefix(list[0], name+":") {
			t.Errorf("%s never happened: got %q", name, list)
		}
	}
	for want, spoil := range map[string]func(*Effects){
		"no coordinator went on from a checkpoint": func(e *Effects) { e.Restores = 0 },
		"given a block":               func(e *Effects) { e.Reissued = 0 },
		"no block was computed twice": func(e *Effects) { e.Audits = 0 },
		"servers: none was killed":    func(e *Effects) { e.Servers = 0 },
		"workers summed no gradient":  func(e *Effects) { e.Summed = 0 },
	} {
		faults, effects := bitten()
		spoil(effects)
		if list := idle(cfg, faults, effects); len(list) != 1 || !strings.Contains(list[0], want) {
			t.Errorf("got %q, want %q", list, want)
		}
	}
	faults, effects = bitten()
	effects.Servers, effects.Summed = 0, 0
	if list := idle(&Config{Plan: everything()}, faults, effects); len(list) != 0 {
		t.Errorf("no servers and no sums were asked for, and yet: %q", list)
	}
	if list := idle(&Config{Servers: true}, nil, &Effects{}); len(list) != 0 {
		t.Errorf("no server was to be killed, and yet: %q", list)
	}
	if list := idle(&Config{}, nil, &Effects{}); len(list) != 0 {
		t.Errorf("nothing was asked for, and yet: %q", list)
	}
}

func TestCountRestores(t *testing.T) {
	log := `{"event":"open","step":0,"term":1}
{"step":1,"term":1,"theta":"0123456789abcdef"}
{"event":"checkpoint","step":2,"term":1}
{"event":"open","step":2,"term":2}
not a line
{"event":"open","step":4,"term":3}
{"event":"open","step":6,"te`
	if n := countRestores([]byte(log)); n != 2 {
		t.Errorf("%d restores, want 2", n)
	}
}

// The counters of each coordinator are added up, whichever is read last.
func TestMeter_Effects(t *testing.T) {
	m := newMeter("nowhere", "r")
	if m.working() {
		t.Error("it works before anything was read")
	}
	m.terms[1] = counters{Useful: 3, Repeated: 1, Summed: 7, Reissued: 2, Speculations: 3, Audits: 4, Disputes: 5, Rollbacks: 6, CutOff: 1}
	m.terms[2] = counters{Repeated: 10, Summed: 70, Reissued: 20, Speculations: 30, Audits: 40, Disputes: 50, Rollbacks: 60, CutOff: 2}
	want := Effects{Repeated: 11, Summed: 77, Reissued: 22, Speculated: 33, Audits: 44, Disputes: 55, Rollbacks: 66, Quarantined: 3}
	if got := m.effects(); got != want || !m.working() {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Workers have 1 to 4 slots, which depend on the seed alone.
func TestSlots(t *testing.T) {
	var all []int
	for i := range 32 {
		n := slotsOf(7, i)
		if n < 1 || n > MaxSlots || n != slotsOf(7, i) {
			t.Fatalf("worker %d has %d slots", i, n)
		}
		all = append(all, n)
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != MaxSlots {
		t.Errorf("32 workers have %d different numbers of slots", n)
	}
}

// A short run has some of each kind.
func TestSchedule_BeginsEarly(t *testing.T) {
	for seed := range uint64(50) {
		seen := make(map[act]bool)
		for _, e := range newSchedule(seed, plan()).due(3 * early) {
			seen[e.act] = true
		}
		if len(seen) != int(acts) {
			t.Fatalf("seed %d: in %v there are %v", seed, 3*early, seen)
		}
	}
}
