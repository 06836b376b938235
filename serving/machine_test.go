package serving

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/trained"
)

// world plays a random schedule on a machine: clients that send, go away and are forgotten, a shell that computes in any
// order and sometimes fails, time that passes. Its model is a sum; what each client should have seen is computed again
// afterwards, one request after the other.
type world struct {
	*machine
	t       *testing.T
	random  *rand.Rand
	now     time.Time
	sent    map[string][]*request // per client, in the order of arrival
	batch   []*request
	running []*request
}

// refused is the value that the model fails on.
const refused = 13

// step is the model: the state is ten times the last one plus what is observed, modulo a prime.
func step(before float64, x float64) float64 { return float64((int(before)*10 + int(x)) % 1009) }

func newWorld(t *testing.T, seed uint64) *world {
	l := Limits{
		Clients: 4, Idle: 10 * time.Second, Observations: 8, Horizon: 8, Paths: 8, Levels: 2, Work: 64, History: 3, Waiting: 12,
		Batch: 3, Memory: 40_000, Deadline: time.Minute,
	}.filled()
	return &world{
		machine: newMachine(l, sizes{nx: 1, nz: 1, m: 1, paths: 2}), t: t, random: rand.New(rand.NewPCG(seed, 1)),
		now: time.Unix(0, 0), sent: map[string][]*request{},
	}
}

func (w *world) pick(n int) int { return w.random.IntN(n) }

// arriveOne lets a client ask something.
func (w *world) arriveOne() {
	name := fmt.Sprint("c", w.pick(6))
	r := &request{client: name}
	switch k := w.pick(12); {
	case k < 7:
		r.filter = &FilterRequest{Client: name, Restart: w.pick(5) == 0}
		for range 1 + w.pick(4) {
			r.filter.Observations = append(r.filter.Observations, []Number{Number(w.pick(refused + 1))})
		}
	case k < 9:
		r.forecast = &ForecastRequest{Client: name, Horizon: 1 + w.pick(8), Samples: 1 + w.pick(8)}
	case k == 9:
		r.forget = true
	case k == 10:
		r.save = true
	default:
		r.restore = &ClientState{
			Client: name, Steps: 1 + w.pick(9), State: &trained.State{Mean: []float64{float64(w.pick(100))}},
			Observations: [][]Number{{Number(w.pick(9))}},
		}
	}
	before := w.bytes
	held := len(w.clients)
	if err := w.arrive(w.now, r); err != nil {
		if w.bytes != before || len(w.clients) != held || !errors.Is(err, ErrBusy) && !errors.Is(err, ErrTooLarge) {
			w.t.Fatalf("a refusal changed something: %v", err)
		}
		return
	}
	w.sent[name] = append(w.sent[name], r)
}

// compute takes work from the machine or reports some of it, in any order.
func (w *world) compute() {
	switch {
	case w.pick(3) == 0 && len(w.batch) == 0:
		w.batch = w.machine.batch(w.now)
		seen := map[string]bool{}
		for _, r := range w.batch {
			if seen[r.client] {
				w.t.Fatal("two requests of a client are computed together")
			}
			seen[r.client] = true
		}
	case len(w.batch) > 0:
		i := w.pick(len(w.batch))
		r := w.batch[i]
		w.batch = slices.Delete(w.batch, i, i+1)
		o := r.filter.at(r.at)
		if o.Values[0] == refused {
			w.stepped(w.now, r, ErrFailed)
			return
		}
		before := 0.0
		if len(r.working.state.Mean) > 0 {
			before = r.working.state.Mean[0]
		}
		w.enter(r, trained.State{Mean: []float64{step(before, o.Values[0])}}, o)
		w.stepped(w.now, r, nil)
	case w.pick(2) == 0 && len(w.running) < 2:
		if r := w.next(w.now); r != nil {
			w.running = append(w.running, r)
		}
	case len(w.running) > 0:
		i := w.pick(len(w.running))
		r := w.running[i]
		w.running = slices.Delete(w.running, i, i+1)
		err := error(nil)
		if r.gone {
			err = ErrGone
		}
		w.forecasted(r, err)
	}
}

// leaveOne lets somebody who waits go away.
func (w *world) leaveOne() {
	list := w.sent[fmt.Sprint("c", w.pick(6))]
	if len(list) == 0 {
		return
	}
	if r := list[w.pick(len(list))]; r != nil && !r.over {
		w.cancel(w.now, r)
	}
}

// act does one thing.
func (w *world) act() {
	switch k := w.pick(20); {
	case k < 6:
		w.watch(w.arriveOne)
	case k < 18:
		w.watch(w.compute)
	case k == 18:
		w.watch(w.leaveOne)
	default:
		w.now = w.now.Add(time.Duration(w.pick(8)) * time.Second)
	}
}

