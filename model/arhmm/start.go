package arhmm

import "github.com/switchyard-ml/switchyard/internal/matrix"

// window is the moments of one regime in a few steps of a recording.
type window struct{ moments }

// windows divides what is completely seen into windows of twice as many steps as a row of W has unknowns.
func (c *chain) windows(p params) ([]window, error) {
	s, err := newSystem(c.dims, p)
	if err != nil {
		return nil, err
	}
	passes, one := newPasses(s), c.dims
	one.K = 1
	var list []window
	for _, r := range c.recordings {
		passes.r, passes.filled = r, r.x
		w := window{newMoments(one)}
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
		if len(list) == 0 && w.n[0] > 0 {
			list = append(list, w)
		}
	}
	return list, nil
}

// missed is the mean square of x − W_k f over the window and its channels.
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

// fitTo fits regime k to windows.
func (c *chain) fitTo(p params, k int, windows []window) error {
	var list []moments
	for _, w := range windows {
		list = append(list, w.moments)
	}
	return c.fitAll(p, k, list)
}

// fitAll fits regime k to the sum of moments; it stays if there are none.
func (c *chain) fitAll(p params, k int, list []moments) error {
	one := c.dims
	one.K = 1
	all := newMoments(one)
	for _, m := range list {
		for i, part := range [][]float64{m.n, m.ff, m.xf, m.xx} {
			matrix.AddScaled([][]float64{all.n, all.ff, all.xf, all.xx}[i], 1, part)
		}
	}
	n, q := one.D*one.P, one.D*one.D
	return all.solve(one, p.w[k*n:(k+1)*n], p.q[k*q:(k+1)*q], c.floors, false)
}
