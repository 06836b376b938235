package arhmm

import "math"

// passes are the forward and the backward pass over a recording, with their results and their scratch. They serve
// one goroutine.
//
// forward sets predicted, filtered and the gaps; backward, after it, smoothed and pairs, and turns the weights of
// the edges of gaps from those given the past to those given all. visit reads these weights, at either time.
type passes struct {
	*system
	r                   recording
	lags                []float64 // [Z] state before a step
	predicted, filtered []float64 // [T,K] of s_t given x before t, and up to t; unused before step L
	smoothed, pairs     []float64 // [T,K], [K,K] Σ_t p(s_{t−1}, s_t | x)
	logLikelihood       float64

	wide            bool // missing values are held until the end of a gap
	between         int  // most edges between two steps of a gap; 0: by the recording
	gaps            []gap
	edges, edgeLogs []float64 // weights of the edges of all gaps, one gap after the other; logarithms of one step
	bridge          bridge
}

// newPasses are over a system, without a recording.
func newPasses(s *system) *passes {
	return &passes{system: s, lags: make([]float64, s.Z()), pairs: make([]float64, s.K*s.K)}
}

// setLags writes the state before step t, with missing observations as the mean of their channel. Before the first step
// is what was there.
func (p *passes) setLags(dst []float64, t int) {
	for l := range max(p.L, 1) {
		s := max(t-1-l, 0)
		for i, v := range p.r.x[s*p.D : (s+1)*p.D] {
			if dst[l*p.D+i] = v; math.IsNaN(v) {
				dst[l*p.D+i] = p.start[i]
			}
		}
	}
	p.setPast(dst, t)
}

// setPast writes the controls before step t into a state. Before the first step stand those of the first.
func (p *passes) setPast(dst []float64, t int) {
	for c := range p.C {
		copy(dst[p.window()+c*p.Du:], p.r.u[max(t-1-c, 0)*p.Du:][:p.Du])
	}
}

// forward filters the regimes of a recording and sets its log likelihood given the first L observations.
//
//	p(s_t = j | x before t) = Σ_i p(s_{t−1} = i | x before t) P_ij;  p(s_t | x up to t) ∝ that · N(x_t; W_j f_t, Q_j)
//
// A gap is crossed as a whole.
func (p *passes) forward(r recording) {
	p.r, p.logLikelihood = r, 0
	p.predicted, p.filtered = grown(p.predicted, r.T*p.K), grown(p.filtered, r.T*p.K)
	p.findGaps()
	gaps := p.gaps
	var belief []float64
	for t := p.L; t < r.T; t++ {
		predicted := p.predicted[t*p.K : (t+1)*p.K]
		p.next(predicted, belief)
		if len(gaps) > 0 && t == gaps[0].first {
			p.crossGap(gaps[0], nil)
			t, gaps = gaps[0].last, gaps[1:]
			belief = p.filtered[t*p.K : (t+1)*p.K]
			continue
		}
		if t > 0 {
			p.setLags(p.lags, t)
		}
		p.setFeatures(p.lags, r.u[t*p.Du:])
		filtered := p.filtered[t*p.K : (t+1)*p.K]
		p.logLikelihood += p.observe(filtered, predicted, r.x[t*p.D:(t+1)*p.D])
		belief = filtered
	}
}

// visit tells what is known of the missing values of all gaps.
func (p *passes) visit(v visitor) {
	for _, g := range p.gaps {
		p.crossGap(g, v)
	}
}

// belief is what forward knows of the regime at the last step; nil: no step has one.
func (p *passes) belief() []float64 {
	if p.r.T <= p.L {
		return nil
	}
	return p.filtered[(p.r.T-1)*p.K : p.r.T*p.K]
}

// backward smooths the regimes after forward and adds p(s_{t−1}=i, s_t=j | x) to pairs:
//
//	p(i, j | x) = f_{t−1}(i) P_ij / Σ_i f_{t−1}(i) P_ij · p(s_t=j | x)
//
// with f_{t−1} the filtered probabilities. Pairs are added to those of the recordings before; the caller clears
// them. A regime that was not predicted has no pair.
func (p *passes) backward() {
	T := p.r.T
	p.smoothed = grown(p.smoothed, T*p.K)
	if T <= p.L {
		return
	}
	copy(p.smoothed[(T-1)*p.K:T*p.K], p.belief())
	gaps := p.gaps
	for t := T - 1; t >= p.L; t-- {
		if n := len(gaps) - 1; n >= 0 && t == gaps[n].last {
			p.smoothGap(gaps[n])
			t, gaps = gaps[n].first, gaps[:n]
		}
		if t == p.L {
			return
		}
		before, now := p.smoothed[(t-1)*p.K:t*p.K], p.smoothed[t*p.K:(t+1)*p.K]
		for i := range p.K {
			f := p.filtered[(t-1)*p.K+i]
			before[i] = 0
			for j, g := range now {
				if q := p.predicted[t*p.K+j]; q > 0 {
					pair := float64(float64(f*p.transition[i*p.K+j]) / q * g)
					p.pairs[i*p.K+j] += pair
					before[i] += pair
				}
			}
		}
	}
}

// grown returns a slice of n values, s if it is large enough; the contents are undefined.
func grown(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
