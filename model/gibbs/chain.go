package gibbs

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/rng"
)

// Chain is one Markov chain over parameters, regimes and states. It serves one goroutine.
//
// Between two sweeps the sums in leaves, planes and rows and the regimes are of no use: a sweep sets them before
// it reads them. So parameters, states, regimes z and the number of sweeps are all of its state.
type Chain struct {
	cfg Config
	dims
	tree  *tree
	key   rng.Key
	index uint32

	// The data, all recordings one after the other.
	spans  []span
	y      []float64 // [N,Dy]
	u      []float64 // [N,Du]
	floors []float64 // [Dy] s_i, the least S_i

	// The state. Regimes exist where a transition follows, that is, at all but the last step of a recording.
	sweep uint64
	theta Params
	x     []float64 // [N,D]
	z     []int     // [N]
	omega []float64 // [N, height of the tree], in the order of the path to z_t
	scalars

	regimes []regime      // of theta, set at the beginning of a sweep
	leaves  []*regression // of x_{t+1} − M x̃_t on x̃_t, by leaf
	planes  []*plane
	rows    []*regression // of y_i on (x, 1), by observed dimension
	states  *states

	// Scratch of a step, but for W̄, which is constant.
	centre                            []float64 // [D,P] W̄
	features, next, residual, centred []float64 // [P], [D], [D], [D]
	nu, logPi, logWeight              []float64 // [K−1], [K], [K]
	square, right                     []float64 // [D,D], [D,P]
	homogeneous                       []float64 // [D+1] (x, 1)
}

// span is the place of a recording in the arrays of a chain: steps [from, to).
type span struct{ from, to int }

// scalars are what a sweep reports of itself: they do not depend on how the regimes are numbered.
type scalars struct {
	transition float64 // mean of ln p(x_{t+1} | x_t) over transitions, regimes summed out
	emission   float64 // mean of ln p(y_ti | x_t) over observed values
	switching  float64 // share of steps whose regime is not that of the step before
}

// ScalarNames names the values of Chain.Scalars.
func ScalarNames() []string { return []string{"transition", "emission", "switching"} }

// Scalars returns, of the latest sweep, the mean log density of a transition with the regimes summed out, the mean log
// density of an observed value, and the share of steps at which the regime changes. No renumbering of regimes changes
// them, so they compare between chains.
func (c *Chain) Scalars() []float64 { return []float64{c.transition, c.emission, c.switching} }

// New returns a chain before its first sweep: states from the observations, regimes from a tree that is fitted
// greedily. The result is a function of the arguments alone, and chains of different index start apart. The data
// are copied. It returns ErrConfig and ErrData for arguments that describe nothing that can be fitted, and
// ErrNumeric if no start can be found.
func New(cfg Config, data Data, key rng.Key, index uint32) (*Chain, error) {
	c, err := newChain(cfg, data, key, index)
	if err != nil {
		return nil, err
	}
	if err := data.observed(); err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	return c, nil
}

// newChain builds a chain without a state: x, z and θ are zeros (with C = I where it is not drawn), which start,
// Restore and conditional fill.
func newChain(cfg Config, data Data, key rng.Key, index uint32) (*Chain, error) {
	if err := data.validate(); err != nil {
		return nil, err
	}
	if err := cfg.validate(data); err != nil {
		return nil, err
	}
	d := cfg.dims(data.Observed, data.Controls)
	c := &Chain{cfg: cfg, dims: d, tree: newTree(cfg.Shape, cfg.Leaves), key: key, index: index, theta: newParams(cfg, d)}
	longest := 0
	for _, r := range data.Recordings {
		from := len(c.y) / d.Dy
		c.spans = append(c.spans, span{from, from + data.steps(r)})
		c.y, c.u = append(c.y, r.Y...), append(c.u, r.U...)
		longest = max(longest, data.steps(r))
	}
	n := len(c.y) / d.Dy
	c.x, c.z, c.omega = make([]float64, n*d.D), make([]int, n), make([]float64, n*c.tree.height)
	c.allocate(longest)
	c.setFloors()
	return c, nil
}

// allocate makes the scratch of all draws, so that a sweep allocates next to nothing. longest is the length of the
// longest recording, which the draw of states needs room for.
func (c *Chain) allocate(longest int) {
	d := c.dims
	c.regimes = newRegimes(d)
	for range d.K {
		c.leaves = append(c.leaves, newRegression(d.D, d.P))
	}
	for range d.K - 1 {
		c.planes = append(c.planes, newPlane(d.D))
	}
	for range d.Dy {
		c.rows = append(c.rows, newRegression(1, d.D+1))
	}
	c.states = newStates(d, longest)
	vector := func(n int) []float64 { return make([]float64, n) }
	c.centre = vector(d.D * d.P)
	for i := range d.D {
		c.centre[i*d.P+i] = c.cfg.Prior.Diagonal
	}
	c.features, c.next, c.residual, c.centred = vector(d.P), vector(d.D), vector(d.D), vector(d.D)
	c.nu, c.logPi, c.logWeight = vector(d.K-1), vector(d.K), vector(d.K)
	c.square, c.right, c.homogeneous = vector(d.D*d.D), vector(d.D*d.P), vector(d.D+1)
	c.homogeneous[d.D] = 1
}

