package coordinator

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// A step that begins anew because somebody lied has the scales that it had at first: what the liar said it needed is
// forgotten.
func TestMachine_BeginsAnewWithTheScalesOfBefore(t *testing.T) {
	m := newMachine(Config{
		Run: "r", Steps: 2, Shards: 4, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 128, Gradients: wire.Int16,
		Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}, make([]float32, 40), 64)
	m.start(0)
	before := slices.Clone(m.run.state)
	sum := make([]float32, 41)
	sum[40] = 20
	if m.run.integers.Widen(sum) == 0 || m.run.state[40] <= 20 {
		t.Fatalf("exponent %g for a need of 20", m.run.state[40])
	}
	m.run.beginAnew(0)
	if !slices.Equal(m.run.state, before) || m.run.integers.Misfits() != 0 || m.leasing.pass != 1 {
		t.Errorf("exponent %g, want %g; pass %d", m.run.state[40], before[40], m.leasing.pass)
	}
}

// A step that begins anew because somebody lied is confirmed block by block, however few are otherwise: a liar that comes
// back under another name does not have it begun anew again. The next step is as before.
func TestMachine_BeginsAnewBlockByBlock(t *testing.T) {
	m := newMachine(Config{
		Run: "r", Steps: 2, Shards: 4, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 128, Audit: 1e-9,
		Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}, make([]float32, 40), 64)
	m.start(0)
	audited := func() (all bool) {
		all = true
		for _, id := range []string{"a", "b"} {
			w := testMember(id, 1, 2)
			w.ready = true
			m.members.add(w)
		}
		if m.leasing.assign(0); len(m.leasing.leases) < 2 {
			t.Fatal("not all is leased")
		}
		for _, l := range m.leasing.leases {
			all = all && l.Audited
		}
		m.members.clear()
		return all
	}
	if audited() {
		t.Fatal("the step is confirmed from the start")
	}
	liar := m.accounts.Of(7, "liar")
	liar.Taint(m.run.opt.step, wire.Gradient)
	if !m.judgement.quarantine(0, []*trust.Account{liar}, "it lied") || m.leasing.pass != 1 {
		t.Fatalf("pass %d: the step did not begin anew", m.leasing.pass)
	}
	if !audited() {
		t.Error("blocks of the step that began anew are used unconfirmed")
	}
	if m.auditing.Repeats(m.run.opt.step + 1) {
		t.Error("the next step is confirmed, too")
	}
}

// Blocks of a step that is thrown away do not count as part of the run, whether the step begins anew or the run goes back,
// but as undone.
func TestMachine_UsefulAreNotThrownAway(t *testing.T) {
	for name, throwAway := range map[string]func(m *machine){
		"begins anew": func(m *machine) { m.run.beginAnew(0) },
		"goes back":   func(m *machine) { m.rewind(0, &Checkpoint{Theta: make([]float32, 40), BestLoss: math.Inf(1)}) },
	} {
		m := newMachine(Config{
			Run: "r", Steps: 2, Shards: 4, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 128,
			Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
		}, make([]float32, 40), 64)
		m.start(0)
		for _, id := range []string{"a", "b"} {
			w := testMember(id, 1, 2)
			w.ready = true
			m.members.add(w)
		}
		m.leasing.assign(0)
		l := m.leasing.leases[0]
		m.run.merge(0, l.task, vector.Partial{Values: make([]float32, 40), Terms: make([]float32, 1)}, Contribution{Block: l.Block})
		if n := m.figures.Useful; n != uint64(l.Block.Count) {
			t.Fatalf("%d shards count, want %d", n, l.Block.Count)
		}
		if throwAway(m); m.figures.Useful != 0 || m.figures.Undone != uint64(l.Block.Count) {
			t.Errorf("it %s: %d shards count, %d are undone", name, m.figures.Useful, m.figures.Undone)
		}
	}
}

// A pause lasts as many steps as it was to last, also if the run goes back meanwhile: of sums by workers, and of a worker
// that hands on nothing, or hears nothing from others.
func TestMachine_PausesGoBackWithTheRun(t *testing.T) {
	m, l := testMachine(t, func(cfg *Config) { cfg.Steps, cfg.Exchange = 2000, Sharded })
	m.run.opt.step = 1000
	m.exchange.Rest(1000)
	w := l.owner
	w.Deaf.Extend(1000)
	w.Mute.Extend(1000)
	m.rewind(0, &Checkpoint{Step: 10, Theta: make([]float32, 40), BestLoss: math.Inf(1)})
	chunks := m.transfer.chunks
	if before, after := m.exchange.Open(13, 2, chunks, false), m.exchange.Open(14, 2, chunks, false); before.Count > 0 || after.Count == 0 {
		t.Errorf("sections of steps 13 and 14: %d and %d, want none and some", before.Count, after.Count)
	}
	if w.Deaf.Until() != 15 || w.Mute.Until() != 15 {
		t.Errorf("the worker is left out until %d and %d, want 15", w.Deaf.Until(), w.Mute.Until())
	}
}

// A run that goes back has the levels of the checkpoint, or none at the initial parameters.
func TestMachine_RewindsLevels(t *testing.T) {
	m := newMachine(Config{
		Run: "r", Steps: 9, Shards: 4, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 128, Gradients: wire.Int16,
		Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}, make([]float32, 40), 64)
	m.start(0)
	initial, theta := slices.Clone(m.run.state[40:]), make([]float32, 40)
	sum := make([]float32, 41)
	sum[40] = 20
	m.run.integers.Close(sum)
	for _, c := range []struct{ levels, exponents []float32 }{{[]float32{7}, []float32{10}}, {nil, initial}} {
		m.rewind(0, &Checkpoint{Theta: theta, Levels: c.levels, BestLoss: math.Inf(1)})
		if !slices.Equal(m.run.state[40:], c.exponents) {
			t.Errorf("levels %v: exponents %v, want %v", c.levels, m.run.state[40:], c.exponents)
		}
	}
}
