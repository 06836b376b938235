package worker

import (
	"context"
	"runtime"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/gibbs"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/wire"
)

// heap is the memory in use.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// large is a program in which no part of the memory is small.
func large(t *testing.T, slots int) *Shards {
	t.Helper()
	cfg := testConfig(slds.Concrete)
	cfg.Hidden, cfg.EncoderHidden = 128, 256
	m, err := slds.New(cfg, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	from, err := NewSimulated(env, 1, 800, 40, 800)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewShards(m, from, Sampling{Seed: 1, Batch: 16, Shards: 8, Window: 30, Validation: 8}, slots)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drill leads a worker of all shards through steps, each with a validation.
type drill struct {
	program       *Shards
	slots, shards int
	step, steps   uint64
	lease         uint64
	results       int
	over          chan bool
}

const drillChunk = 64 << 10

// leases are one for each slot.
func (d *drill) leases(work wire.Work) (messages []wire.Message) {
	each := d.shards / d.slots
	for i := range d.slots {
		d.lease++
		messages = append(messages, &wire.Lease{ID: d.lease, Step: d.step, Attempt: 1, Work: work, First: i * each, Count: each})
	}
	return messages
}

// next begins a step.
func (d *drill) next() (messages []wire.Message) {
	d.step++
	theta := d.program.model.Params().Values
	chunks := wire.NewChunking(len(theta), drillChunk)
	for i := range chunks.Count() {
		from, to := chunks.Span(i)
		data := wire.FloatBytes(theta[from:to])
		messages = append(messages, &wire.Theta{Step: d.step, Index: i, Count: chunks.Count(), CRC: wire.Checksum(data), Data: data})
	}
	return append(messages, d.leases(wire.Gradient)...)
}

// answer is for lead.
func (d *drill) answer(m wire.Message) []wire.Message {
	switch m := m.(type) {
	case *wire.Hello:
		w := welcome
		w.Size, w.Chunk = 0, drillChunk
		return []wire.Message{&w}
	case *wire.Ready:
		if d.step == 0 {
			return d.next()
		}
	case *wire.Result:
		d.results++
		switch {
		case d.results%d.slots != 0:
		case m.Work == wire.Gradient:
			return d.leases(wire.Validate)
		case d.step < d.steps:
			return d.next()
		default:
			close(d.over)
		}
	}
	return nil
}

// TestWorker_Memory: after some steps and validations a worker that has all shards has in use what its program says
// that it needs, within 15 %: how many sums wait at a time is a matter of luck.
func TestWorker_Memory(t *testing.T) {
	before := heap()
	d := &drill{slots: 2, shards: 8, steps: 4, over: make(chan bool)}
	bus := wire.NewMemory(nil)
	lead(t, bus, d.answer)
	w, err := New(Config{Run: "r", ID: "w", Slots: d.slots, Build: func(_, _ []byte, slots int) (Program, error) {
		d.program = large(t, slots)
		return d.program, nil
	}}, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }()
	<-d.over
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	got, said := heap()-before, d.program.Memory(d.slots) // the worker still holds all of it
	t.Logf("%.1f MiB are in use, %.1f were said: %+v", float64(got)/(1<<20), float64(said.Total())/(1<<20), said)
	if difference := got - said.Total(); float64(max(difference, -difference)) > 0.15*float64(said.Total()) {
		t.Errorf("%d bytes are in use, said was %+v", got, said)
	}
	runtime.KeepAlive(w)
}

// TestChains_Memory: what a program of chains has in use while a chain is at work is what it says, but for θ as it
// arrives in the worker and the sums that wait there, within a thirtieth and 64 KiB. What the recordings and the posterior
// have counts.
func TestChains_Memory(t *testing.T) {
	for name, c := range map[string]struct{ episodes, length, leaves, draws int }{
		"many steps": {60, 200, 2, 0}, "one long recording": {1, 12000, 2, 0}, "many draws": {10, 100, 16, 400},
	} {
		t.Run(name, func(t *testing.T) {
			env, err := fhn.New(fhn.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			s := gibbs.DefaultSettings(true)
			s.Chains, s.Leaves, s.Sweeps, s.BurnIn, s.Draws, s.Exchange = 3, c.leaves, 402, 2, c.draws, 6
			before := heap()
			m, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewChains(m.(model.Fitter), SimulatedRecordings(env, 1, c.episodes, c.length), s.SweepPlan(), 1)
			if err != nil {
				t.Fatal(err)
			}
			theta, grad, terms := make([]float32, p.Size()), make([]float32, p.Size()), make([]float32, len(p.TermNames()))
			got := 0
			for round := range 2 { // the second goes on from a state
				if err := p.Load(0, theta); err != nil {
					t.Fatal(err)
				}
				err := p.GradientWhile(0, 0, 0, grad, terms, func() bool {
					got = heap() - before
					return true
				})
				if err != nil {
					t.Fatal(err)
				}
				if round == 0 {
					kernel.Sub(theta, theta, grad)
				}
			}
			said := p.Memory(1)
			want := said.Total() - said.Gradients - said.Parameters + 3*4*p.Size() // θ here and in the program, and a gradient
			t.Logf("%.2f MiB are in use, %.2f are right: %+v", float64(got)/(1<<20), float64(want)/(1<<20), said)
			if difference := got - want; max(difference, -difference) > want/30+64<<10 {
				t.Errorf("%d bytes are in use, %d are right: %+v", got, want, said)
			}
			if more := p.Memory(2); more.Tensors != 2*said.Tensors || more.Episodes != said.Episodes || more.Gradients < 2*4*p.Size() {
				t.Errorf("two slots: %+v, one: %+v", more, said)
			}
			runtime.KeepAlive(p)
			runtime.KeepAlive([][]float32{theta, grad})
		})
	}
}