// leastFloor is the least variance of the noise of a dimension that never varies.
const leastFloor = 1e-300

// setFloors sets the least variance of the noise of each observed dimension,
//
//	s_i = max(Resolution² · Var y_i, 1e-300)
//
// over the values that were seen. A dimension that never varies has the smaller number, whose inverse is finite.
func (c *Chain) setFloors() {
	c.floors = make([]float64, c.Dy)
	for i := range c.floors {
		mean, n := 0.0, 0.0
		for t := range len(c.z) {
			if y := c.y[t*c.Dy+i]; !math.IsNaN(y) {
				n++
				mean += (y - mean) / n
			}
		}
		square := 0.0
		for t := range len(c.z) {
			if y := c.y[t*c.Dy+i]; !math.IsNaN(y) {
				square += float64((y-mean)*(y-mean)) / n
			}
		}
		r := c.cfg.Prior.Resolution
		c.floors[i] = max(float64(r*r*square), leastFloor)
	}
}

// Sweeps is the number of sweeps that the chain has done.
func (c *Chain) Sweeps() uint64 { return c.sweep }

// Sweep draws every unknown once, in the order of the package comment. After an error, which wraps ErrNumeric, the
// chain must not be used.
//
// The draw of the regimes collects the sums that the hyperplanes and the dynamics are drawn from: x must not
// change between them. The scalars transition and switching are therefore of the states and parameters before the
// sweep, emission of those after it.
func (c *Chain) Sweep() error {
	c.sweep++
	for _, step := range []struct {
		name string
		draw func() error
	}{
		{"regimes", c.drawRegimes},
		{"hyperplanes", c.drawPlanes},
		{"dynamics", c.drawLeaves},
		{"inner nodes", c.drawInner},
		{"states", c.drawStates},
		{"emission", c.drawEmission},
	} {
		if err := step.draw(); err != nil {
			return fmt.Errorf("sweep %d of chain %d, draw the %s: %w", c.sweep, c.index, step.name, err)
		}
	}
	return nil
}

// source returns the random numbers of one phase of this sweep. index is the recording, node, leaf or observed
// dimension: the numbers of one do not depend on how many another used.
func (c *Chain) source(p phase, index int) source { return at(c.key, c.sweep, c.index, p, index) }

// state returns x_t, a view.
func (c *Chain) state(t int) []float64 { return c.x[t*c.D : (t+1)*c.D] }

// setFeatures makes features x̃_t = [x_t; u_{t+1}; 1]. Step t+1 must belong to the same recording.
func (c *Chain) setFeatures(t int) {
	copy(c.features, c.state(t))
	copy(c.features[c.D:], c.u[(t+1)*c.Du:(t+2)*c.Du])
	c.features[c.P-1] = 1
}

// priorMean returns the prior mean [D,P] of W of a node, a view, and the factor v of its covariance: W̄ and v, or
// under a hierarchical prior W_pa(n), of the root W̄, and λ^depth(n) v.
func (c *Chain) priorMean(node int) (mean []float64, v float64) {
	v = c.cfg.Prior.Dynamics
	if !c.cfg.Hierarchical {
		return c.centre, v
	}
	for range c.tree.depth[node] {
		v *= c.cfg.Prior.Shrink
	}
	if parent := c.tree.parent[node]; parent >= 0 {
		return c.theta.inner(parent, c.dims), v
	}
	return c.centre, v
}

// The parts of the parameters that belong to one node or leaf.

func (p Params) inner(n int, d dims) []float64 { return p.Inner[n*d.D*d.P : (n+1)*d.D*d.P] }
func (p Params) leaf(k int, d dims) []float64  { return p.Dynamics[k*d.D*d.P : (k+1)*d.D*d.P] }
func (p Params) noise(k int, d dims) []float64 { return p.Noise[k*d.D*d.D : (k+1)*d.D*d.D] }
func (p Params) plane(n int, d dims) []float64 { return p.Planes[n*(d.D+1) : (n+1)*(d.D+1)] }
func (p Params) row(i int, d dims) []float64   { return p.Emission[i*(d.D+1) : (i+1)*(d.D+1)] }

// height returns ν = R·x + r of the plane (R, r).
func height(plane, x []float64) float64 { return matrix.Dot(x, plane) + plane[len(x)] }
