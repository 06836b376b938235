package worker

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/wire"
)

// bowl is a program whose loss is ½(x−shard)² in each parameter, and that notes what it is asked for.
type bowl struct {
	theta []float32
	asked []call
	fail  bool
}

type call struct {
	step  uint64
	shard int
}

func (p *bowl) Size() int           { return len(p.theta) }
func (p *bowl) TermNames() []string { return []string{"loss", "shard"} }

func (p *bowl) Load(_ uint64, theta []float32) error {
	copy(p.theta, theta)
	return nil
}

func (p *bowl) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	if slot != 0 || p.fail {
		return errors.New("not this one")
	}
	p.asked = append(p.asked, call{step, shard})
	terms[0], terms[1] = 0, float32(shard)
	for i, x := range p.theta {
		grad[i] = x - float32(shard)
		terms[0] += grad[i] * grad[i] / 2
	}
	return nil
}

func (p *bowl) Validate(_ int, _ uint64, _ int, terms []float32) error {
	terms[0], terms[1] = p.theta[0], 0
	return nil
}

var bowlAdam = Optimizer{Rate: 0.25, Decay: 0.5, DecayEvery: 3, Clip: 2, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8}

func newBowls(t *testing.T, slots int, l LocalSteps) (*Replicas, []*bowl) {
	t.Helper()
	l.Optimizer = bowlAdam
	var bowls []*bowl
	var programs []Program
	for range slots {
		b := &bowl{theta: make([]float32, 3)}
		bowls, programs = append(bowls, b), append(programs, b)
	}
	p, err := NewReplicas(programs, l)
	if err != nil {
		t.Fatal(err)
	}
	return p, bowls
}

// With one replica, one local step, outer rate 1 and no outer momentum, a round is one update of Adam whose moments
// were zero: the same bits, as long as θ − (θ − θ') is exact, which it is where θ' is within a factor of 2 of θ, or θ
// is 0.
func TestReplicas_OneStepIsAdam(t *testing.T) {
	start := []float32{8, -5, 0}
	p, _ := newBowls(t, 1, LocalSteps{Replicas: 1, Steps: 1, Shards: 4})
	got := slices.Clone(start)
	nesterov := vector.NewNesterov(vector.Outer{Rate: 1, Every: 1}, bowlAdam, 3)
	delta, terms := make([]float32, 3), make([]float32, 2)
	want := slices.Clone(start)
	for step := range uint64(5) {
		if err := errors.Join(p.Load(step, got), p.Gradient(0, step, 0, delta, terms)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := nesterov.Update(got, delta, 1, step); err != nil {
			t.Fatal(err)
		}
		sum := make([]float32, 3)
		for i, x := range want {
			sum[i] = ((x - 0) + (x - 1)) + ((x - 2) + (x - 3))
		}
		if _, _, err := vector.NewAdam(bowlAdam, 3).Update(want, sum, 4, step); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("after step %d: %v, want %v", step, got, want)
		}
	}
	if got[0] == start[0] || terms[1] != 1.5 {
		t.Errorf("parameters %v, terms %v", got, terms)
	}
}

