package categorical

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
)

// ErrStart is returned for recordings that no start can be fitted to.
var ErrStart = errors.New("model.start")

// embedding is x ≈ C y + d. With at least as many latent dimensions as channels y is x itself; with fewer it is
// the leading principal components of x, without scaling. An HMM of y starts a model of x.
type embedding struct {
	nx, n    int
	c        []float64 // C [nx, n] with orthonormal columns
	d        []float64 // [nx]
	leftOver []float64 // [nx] mean square of x − C y − d
}

// newEmbedding is the embedding of nx channels in nz latent dimensions. It returns ErrStart where components are
// needed and fewer than two observations are whole.
func newEmbedding(nx, nz int, recordings []model.Batch) (embedding, error) {
	e := embedding{nx: nx, n: min(nx, nz), d: make([]float64, nx), leftOver: make([]float64, nx)}
	e.c = make([]float64, nx*e.n)
	if nx <= nz {
		for i := range nx {
			e.c[i*(nx+1)] = 1
		}
		return e, nil
	}
	covariance, err := e.moments(recordings)
	if err != nil {
		return e, err
	}
	values, vectors := matrix.Eigen(append([]float64(nil), covariance...), nx)
	for i := range nx {
		// What the leading components do not explain of Var x_i: Var x_i − Σ_j λ_j c_ij².
		e.leftOver[i] = covariance[i*(nx+1)]
		for j := range e.n {
			v := vectors[j*nx+i]
			e.c[i*e.n+j] = v
			e.leftOver[i] -= float64(values[j] * float64(v*v))
		}
		e.leftOver[i] = max(e.leftOver[i], 0)
	}
	return e, nil
}

// moments sets d to the mean of the complete observations, and returns their covariance. It returns ErrStart with
// fewer than two of them. Recordings are sequences one by one, B = 1.
func (e embedding) moments(recordings []model.Batch) ([]float64, error) {
	covariance, n, row := make([]float64, e.nx*e.nx), 0.0, make([]float64, e.nx)
	each := func(f func()) {
		for _, b := range recordings {
			for t := range b.T {
				if b.Complete(t, 0) {
					for i, v := range b.Observations[t*e.nx : (t+1)*e.nx] {
						row[i] = float64(v)
					}
					f()
				}
			}
		}
	}
	each(func() {
		n++
		matrix.AddScaled(e.d, 1, row)
	})
	if n < 2 {
		return nil, fmt.Errorf("%w: no two observations miss no value, and principal components need them", ErrStart)
	}
	for i := range e.d {
		e.d[i] /= n
	}
	each(func() {
		matrix.AddScaled(row, -1, e.d)
		matrix.AddOuter(covariance, 1/n, row)
	})
	matrix.Mirror(covariance, e.nx)
	return covariance, nil
}

// apply returns the recordings in y. Of an observation that misses a value principal components miss all of
// theirs. The recordings themselves are returned where y is x.
func (e embedding) apply(recordings []model.Batch) []model.Batch {
	if e.n == e.nx {
		return recordings
	}
	list := make([]model.Batch, len(recordings))
	for i, b := range recordings {
		y := &list[i]
		y.Resize(b.T, 1, e.n, b.NU)
		copy(y.Controls, b.Controls)
		if b.Seen != nil {
			y.Seen = make([]float32, b.T*e.n)
		}
		for t := range b.T {
			seen := b.Complete(t, 0)
			for j := range e.n {
				sum := 0.0
				for k, v := range b.Observations[t*e.nx : (t+1)*e.nx] {
					sum += float64(e.c[k*e.n+j] * (float64(v) - e.d[k]))
				}
				if y.Observations[t*e.n+j] = float32(sum); y.Seen != nil {
					y.Seen[t*e.n+j] = 0
					if seen {
						y.Seen[t*e.n+j] = 1
					}
				}
			}
		}
	}
	return list
}

// noise divides the noise of y between the state, whose least variance in a regime is q [n], and the measurement.
// It returns the variances of x given y [nx], what the components leave over or a share of q,
//
//	max(left over_i, 0.1·Σ_j c_ij² q_j)
//
// and those of y given x [n], Σ_i c_ij² of them.
func (e embedding) noise(q []float64) (x, y []float64) {
	const share = 0.1
	x, y = make([]float64, e.nx), make([]float64, e.n)
	for i := range x {
		own := 0.0
		for j, v := range q {
			c := e.c[i*e.n+j]
			own += float64(float64(c*c) * v)
		}
		x[i] = max(e.leftOver[i], float64(share*own))
		for j := range y {
			c := e.c[i*e.n+j]
			y[j] += float64(float64(c*c) * x[i])
		}
	}
	return x, y
}

// roots are the square roots, in a new slice.
func roots(v []float64) []float64 {
	r := make([]float64, len(v))
	for i, x := range v {
		r[i] = math.Sqrt(x)
	}
	return r
}
