package gibbs

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// The greedy fit of the tree. At each node the transitions are split in two: a mixture of two linear systems whose gate
// is the logistic function of a hyperplane (Jordan and Jacobs 1994) is fitted by expectation-maximisation from random
// hyperplanes, and the best fit's hyperplane divides the transitions for the nodes below.

const (
	growPoints = 3000 // transitions that a split is fitted to; they are taken at equal distances
	growTries  = 6    // random hyperplanes
	growRounds = 15   // of expectation-maximisation
	gateRounds = 3    // of the gate's fit within each
)

// expert is a linear system of the fit: W [D,P], Q [D,D], and the regime of both, which has its densities.
type expert struct {
	w, q   []float64
	regime regime
}

// split is a fitted node: the left side is where R·x + r ≥ 0.
type split struct {
	plane []float64  // [D+1]
	sides [2]*expert // left and right
	gain  float64    // of the log likelihood, over one linear system
}

// grower is a chain whose tree is fitted, with the scratch of the fit. It writes into the parameters of the chain.
type grower struct {
	*Chain
	draw   *source
	sum    *regression
	gate   *plane
	weight []float64 // of the left side, by point
	common []float64 // [D,D] noise covariance of both sides
}

// newGrower draws from s. Its scratch has room for growPoints points.
func newGrower(c *Chain, s *source) *grower {
	return &grower{
		Chain: c, draw: s, sum: newRegression(c.D, c.P), gate: newPlane(c.D), weight: make([]float64, growPoints),
		common: make([]float64, c.D*c.D),
	}
}

// growTree fits the hyperplanes and the dynamics of all leaves. It reads x, and draws random hyperplanes from s in
// the order in which nodes are fitted. It returns ErrNumeric if one linear system cannot be fitted to the
// transitions of a node.
func (c *Chain) growTree(s *source) error {
	g := newGrower(c, s)
	var points []int
	for _, span := range c.spans {
		for t := span.from; t < span.to-1; t++ {
			points = append(points, t)
		}
	}
	whole, err := g.fitWhole(points)
	if err != nil {
		return err
	}
	root := 0
	if c.K == 1 {
		root = c.tree.inner()
	}
	return g.grow(root, points, whole, nil)
}

// grow fits the subtree of a node to the points, the first steps of transitions; whole is one linear system for
// all of them, and known the split of the node if it has been found already. At a leaf the system is whole.
func (g *grower) grow(node int, points []int, whole *expert, known *split) error {
	if k := node - g.tree.inner(); k >= 0 {
		copy(g.theta.leaf(k, g.dims), whole.w)
		copy(g.theta.noise(k, g.dims), whole.q)
		return nil
	}
	if known == nil {
		known = g.bestSplit(points, whole)
	}
	// Without a gain both children begin with all points and one system, and the plane of zeros does not choose.
	parts := [2][]int{points, points}
	if known.gain > 0 {
		parts = g.divide(points, known)
		for i := range parts {
			side, err := g.fitWhole(parts[i])
			if err != nil {
				return err
			}
			known.sides[i] = side
		}
	}
	children := g.tree.child[node]
	var below [2]*split
	if isLeaf := func(i int) bool { return children[i] >= g.tree.inner() }; isLeaf(0) != isLeaf(1) {
		// The side that gains more from another split becomes the child that has one.
		for i := range parts {
			below[i] = g.bestSplit(parts[i], known.sides[i])
		}
		if better := below[0].gain > below[1].gain; better == isLeaf(0) {
			slices.Reverse(parts[:])
			slices.Reverse(below[:])
			slices.Reverse(known.sides[:])
			for i := range known.plane {
				known.plane[i] = -known.plane[i]
			}
		}
	}
	copy(g.theta.plane(node, g.dims), known.plane)
	for i, child := range children {
		if err := g.grow(child, parts[i], known.sides[i], below[i]); err != nil {
			return err
		}
	}
	return nil
}

// divide returns the points on the left, R·x + r ≥ 0, and on the right of a split, in their order.
func (g *grower) divide(points []int, s *split) (parts [2][]int) {
	for _, t := range points {
		side := 0
		if height(s.plane, g.state(t)) < 0 {
			side = 1
		}
		parts[side] = append(parts[side], t)
	}
	return parts
}

// sample returns at most growPoints of the points, at equal distances; points themselves where they are few.
func sample(points []int) []int {
	if len(points) <= growPoints {
		return points
	}
	some := make([]int, growPoints)
	for i := range some {
		some[i] = points[i*len(points)/growPoints]
	}
	return some
}

// fitWhole fits one linear system to all points; without points it is the prior mean. It returns ErrNumeric if
// their noise is zero to rounding.
func (g *grower) fitWhole(points []int) (*expert, error) {
	e := &expert{w: make([]float64, g.D*g.P), q: make([]float64, g.D*g.D), regime: newRegimes(dims{K: 1, D: g.D})[0]}
	g.sum.reset()
	for _, t := range points {
		g.enter(t, 1)
	}
	if !g.fit(e) {
		return nil,
			fmt.Errorf("%w: one linear system cannot be fitted to %d transitions: scale the data or raise Prior.Noise",
				ErrNumeric, len(points))
	}
	return e, nil
}

// enter adds the transition from t to the regression of x_{t+1} − W̄ x̃_t on x̃_t, so that the prior of the
// coefficients has the mean 0.
func (g *grower) enter(t int, weight float64) {
	g.setFeatures(t)
	for i, x := range g.state(t + 1) {
		g.centred[i] = x - matrix.Dot(g.features, g.centre[i*g.P:(i+1)*g.P])
	}
	g.sum.add(weight, g.features, g.centred)
}

