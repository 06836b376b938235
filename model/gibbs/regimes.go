package gibbs

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// drawRegimes draws z and ω, recording by recording, and collects what the draws of hyperplanes and dynamics need
// of them.
//
//	p(z_t = k | x, θ) ∝ π_k(x_t) N(x_{t+1}; W_k x̃_t, Q_k)
//	ω_tn ~ PG(1, ν_n(x_t)) for the nodes n above leaf z_t
//
// Given x and θ the steps are independent, and the pair (z, ω) is drawn as one block.
//
// Each recording has a stream of its own. Of a step first z_t is drawn, then ω from the root down. No z is drawn
// at the last step of a recording, which has no transition. It returns ErrNumeric if a noise covariance is not
// positive definite.
func (c *Chain) drawRegimes() error {
	for k := range c.regimes {
		if !c.regimes[k].set(c.theta.leaf(k, c.dims), c.theta.noise(k, c.dims), c.square, c.dims) {
			return fmt.Errorf("%w: the noise covariance of regime %d is not positive definite: raise Prior.Noise or scale "+
				"the data", ErrNumeric, k)
		}
		c.leaves[k].reset()
	}
	for _, p := range c.planes {
		p.reset()
	}
	transitions, changes, density := 0, 0, 0.0
	for i, span := range c.spans {
		s := c.source(drawRegimes, i)
		for t := span.from; t < span.to-1; t++ {
			c.setFeatures(t)
			density += c.drawRegime(t, &s)
			c.augment(t, &s)
			c.collect(t)
			transitions++
			if t > span.from && c.z[t] != c.z[t-1] {
				changes++
			}
		}
	}
	// Densities of single steps leave out −D/2 ln 2π, which all leaves share.
	c.transition = density/float64(transitions) - float64(0.5*float64(c.D)*log2Pi)
	c.switching = float64(changes) / float64(transitions)
	return nil
}

// log2Pi is ln 2π.
const log2Pi = 1.8378770664093454836

// drawRegime draws z_t and returns ln Σ_k π_k(x_t) N(x_{t+1}; W_k x̃_t, Q_k) + D/2 ln 2π. It leaves ν in c.nu. The
// features of step t are set.
func (c *Chain) drawRegime(t int, s *source) float64 {
	x, next := c.state(t), c.state(t+1)
	for n := range c.nu {
		c.nu[n] = height(c.theta.plane(n, c.dims), x)
	}
	c.tree.logProbabilities(c.logPi, c.nu)
	for k := range c.regimes {
		c.logWeight[k] = c.logPi[k] + c.regimes[k].logTransition(c.residual, c.features, next)
	}
	largest, total := normalise(c.logWeight)
	c.z[t] = s.categorical(c.logWeight)
	return largest + matrix.Log(total)
}

// normalise replaces log weights by weights whose largest is 1, so that no exponential overflows and not all are
// zero. It returns the log of the largest before, and the sum.
func normalise(w []float64) (largest, total float64) {
	largest = w[0]
	for _, v := range w[1:] {
		largest = max(largest, v)
	}
	for k, v := range w {
		w[k] = matrix.Exp(v - largest)
		total += w[k]
	}
	return largest, total
}

// augment draws ω for the nodes above z_t and enters them into the hyperplanes' conditionals. κ is +½ for a turn
// to the left and −½ for one to the right. Nodes that the path does not lead through get nothing of the step.
func (c *Chain) augment(t int, s *source) {
	copy(c.homogeneous, c.state(t))
	for i, turn := range c.tree.paths[c.z[t]] {
		omega := polyaGamma(s, c.nu[turn.node])
		c.omega[t*c.tree.height+i] = omega
		c.planes[turn.node].add(omega, 0.5*turn.sign, c.homogeneous)
	}
}

// collect enters the transition from t into the regression of its leaf, with x_{t+1} − M x̃_t as the target, M the
// prior mean of the leaf. Under a hierarchical prior that is W of the parent, which does not change before the
// leaves are drawn.
func (c *Chain) collect(t int) {
	k := c.z[t]
	mean, _ := c.priorMean(c.tree.inner() + k)
	for i, x := range c.state(t + 1) {
		c.centred[i] = x - matrix.Dot(c.features, mean[i*c.P:(i+1)*c.P])
	}
	c.leaves[k].add(1, c.features, c.centred)
}
