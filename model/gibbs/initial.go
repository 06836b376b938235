package gibbs

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// start sets the state before the first sweep: x from the observations, the emission by least squares, the tree and the
// dynamics by the greedy fit of grow.go.
func (c *Chain) start() error {
	y := c.filled()
	if c.cfg.Identity {
		copy(c.x, y)
	} else {
		c.embed(y)
		c.fitEmission(y)
	}
	s := c.source(drawStart, 0)
	if err := c.growTree(&s); err != nil {
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

// filled returns the observations with each missing value interpolated between its neighbours in time; beyond the first
// or last seen value of its recording it is that value, and in a recording that never saw the dimension the mean of the
// others.
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

// interpolate fills the NaN among y[t·stride], t in the span.
func interpolate(y []float64, stride int, span span, otherwise float64) {
	last := -1 // the latest step that was seen
	for t := span.from; t <= span.to; t++ {
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

// embed sets x to the leading principal components of (y_t, y_{t−1}, …, y_{t−L+1}), scaled to variance one, with as
// many lags L as give D dimensions.
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
	values, vectors := eigen(covariance, n)
	each(func(t int) {
		matrix.AddScaled(row, -1, mean)
		for j := range c.D {
			if values[j] > 1e-12*values[0] {
				c.x[t*c.D+j] = matrix.Dot(row, vectors[j*n:(j+1)*n]) / math.Sqrt(values[j])
			}
		}
	})
}

// fitEmission sets C, d and S by ridge regression of the seen observations on x.
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

// eigen returns the eigenvalues of the symmetric a [n,n], the largest first, and their vectors as rows, by cyclic
// Jacobi rotations (Golub and Van Loan 2013, section 8.5). It destroys a.
func eigen(a []float64, n int) (values, vectors []float64) {
	vectors = make([]float64, n*n)
	for i := range n {
		vectors[i*n+i] = 1
	}
	for range 60 {
		off, total := 0.0, 0.0
		for i := range n {
			total += float64(a[i*n+i] * a[i*n+i])
			for j := range i {
				off += float64(a[i*n+j] * a[i*n+j])
			}
		}
		if off <= 1e-30*total {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, vectors, n, p, q)
			}
		}
	}
	values = make([]float64, n)
	for i := range n {
		values[i] = a[i*n+i]
	}
	for i := range n { // by selection; n is small
		largest := i
		for j := i + 1; j < n; j++ {
			if values[j] > values[largest] {
				largest = j
			}
		}
		values[i], values[largest] = values[largest], values[i]
		for k := range n {
			vectors[i*n+k], vectors[largest*n+k] = vectors[largest*n+k], vectors[i*n+k]
		}
	}
	return values, vectors
}

// rotate makes a[p,q] zero by a rotation of rows and columns p and q.
func rotate(a, vectors []float64, n, p, q int) {
	if a[p*n+q] == 0 {
		return
	}
	theta := (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q])
	t := 1 / (math.Abs(theta) + math.Sqrt(float64(theta*theta)+1))
	if theta < 0 {
		t = -t
	}
	cosine := 1 / math.Sqrt(float64(t*t)+1)
	sine := float64(t * cosine)
	turn := func(x, y *float64) {
		u, v := *x, *y
		*x = float64(cosine*u) - float64(sine*v)
		*y = float64(sine*u) + float64(cosine*v)
	}
	for k := range n {
		turn(&a[k*n+p], &a[k*n+q])
	}
	for k := range n {
		turn(&a[p*n+k], &a[q*n+k])
		turn(&vectors[p*n+k], &vectors[q*n+k])
	}
}
