package gibbs

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/rng"
)

// ErrSchedule is returned for a schedule that keeps nothing, or more than there is or can be counted.
var ErrSchedule = errors.New("gibbs: invalid schedule")

// Schedule says how long a chain runs and what is kept of it.
type Schedule struct {
	Sweeps int // in all
	BurnIn int // first sweeps of which nothing is kept
	Draws  int // parameters kept after the burn-in, at equal distances; at most that many

	Stacked bool // after the last sweep the recordings are forecast, so that chains can be weighed by how well they do it
	Regimes bool // how often each step had each regime is part of the state, for at most 65,535 kept sweeps
}

// validate returns an ErrSchedule, or nil.
func (s Schedule) validate() error {
	if s.BurnIn < 0 || s.Sweeps <= s.BurnIn {
		return fmt.Errorf("%w: %d sweeps with a burn-in of %d leave none", ErrSchedule, s.Sweeps, s.BurnIn)
	}
	if kept := s.Sweeps - s.BurnIn; s.Draws < 0 || s.Draws > kept {
		return fmt.Errorf("%w: %d draws of %d sweeps after the burn-in", ErrSchedule, s.Draws, kept)
	} else if s.Regimes && kept > mostKept {
		return fmt.Errorf("%w: regimes of %d sweeps after the burn-in, at most %d can be counted", ErrSchedule, kept,
			mostKept)
	}
	return nil
}

// every is the number of sweeps from one kept draw to the next, rounded up; 0: none is kept.
func (s Schedule) every() int {
	if s.Draws == 0 {
		return 0
	}
	return (s.Sweeps - s.BurnIn + s.Draws - 1) / s.Draws
}

// kept is the number of draws of the whole schedule: at most Draws, and fewer where every was rounded up.
func (s Schedule) kept() int {
	if s.Draws == 0 {
		return 0
	}
	return (s.Sweeps - s.BurnIn) / s.every()
}

// Fit is a chain on its way through a schedule, with what is kept of it. It is a pure function of the arguments of
// NewFit and of the number of steps done, and serves one goroutine. Its memory grows with the sweeps by the trace,
// and with the draws by their parameters.
type Fit struct {
	schedule  Schedule
	chain     *Chain
	posterior *Posterior
	trace     []float64 // [sweeps done, scalars]

	// Of the backtest, zeros before it; empty without one.
	errors  []float64 // [starts, horizons, Dy]
	squares []float64 // [draws, horizons]
}

// NewFit returns the fit of one chain before its first sweep. The data are copied. The errors are those of New,
// and ErrSchedule.
func NewFit(cfg Config, schedule Schedule, data Data, key rng.Key, index uint32) (*Fit, error) {
	if err := schedule.validate(); err != nil {
		return nil, err
	}
	chain, err := New(cfg, data, key, index)
	if err != nil {
		return nil, err
	}
	return emptyFit(schedule, chain), nil
}

// emptyFit is a fit that has kept nothing of its chain.
func emptyFit(schedule Schedule, chain *Chain) *Fit {
	f := &Fit{schedule: schedule, chain: chain, posterior: NewPosterior(chain, schedule.every())}
	if schedule.Stacked {
		horizons := len(backtestHorizons())
		f.errors, f.squares = make([]float64, backtestStarts*horizons*chain.Dy), make([]float64, schedule.kept()*horizons)
	}
	return f
}

// Done reports whether the schedule is through.
func (f *Fit) Done() bool { return f.chain.sweep >= uint64(f.schedule.Sweeps) }

// Step does one sweep and keeps what the schedule says; after the last sweep it forecasts the recordings, if
// chains are weighed by that. It must not be called once the fit is Done, nor after an error, which wraps
// ErrNumeric.
func (f *Fit) Step() error {
	if err := f.chain.Sweep(); err != nil {
		return err
	}
	f.trace = append(f.trace, f.chain.transition, f.chain.emission, f.chain.switching)
	if f.chain.sweep > uint64(f.schedule.BurnIn) {
		f.posterior.Add(f.chain)
	}
	if f.schedule.Stacked && f.Done() {
		return f.backtest()
	}
	return nil
}

// Chain is the fit's chain.
func (f *Fit) Chain() *Chain { return f.chain }

// Bytes is the memory of the chain and of what is kept of it.
func (f *Fit) Bytes() int {
	p := f.posterior
	n := cap(f.trace) + cap(p.states) + cap(p.probabilities) + cap(f.errors) + cap(f.squares)
	for _, draw := range p.draws {
		for _, t := range draw.parts(p.dims) {
			n += cap(t.Values)
		}
	}
	return f.chain.Bytes() + 8*n
}

// Posterior is what was kept up to now; it belongs to the fit and grows with it.
func (f *Fit) Posterior() *Posterior { return f.posterior }

// Trace returns the values of one of ScalarNames after the burn-in, in order of sweeps.
func (f *Fit) Trace(scalar int) []float64 {
	n := len(ScalarNames())
	var values []float64
	for i := f.schedule.BurnIn * n; i < len(f.trace); i += n {
		values = append(values, f.trace[i+scalar])
	}
	return values
}

// State returns copies of all that the rest of the fit depends on beside the arguments of NewFit: the state of the
// chain, and what was kept.
func (f *Fit) State() []Tensor {
	tensors := f.chain.State()
	for _, t := range f.parts() {
		t.Values = append([]float64(nil), t.Values...)
		tensors = append(tensors, t)
	}
	return tensors
}

// parts are the tensors of the fit beside those of the chain. They are views: restore writes through them.
func (f *Fit) parts() []Tensor {
	n, horizons := len(ScalarNames()), len(backtestHorizons())
	parts := append(f.posterior.parts(), Tensor{"trace", []int{len(f.trace) / n, n}, f.trace})
	if f.schedule.Stacked {
		parts = append(parts,
			Tensor{"backtest/errors", []int{backtestStarts, horizons, f.chain.Dy}, f.errors},
			Tensor{"backtest/squares", []int{f.schedule.kept(), horizons}, f.squares})
	}
	return parts
}

// RestoreFit returns the fit of which State returned the tensors, given the arguments that it was made from. It returns
// ErrState if the tensors are not those of such a fit.
func RestoreFit(cfg Config, schedule Schedule, data Data, key rng.Key, index uint32, state []Tensor) (*Fit, error) {
	if err := schedule.validate(); err != nil {
		return nil, err
	}
	chain, err := Restore(cfg, data, key, index, state)
	if err != nil {
		return nil, err
	}
	if chain.sweep > uint64(schedule.Sweeps) {
		return nil, fmt.Errorf("%w: %d sweeps are done, the schedule has %d", ErrState, chain.sweep, schedule.Sweeps)
	}
	f := emptyFit(schedule, chain)
	p := f.posterior
	// The number of sweeps decides how much has been kept: room for that, which restore fills.
	p.count = math.Max(0, float64(chain.sweep)-float64(schedule.BurnIn))
	for i := 1; p.every > 0 && i*p.every <= int(p.count); i++ {
		p.draws = append(p.draws, zeroParams(cfg, p.dims))
	}
	f.trace = make([]float64, int(chain.sweep)*len(ScalarNames()))
	if err := restore(f.parts(), state); err != nil {
		return nil, err
	}
	return f, nil
}
