package gibbs

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// start sets the state before the first sweep: x from the observations, the emission by least squares, the tree
// and the dynamics by the greedy fit of grow.go, or by that of told.go. Regimes z and ω need no start, as a sweep
// draws them first. The numbers are those of sweep 0, so that chains of different index start apart.
func (c *Chain) start() error {
	y := c.filled()
	if c.cfg.Identity {
		copy(c.x, y)
	} else {
		c.embed(y)
		c.fitEmission(y)
	}
	s := c.source(drawStart, 0)
	fit := c.growTree
	if c.cfg.Told {
		fit = c.tellTree
	}
	if err := fit(&s); err != nil {
		return err
	}
	if c.cfg.Identity { // the noise of the observations is not seen yet: a small share of the noise of the dynamics
		for i := range c.Dy {
			share := 0.0
			for k := range c.K {
				share += 0.01 * c.theta.noise(k, c.dims)[i*c.D+i] / float64(c.K)
			}
			c.theta.Measuring[i] = max(share, c.floors[i])
		}
	}
	// W of an inner node begins as the mean of its children.
	for n := c.tree.inner() - 1; n >= 0 && c.cfg.Hierarchical; n-- { // children before parents
		w := c.theta.inner(n, c.dims)
		clear(w)
		for _, child := range c.tree.child[n] {
			if k := child - c.tree.inner(); k >= 0 {
				matrix.AddScaled(w, 0.5, c.theta.leaf(k, c.dims))
			} else {
				matrix.AddScaled(w, 0.5, c.theta.inner(child, c.dims))
			}
		}
	}
	return nil
}

// filled returns a copy of the observations with each missing value interpolated between its neighbours in time;
// beyond the first or last seen value of its recording it is that value, and in a recording that never saw the
// dimension the mean of the others.
func (c *Chain) filled() []float64 {
	y := make([]float64, len(c.y))
	copy(y, c.y)
	for i := range c.Dy {
		sum, n := 0.0, 0
		for t := range len(c.z) {
			if v := c.y[t*c.Dy+i]; !math.IsNaN(v) {
				sum += v
				n++
			}
		}
		for _, span := range c.spans {
			interpolate(y[i:], c.Dy, span, sum/float64(n))
		}
	}
	return y
}

// interpolate fills the NaN among y[t·stride], t in the span, in place; otherwise is for a span without a value.
func interpolate(y []float64, stride int, span span, otherwise float64) {
	last := -1 // the latest step that was seen
	for t := span.from; t <= span.to; t++ {
		// A run of missing values ends at a seen one, or at the end of the span.
		if t < span.to && math.IsNaN(y[t*stride]) {
			continue
		}
		for g := max(last+1, span.from); g < t; g++ {
			switch {
			case last < 0 && t == span.to:
				y[g*stride] = otherwise
			case last < 0:
				y[g*stride] = y[t*stride]
			case t == span.to:
				y[g*stride] = y[last*stride]
			default:
				share := float64(g-last) / float64(t-last)
				y[g*stride] = float64((1-share)*y[last*stride]) + float64(share*y[t*stride])
			}
		}
		last = t
	}
}

// embed sets x to the leading principal components of (y_t, y_{t−1}, …, y_{t−L+1}), scaled to variance one, with
// as many lags L as give D dimensions. Before the beginning of a recording stands its first observation.
// Components of no variance stay zero.
func (c *Chain) embed(y []float64) {
	lags := (c.D + c.Dy - 1) / c.Dy
	n := lags * c.Dy
	row, mean, covariance := make([]float64, n), make([]float64, n), make([]float64, n*n)
	each := func(f func(t int)) {
		for _, span := range c.spans {
			for t := span.from; t < span.to; t++ {
				for lag := range lags {
					at := max(t-lag, span.from) * c.Dy
					copy(row[lag*c.Dy:], y[at:at+c.Dy])
				}
				f(t)
			}
		}
	}
	steps := float64(len(c.z))
	each(func(int) { matrix.AddScaled(mean, 1/steps, row) })
	each(func(int) {
		matrix.AddScaled(row, -1, mean)
		matrix.AddOuter(covariance, 1/steps, row)
	})
	matrix.Mirror(covariance, n)
	values, vectors := matrix.Eigen(covariance, n)
	each(func(t int) {
		matrix.AddScaled(row, -1, mean)
		for j := range c.D {
			if values[j] > 1e-12*values[0] {
				c.x[t*c.D+j] = matrix.Dot(row, vectors[j*n:(j+1)*n]) / math.Sqrt(values[j])
			}
		}
	})
}

// fitEmission sets C, d and S by ridge regression of the observations on x, gaps filled in. S_i is at least a
// thousandth of the variance of its dimension: principal components may fit it without a rest.
func (c *Chain) fitEmission(y []float64) {
	for i, r := range c.rows {
		r.reset()
		mean, square := 0.0, 0.0
		for t := range len(c.z) {
			copy(c.homogeneous, c.state(t))
			r.add(1, c.homogeneous, y[t*c.Dy+i:t*c.Dy+i+1])
			mean += y[t*c.Dy+i]
			square += float64(y[t*c.Dy+i] * y[t*c.Dy+i])
		}
		mean /= r.n
		floor := float64(1e-3 * (square/r.n - float64(mean*mean)))
		variance := c.theta.Measuring[i : i+1]
		if !r.estimate(c.theta.row(i, c.dims), variance, 1/c.cfg.Prior.Emission, 2, c.cfg.Prior.Measuring) {
			variance[0] = 0
		}
		variance[0] = max(variance[0], floor, c.floors[i])
	}
}
