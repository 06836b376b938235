package sweep

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/rng"
)

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

// observation is a configuration that was tried.
type observation struct {
	trial    int
	settings Settings
}

// history is what a proposal may depend on.
type history struct {
	ranked  []observation // with a result, the best first; those that failed last
	pending []observation // without a result: they count as bad, so that a cohort spreads out
}

// parzen draws candidates from the density l of the good configurations and returns the one with the largest l/g, where
// g is the density of the others.
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

// mixture is a density over configurations: a kernel around each observation, and the prior as one more.
type mixture struct {
	spec    *Spec
	kernels []Settings // the last one is nil: the prior
	weights []float64  // sum 1
	sigma   float64
}

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
	n := float64(max(len(list), 1))
	m.sigma = bandwidth * math.Pow(n, -1/float64(len(s.Parameters)+4))
	m.sigma = min(max(m.sigma, 1/math.Min(100, float64(1+len(m.kernels)))), 1)
	return m
}

// ages are the weights of n observations, the oldest first: a ramp, then full weight for the recent ones.
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

// draw takes a configuration from the mixture.
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
		if centre, ok := m.kernels[k].Get(p.Key); ok {
			u = m.within(p, centre, u)
		}
		list = append(list, Setting{p.Key, p.At(u)})
	}
	return list
}

// within is the coordinate that a kernel around a value has at the share u of its mass.
func (m *mixture) within(p *Parameter, centre string, u float64) float64 {
	if p.Distribution == Categorical {
		for i := range p.Values {
			if q := m.category(p, centre, i); u < q || i == len(p.Values)-1 {
				return p.Coordinate(p.Values[i])
			} else {
				u -= q
			}
		}
	}
	mu := p.Coordinate(centre)
	lo, hi := cumulative(-mu/m.sigma), cumulative((1-mu)/m.sigma)
	return min(max(mu+m.sigma*quantile(lo+u*(hi-lo)), 0), 1)
}

// category is the probability of a value in a kernel around another one: of the weight 1 + 1/kernels, 1/kernels is
// shared out over all values.
func (m *mixture) category(p *Parameter, centre string, i int) float64 {
	spread := 1 / float64(len(m.kernels))
	prior := 1 / float64(len(p.Values))
	if p.Weights != nil {
		prior = p.Weights[i]
	}
	q := spread * prior * float64(len(p.Values))
	if p.Values[i] == centre {
		q++
	}
	return q / (1 + spread*float64(len(p.Values)))
}

// logDensity is the logarithm of the density of the mixture at a configuration. Where a kernel lacks a parameter, the
// prior takes its place.
func (m *mixture) logDensity(c Settings) float64 {
	logs, most := make([]float64, len(m.kernels)), math.Inf(-1)
	for k, centre := range m.kernels {
		logs[k] = math.Log(m.weights[k])
		for i := range m.spec.Parameters {
			p := &m.spec.Parameters[i]
			value, ok := c.Get(p.Key)
			if !ok {
				continue
			}
			if at, ok := centre.Get(p.Key); ok {
				logs[k] += math.Log(m.density(p, at, value))
			} else {
				logs[k] += math.Log(p.prior(value))
			}
		}
		most = max(most, logs[k])
	}
	sum := 0.0
	for _, l := range logs {
		sum += math.Exp(l - most)
	}
	return most + math.Log(sum)
}

// density is that of one parameter in a kernel: a normal one cut off at the ends of the range, integrated over the cell
// of a value if there are cells.
func (m *mixture) density(p *Parameter, centre, value string) float64 {
	const tiny = 1e-300
	if p.Distribution == Categorical {
		return max(m.category(p, centre, slices.Index(p.Values, value)), tiny)
	}
	mu, u := p.Coordinate(centre), p.Coordinate(value)
	mass := cumulative((1-mu)/m.sigma) - cumulative(-mu/m.sigma)
	if n := p.Cells(); n > 0 {
		half := 0.5 / float64(n)
		return max((cumulative((u+half-mu)/m.sigma)-cumulative((u-half-mu)/m.sigma))/mass, tiny)
	}
	z := (u - mu) / m.sigma
	return max(math.Exp(-z*z/2)/(math.Sqrt(2*math.Pi)*m.sigma*mass), tiny)
}

// prior is the density of a value without any observation, or its probability if there are cells.
func (p *Parameter) prior(value string) float64 {
	if p.Distribution == Categorical && p.Weights != nil {
		if i := slices.Index(p.Values, value); i >= 0 {
			return p.Weights[i]
		}
	}
	if n := p.Cells(); n > 0 {
		return 1 / float64(n)
	}
	return 1
}
