package gibbs

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/rng"
)

// ErrSchedule is returned for a schedule that keeps nothing.
var ErrSchedule = errors.New("gibbs: invalid schedule")

// Schedule says how long a chain runs and what is kept of it.
type Schedule struct {
	Sweeps int // in all
	BurnIn int // first sweeps of which nothing is kept
	Draws  int // parameters kept after the burn-in, at equal distances; at most that many
}

func (s Schedule) validate() error {
	if s.BurnIn < 0 || s.Sweeps <= s.BurnIn {
		return fmt.Errorf("%w: %d sweeps with a burn-in of %d leave none", ErrSchedule, s.Sweeps, s.BurnIn)
	}
	if kept := s.Sweeps - s.BurnIn; s.Draws < 0 || s.Draws > kept {
		return fmt.Errorf("%w: %d draws of %d sweeps after the burn-in", ErrSchedule, s.Draws, kept)
	}
	return nil
}

// every is the number of sweeps from one kept draw to the next; 0: none is kept.
func (s Schedule) every() int {
	if s.Draws == 0 {
		return 0
	}
	return (s.Sweeps - s.BurnIn + s.Draws - 1) / s.Draws
}

// Fit is a chain on its way through a schedule, with what is kept of it. It is a pure function of the arguments of NewFit and
// of the number of steps done, and serves one goroutine.
type Fit struct {
	schedule  Schedule
	chain     *Chain
	posterior *Posterior
	trace     []float64 // [sweeps done, scalars]
}

// NewFit returns the fit of one chain before its first sweep.
func NewFit(cfg Config, schedule Schedule, data Data, key rng.Key, index uint32) (*Fit, error) {
	if err := schedule.validate(); err != nil {
		return nil, err
	}
	chain, err := New(cfg, data, key, index)
	if err != nil {
		return nil, err
	}
	return &Fit{schedule: schedule, chain: chain, posterior: NewPosterior(chain, schedule.every())}, nil
}

// Done reports whether the schedule is through.
func (f *Fit) Done() bool { return f.chain.sweep >= uint64(f.schedule.Sweeps) }

// Step does one sweep and keeps what the schedule says.
func (f *Fit) Step() error {
	if err := f.chain.Sweep(); err != nil {
		return err
	}
	f.trace = append(f.trace, f.chain.transition, f.chain.emission, f.chain.switching)
	if f.chain.sweep > uint64(f.schedule.BurnIn) {
		f.posterior.Add(f.chain)
	}
	return nil
}

// Chain is the fit's chain.
func (f *Fit) Chain() *Chain { return f.chain }

// Posterior is what was kept up to now.
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

// State returns all that the rest of the fit depends on beside the arguments of NewFit.
func (f *Fit) State() []Tensor {
	tensors := f.chain.State()
	n := len(ScalarNames())
	parts := append(f.posterior.parts(), Tensor{"trace", []int{len(f.trace) / n, n}, f.trace})
	for _, t := range parts {
		t.Values = append([]float64(nil), t.Values...)
		tensors = append(tensors, t)
	}
	return tensors
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
	f := &Fit{schedule: schedule, chain: chain, posterior: NewPosterior(chain, schedule.every())}
	p := f.posterior
	p.count = math.Max(0, float64(chain.sweep)-float64(schedule.BurnIn))
	for i := 1; p.every > 0 && i*p.every <= int(p.count); i++ {
		p.draws = append(p.draws, zeroParams(cfg, p.dims))
	}
	n := len(ScalarNames())
	f.trace = make([]float64, int(chain.sweep)*n)
	err = restore(append(p.parts(), Tensor{"trace", []int{int(chain.sweep), n}, f.trace}), state)
	if err != nil {
		return nil, err
	}
	return f, nil
}
