package gibbs

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Ensemble predicts from the posteriors of several chains of one model, which count the same or have weights. As chains
// number their regimes as they like, parameters are averaged within a chain, and forecasts over chains. It serves one
// goroutine.
type Ensemble struct {
	chains  []*Forecaster // the one that counts most first
	weights []float64     // in their order; nil: equal
	rollout Rollout
	given   int            // controls of a query; the chains ignore them if they have none
	part    model.Forecast // of a chain
}

var (
	_ model.Forecaster = (*Ensemble)(nil)
	_ model.Filterer   = (*Ensemble)(nil)
	_ model.PartReader = (*Ensemble)(nil)
	_ model.Varied     = (*Ensemble)(nil)
)

// NewEnsemble returns the Forecaster of at least one posterior; the chains count the same until weigh. The error
// is an ErrNumeric of a chain whose noise cannot be factored.
func NewEnsemble(posteriors []*Posterior, rollout Rollout) (*Ensemble, error) {
	e := &Ensemble{rollout: rollout}
	for i, p := range posteriors {
		e.given = p.Du
		f, err := p.NewForecaster(rollout)
		if err != nil {
			return nil, fmt.Errorf("forecaster of chain %d: %w", i, err)
		}
		e.chains = append(e.chains, f)
	}
	return e, nil
}

// weigh gives the chains weights, which are 1 together, and moves the chain of the largest one to the front; nil:
// equal ones.
func (e *Ensemble) weigh(weights []float64) {
	if e.weights = slices.Clone(weights); weights == nil {
		return
	}
	lead := 0
	for i, w := range weights {
		if w > weights[lead] {
			lead = i
		}
	}
	e.chains[0], e.chains[lead] = e.chains[lead], e.chains[0]
	e.weights[0], e.weights[lead] = e.weights[lead], e.weights[0]
}

// share returns the weight of a chain, and its rollouts [from, to) among so many. The rollouts of all chains are
// side by side: each begins where the one before ends, as cumulative weights are rounded, not weights.
func (e *Ensemble) share(chain, samples int) (weight float64, from, to int) {
	n := len(e.chains)
	weight, from, to = 1/float64(n), chain*samples/n, (chain+1)*samples/n
	if e.weights != nil {
		before := 0.0
		for _, w := range e.weights[:chain] {
			before += w
		}
		weight = e.weights[chain]
		from, to = int(math.Round(before*float64(samples))), int(math.Round((before+weight)*float64(samples)))
	}
	if chain == 0 {
		return weight, from, max(to, 1) // whose rollout gives switches and draws
	}
	return weight, max(from, min(1, to)), to
}

// asked is share with the rollouts that a query asks for. first is the first rollout of the chain.
func (e *Ensemble) asked(chain int, q model.Query) (weight float64, first, from, to int) {
	weight, first, to = e.share(chain, cmp.Or(q.Of, q.Samples))
	from = max(first, q.First)
	return weight, first, from, max(from, min(to, q.First+q.Samples))
}

// Dims returns the dimensions; controls are those of a query, which chains that withhold them do not read.
func (e *Ensemble) Dims() model.Dims {
	d := e.chains[0].Dims()
	d.NU = e.given
	return d
}

// Clone returns a Forecaster for another goroutine. It shares parameters and weights.
func (e *Ensemble) Clone() model.Forecaster {
	c := &Ensemble{rollout: e.rollout, given: e.given, weights: e.weights}
	for _, f := range e.chains {
		c.chains = append(c.chains, f.Clone().(*Forecaster))
	}
	return c
}

// Forecast asks each chain for its share of the rollouts, and writes their paths side by side. The mean is
// Σ weight·mean of the chains; with RolloutSample the weight is the share of the rollouts, so that it is the mean
// of all paths. Switches and draws are those of the chain that counts most; where the query asks for rollouts of others
// alone, switches are zeros.
func (e *Ensemble) Forecast(dst *model.Forecast, q model.Query) {
	if len(e.chains) == 1 {
		e.chains[0].Forecast(dst, q)
		return
	}
	dims := e.Dims()
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, dims.NX, dims.M)
	clear(dst.Mean)
	clear(dst.Switches)
	path, plan := q.Horizon*q.Prefix.B*dims.NX, q.Horizon*q.Prefix.B*dims.NU
	seeds := q.Noise
	for i, chain := range e.chains {
		// With RolloutMode a chain without rollouts still adds its mean path.
		weight, first, from, to := e.asked(i, q)
		if from == to && (e.rollout == RolloutSample || weight == 0) {
			continue
		}
		// Each chain has a stream of its own, seeded by that of the query.
		part := q
		part.Samples, part.Noise = to-from, rng.New(seeds.Uint64(), rng.Noise).At(0, 0, 0)
		part.First, from, to = from-first, from-q.First, to-q.First
		if part.Samples > 0 && len(q.Controls) > plan {
			part.Controls = q.Controls[from*plan : to*plan]
		}
		if part.Samples == 0 { // the path without noise needs one plan
			part.Controls = q.Controls[:plan]
		}
		chain.Forecast(&e.part, part)
		share := float32(weight)
		if e.rollout == RolloutSample {
			share = float32(to-from) / float32(q.Samples)
		}
		for j, v := range e.part.Mean {
			dst.Mean[j] += share * v
		}
		if part.Samples == 0 {
			continue
		}
		copy(dst.Paths[from*path:to*path], e.part.Paths)
		copy(dst.SD[from*path:to*path], e.part.SD)
		if from == 0 {
			copy(dst.Draw, e.part.Draw)
		}
		if i == 0 {
			copy(dst.Switches, e.part.Switches)
		}
	}
}

// Varies says that rollouts have chains and parameters of their own.
func (e *Ensemble) Varies() {}

// ReadsParts says that an observation of which only a part was seen is read, as each chain does.
func (e *Ensemble) ReadsParts() {}

// Filter infers states and regimes by the chain that counts most.
func (e *Ensemble) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	e.chains[0].Filter(dst, prefix, noise)
}