// fit sets an expert to the estimate of the regression under the prior of a leaf, and reports whether Q is
// positive definite. ψ grows with the weight n, so that Q stays at about ψ or above where transitions have no
// noise, however many there are.
func (g *grower) fit(e *expert) bool {
	if !g.sum.estimate(e.w, e.q, 1/g.cfg.Prior.Dynamics, float64(g.D+1), float64(g.cfg.Prior.Noise*(g.sum.n+1))) {
		return false
	}
	matrix.AddScaled(e.w, 1, g.centre)
	return e.regime.set(e.w, e.q, g.square, g.dims)
}

// bestSplit returns the best of several fits, to a sample of the points. Where none succeeds, or there are too few
// points for two systems, both sides are the whole, without a gain.
func (g *grower) bestSplit(points []int, whole *expert) *split {
	best := &split{plane: make([]float64, g.D+1), sides: [2]*expert{whole, whole}}
	points = sample(points)
	if len(points) < 4*g.P {
		return best
	}
	// The log likelihood of one system for all points: what a split has to beat.
	base := 0.0
	for _, t := range points {
		g.setFeatures(t)
		base += whole.regime.logTransition(g.residual, g.features, g.state(t+1))
	}
	for range growTries {
		if s, ok := g.trySplit(points); ok {
			s.gain -= base
			if s.gain > best.gain {
				best = s
			}
		}
	}
	return best
}

// trySplit fits a split from a random hyperplane by expectation-maximisation; its gain is the log likelihood Σ
// ln(σ(ν) N_left + σ(−ν) N_right). The first weights are those of the hyperplane alone. It returns false if a side
// becomes too small to be fitted.
func (g *grower) trySplit(points []int) (*split, bool) {
	s := &split{plane: make([]float64, g.D+1)}
	for i := range s.sides {
		s.sides[i] = &expert{
			w: make([]float64, g.D*g.P), q: make([]float64, g.D*g.D),
			regime: newRegimes(dims{K: 1, D: g.D})[0],
		}
	}
	g.randomPlane(s.plane, points)
	for i, t := range points {
		g.weight[i] = matrix.Logistic(height(s.plane, g.state(t)))
	}
	for range growRounds {
		if !g.fitSides(s, points) {
			return nil, false
		}
		if !g.fitGate(s.plane, points) {
			return nil, false
		}
		s.gain = g.weigh(s, points)
	}
	return s, true
}

// fitSides fits both systems under the weights, with a common noise covariance: with one for each, a dimension without
// noise would make the larger side so likely that no even split is found.
func (g *grower) fitSides(s *split, points []int) bool {
	clear(g.common)
	for side, e := range s.sides {
		g.sum.reset()
		for i, t := range points {
			weight := g.weight[i]
			if side == 1 {
				weight = 1 - weight
			}
			g.enter(t, weight)
		}
		// A side needs twice as much weight as a row of W has unknowns.
		if g.sum.n < float64(2*g.P) || !g.fit(e) {
			return false
		}
		matrix.AddScaled(g.common, g.sum.n/float64(len(points)), e.q)
	}
	for _, e := range s.sides {
		copy(e.q, g.common)
		if !e.regime.set(e.w, e.q, g.square, g.dims) {
			return false
		}
	}
	return true
}

// randomPlane draws a hyperplane through one of the points: R_j = 4 ε_j / sd_j, so that the gate turns within a
// fraction of the spread of the points whatever their units. It draws the point, then D normal numbers.
func (g *grower) randomPlane(plane []float64, points []int) {
	through := g.state(points[g.draw.stream.IntN(len(points))])
	n := float64(len(points))
	plane[g.D] = 0
	for j := range g.D {
		mean, square := 0.0, 0.0
		for _, t := range points {
			v := g.state(t)[j]
			mean += v / n
			square += float64(v*v) / n
		}
		sd := math.Sqrt(max(square-float64(mean*mean), 1e-12))
		plane[j] = 4 * g.draw.normal() / sd
		plane[g.D] -= float64(plane[j] * through[j])
	}
}

// fitGate moves the hyperplane towards the weights w of the left side, by expectation-maximisation over
// Pólya-gamma variables: each round solves
//
//	Λ = I/v_R + Σ ω̄ x̃ x̃ᵀ,  h = Σ (w − ½) x̃,  ω̄ = tanh(ν/2)/(2ν)
//
// for Λ⁻¹h. No round can make the fit worse (Polson, Scott and Windle 2013).
func (g *grower) fitGate(plane []float64, points []int) bool {
	for range gateRounds {
		g.gate.reset()
		for i, t := range points {
			copy(g.homogeneous, g.state(t))
			nu := height(plane, g.state(t))
			// The mean of PG(1, ν) is ¼ at ν = 0, near which its formula loses all digits.
			omega := 0.25
			if math.Abs(nu) > 1e-4 {
				omega = (matrix.Logistic(nu) - 0.5) / nu
			}
			g.gate.add(omega, g.weight[i]-0.5, g.homogeneous)
		}
		if !g.gate.mean(plane, 1/g.cfg.Prior.Plane) {
			return false
		}
	}
	return true
}

// weigh sets the weights to the posterior probabilities of the left side, the E-step, and returns the log
// likelihood. ln(eˡ + eʳ) is r + Softplus(l−r).
func (g *grower) weigh(s *split, points []int) float64 {
	total := 0.0
	for i, t := range points {
		g.setFeatures(t)
		nu := height(s.plane, g.state(t))
		left := s.sides[0].regime.logTransition(g.residual, g.features, g.state(t+1)) - matrix.Softplus(-nu)
		right := s.sides[1].regime.logTransition(g.residual, g.features, g.state(t+1)) - matrix.Softplus(nu)
		g.weight[i] = matrix.Logistic(left - right)
		total += right + matrix.Softplus(left-right)
	}
	return total
}
