package arhmm

import (
	"fmt"
	"math"
	"sync"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// settled is the rise of the mean log likelihood in a sweep, in nats, below which EM has come to its end.
const settled = 1e-7

// Best fits a model outside a run: by all chains of the settings at a time, each until it no longer rises or its
// sweeps are over. It returns the most likely one, the first of equal ones. A chain that fails is left out, unless
// all do. The result has the same bits on every machine. Long gaps are merged sooner than in a run. goOn is asked
// between two sweeps, by several goroutines; once it is false, Best returns model.ErrStopped. It returns ErrData
// where no recording is long enough, and ErrNumeric if all chains fail numerically.
func Best(s *Settings, d model.Data, key rng.Key, recordings []model.Batch, goOn func() bool) (*Forecaster, error) {
	made, err := s.New(d, key)
	if err != nil {
		return nil, err
	}
	m := made.(*Model)
	m.kept = bestKept
	states, faults := make([][]float64, s.Chains), make([]error, s.Chains)
	var all sync.WaitGroup
	for i := range s.Chains {
		all.Go(func() { states[i], faults[i] = m.climb(recordings, i, s.Sweeps, goOn) })
	}
	all.Wait()
	if !goOn() {
		return nil, model.ErrStopped
	}
	// Without a chain that has come to an end the first fault tells why.
	if err := m.Install(states); err != nil {
		return nil, faults[0]
	}
	return m.best, nil
}

// climb is one chain to its end: until a sweep raises the mean log likelihood by less than settled, or so many
// sweeps are over. Its state is nil if it fails. Chains share the model and the recordings, which none changes.
func (m *Model) climb(recordings []model.Batch, index, sweeps int, goOn func() bool) ([]float64, error) {
	c, err := newChain(m, recordings, index, nil)
	if err != nil {
		return nil, err
	}
	terms, last := make([]float64, len(m.Terms())), math.Inf(-1)
	for range sweeps {
		if !goOn() {
			return nil, model.ErrStopped
		}
		if err := c.Sweep(terms); err != nil {
			return nil, fmt.Errorf("chain %d: %w", index, err)
		}
		if now := -terms[0]; now-last < settled {
			break
		} else {
			last = now
		}
	}
	return c.state, nil
}
