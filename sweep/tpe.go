package sweep

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/rng"
)

// The estimator in short. The results are ranked, and the best of them, ⌈0.1·n⌉ and at most 25, are good. Two
// densities over the coordinates of all parameters are made of kernels around configurations: l around the good
// ones, g around the others and those without a result. Candidates are drawn from l, and the one with the largest
// l/g is tried: among configurations like the good ones, that which is least like the others. With a prior in
// both, no part of the space is ever excluded.

// Constants of the tree-structured Parzen estimator: Bergstra et al. (2011), with the multivariate kernels and the
// defaults of Optuna (Watanabe 2023).
const (
	startup    = 10  // results before the first estimate; until then draws are random
	candidates = 24  // draws from the good ones, of which the most promising is taken
	goodShare  = 0.1 // share of the results that counts as good
	goodMost   = 25
	recent     = 25  // results of full weight; older ones count less
	bandwidth  = 0.2 // of a kernel, in units of the range, before the number of results narrows it
)

// observation is a configuration that was tried; trial is its number, by which it has its age.
type observation struct {
	trial    int
	settings Settings
}

// history is what a proposal may depend on.
type history struct {
	ranked  []observation // with a result, the best first; those that failed last
	pending []observation // without a result: they count as bad, so that a cohort spreads out
}

// parzen draws candidates from the density l of the good configurations and returns the one with the largest l/g,
// where g is the density of the others; of equals, the first. known has at least one result. A candidate need not
// be valid: the caller draws again.
func (s *Spec) parzen(known history, stream *rng.Stream) Settings {
	n := len(known.ranked)
	good := min(int(math.Ceil(goodShare*float64(n))), goodMost)
	l := s.mixture(known.ranked[:good])
	g := s.mixture(slices.Concat(known.ranked[good:], known.pending))
	var best Settings
	most := math.Inf(-1)
	for range candidates {
		c := l.draw(stream)
		if gain := l.logDensity(c) - g.logDensity(c); best == nil || gain > most {
			best, most = c, gain
		}
	}
	return best
}

// mixture is a density over configurations: a kernel around each observation, and the prior as one more,
//
//	p(x) = Σ_k w_k Π_i q_ki(x_i)
//
// where the product is over the parameters that exist in x.
type mixture struct {
	spec    *Spec
	kernels []Settings // the last one is nil: the prior
	weights []float64  // sum 1
	sigma   float64    // bandwidth of all kernels, in units of the range
	centres [][]centre // of each kernel, for each parameter
}

// centre is where a kernel stands in the range of a parameter.
type centre struct {
	exists bool    // in the configuration of the kernel
	u      float64 // coordinate
	mass   float64 // of the normal law within the range
	index  int     // of a category
}

// point is where a value is in the range of a parameter. Its mass is left to the caller.
func (p *Parameter) point(s Settings) centre {
	value, ok := s.Get(p.Key)
	if !ok {
		return centre{}
	}
	return centre{exists: true, u: p.Coordinate(value), index: slices.Index(p.Values, value)}
}

// mixture makes the density of observations. With n of them in d parameters the bandwidth is
//
//	σ = 0.2·n^(−1/(d+4)),  at least 1/min(100, n+2) and at most 1
//
// The weights go by age, and the prior weighs as much as a recent observation.
func (s *Spec) mixture(list []observation) *mixture {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b observation) int { return a.trial - b.trial })
	m := &mixture{spec: s, weights: append(ages(len(list)), 1)}
	for _, o := range list {
		m.kernels = append(m.kernels, o.settings)
	}
	m.kernels = append(m.kernels, nil)
	sum := 0.0
	for _, w := range m.weights {
		sum += w
	}
	for i := range m.weights {
		m.weights[i] /= sum
	}
	// Scott's rule for the exponent; the bound keeps kernels of many results from becoming needles.
	n := float64(max(len(list), 1))
	m.sigma = bandwidth * math.Pow(n, -1/float64(len(s.Parameters)+4))
	m.sigma = min(max(m.sigma, 1/math.Min(100, float64(1+len(m.kernels)))), 1)
	for _, k := range m.kernels {
		list := make([]centre, len(s.Parameters))
		for i := range list {
			list[i] = s.Parameters[i].point(k)
			list[i].mass = cumulative((1-list[i].u)/m.sigma) - cumulative(-list[i].u/m.sigma)
		}
		m.centres = append(m.centres, list)
	}
	return m
}

