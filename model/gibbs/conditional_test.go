package gibbs

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// tinyPrior is wide enough that prior and data both matter.
func tinyPrior() Prior {
	return Prior{Start: 1.5, Plane: 2, Diagonal: 0.5, Dynamics: 0.6, Shrink: 0.5, Noise: 0.4, Emission: 1.2, Measuring: 0.3, Resolution: 0.1}
}

// tinyChain has one latent dimension, so that conditionals can be integrated on a grid, and a state of random numbers.
func tinyChain(t *testing.T, hierarchical bool, leaves int, lengths ...int) *Chain {
	t.Helper()
	s := testSource(2000)
	data := Data{Observed: 2, Controls: 1}
	for _, n := range lengths {
		r := Recording{Y: randoms(&s, 2*n), U: randoms(&s, n)}
		r.Y[1] = math.NaN()
		data.Recordings = append(data.Recordings, r)
	}
	shape := Caterpillar
	if hierarchical {
		shape = Balanced
	}
	cfg := Config{Shape: shape, Hierarchical: hierarchical, Leaves: leaves, Latent: 1, Prior: tinyPrior()}
	c, err := newChain(cfg, data, rng.New(3, rng.Noise), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range c.parts() {
		s.normals(part.Values)
	}
	for i := range c.theta.Noise {
		c.theta.Noise[i] = 0.3 + 0.2*float64(i)
	}
	for i := range c.theta.Measuring {
		c.theta.Measuring[i] = 0.4 + 0.3*float64(i)
	}
	for t := range c.z {
		c.z[t] = s.stream.IntN(leaves)
	}
	return c
}

// axis is a value that is integrated over.
type axis struct {
	value  *float64
	log    bool    // on a grid in its logarithm
	least  float64 // no value is below, on the grid's scale; 0 if nothing is
	lo, hi float64 // the grid
}

func (a axis) set(v float64) {
	if a.log {
		v = math.Exp(v)
	}
	*a.value = v
}

func (a axis) read() float64 {
	if a.log {
		return math.Log(*a.value)
	}
	return *a.value
}

// integrate returns mean and variance of each axis under the density, by the midpoint rule on n points per axis.
func integrate(axes []axis, n int, logDensity func() float64) (mean, variance []float64) {
	before := make([]float64, len(axes))
	for i, a := range axes {
		before[i] = *a.value
	}
	mean, variance = make([]float64, len(axes)), make([]float64, len(axes))
	point := make([]float64, len(axes))
	total, scale := 0.0, math.Inf(-1)
	var visit func(i int)
	visit = func(i int) {
		if i < len(axes) {
			for j := range n {
				point[i] = axes[i].lo + (axes[i].hi-axes[i].lo)*(float64(j)+0.5)/float64(n)
				axes[i].set(point[i])
				visit(i + 1)
			}
			return
		}
		l := logDensity()
		if math.IsInf(l, -1) {
			return
		}
		for j, a := range axes {
			if a.log { // the density of the logarithm
				l += point[j]
			}
		}
		if l > scale { // keep the sums in units of the largest density
			f := math.Exp(scale - l)
			total *= f
			for j := range axes {
				mean[j] *= f
				variance[j] *= f
			}
			scale = l
		}
		w := math.Exp(l - scale)
		total += w
		for j, v := range point {
			mean[j] += w * v
			variance[j] += w * v * v
		}
	}
	visit(0)
	for i, a := range axes {
		mean[i] /= total
		variance[i] = variance[i]/total - mean[i]*mean[i]
		*a.value = before[i]
	}
	return mean, variance
}

// agree compares draws of each axis with numerical integration: mean and variance, to 4.5 standard errors. The grid reaches
// beyond the draws, and a density that has mass where no draws are shows in the moments.
func agree(t *testing.T, what string, axes []axis, grid, draws int, logDensity func() float64, next func()) {
	t.Helper()
	values := make([][]float64, len(axes))
	for range draws {
		next()
		for i, a := range axes {
			values[i] = append(values[i], a.read())
		}
	}
	for i, v := range values {
		reach := 0.15 * (slices.Max(v) - slices.Min(v))
		axes[i].lo, axes[i].hi = slices.Min(v)-reach, slices.Max(v)+reach
		if axes[i].least != 0 {
			axes[i].lo = axes[i].least
		}
	}
	mean, variance := integrate(axes, grid, logDensity)
	for i := range axes {
		compare(t, fmt.Sprintf("%s, mean of value %d", what, i), values[i], mean[i])
		compare(t, fmt.Sprintf("%s, variance of value %d", what, i), each([][]float64{values[i]}, func(v float64) float64 {
			return (v - mean[i]) * (v - mean[i])
		})[0], variance[i])
	}
}

// compare tests whether draws, which may be correlated, have the mean wanted.
func compare(t *testing.T, what string, draws []float64, want float64) {
	t.Helper()
	means, variance, _ := moments([][]float64{draws})
	if se := math.Sqrt(variance / effectiveSize(split2([][]float64{draws}))); !(math.Abs(means[0]-want) < 4.5*se+1e-9) {
		t.Errorf("%s: %.5f, want %.5f: %.1f standard errors", what, means[0], want, (means[0]-want)/se)
	}
}

// The weights from which a regime is drawn are the joint density, normalised.
func TestRegimes_HaveTheirConditional(t *testing.T) {
	for _, hierarchical := range []bool{false, true} {
		c := tinyChain(t, hierarchical, 3, 5, 3)
		for k := range c.K {
			c.regimes[k].set(c.theta.leaf(k, c.dims), c.theta.noise(k, c.dims), c.square, c.dims)
		}
		s := testSource(2001)
		for _, step := range []int{0, 1, 3, 5, 6} {
			c.setFeatures(step)
			evidence := c.drawRegime(step, &s) - 0.5*log2Pi
			weights, total := append([]float64(nil), c.logWeight...), 0.0
			want, sum := make([]float64, c.K), 0.0
			drawn := c.z[step]
			for k := range c.K {
				total += weights[k]
				c.z[step] = k
				want[k] = math.Exp(logJoint(c, false))
				sum += want[k]
			}
			c.z[step] = drawn
			for k := range c.K {
				if got := weights[k] / total; math.Abs(got-want[k]/sum) > 1e-12 {
					t.Errorf("step %d: leaf %d has probability %v, want %v", step, k, got, want[k]/sum)
				}
			}
			// The evidence is what the joint has beyond the terms without z_t.
			rest := logJoint(c, false) - logTurns(c, step) - logStep(c, step)
			if got := math.Log(sum) - rest; math.Abs(got-evidence) > 1e-9 {
				t.Errorf("step %d: ln p(x' | x) = %v, want %v", step, evidence, got)
			}
		}
	}
}

// ω and hyperplane in turn have the posterior of a logistic regression, in which ω does not appear.
func TestHyperplanes_HaveTheirConditional(t *testing.T) {
	c := tinyChain(t, false, 3, 9, 4)
	for n := range c.tree.inner() {
		plane := c.theta.plane(n, c.dims)
		axes := []axis{{value: &plane[0]}, {value: &plane[1]}}
		sweep := 0
		agree(t, fmt.Sprintf("hyperplane %d", n), axes, 60, 30000, func() float64 { return logJoint(c, false) }, func() {
			sweep++
			s := at(c.key, uint64(sweep), 0, drawRegimes, n)
			c.planes[n].reset()
			for _, span := range c.spans {
				for step := span.from; step < span.to-1; step++ {
					for i := range c.nu {
						c.nu[i] = height(c.theta.plane(i, c.dims), c.state(step))
					}
					c.augment(step, &s)
				}
			}
			c.planes[n].draw(plane, 1/c.cfg.Prior.Plane, &s)
			for i := range c.planes {
				c.planes[i].reset()
			}
		})
	}
}

func TestDynamics_HaveTheirConditional(t *testing.T) {
	for _, hierarchical := range []bool{false, true} {
		c := tinyChain(t, hierarchical, 2, 8, 5)
		const k = 1
		w, q := c.theta.leaf(k, c.dims), c.theta.noise(k, c.dims)
		axes := []axis{{value: &w[0]}, {value: &w[1]}, {value: &w[2]}, {value: &q[0], log: true}}
		agree(t, "dynamics", axes, 26, 30000, func() float64 { return logJoint(c, false) }, func() {
			c.sweep++
			for _, r := range c.leaves {
				r.reset()
			}
			for _, span := range c.spans {
				for step := span.from; step < span.to-1; step++ {
					c.setFeatures(step)
					c.collect(step)
				}
			}
			other := append([]float64(nil), c.theta.leaf(0, c.dims)...)
			otherNoise := c.theta.Noise[0]
			if err := c.drawLeaves(); err != nil {
				t.Fatal(err)
			}
			copy(c.theta.leaf(0, c.dims), other)
			c.theta.Noise[0] = otherNoise
		})
	}
}

// The inner nodes are drawn in turn, so one draw of each must be the conditional given the ones before: for three leaves the
// second node is below the root.
func TestInnerNodes_HaveTheirConditional(t *testing.T) {
	c := tinyChain(t, true, 3, 4)
	for k := range c.K {
		c.regimes[k].set(c.theta.leaf(k, c.dims), c.theta.noise(k, c.dims), c.square, c.dims)
	}
	root, below := c.theta.inner(0, c.dims), c.theta.inner(1, c.dims)
	axes := []axis{{value: &root[0]}, {value: &root[2]}, {value: &below[0]}, {value: &below[2]}}
	agree(t, "inner nodes", axes, 26, 30000, func() float64 { return logPrior(c) }, func() {
		c.sweep++
		if err := c.drawInner(); err != nil {
			t.Fatal(err)
		}
	})
}

// The states of a recording are drawn as one block: their joint conditional given ω is Gaussian.
func TestStates_HaveTheirConditional(t *testing.T) {
	c := tinyChain(t, false, 3, 4)
	s := testSource(2002)
	for i := range c.theta.Planes { // so that turns say as much of x as observations do
		c.theta.Planes[i] *= 3
	}
	copy(c.z, []int{1, 2, 0, 0})
	for k := range c.K {
		c.regimes[k].set(c.theta.leaf(k, c.dims), c.theta.noise(k, c.dims), c.square, c.dims)
	}
	for step := range 3 {
		for i := range c.nu {
			c.nu[i] = height(c.theta.plane(i, c.dims), c.state(step))
		}
		c.augment(step, &s)
	}
	var axes []axis
	for i := range c.x {
		axes = append(axes, axis{value: &c.x[i]})
	}
	agree(t, "states", axes, 26, 30000, func() float64 { return logJoint(c, true) }, func() {
		c.sweep++
		if err := c.drawStates(); err != nil {
			t.Fatal(err)
		}
	})
	products := func() float64 { return c.x[0]*c.x[1] + 2*c.x[1]*c.x[2] + 3*c.x[2]*c.x[3] }
	want := expectation(axes, 26, func() float64 { return logJoint(c, true) }, products)
	var draws []float64
	for range 30000 {
		c.sweep++
		if err := c.drawStates(); err != nil {
			t.Fatal(err)
		}
		draws = append(draws, products())
	}
	compare(t, "products of neighbours", draws, want)
}

// expectation integrates f under the density.
func expectation(axes []axis, n int, logDensity, f func() float64) float64 {
	total, sum := 0.0, 0.0
	base := logDensity()
	integrate(axes, n, func() float64 {
		l := logDensity()
		w := math.Exp(l - base)
		total += w
		sum += w * f()
		return l
	})
	return sum / total
}

func TestEmission_HasItsConditional(t *testing.T) {
	for _, resolution := range []float64{0.1, 0.9} {
		c := tinyChain(t, false, 2, 6, 5)
		c.cfg.Prior.Resolution = resolution
		c.setFloors()
		const i = 1 // the dimension with missing values
		row := c.theta.row(i, c.dims)
		axes := []axis{{value: &row[0]}, {value: &row[1]}, {value: &c.theta.Measuring[i], log: true, least: math.Log(c.floors[i])}}
		agree(t, "emission", axes, 40, 30000, func() float64 { return logJoint(c, false) }, func() {
			c.sweep++
			if err := c.drawEmission(); err != nil {
				t.Fatal(err)
			}
			copy(c.theta.row(0, c.dims), []float64{1, 0})
			c.theta.Measuring[0] = 1
		})
		c.sweep++
		if err := c.drawEmission(); err != nil {
			t.Fatal(err)
		}
		total, seen := 0.0, 0.0
		for step := range len(c.z) {
			total += logObservation(c, step)
			for _, y := range c.y[2*step : 2*step+2] {
				if !math.IsNaN(y) {
					seen++
				}
			}
		}
		if got, want := c.emission, total/seen; math.Abs(got-want) > 1e-9 {
			t.Errorf("mean ln p(y | x) = %v, want %v", got, want)
		}
	}
}
