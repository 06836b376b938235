package gibbs

import "math"

// The oracle of the conditionals: the joint density of a chain's variables, written from the model's definition with other
// code than the sampler's: package math, and loops that follow the formulas of the package comment. It is for chains of one
// latent dimension and one control, of which conditionals can be integrated on a grid.

func logNormal(x, mean, variance float64) float64 {
	return -0.5 * (math.Log(2*math.Pi*variance) + (x-mean)*(x-mean)/variance)
}

func logSigmoid(x float64) float64 { return -math.Log1p(math.Exp(-x)) }

// logTurns is ln π_z(x_t), by walking up from the leaf.
func logTurns(c *Chain, t int) float64 {
	sum := 0.0
	for node := c.tree.inner() + c.z[t]; c.tree.parent[node] >= 0; node = c.tree.parent[node] {
		sum += logSigmoid(signOf(c, node) * nuOf(c, c.tree.parent[node], t))
	}
	return sum
}

// logAugmented is the density of the turns and ω under ω's own base density PG(1, 0): Σ κν − ων²/2.
func logAugmented(c *Chain, t int) float64 {
	sum := 0.0
	for i, turn := range c.tree.paths[c.z[t]] {
		nu := nuOf(c, turn.node, t)
		sum += turn.sign*nu/2 - c.omega[t*c.tree.height+i]*nu*nu/2
	}
	return sum
}

func signOf(c *Chain, node int) float64 {
	if c.tree.child[c.tree.parent[node]][0] == node {
		return 1
	}
	return -1
}

func nuOf(c *Chain, n, t int) float64 {
	nu := c.theta.Planes[n*(c.D+1)+c.D]
	for i := range c.D {
		nu += c.theta.Planes[n*(c.D+1)+i] * c.x[t*c.D+i]
	}
	return nu
}

// logJoint is ln p(y, x, z, θ), or with ω in place of the logistic functions.
func logJoint(c *Chain, augmented bool) float64 {
	total := logPrior(c)
	for _, s := range c.spans {
		for i := range c.D {
			total += logNormal(c.x[s.from*c.D+i], 0, c.cfg.Prior.Start)
		}
		for t := s.from; t < s.to; t++ {
			total += logObservation(c, t)
			if t == s.to-1 {
				break
			}
			if augmented {
				total += logAugmented(c, t)
			} else {
				total += logTurns(c, t)
			}
			total += logStep(c, t)
		}
	}
	return total
}

// logStep is ln N(x_{t+1}; A x_t + B u_{t+1} + b, Q) of the regime at t.
func logStep(c *Chain, t int) float64 {
	w := c.theta.Dynamics[3*c.z[t]:]
	return logNormal(c.x[t+1], w[0]*c.x[t]+w[1]*c.u[t+1]+w[2], c.theta.Noise[c.z[t]])
}

func logObservation(c *Chain, t int) float64 {
	sum := 0.0
	for i := range c.Dy {
		y := c.y[t*c.Dy+i]
		if math.IsNaN(y) {
			continue
		}
		row := c.theta.Emission[i*(c.D+1):]
		mean := row[c.D]
		for j := range c.D {
			mean += row[j] * c.x[t*c.D+j]
		}
		sum += logNormal(y, mean, c.theta.Measuring[i])
	}
	return sum
}

func logPrior(c *Chain) float64 {
	p, sum := c.cfg.Prior, 0.0
	for _, v := range c.theta.Planes {
		sum += logNormal(v, 0, p.Plane)
	}
	for node := range 2*c.K - 1 {
		k := node - c.tree.inner()
		if k < 0 && !c.cfg.Hierarchical {
			continue
		}
		variance, parent := p.Dynamics, -1
		if c.cfg.Hierarchical {
			variance *= math.Pow(p.Shrink, float64(c.tree.depth[node]))
			parent = c.tree.parent[node]
		}
		mean, w := []float64{p.Diagonal, 0, 0}, c.theta.Dynamics[3*max(k, 0):]
		if parent >= 0 {
			mean = c.theta.Inner[3*parent : 3*parent+3]
		}
		if k < 0 {
			w = c.theta.Inner[3*node:]
		} else {
			variance *= c.theta.Noise[k]
			sum += logInverseWishart(c.theta.Noise[k], 2, p.Noise)
		}
		for j, m := range mean {
			sum += logNormal(w[j], m, variance)
		}
	}
	for i, s := range c.theta.Measuring {
		if s < c.floors[i] {
			return math.Inf(-1)
		}
		sum += logInverseWishart(s, 2, p.Measuring)
		for j := range c.D + 1 {
			if !c.cfg.Identity {
				sum += logNormal(c.theta.Emission[i*(c.D+1)+j], 0, s*p.Emission)
			}
		}
	}
	return sum
}

// logInverseWishart is ln IW(q; ν, ψ) in one dimension, without its constant.
func logInverseWishart(q, nu, psi float64) float64 { return -(nu+2)/2*math.Log(q) - psi/(2*q) }