// watch does something, and writes down the clients that were dropped for want of room meanwhile.
func (w *world) watch(do func()) {
	before := maps.Clone(w.clients)
	used := map[string]time.Time{}
	for name, c := range before {
		used[name] = c.used
	}
	do()
	ended := w.take()
	for name := range before {
		if w.clients[name] != nil || slices.ContainsFunc(ended, func(r *request) bool { return r.client == name && r.forget }) {
			continue
		}
		if w.now.Sub(used[name]) < w.limits.Idle || len(w.lines[name]) > 0 {
			w.t.Fatalf("client %s was dropped after %v with %d requests under way", name, w.now.Sub(used[name]), len(w.lines[name]))
		}
		w.sent[name] = append(w.sent[name], nil) // nothing of it is running: this is its place in the order
	}
	w.check()
}

// check is true after every act: the budgets are what is held.
func (w *world) check() {
	bytes, work, under := int64(0), int64(0), 0
	for _, c := range w.clients {
		bytes += w.sizes.held(len(c.history.Observations))
	}
	for _, list := range w.sent {
		for _, r := range list {
			if r != nil && !r.over {
				bytes, work, under = bytes+r.bytes, work+r.work, under+1
			}
		}
	}
	if bytes != w.bytes || work != w.work || under != w.under || bytes > w.limits.Memory || len(w.clients) > w.limits.Clients {
		w.t.Fatalf("budgets %d, %d, %d of %d clients; want %d, %d, %d", w.bytes, w.work, w.under, len(w.clients), bytes, work, under)
	}
}

// drain computes what is left.
func (w *world) drain() {
	for i := 0; w.under > 0; i++ {
		if i > 100_000 {
			w.t.Fatalf("%d requests never end", w.under)
		}
		w.watch(w.compute)
	}
}

// replay computes what each client should have seen, its requests one after the other.
func (w *world) replay() {
	for name, list := range w.sent {
		c := (*client)(nil)
		for _, r := range list {
			if r == nil {
				c = nil
				continue
			}
			if r.gone && r.err == nil {
				w.t.Fatalf("client %s: a request took effect after its asker had gone", name)
			}
			if r.err != nil && !errors.Is(r.err, ErrRequest) {
				continue // it changed nothing
			}
			c = w.expect(name, r, c)
		}
		got := w.clients[name]
		if (got == nil) != (c == nil) || c != nil && (got.steps != c.steps || got.state.Mean[0] != c.state.Mean[0]) {
			w.t.Fatalf("client %s ends as %+v, want %+v", name, got, c)
		}
	}
}

// expect checks the answer to a request of a client and returns what the client becomes.
func (w *world) expect(name string, r *request, c *client) *client {
	none := c == nil || len(c.history.Observations) == 0
	switch {
	case r.filter != nil:
		next := &client{history: trained.Series{Of: name}}
		if c != nil && !r.filter.Restart {
			*next = *c
			next.history.Observations = slices.Clone(c.history.Observations)
		}
		for i, row := range r.filter.Observations {
			before := 0.0
			if len(next.state.Mean) > 0 {
				before = next.state.Mean[0]
			}
			next.steps++
			next.state = trained.State{Mean: []float64{step(before, float64(row[0]))}}
			next.history.Observations = append(next.history.Observations, []float64{float64(row[0])})
			if got := float64(r.filtered.Mean[i][0]); got != next.state.Mean[0] {
				w.t.Fatalf("client %s, observation %d: %v, want %v", name, i, got, next.state.Mean[0])
			}
		}
		if r.filtered.Steps != next.steps {
			w.t.Fatalf("client %s: %d steps, want %d", name, r.filtered.Steps, next.steps)
		}
		return next
	case r.forecast != nil:
		if none != (r.err != nil) || !none && !reflect.DeepEqual(r.series, last(c.history, w.limits.History)) {
			w.t.Fatalf("client %s: a forecast from %v (%v), want it from %+v", name, r.series, r.err, c)
		}
	case r.restore != nil:
		return r.restore.client(w.limits.History)
	case (c == nil) != (r.err != nil):
		w.t.Fatalf("client %s: %v, it is %+v", name, r.err, c)
	case r.forget:
		return nil
	case r.save && c != nil && (r.saved.Steps != c.steps || r.saved.State.Mean[0] != c.state.Mean[0]):
		w.t.Fatalf("client %s: saved %+v, want %+v", name, r.saved, c)
	}
	return c
}

// TestMachine_RandomSchedules: whatever order requests, computations, failures and departures come in, every client sees
// what it would see alone, refusals and failures change nothing, and the budgets are kept.
func TestMachine_RandomSchedules(t *testing.T) {
	for seed := range uint64(schedules) {
		w := newWorld(t, seed)
		for range 60 {
			w.act()
		}
		w.drain()
		w.check()
		w.replay()
		w.close()
		if err := w.arrive(w.now, &request{client: "late", forget: true}); !errors.Is(err, ErrClosed) {
			t.Fatalf("after the end: %v", err)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
