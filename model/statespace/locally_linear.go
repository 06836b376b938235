package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// Matrices are the M base matrices of a locally linear transition, Aᵢ of the state and Bᵢ of the input.
type Matrices struct {
	A, B     *autodiff.Weight // [M·nz, nz] and [M·nu, nz]; B is nil without inputs
	residual bool
}

// NewMatrices declares NAME.A and NAME.B, drawn from N(0, 1/(M·nz)²). With residual, z itself is added to what A makes
// of it.
func NewMatrices(p *autodiff.Params, name string, systems, nz, nu int, residual bool, draws *rng.Stream) Matrices {
	n := Matrices{A: p.Matrix(name+".A", systems*nz, nz), residual: residual}
	scale := 1 / float64(systems*nz)
	n.A.InitNormal(draws, scale)
	if nu > 0 {
		n.B = p.Matrix(name+".B", systems*nu, nz)
		n.B.InitNormal(draws, scale)
	}
	return n
}

// Steps puts y = z + Σᵢ wᵢ(z·Aᵢ + u·Bᵢ) on the tape of a recurrence with blocks of the given rows; without
// residual the z before the sum is left out. All steps are in y and z [n, nz], weights [n, M] and u [n, nu].
func (n Matrices) Steps(t *autodiff.Tape, y, weights, z, u autodiff.Tensor, block int) autodiff.Mixture {
	return t.Mixture(autodiff.MixtureArgs{
		Y: y, Weights: weights, Z: z, U: u, A: n.A, B: n.B, Residual: n.residual,
		Block: block,
	})
}

// Variances are the M diagonal base variances of a transition, before the softplus.
type Variances struct {
	base  *autodiff.Weight // [M, nz]
	floor float32
}

// NewVariances declares base variances, the softplus of which is drawn from U(0, 1/(10·M)); the floor is added to every
// mixture of them.
func NewVariances(p *autodiff.Params, name string, systems, nz int, floor float32, draws *rng.Stream) Variances {
	v := Variances{p.Table(name, systems, nz), floor}
	v.base.InitSoftplusInverse(draws, 1/float64(10*systems))
	return v
}

// Steps puts y = Σᵢ wᵢ·softplus(vᵢ) + floor on the tape of a recurrence; y is [n, nz], weights [n, M]. The
// softplus is taken once for all steps.
func (v Variances) Steps(t *autodiff.Tape, y, weights autodiff.Tensor, block int) autodiff.VarianceMixture {
	return t.VarianceMixture(y, weights, t.Softplus(t.Param(v.base), 0), v.floor, block)
}

// Each returns softplus(v) + floor, the variances of every system, [M, nz].
func (v Variances) Each(t *autodiff.Tape) autodiff.Tensor {
	return t.Softplus(t.Param(v.base), v.floor)
}

// Fill starts all variances at a value of at most 1, beside the floor.
func (v Variances) Fill(variance float64) { v.base.FillSoftplusInverse(variance) }

// LocallyLinear is the transition
//
//	p(z_t | z_{t−1}, w, u_t) = N(z_{t−1} + Σᵢ wᵢ(Aᵢ z_{t−1} + Bᵢ u_t), Σᵢ wᵢ Qᵢ)
//
// whose mean inference shares, with base variances of its own. (Karl et al. 2017b; Becker-Ehmck et al. 2019.)
type LocallyLinear struct {
	Matrices
	Q, QInference Variances
}

// NewLocallyLinear declares the parameters of the transition: transition.A, .B, .Q and .Q_inference.
func NewLocallyLinear(p *autodiff.Params, systems, nz, nu int, residual bool, floor float32,
	draws *rng.Stream,
) LocallyLinear {
	return LocallyLinear{
		Matrices:   NewMatrices(p, "transition", systems, nz, nu, residual, draws),
		Q:          NewVariances(p, "transition.Q", systems, nz, floor, draws),
		QInference: NewVariances(p, "transition.Q_inference", systems, nz, floor, draws),
	}
}

// Transition is a LocallyLinear on the tape of a recurrence; block i of every tensor belongs to step i.
type Transition struct {
	Mean          autodiff.Tensor // μ_t, [steps·block, nz]
	Q, QInference autodiff.Tensor // mixed variances

	mixMean     autodiff.Mixture
	mixQ, mixQI autodiff.VarianceMixture
}

// Steps lays out the recurrence over z, which has one block more than the weights: step i leads from block i of z to
// block i+1.
func (n LocallyLinear) Steps(t *autodiff.Tape, weights, z, u autodiff.Tensor, block int) Transition {
	rows, nz := weights.Rows, z.Cols
	s := Transition{Mean: t.New(rows, nz), Q: t.New(rows, nz), QInference: t.New(rows, nz)}
	s.mixMean = n.Matrices.Steps(t, s.Mean, weights, z.Slice(0, rows), u, block)
	s.mixQ = n.Q.Steps(t, s.Q, weights, block)
	s.mixQI = n.QInference.Steps(t, s.QInference, weights, block)
	return s
}

// Step computes mean and variances of step i from its mixing weights, which must have been written before.
func (s *Transition) Step(i int) {
	s.mixMean.Step(i)
	s.mixQ.Step(i)
	s.mixQI.Step(i)
}
