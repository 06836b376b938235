package gibbs

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/rng"
)

// simulate draws all variables of a chain from the prior and then from the model, with code of its own: the marginal-conditional
// simulator of Geweke (2004).
func simulate(c *Chain, s *source) {
	p := c.cfg.Prior
	gaussian := func(mean, variance float64) float64 { return mean + math.Sqrt(variance)*s.normal() }
	for i := range c.theta.Planes {
		c.theta.Planes[i] = gaussian(0, p.Plane)
	}
	for k := range c.K {
		copy(c.theta.Noise[k*c.D*c.D:], flat(drawInverseWishart(c.D, c.D+1, p.Noise, s)))
	}
	var down func(node, depth int, mean []float64)
	down = func(node, depth int, mean []float64) {
		variance := p.Dynamics
		if c.cfg.Hierarchical {
			variance *= math.Pow(p.Shrink, float64(depth))
		}
		w := make([]float64, c.D*c.P)
		k := node - c.tree.inner()
		root := mat.NewTriDense(c.D, mat.Lower, nil)
		for i := range c.D {
			root.SetTri(i, i, 1)
		}
		if k >= 0 {
			var chol mat.Cholesky
			chol.Factorize(mat.NewSymDense(c.D, c.theta.Noise[k*c.D*c.D:(k+1)*c.D*c.D]))
			chol.LTo(root)
		}
		for j := range c.P {
			var column mat.VecDense
			column.MulVec(root, mat.NewVecDense(c.D, randoms(s, c.D)))
			for i := range c.D {
				w[i*c.P+j] = mean[i*c.P+j] + math.Sqrt(variance)*column.AtVec(i)
			}
		}
		if k >= 0 {
			copy(c.theta.Dynamics[k*c.D*c.P:], w)
			return
		}
		if c.cfg.Hierarchical {
			copy(c.theta.Inner[node*c.D*c.P:], w)
			mean = w
		}
		down(c.tree.child[node][0], depth+1, mean)
		down(c.tree.child[node][1], depth+1, mean)
	}
	down(0, 0, c.centre)
	for i := range c.Dy {
		for ok := false; !ok; ok = c.theta.Measuring[i] >= c.floors[i] {
			c.theta.Measuring[i] = drawInverseWishart(1, 2, p.Measuring, s).At(0, 0)
		}
		for j := range c.D + 1 {
			if !c.cfg.Identity {
				c.theta.Emission[i*(c.D+1)+j] = gaussian(0, c.theta.Measuring[i]*p.Emission)
			}
		}
	}
	for _, span := range c.spans {
		for i := range c.D {
			c.x[span.from*c.D+i] = gaussian(0, p.Start)
		}
		for t := span.from; t < span.to-1; t++ {
			simulateStep(c, t, s)
		}
	}
	simulateObservations(c, s)
}

// drawInverseWishart draws (Σ n nᵀ)⁻¹ over ν normal vectors of covariance I/ψ.
func drawInverseWishart(d, nu int, psi float64, s *source) *mat.Dense {
	var q mat.Dense
	w := mat.NewSymDense(d, nil)
	for range nu {
		w.SymRankOne(w, 1/psi, mat.NewVecDense(d, randoms(s, d)))
	}
	if err := q.Inverse(w); err != nil {
		return drawInverseWishart(d, nu, psi, s)
	}
	return &q
}

func simulateStep(c *Chain, t int, s *source) {
	node := 0
	for node < c.tree.inner() {
		side := 1
		if s.stream.Float64() < 1/(1+math.Exp(-nuOf(c, node, t))) {
			side = 0
		}
		node = c.tree.child[node][side]
	}
	k := node - c.tree.inner()
	c.z[t] = k
	var chol mat.Cholesky
	chol.Factorize(mat.NewSymDense(c.D, c.theta.Noise[k*c.D*c.D:(k+1)*c.D*c.D]))
	var lower mat.TriDense
	chol.LTo(&lower)
	var noise mat.VecDense
	noise.MulVec(&lower, mat.NewVecDense(c.D, randoms(s, c.D)))
	for i := range c.D {
		w := c.theta.Dynamics[(k*c.D+i)*c.P:]
		sum := w[c.P-1] + noise.AtVec(i)
		for j := range c.D {
			sum += w[j] * c.x[t*c.D+j]
		}
		for j := range c.Du {
			sum += w[c.D+j] * c.u[(t+1)*c.Du+j]
		}
		c.x[(t+1)*c.D+i] = sum
	}
}

// simulateObservations draws y given x; what is missing stays so.
func simulateObservations(c *Chain, s *source) {
	for t := range len(c.z) {
		for i := range c.Dy {
			y := c.theta.Emission[i*(c.D+1)+c.D]
			for j := range c.D {
				y += c.theta.Emission[i*(c.D+1)+j] * c.x[t*c.D+j]
			}
			if !math.IsNaN(c.y[t*c.Dy+i]) {
				c.y[t*c.Dy+i] = y + math.Sqrt(c.theta.Measuring[i])*s.normal()
			}
		}
	}
}

