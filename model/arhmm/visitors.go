package arhmm

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// expected adds the steps of gaps to the moments, with the mean squares of what is missing. A step counts when its
// regime is about to be merged with others, or at the end of the gap: then the missing values are known best while
// the regime is still known. It is to be visited after backward, so that weights are those given all observations.
type expected struct {
	*chain
	features, x []float64
}

// level enters step t−depth+1, whose regime is the first digit of the nodes.
func (v expected) level(g gap, t int, m *mixture) {
	s := t - g.depth + 1
	if s < g.first || t == g.last {
		return
	}
	oldest := len(m.weights) / v.system.K
	shares := v.shares(g, t, len(m.weights))
	for c, w := range shares {
		mean, cov := m.node(c)
		v.enter(s, c/oldest, w, m.held, mean, cov)
	}
}

// shares are the probabilities of the nodes after a step, from those of the edges.
func (p *passes) shares(g gap, t, nodes int) []float64 {
	shares := make([]float64, nodes)
	for i, w := range p.weights(g, t) {
		shares[i%nodes] += w
	}
	return shares
}

// edge enters the steps that no level has: those of the last depth regimes, from the last back.
func (v expected) edge(g gap, node, k int, held []place, mean, cov []float64) {
	K := v.system.K
	w := v.weights(g, g.last)[node*K+k]
	for s := g.last; s >= max(g.first, g.last-g.depth+1); s-- {
		v.enter(s, k, w, held, mean, cov)
		node, k = node/K, node%K
	}
}

// enter adds step s in regime k by weight w, with the distribution of the missing values: their means stand in
// features and observation, and w times their covariances is added to Σ f fᵀ, Σ x fᵀ and Σ x xᵀ.
func (v expected) enter(s, k int, w float64, held []place, mean, cov []float64) {
	if w <= 0 {
		return
	}
	d, m, q := v.system.dims, &v.chain.moments, len(held)
	for l := range d.L {
		copy(v.features[l*d.D:], v.r.x[(s-1-l)*d.D:(s-l)*d.D])
	}
	for c := range d.C + 1 {
		copy(v.features[d.L*d.D+c*d.Du:], v.r.u[(s-c)*d.Du:][:d.Du])
	}
	v.features[d.P-1] = 1
	copy(v.x, v.r.x[s*d.D:(s+1)*d.D])
	role := func(h place) (lag, channel int) { // column of the features, or channel of x_s; −1: neither
		switch l := s - 1 - h.t; {
		case l == -1:
			return -1, h.i
		case l >= 0 && l < d.L:
			return l*d.D + h.i, -1
		}
		return -1, -1
	}
	// First the means, as if they had been seen.
	for j, h := range held {
		if lag, channel := role(h); lag >= 0 {
			v.features[lag] = mean[j]
		} else if channel >= 0 {
			v.x[channel] = mean[j]
		}
	}
	m.add(d, k, w, v.features, v.x)
	for j, h := range held {
		lag, channel := role(h)
		for i, other := range held {
			c := float64(w * cov[j*q+i])
			lag2, channel2 := role(other)
			switch {
			case lag >= 0 && lag2 >= 0 && lag2 <= lag:
				m.ff[(k*d.P+lag)*d.P+lag2] += c
			case channel >= 0 && lag2 >= 0:
				m.xf[(k*d.D+channel)*d.P+lag2] += c
			case channel >= 0 && channel2 >= 0 && channel2 <= channel:
				m.xx[(k*d.D+channel)*d.D+channel2] += c
			}
		}
	}
}

// values are mean and mean square of the missing values of a recording, given what the edges are weighted by: the
// observations so far, or after backward all of them.
type values struct {
	*passes
	mean, square []float64 // [T,D]
}

// newValues are those of a recording whose missing values are N(mean, variance) of their channels, until a visit
// knows better.
func newValues(p *passes) values {
	v := values{p, make([]float64, p.r.T*p.D), make([]float64, p.r.T*p.D)}
	for i, x := range p.r.x {
		v.mean[i], v.square[i] = x, float64(x*x)
		if j := i % p.D; math.IsNaN(x) {
			v.mean[i], v.square[i] = p.start[j], p.start[p.D+j]+float64(p.start[j]*p.start[j])
		}
	}
	return v
}

// level replaces what is known of the held values by what the nodes say after step t: the latest level stays.
func (v values) level(g gap, t int, m *mixture) {
	for c, w := range v.shares(g, t, len(m.weights)) {
		mean, cov := m.node(c)
		v.enter(c == 0, w, m.held, mean, cov)
	}
}

// edge does the same at the last step of a gap, edge by edge.
func (v values) edge(g gap, node, k int, held []place, mean, cov []float64) {
	v.enter(node == 0 && k == 0, v.weights(g, g.last)[node*v.K+k], held, mean, cov)
}

// enter adds a part of a mixture to the mean and mean square of the held values, after zeros if it is the first.
func (v values) enter(first bool, w float64, held []place, mean, cov []float64) {
	for j, h := range held {
		at := h.t*v.D + h.i
		if first {
			v.mean[at], v.square[at] = 0, 0
		}
		v.mean[at] += float64(w * mean[j])
		v.square[at] += float64(w * (cov[j*len(held)+j] + float64(mean[j]*mean[j])))
	}
}

// sd is the standard deviation of a value; 0 where it was seen.
func (v values) sd(at int) float64 {
	if !math.IsNaN(v.r.x[at]) {
		return 0
	}
	return math.Sqrt(max(v.square[at]-float64(v.mean[at]*v.mean[at]), 0))
}

// state writes mean and standard deviation [Z] of the state at step t. Controls are known. Before the first step
// stands the first.
func (v values) state(t int, mean, sd []float32) {
	for l := range max(v.L, 1) {
		for i := range v.D {
			at := max(t-l, 0)*v.D + i
			mean[l*v.D+i], sd[l*v.D+i] = float32(v.mean[at]), float32(v.sd(at))
		}
	}
	clear(sd[v.window():])
	for c := range v.C {
		write(mean[v.window()+c*v.Du:], v.r.u[max(t-c, 0)*v.Du:][:v.Du])
	}
}

// filtering writes the state of each step of a gap as it is known at that step, before later steps change the
// values.
type filtering struct {
	values
	write func(t int)
}

// level is that of values, then the state of the step is written.
func (f filtering) level(g gap, t int, m *mixture) {
	f.values.level(g, t, m)
	f.write(t)
}

// drawn writes a draw of N(mean, cov) to dst; a variance of 0 is one. It factors cov column by column, and where a
// pivot is not positive the value is certain given those before it. It takes q numbers.
func drawn(dst, mean, cov []float64, normal func() float64) {
	q := len(mean)
	l, z := append([]float64(nil), cov...), make([]float64, q)
	for j := range q {
		for i := j; i < q; i++ {
			v := l[i*q+j] - matrix.Dot(l[i*q:i*q+j], l[j*q:])
			if i == j {
				l[j*q+j] = math.Sqrt(max(v, 0))
			} else if l[j*q+j] > 0 {
				l[i*q+j] = v / l[j*q+j]
			} else {
				l[i*q+j] = 0
			}
		}
	}
	for i := range q {
		z[i] = normal()
		dst[i] = mean[i] + matrix.Dot(z[:i+1], l[i*q:])
	}
}
