package arhmm

import (
	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/rng"
)

// window is the moments of one regime in a few steps of a recording: what a system is fitted to and judged by,
// without the steps themselves.
type window struct{ moments }

// windows divides what is completely seen into windows of twice as many steps as a row of W has unknowns. Recordings
// that are too short for one make windows together, of whole recordings. Steps that are left at the end of another
// recording belong to none, and neither do those of the last short ones, unless there is no window.
func (c *chain) windows(p params) []window {
	passes, one := newPasses(unfactored(c.dims, p)), c.dims
	one.K = 1
	var list []window
	short := window{newMoments(one)}
	for _, r := range c.recordings {
		passes.r = r
		w, before := window{newMoments(one)}, len(list)
		for t := one.L; t < r.T; t++ {
			if !r.complete(t, one.L) {
				continue
			}
			if t > 0 {
				passes.setLags(passes.lags, t)
			}
			passes.setFeatures(passes.lags, r.u[t*one.Du:])
			w.add(one, 0, 1, passes.features, r.x[t*one.D:(t+1)*one.D])
			if w.n[0] >= float64(2*one.P) {
				list, w = append(list, w), window{newMoments(one)}
			}
		}
		if len(list) > before {
			continue
		}
		short = window{together(one, []window{short, w})}
		if short.n[0] >= float64(2*one.P) {
			list, short = append(list, short), window{newMoments(one)}
		}
	}
	if len(list) == 0 && short.n[0] > 0 {
		list = append(list, short)
	}
	return list
}

// together are the moments of windows, added up in their order.
func together(one dims, windows []window) moments {
	all := newMoments(one)
	for _, m := range windows {
		for i, part := range [][]float64{m.n, m.ff, m.xf, m.xx} {
			matrix.AddScaled([][]float64{all.n, all.ff, all.xf, all.xx}[i], 1, part)
		}
	}
	return all
}

// missed is the mean square of x − W_k f over the window, summed over channels: Σ_i (xx_ii − 2 W_i·xf_i + W_i ff
// W_iᵀ)/n. Rounding may make it negative, then it is 0.
func (w window) missed(d dims, p params, k int) float64 {
	total := 0.0
	for i := range d.D {
		row := p.w[(k*d.D+i)*d.P : (k*d.D+i+1)*d.P]
		total += w.xx[i*d.D+i] - float64(2*matrix.Dot(row, w.xf[i*d.P:]))
		for a := range d.P {
			total += float64(row[a] * float64(row[a]*w.ff[a*d.P+a]))
			total += float64(2 * float64(row[a]*matrix.Dot(row[:a], w.ff[a*d.P:])))
		}
	}
	return max(total, 0) / w.n[0]
}

// fitTo fits regime k to windows; it stays if there are none.
func (c *chain) fitTo(p params, k int, windows []window) error {
	one := c.dims
	one.K = 1
	all := together(one, windows)
	n, q := one.D*one.P, one.D*one.D
	return all.solve(one, p.w[k*n:(k+1)*n], p.q[k*q:(k+1)*q], c.floors, false)
}

// begin makes a start: the systems are fitted to some windows of the recordings (spread), and then, in a few
// rounds, to the windows that each predicts best (settle). Starts with an even index expect regimes that last, the
// others regimes that are drawn anew at each step. Without a window systems are zeros, and the noise is the
// variance of the channels. Random numbers are those of the chain with the index, at sweep 0.
func (c *chain) begin(p params, windows []window, index int) error {
	d, draws, stay := c.dims, c.key.At(0, uint32(index), 0), 0.9
	if index%2 == 1 {
		stay = 0
	}
	// π is even, and P even but for the share that stays. Q is the variance of the channels until windows are
	// fitted.
	for i := range d.K {
		p.first[i] = 1 / float64(d.K)
		for j := range d.K {
			p.transition[i*d.K+j] = (1 - stay) / float64(d.K)
		}
		p.transition[i*d.K+i] += stay
		for j := range d.D {
			p.q[(i*d.D+j)*d.D+j] = max(p.start[d.D+j], c.floors[j])
		}
	}
	if len(windows) == 0 {
		return nil
	}
	if err := c.spread(p, windows, draws); err != nil {
		return err
	}
	if err := c.settle(p, windows); err != nil || !c.common {
		return err
	}
	n := d.D * d.D
	for k := 1; k < d.K; k++ { // a common noise is the mean of all
		matrix.AddScaled(p.q[:n], 1, p.q[k*n:(k+1)*n])
	}
	for i := range n {
		p.q[i] /= float64(d.K)
	}
	for k := 1; k < d.K; k++ {
		copy(p.q[k*n:], p.q[:n])
	}
	return nil
}

// spread fits each system to one window, likely one that the systems before predict badly (as in k-means++, Arthur
// and Vassilvitskii 2007). The first window is drawn evenly, each other in proportion to its error under the best
// system so far.
func (c *chain) spread(p params, windows []window, draws rng.Stream) error {
	nearest := make([]float64, len(windows)) // error of the best system so far
	for i := range nearest {
		nearest[i] = 1
	}
	for k := range c.dims.K {
		u, pick := float64(draws.Float64()*sum(nearest)), 0
		for pick < len(windows)-1 && u >= nearest[pick] {
			u -= nearest[pick]
			pick++
		}
		if err := c.fitTo(p, k, windows[pick:pick+1]); err != nil {
			return err
		}
		for i, w := range windows {
			if e := w.missed(c.dims, p, k); k == 0 || e < nearest[i] {
				nearest[i] = e
			}
		}
	}
	return nil
}

// settle fits each system to the windows that it predicts best, until no window moves or a few rounds are over. It
// draws nothing. Of equal systems a window takes the first; a system without windows stays.
func (c *chain) settle(p params, windows []window) error {
	const rounds = 10
	system := make([]int, len(windows)) // of each window
	for round := range rounds {
		own, moved := make([][]window, c.dims.K), round == 0
		for i, w := range windows {
			best, least := 0, w.missed(c.dims, p, 0)
			for k := 1; k < c.dims.K; k++ {
				if e := w.missed(c.dims, p, k); e < least {
					best, least = k, e
				}
			}
			moved = moved || best != system[i]
			system[i] = best
			own[best] = append(own[best], w)
		}
		if !moved {
			return nil // the systems would be the same once more
		}
		for k, list := range own {
			if err := c.fitTo(p, k, list); err != nil {
				return err
			}
		}
	}
	return nil
}