// A replica computes its block of the shards of each update of the round, in order, with a moving θ and one Adam.
func TestReplicas_Round(t *testing.T) {
	p, bowls := newBowls(t, 2, LocalSteps{Replicas: 2, Steps: 3, Shards: 4})
	if err := p.Load(6, []float32{8, -5, 0}); err != nil {
		t.Fatal(err)
	}
	delta, terms := make([]float32, 3), make([]float32, 2)
	if err := p.Gradient(1, 6, 1, delta, terms); err != nil {
		t.Fatal(err)
	}
	if want := []call{{6, 2}, {6, 3}, {7, 2}, {7, 3}, {8, 2}, {8, 3}}; !slices.Equal(bowls[1].asked, want) || len(bowls[0].asked) != 0 {
		t.Errorf("asked for %v and %v, want %v", bowls[1].asked, bowls[0].asked, want)
	}
	theta, adam, loss := []float32{8, -5, 0}, vector.NewAdam(bowlAdam, 3), float32(0)
	for step := uint64(6); step < 9; step++ {
		sum := make([]float32, 3)
		for i, x := range theta {
			sum[i] = (x - 2) + (x - 3)
			loss += ((x-2)*(x-2) + (x-3)*(x-3)) / 4 / 3
		}
		if _, _, err := adam.Update(theta, sum, 2, step); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range []float32{8, -5, 0} {
		if delta[i] != x-theta[i] {
			t.Errorf("Δ[%d] = %v, want %v", i, delta[i], x-theta[i])
		}
	}
	if math.Abs(float64(terms[0]-loss)) > 1e-4 || terms[1] != 2.5 {
		t.Errorf("terms %v, want about [%v 2.5]", terms, loss)
	}
	again := make([]float32, 3)
	if err := errors.Join(p.Gradient(0, 6, 0, again, terms), p.Gradient(0, 6, 1, again, terms)); err != nil || !slices.Equal(again, delta) {
		t.Errorf("another slot, after another replica: %v, %v, want %v", again, err, delta)
	}
	if err := p.Validate(0, 6, 0, terms); err != nil || terms[0] != 8 {
		t.Errorf("validated at %v, %v, want the parameters that the round begins with", terms[0], err)
	}
}

func TestReplicas_GivenUpAndFailing(t *testing.T) {
	p, bowls := newBowls(t, 1, LocalSteps{Replicas: 1, Steps: 5, Shards: 1})
	delta, terms := make([]float32, 3), make([]float32, 2)
	if err := p.Gradient(0, 0, 0, delta, terms); err == nil {
		t.Error("a round without parameters")
	}
	if err := p.Load(0, []float32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := GradientWhile(p, 0, 0, 0, delta, terms, func() bool { n++; return n < 2 })
	if !errors.Is(err, ErrGivenUp) || len(bowls[0].asked) != 2 {
		t.Errorf("got %v after %v", err, bowls[0].asked)
	}
	bowls[0].fail = true
	if err := p.Gradient(0, 0, 0, delta, terms); err == nil || err.Error() != "local update 1: shard 0: not this one" {
		t.Errorf("got %v", err)
	}
	for _, l := range []LocalSteps{{3, 1, 4, bowlAdam}, {2, 1, 6, bowlAdam}, {4, 1, 2, bowlAdam}, {2, 0, 4, bowlAdam}, {2, 1, 4, Optimizer{}}} {
		if _, err := NewReplicas([]Program{bowls[0]}, l); err == nil {
			t.Errorf("%+v was accepted", l)
		}
	}
}

// newLocal is the program of four shards in two replicas of a small model.
func newLocal(t testing.TB, slots, steps int) *Replicas {
	t.Helper()
	var programs []Program
	for range slots {
		programs = append(programs, testShards(t, slds.Concrete, 1))
	}
	s := bowlAdam
	s.Rate = 5e-4
	p, err := NewReplicas(programs, LocalSteps{Replicas: 2, Steps: steps, Shards: 4, Optimizer: s})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A round of the model has the same bits on every instruction set, and the golden shard is that of the synchronous
// program.
func TestReplicas_SameBitsOnEveryISA(t *testing.T) {
	active := kernel.Active()
	defer func() {
		if err := kernel.Use(active); err != nil {
			t.Fatal(err)
		}
	}()
	const want = "de979e90f5b7b13ccbfede979da5ebb9"
	for isa := kernel.Portable; isa <= kernel.Best(); isa++ {
		if err := kernel.Use(isa); err != nil {
			t.Fatal(err)
		}
		p, plain := newLocal(t, 1, 3), testShards(t, slds.Concrete, 1)
		delta, terms := make([]float32, p.Size()), make([]float32, len(p.TermNames()))
		grad, plainTerms := make([]float32, p.Size()), make([]float32, len(terms))
		if err := errors.Join(p.Golden(delta, terms), plain.Gradient(0, 0, 0, grad, plainTerms)); err != nil {
			t.Fatal(err)
		}
		if wire.DigestPartial(delta, terms) != wire.DigestPartial(grad, plainTerms) {
			t.Errorf("%v: the golden shard is not the first of the synchronous program", isa)
		}
		theta := slices.Clone(plain.model.Params().Values)
		if err := errors.Join(p.Load(3, theta), p.Gradient(0, 3, 1, delta, terms)); err != nil {
			t.Fatal(err)
		}
		trained := slices.IndexFunc(plain.Terms(), func(t model.Term) bool { return t.Validation })
		if got := wire.DigestPartial(delta, terms[:trained]); got[:32] != want {
			t.Errorf("%v: digest %s, want %s", isa, got, want)
		}
	}
}

// What is said that a worker needs is what the program and its vectors take, within a fifth and a little that does not
// grow with the model.
func TestReplicas_Memory(t *testing.T) {
	const slots = 3
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	from, err := NewSimulated(env, 1, 5, 4, 60)
	if err != nil {
		t.Fatal(err)
	}
	var programs []Program
	for range slots {
		cfg := testConfig(slds.Concrete)
		cfg.Hidden = 256
		m, err := slds.New(cfg, rng.New(1, rng.Init))
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewShards(m, from, Sampling{Seed: 1, Batch: 16, Shards: 4, Window: 30, Validation: 4}, 1)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	p, err := NewReplicas(programs, LocalSteps{Replicas: 2, Steps: 1, Shards: 4, Optimizer: bowlAdam})
	if err != nil {
		t.Fatal(err)
	}
	theta := make([]float32, p.Size())
	copy(theta, programs[0].(*Shards).model.Params().Values)
	if err := p.Load(0, theta); err != nil {
		t.Fatal(err)
	}
	var partials [][]float32
	terms := make([]float32, len(p.TermNames()))
	for slot := range slots {
		grad, inTree := make([]float32, p.Size()), make([]float32, p.Size())
		if err := errors.Join(p.Gradient(slot, 0, 0, grad, terms), p.Validate(slot, 0, 0, terms)); err != nil {
			t.Fatal(err)
		}
		partials = append(partials, grad, inTree)
	}
	got, want := heap()-before, p.Memory(slots).Total()
	t.Logf("%d bytes are in use, %d were said", got, want)
	if got > want+want/5+1<<20 || got < want-want/5-1<<20 {
		t.Errorf("%d bytes are in use, %d were said", got, want)
	}
	runtime.KeepAlive(theta)
	runtime.KeepAlive(partials)
	runtime.KeepAlive(p)
}