// ages are the weights of n observations, the oldest first: a ramp from 1/n to 1, then 1 for the last 25, the
// recent ones.
func ages(n int) []float64 {
	w := make([]float64, n)
	ramp := n - recent
	for i := range w {
		if w[i] = 1; i < ramp {
			w[i] = 1 / float64(n)
			if ramp > 1 {
				w[i] += (1 - 1/float64(n)) * float64(i) / float64(ramp-1)
			}
		}
	}
	return w
}

// draw takes a configuration from the mixture: a kernel by its weight, and a value of each parameter that exists
// from it. Where the kernel lacks the parameter, the value is one of the prior. A parameter takes its number from
// the stream whether it exists or not.
func (m *mixture) draw(stream *rng.Stream) Settings {
	u, k := stream.Float64(), 0
	for k < len(m.weights)-1 && u >= m.weights[k] {
		u -= m.weights[k]
		k++
	}
	var list Settings
	for i := range m.spec.Parameters {
		p := &m.spec.Parameters[i]
		u := stream.Float64()
		if !p.Exists(list) {
			continue
		}
		if at := &m.centres[k][i]; at.exists {
			u = m.within(p, at, u)
		}
		list = append(list, Setting{p.Key, p.At(u)})
	}
	return list
}

// within is the coordinate that a kernel around a value has at the share u of its mass: the inverse of its
// distribution function, for a choice the middle of a value.
func (m *mixture) within(p *Parameter, k *centre, u float64) float64 {
	if p.Distribution == Categorical {
		for i := range p.Values {
			if q := m.category(p, k.index, i); u < q || i == len(p.Values)-1 {
				return p.Coordinate(p.Values[i])
			} else {
				u -= q
			}
		}
	}
	lo, hi := cumulative(-k.u/m.sigma), cumulative((1-k.u)/m.sigma)
	return min(max(k.u+m.sigma*quantile(lo+u*(hi-lo)), 0), 1)
}

// category is the probability of value i in a kernel around value k. With K values of prior probability π_i and s
// = 1/kernels,
//
//	q_i = (s·K·π_i + [i = k]) / (1 + s·K)
func (m *mixture) category(p *Parameter, k, i int) float64 {
	spread := 1 / float64(len(m.kernels))
	prior := 1 / float64(len(p.Values))
	if p.Weights != nil {
		prior = p.Weights[i]
	}
	q := spread * prior * float64(len(p.Values))
	if i == k {
		q++
	}
	return q / (1 + spread*float64(len(p.Values)))
}

// logDensity is the logarithm of the density of the mixture at a configuration. Where a kernel lacks a parameter, the
// prior takes its place.
func (m *mixture) logDensity(c Settings) float64 {
	points, priors := make([]centre, len(m.spec.Parameters)), make([]float64, len(m.spec.Parameters))
	for i := range points {
		p := &m.spec.Parameters[i]
		if points[i] = p.point(c); points[i].exists {
			priors[i] = math.Log(p.prior(points[i]))
		}
	}
	logs, most := make([]float64, len(m.kernels)), math.Inf(-1)
	for k, centres := range m.centres {
		logs[k] = math.Log(m.weights[k])
		for i, at := range points {
			switch {
			case !at.exists:
			case centres[i].exists:
				logs[k] += math.Log(m.density(&m.spec.Parameters[i], &centres[i], at))
			default:
				logs[k] += priors[i]
			}
		}
		most = max(most, logs[k])
	}
	// The greatest is taken out, so that no exponential underflows to a sum of 0.
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum)
}

// density is that of one parameter in a kernel: a normal one cut off at the ends of the range, integrated over the cell
// of a value if there are cells.
func (m *mixture) density(p *Parameter, k *centre, at centre) float64 {
	const tiny = 1e-300
	if p.Distribution == Categorical {
		return max(m.category(p, k.index, at.index), tiny)
	}
	if n := p.Cells(); n > 0 {
		half := 0.5 / float64(n)
		return max((cumulative((at.u+half-k.u)/m.sigma)-cumulative((at.u-half-k.u)/m.sigma))/k.mass, tiny)
	}
	z := (at.u - k.u) / m.sigma
	return max(math.Exp(-z*z/2)/(math.Sqrt(2*math.Pi)*m.sigma*k.mass), tiny)
}

// prior is the density of a value without any observation, or its probability if there are cells.
func (p *Parameter) prior(at centre) float64 {
	if p.Distribution == Categorical && p.Weights != nil && at.index >= 0 {
		return p.Weights[at.index]
	}
	if n := p.Cells(); n > 0 {
		return 1 / float64(n)
	}
	return 1
}
