package statespace

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// Systems are the base systems of a transition with nu controls, without noise. Rows of inputs beyond the controls, if
// the transition has others, come behind them and are left to the caller.
func (n Matrices) Systems(systems, nz, nu int) model.Systems {
	s := model.NewSystems(systems, nz, nu)
	s.Residual = n.residual
	a := n.A.Values()
	// The transition may have more inputs than controls: a row of B is one of them.
	inputs := 0
	if n.B != nil {
		inputs = n.B.Rows / systems
	}
	for k := range systems {
		for i := range nz { // z_i ← Σ_j z_j A_ji: rows become columns
			for j := range nz {
				s.A[(k*nz+i)*nz+j] = float64(a[(k*nz+j)*nz+i])
			}
			if n.residual {
				s.A[(k*nz+i)*nz+i]++
			}
			for j := range min(nu, inputs) {
				s.B[(k*nz+i)*nu+j] = float64(n.B.Values()[(k*inputs+j)*nz+i])
			}
		}
	}
	return s
}

// Systems are the base systems of the transition.
func (n LocallyLinear) Systems(systems, nz, nu int) model.Systems {
	s := n.Matrices.Systems(systems, nz, nu)
	n.Q.Diagonals(s.Q, nz)
	s.Floor = float64(n.Q.floor)
	return s
}

// Diagonals writes the variances, with the floor, into the diagonals of matrices [M, nz, nz].
func (v Variances) Diagonals(dst []float64, nz int) {
	for i, b := range v.base.Values() {
		dst[i/nz*nz*nz+i%nz*(nz+1)] = softplus(float64(b)) + float64(v.floor)
	}
}

// softplus is log(1 + eˣ), without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
