package gibbs

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// Posterior collects what is kept of the sweeps of one chain: averages of the parameters and states, how often
// each step had each regime, and draws of the parameters. Sums are divided when they are asked for, so that the
// order of additions is that of the sweeps and a posterior that was restored goes on with the same bits.
type Posterior struct {
	cfg Config
	dims
	every int // draws are kept of each every-th sweep

	count         float64   // sweeps added
	mean          Params    // sums of the parameters, until Mean divides them
	states        []float64 // [N,D] sums
	probabilities []float64 // [N,K] sums
	draws         []Params  // the earliest first

	errors, squares []float64 // of the backtest; only of what is read from a state
}

// NewPosterior returns an empty Posterior for a chain, which keeps the parameters of each every-th sweep added; 0: of
// none.
func NewPosterior(c *Chain, every int) *Posterior {
	return &Posterior{
		cfg: c.cfg, dims: c.dims, every: every, mean: zeroParams(c.cfg, c.dims),
		states: make([]float64, len(c.x)), probabilities: make([]float64, len(c.z)*c.K),
	}
}

// zeroParams are parameters of zeros, C included, for sums.
func zeroParams(cfg Config, d dims) Params {
	p := newParams(cfg, d)
	clear(p.Emission)
	return p
}

// Add enters the present sweep of the chain: its states, regimes and parameters. It keeps none of its memory, and
// overwrites ν and ln π in the scratch of the chain.
func (p *Posterior) Add(c *Chain) {
	p.count++
	parts := c.theta.parts(c.dims)
	for i, sum := range p.mean.parts(p.dims) {
		matrix.AddScaled(sum.Values, 1, parts[i].Values)
	}
	matrix.AddScaled(p.states, 1, c.x)
	for _, span := range c.spans {
		for t := span.from; t < span.to-1; t++ {
			p.probabilities[t*c.K+c.z[t]]++
		}
		// The last step has no transition: what is known of its leaf is π(x).
		for n := range c.nu {
			c.nu[n] = height(c.theta.plane(n, c.dims), c.state(span.to-1))
		}
		c.tree.logProbabilities(c.logPi, c.nu)
		for k, v := range c.logPi {
			p.probabilities[(span.to-1)*c.K+k] += matrix.Exp(v)
		}
	}
	if p.every > 0 && int(p.count)%p.every == 0 {
		p.draws = append(p.draws, c.theta.clone())
	}
}

// Sweeps is how many sweeps were added.
func (p *Posterior) Sweeps() int { return int(p.count) }

// Mean returns the averaged parameters, a copy. Before the first sweep is added they are not numbers. Averages of
// W and Q make sense as long as the regimes of the chain keep their numbers.
func (p *Posterior) Mean() Params {
	mean := p.mean.clone()
	for _, part := range mean.parts(p.dims) {
		scale(part.Values, p.count)
	}
	return mean
}

// States returns the mean of x, [N,D] over all recordings one after the other. It is a copy.
func (p *Posterior) States() []float64 { return scaled(p.states, p.count) }

// Regimes returns the probability of each leaf at each step, [N,K] over all recordings one after the other. The
// regime of step t is that of the transition from t to t+1. It is a copy. At the last step of a recording it is
// the mean of π(x).
func (p *Posterior) Regimes() []float64 { return scaled(p.probabilities, p.count) }

// Draws are the parameters that were kept, the earliest first. They must not be changed.
func (p *Posterior) Draws() []Params { return p.draws }

// scale divides all values by a number, in place.
func scale(a []float64, by float64) {
	for i := range a {
		a[i] /= by
	}
}

// scaled is a copy of values divided by a number.
func scaled(a []float64, by float64) []float64 {
	b := make([]float64, len(a))
	copy(b, a)
	scale(b, by)
	return b
}

// parts are the tensors of the posterior, those of the draws one after the other. They are views of the sums.
func (p *Posterior) parts() []Tensor {
	parts := []Tensor{
		{"posterior/states", []int{len(p.states) / p.D, p.D}, p.states},
		{"posterior/regimes", []int{len(p.probabilities) / p.K, p.K}, p.probabilities},
	}
	for _, t := range p.mean.parts(p.dims) {
		t.Name = "posterior/" + t.Name
		parts = append(parts, t)
	}
	for i, draw := range p.draws {
		for _, t := range draw.parts(p.dims) {
			t.Name = fmt.Sprintf("draw/%d/%s", i, t.Name)
			parts = append(parts, t)
		}
	}
	return parts
}
