package gibbs

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Ensemble predicts from the posteriors of several chains of one model, which count the same. As chains number their
// regimes as they like, parameters are averaged within a chain, and forecasts over chains. It serves one goroutine.
type Ensemble struct {
	chains  []*Forecaster
	rollout Rollout
	part    model.Forecast // of a chain
}

var (
	_ model.Forecaster = (*Ensemble)(nil)
	_ model.Filterer   = (*Ensemble)(nil)
)

// NewEnsemble returns the Forecaster of at least one posterior.
func NewEnsemble(posteriors []*Posterior, rollout Rollout) (*Ensemble, error) {
	e := &Ensemble{rollout: rollout}
	for i, p := range posteriors {
		f, err := p.NewForecaster(rollout)
		if err != nil {
			return nil, fmt.Errorf("forecaster of chain %d: %w", i, err)
		}
		e.chains = append(e.chains, f)
	}
	return e, nil
}

// Dims returns the dimensions.
func (e *Ensemble) Dims() model.Dims { return e.chains[0].Dims() }

// Clone returns a Forecaster for another goroutine.
func (e *Ensemble) Clone() model.Forecaster {
	c := &Ensemble{rollout: e.rollout}
	for _, f := range e.chains {
		c.chains = append(c.chains, f.Clone().(*Forecaster))
	}
	return c
}

// Forecast asks each chain, for an equal share of the rollouts. Switches are those of the first chain.
func (e *Ensemble) Forecast(dst *model.Forecast, q model.Query) {
	if len(e.chains) == 1 {
		e.chains[0].Forecast(dst, q)
		return
	}
	dims := e.Dims()
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, dims.NX, dims.M)
	clear(dst.Mean)
	path, plan := q.Horizon*q.Prefix.B*dims.NX, q.Horizon*q.Prefix.B*dims.NU
	seeds := q.Noise
	for i, chain := range e.chains {
		from, to := i*q.Samples/len(e.chains), (i+1)*q.Samples/len(e.chains)
		if i == 0 {
			to = max(to, 1) // whose rollout gives switches and draws
		} else {
			from = max(from, min(1, to))
		}
		if from == to && e.rollout == RolloutSample {
			continue
		}
		part := q
		part.Samples, part.Noise = to-from, rng.New(seeds.Uint64(), rng.Noise).At(0, 0, 0)
		if len(q.Controls) > plan {
			part.Controls = q.Controls[from*plan : to*plan]
		}
		if part.Samples == 0 { // the path without noise needs one plan
			part.Controls = q.Controls[:plan]
		}
		chain.Forecast(&e.part, part)
		share := 1 / float32(len(e.chains))
		if e.rollout == RolloutSample {
			share = float32(to-from) / float32(q.Samples)
		}
		for j, v := range e.part.Mean {
			dst.Mean[j] += share * v
		}
		copy(dst.Paths[from*path:to*path], e.part.Paths)
		if i == 0 {
			copy(dst.Draw, e.part.Draw)
			copy(dst.Switches, e.part.Switches)
		}
	}
}

// Filter infers states and regimes by the first chain.
func (e *Ensemble) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	e.chains[0].Filter(dst, prefix, noise)
}
