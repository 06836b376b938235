package gibbs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
)

var (
	_ model.Fitter      = (*Model)(nil)
	_ model.Forecasting = (*Model)(nil)
	_ model.Diagnosed   = (*Model)(nil)
	_ model.Weighted    = (*Model)(nil)
)

// ErrNotBegun is returned for parameters of which no chain has begun.
var ErrNotBegun = errors.New("gibbs: no chain has begun")

// Terms are ScalarNames behind the loss, −(transition + Dy·emission): the negative log density of a step without
// missing values, the regimes summed out.
func (m *Model) Terms() []model.Term {
	return []model.Term{
		{Name: "loss", Label: "negative log density", Short: "loss", Unit: "nats per time step"},
		{Name: "transition", Label: "log density of a transition", Short: "trans", Unit: "nats per time step", Weight: -1},
		{
			Name: "emission", Label: "log density of an observed value", Short: "emit", Unit: "nats per value",
			Weight: -float64(m.observed),
		},
		{Name: "switching", Label: "share of steps at which the regime changes", Short: "switch", Unit: "of the steps"},
	}
}

// array is the form of the state of a chain of the model.
func (m *Model) array() array {
	return array{cfg: m.cfg, dims: m.cfg.dims(m.observed, m.controls), schedule: m.schedule}
}

// Layout lists the parts of the state of a chain. Their sizes depend on the schedule and on the lengths of the
// recordings.
func (m *Model) Layout(recordings []model.Batch) []model.Part {
	return m.array().layout(lengths(recordings))
}

// lengths are the steps of each recording.
func lengths(recordings []model.Batch) []int {
	var list []int
	for _, r := range recordings {
		list = append(list, slices.Repeat([]int{r.T}, r.B)...)
	}
	return list
}

// fitted is a Fit as a model.Chain, whose state is one array.
type fitted struct {
	*Fit
	array
}

// NewChain returns a chain that starts, or goes on from a state. It returns ErrState for an array that is not one
// of its states, and the errors of NewFit.
func (m *Model) NewChain(recordings []model.Batch, index int, state []float64) (model.Chain, error) {
	var all []Recording
	for _, r := range recordings {
		all = append(all, FromBatch(r)...)
	}
	f := m.array()
	if state == nil {
		fit, err := m.NewFit(all, uint32(index))
		if err != nil {
			return nil, err
		}
		return &fitted{fit, f}, nil
	}
	tensors, err := f.tensors(state, lengths(recordings))
	if err != nil {
		return nil, err
	}
	fit, err := m.RestoreFit(all, uint32(index), tensors)
	if err != nil {
		return nil, err
	}
	return &fitted{fit, f}, nil
}

// Sweep does one sweep and writes the Terms: the loss, then the scalars.
func (f *fitted) Sweep(terms []float64) error {
	if err := f.Step(); err != nil {
		return err
	}
	copy(terms[1:], f.chain.Scalars())
	terms[0] = -(f.chain.transition + float64(float64(f.chain.Dy)*f.chain.emission))
	return nil
}

// State writes the state; dst has the size of the Layout.
func (f *fitted) State(dst []float64) { f.write(dst, f.Fit) }

// Install gives the model the posteriors of its chains, and weights of them if they are stacked and all have come
// to their end. It keeps views of the states. It returns ErrState for an array that is no state, ErrNotBegun if
// all are nil, and ErrNumeric if a noise covariance cannot be factored.
func (m *Model) Install(states [][]float64) error {
	m.posteriors, m.traces, m.tails, m.weights = nil, nil, nil, nil
	for i, state := range states {
		if state == nil {
			continue
		}
		posterior, trace, err := m.array().readHead(state)
		if err != nil {
			return fmt.Errorf("chain %d: %w", i, err)
		}
		m.posteriors, m.traces = append(m.posteriors, posterior), append(m.traces, trace)
		m.tails = append(m.tails, state[size(m.array().head()):])
	}
	if len(m.posteriors) == 0 {
		return ErrNotBegun
	}
	if m.backtested() {
		var errors [][]float64
		for _, p := range m.posteriors {
			errors = append(errors, p.errors)
		}
		m.weights = stack(errors)
	}
	ensemble, err := NewEnsemble(m.posteriors, m.rollout)
	if err != nil {
		return err
	}
	ensemble.weigh(m.weights)
	ensemble.given = m.given
	m.forecaster = ensemble
	return nil
}

// NewForecaster returns a Forecaster of all chains; nil before Install. It shares the parameters with the model.
func (m *Model) NewForecaster() model.Forecaster {
	if m.forecaster == nil {
		return nil
	}
	return m.forecaster.Clone()
}

// Posteriors are those of the chains that were installed. They have no averages of states and regimes.
func (m *Model) Posteriors() []*Posterior { return m.posteriors }

// backtested reports whether every chain has come to its end and forecast its recordings.
func (m *Model) backtested() bool {
	for _, trace := range m.traces {
		if len(trace) < m.schedule.Sweeps*len(ScalarNames()) {
			return false
		}
	}
	return m.schedule.Stacked
}

// Weights are those of the chains in a forecast; nil: they count the same.
func (m *Model) Weights() []float64 { return m.weights }