// statistics are bounded functions of all variables of a chain, with their names: each value, its square, and products of
// what belongs together in time.
func statistics(c *Chain) (names []string, values []float64) {
	bounded := func(v float64) float64 { return v / (1 + math.Abs(v)) }
	add := func(v float64, format string, args ...any) {
		names = append(names, fmt.Sprintf(format, args...))
		values = append(values, v)
	}
	for _, part := range c.parts() {
		for i, v := range part.Values {
			add(bounded(v), "%s[%d]", part.Name, i)
			add(bounded(v*v), "%s[%d]²", part.Name, i)
		}
	}
	for _, span := range c.spans {
		for t := span.from; t < span.to-1; t++ {
			k, x, next := c.z[t], c.state(t), c.state(t+1)
			for leaf := range c.K {
				share := 0.0
				if leaf == k {
					share = 1
				}
				add(share, "z[%d]=%d", t, leaf)
			}
			for i := range c.D {
				for j := range c.D {
					add(bounded(x[i]*next[j]), "x[%d,%d]·x[%d,%d]", t, i, t+1, j)
					add(bounded(next[j]-c.theta.leaf(k, c.dims)[j*c.P+i]*x[i]), "x′[%d,%d] − A_%d x", t, j, i)
				}
				for j := range c.Du {
					add(bounded(next[i]*c.theta.leaf(k, c.dims)[i*c.P+c.D+j])*c.u[(t+1)*c.Du+j], "x[%d,%d]·Bu", t+1, i)
				}
			}
			for n := range c.tree.inner() {
				add(bounded(nuOf(c, n, t)), "ν_%d(x[%d])", n, t)
			}
		}
		for t := span.from; t < span.to; t++ {
			for i := range c.Dy {
				if y := c.y[t*c.Dy+i]; !math.IsNaN(y) {
					add(bounded(y), "y[%d,%d]", t, i)
					add(bounded(y*c.x[t*c.D]), "y[%d,%d]·x[%d,0]", t, i, t)
				}
			}
		}
	}
	return names, values
}

// A sweep and new observations in turn leave the joint distribution of everything as it is (Geweke 2004). Here many short
// chains start from independent draws of it, so that the change of each statistic has mean zero and its error is known
// exactly, however slowly a chain mixes (Gandy and Scott 2020).
func TestSweep_LeavesTheJointDistributionAsItIs(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"rslds":    {Shape: Caterpillar, Leaves: 3, Latent: 2},
		"trslds":   {Shape: Balanced, Hierarchical: true, Leaves: 3, Latent: 2},
		"identity": {Shape: Balanced, Hierarchical: true, Leaves: 4, Latent: 2, Identity: true},
		"one leaf": {Shape: Caterpillar, Leaves: 1, Latent: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Prior = Prior{Start: 1, Plane: 1.5, Diagonal: 0.5, Dynamics: 0.4, Shrink: 0.6, Noise: 1, Emission: 1, Measuring: 0.5, Resolution: 0.1}
			if cfg.Leaves == 1 { // where all steps share a large A, the squares of x leave no digits for the noise
				cfg.Prior.Dynamics = 0.01
			}
			geweke(t, cfg)
		})
	}
}

func geweke(t *testing.T, cfg Config) {
	s := testSource(3000 + uint32(cfg.Leaves))
	data := Data{Observed: 3, Controls: 1}
	if cfg.Identity {
		data.Observed = 2
	}
	for _, n := range []int{5, 1, 3} {
		r := Recording{Y: randoms(&s, data.Observed*n), U: randoms(&s, n)}
		r.Y[len(r.Y)-2] = math.NaN()
		data.Recordings = append(data.Recordings, r)
	}
	c, err := newChain(cfg, data, rng.New(5, rng.Noise), 2)
	if err != nil {
		t.Fatal(err)
	}
	const chains, sweeps = gewekeChains, 5
	var names []string
	var sum, square []float64
	for range chains {
		simulate(c, &s)
		_, before := statistics(c)
		for range sweeps {
			if err := c.Sweep(); err != nil {
				t.Fatal(err)
			}
			simulateObservations(c, &s)
		}
		var after []float64
		names, after = statistics(c)
		if sum == nil {
			sum, square = make([]float64, len(after)), make([]float64, len(after))
		}
		for i, v := range after {
			sum[i] += (v - before[i]) / chains
			square[i] += (v - before[i]) * (v - before[i]) / chains
		}
	}
	worst := 0.0
	for i, name := range names {
		if square[i] == 0 {
			continue // C = I
		}
		z := sum[i] / math.Sqrt((square[i]-sum[i]*sum[i])/chains)
		worst = max(worst, math.Abs(z))
		if !(math.Abs(z) < 4.5) {
			t.Errorf("%s: its mean moves by %.4f, %.1f standard errors", name, sum[i], z)
		}
	}
	t.Logf("%d statistics, the largest deviation %.1f standard errors", len(names), worst)
}
