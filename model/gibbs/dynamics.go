package gibbs

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// drawLeaves draws W_k and Q_k of each leaf from their conditional, which is the prior where no step has the
// regime. With M the prior mean of W_k and the sums over its steps (see regression)
//
//	Q_k ~ IW(D+1+n_k, Ψ_k),  W_k − M | Q_k ~ MN(W̄_k, Q_k, Λ_k⁻¹)
//
// It sets the regimes anew, which the draws of inner nodes and states read. It returns ErrNumeric if a covariance
// is not positive definite to rounding.
func (c *Chain) drawLeaves() error {
	for k, r := range c.leaves {
		s := c.source(drawLeaves, k)
		w, q := c.theta.leaf(k, c.dims), c.theta.noise(k, c.dims)
		mean, v := c.priorMean(c.tree.inner() + k)
		if !r.draw(w, q, 1/v, float64(c.D+1), c.cfg.Prior.Noise, &s) {
			return fmt.Errorf("%w: the noise of regime %d is zero to rounding: raise Prior.Noise or scale the data", ErrNumeric,
				k)
		}
		matrix.AddScaled(w, 1, mean)
		if !c.regimes[k].set(w, q, c.square, c.dims) {
			return fmt.Errorf("%w: the noise covariance of regime %d is not positive definite: raise Prior.Noise or scale "+
				"the data", ErrNumeric, k)
		}
	}
	return nil
}

// drawInner draws W_n of each inner node of a TrSLDS, from the root down. With v_n the prior variance at the node,
// v_c that at its children, and Λ_c = I for an inner child, Q_c⁻¹ for a leaf, each column of W_n is Gaussian with
//
//	Λ = I/v_n + Σ_c Λ_c/v_c,  mean = Λ⁻¹ (W_pa(n)/v_n + Σ_c Λ_c W_c/v_c)
//
// Parents come before children, so a node is drawn given its new parent, the old inner nodes below it and the new
// leaves. The D by D precision is common to all P columns.
func (c *Chain) drawInner() error {
	if !c.cfg.Hierarchical {
		return nil
	}
	for n := range c.tree.inner() {
		precision, right := c.square, c.right
		mean, v := c.priorMean(n)
		clear(precision)
		clear(right)
		for i := range c.D {
			precision[i*c.D+i] = 1 / v
		}
		matrix.AddScaled(right, 1/v, mean)
		v *= c.cfg.Prior.Shrink
		for _, child := range c.tree.child[n] {
			c.addChild(precision, right, child, 1/v)
		}
		if !matrix.Cholesky(precision, c.D) {
			return fmt.Errorf("%w: the precision of node %d is not positive definite", ErrNumeric, n)
		}
		s := c.source(drawInner, n)
		// With L of the precision, W = L⁻ᵀ(L⁻¹ right + ε) has the mean and covariance that are wanted.
		matrix.SolveLowerRows(precision, right, c.D, c.P)
		w := c.theta.inner(n, c.dims)
		for i := range w {
			w[i] = right[i] + s.normal()
		}
		matrix.SolveUpperRows(precision, w, c.D, c.P)
	}
	return nil
}

// addChild adds Λ_c/v_c to the precision [D,D] and Λ_c W_c/v_c to the right-hand side [D,P]; scale is 1/v_c.
func (c *Chain) addChild(precision, right []float64, child int, scale float64) {
	if k := child - c.tree.inner(); k >= 0 {
		w := c.theta.leaf(k, c.dims)
		matrix.AddScaled(precision, scale, c.regimes[k].precision)
		for i := range c.D {
			for j := range c.D {
				matrix.AddScaled(right[i*c.P:(i+1)*c.P], float64(scale*c.regimes[k].precision[i*c.D+j]), w[j*c.P:(j+1)*c.P])
			}
		}
		return
	}
	for i := range c.D {
		precision[i*c.D+i] += scale
	}
	matrix.AddScaled(right, scale, c.theta.inner(child, c.dims))
}
