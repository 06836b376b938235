package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Mixture is a transition by a weighted sum of base matrices, step by step:
//
//	y = z + Σᵢ wᵢ·(z·Aᵢ + u·Bᵢ)
//
// Aᵢ is rows [i·nz, (i+1)·nz) of A and maps a row vector z to a row vector; likewise Bᵢ for u.
// The sum over i is one matrix product with the outer product of w and z (or u), so its weight
// gradients are formed once over all steps, as in StepLinear.
type Mixture struct {
	tape *Tape
	r    mixGroupRecord
}

// MixtureArgs names the tensors of all steps; block i of each belongs to step i.
type MixtureArgs struct {
	Y, Weights, Z Tensor // [rows,nz], [rows,M], [rows,nz]
	U             Tensor // [rows,nu]; nu may be 0
	A, B          *Weight
	Residual      bool // whether z itself is added
	Block         int  // rows per step
}

// Mixture puts the transition on the tape; Step then computes it. The outer products of all steps stay on the tape
// for the weight gradients: rows·M·(nz + nu) numbers.
func (t *Tape) Mixture(a MixtureArgs) Mixture {
	m := a.Weights.Cols
	shapeCheck(a.A.Rows == m*a.Z.Cols && a.A.Cols == a.Y.Cols, "Mixture", a.Z, a.Y)
	clearAll(a.Y, a.Weights, a.Z, a.U)
	r := mixGroupRecord{args: a, outerZ: t.scratch(a.Y.Rows, m*a.Z.Cols)}
	if a.U.Cols > 0 {
		r.outerU = t.scratch(a.Y.Rows, m*a.U.Cols)
	}
	record(t, &t.lists.mixGroup, r)
	return Mixture{t, r}
}

// Step computes block i of Y from block i of Weights, Z and U.
func (m Mixture) Step(i int) {
	t, a, n := m.tape, m.r.args, m.r.args.Block
	y, w, z := a.Y.Block(i, n), a.Weights.Block(i, n), a.Z.Block(i, n)
	s := mixMeanRecord{args: a, y: y, w: w, z: z}
	if a.Residual {
		copy(y.Value, z.Value)
	}
	outer := m.r.outerZ.Block(i, n)
	kernel.Outer(outer.values(), w.values(), z.values())
	t.multiply(y.values(), outer.values(), &a.A.forward, kernel.Epilogue{Accumulate: a.Residual})
	if a.U.Cols > 0 {
		s.u = a.U.Block(i, n)
		outer := m.r.outerU.Block(i, n)
		kernel.Outer(outer.values(), w.values(), s.u.values())
		t.multiply(y.values(), outer.values(), &a.B.forward, kernel.Epilogue{Accumulate: true})
	}
	record(t, &t.lists.mixMean, s)
}

type mixMeanRecord struct {
	args       MixtureArgs
	y, w, z, u Tensor
}

// z̄ += ȳ (residual); O = ȳ·Aᵀ is the gradient of w⊗z:  w̄ᵢ += ⟨Oᵢ, z⟩, z̄ += Σᵢ wᵢ·Oᵢ; likewise w̄ for u.
func (r *mixMeanRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	if r.args.Residual {
		kernel.Add(r.z.Grad, r.y.Grad)
	}
	// Gradients of the weights are formed by the group, over all steps.
	outer := t.scratch(r.y.Rows, r.args.A.Rows)
	t.multiply(outer.values(), r.y.grads(), &r.args.A.backward, kernel.Epilogue{})
	outerVJP(outer, r.w, r.z)
	if r.u.Cols > 0 {
		outer := t.scratch(r.y.Rows, r.args.B.Rows)
		t.multiply(outer.values(), r.y.grads(), &r.args.B.backward, kernel.Epilogue{})
		outerVJP(outer, r.w, r.u)
	}
}

// outerVJP adds the gradients of w and x, given that of their outer product: w̄ᵢ += ⟨Oᵢ, x⟩ and x̄ += Σᵢ wᵢ·Oᵢ. x
// may be a constant.
func outerVJP(outer, w, x Tensor) {
	kernel.AddDots(w.grads(), outer.values(), x.values())
	if x.Grad != nil {
		kernel.AddWeightedRows(x.grads(), w.values(), outer.values())
	}
}

type mixGroupRecord struct {
	args           MixtureArgs
	outerZ, outerU Tensor
}

// Ā += (w⊗z)ᵀ·ȳ; B̄ += (w⊗u)ᵀ·ȳ over all steps
func (r *mixGroupRecord) backward(t *Tape) {
	accumulateWeight(t, r.args.A, r.args.Y, r.outerZ)
	if r.outerU.Cols > 0 {
		accumulateWeight(t, r.args.B, r.args.Y, r.outerU)
	}
}

// VarianceMixture mixes base variances step by step: y = w·V + floor, with V of shape [M,nz].
type VarianceMixture struct {
	tape *Tape
	r    mixVarianceGroupRecord
}

// VarianceMixture puts the mixing of all steps on the tape; block i of y [rows, nz] and w [rows, M] belongs to
// step i. V is transposed once for the VJPs of all steps.
func (t *Tape) VarianceMixture(y, w, v Tensor, floor float32, block int) VarianceMixture {
	shapeCheck(w.Cols == v.Rows && y.Cols == v.Cols && y.Rows == w.Rows, "VarianceMixture", w, v)
	clearAll(y, w, v)
	r := mixVarianceGroupRecord{y: y, w: w, v: v, floor: floor, block: block}
	// The VJPs of all steps multiply by Vᵀ, which is made once.
	if t.recording() {
		r.transposed = t.scratch(v.Cols, v.Rows)
		for i := range v.Rows {
			for j := range v.Cols {
				r.transposed.Value[j*v.Rows+i] = v.Value[i*v.Cols+j]
			}
		}
	}
	record(t, &t.lists.mixVarGroup, r)
	return VarianceMixture{t, r}
}

// Step computes block i of y.
func (m VarianceMixture) Step(i int) {
	y, w := m.r.y.Block(i, m.r.block), m.r.w.Block(i, m.r.block)
	for j := range y.Value {
		y.Value[j] = m.r.floor
	}
	m.tape.multiplySmall(y.values(), w.values(), m.r.v.values(), kernel.Epilogue{Accumulate: true})
	record(m.tape, &m.tape.lists.mixVariance, mixVarianceRecord{y, w, m.r.transposed})
}

type mixVarianceRecord struct{ y, w, transposed Tensor }

// w̄ += ȳ·Vᵀ
func (r *mixVarianceRecord) backward(t *Tape) {
	t.multiplySmall(r.w.grads(), r.y.grads(), r.transposed.values(), kernel.Epilogue{Accumulate: true})
}

type mixVarianceGroupRecord struct {
	y, w, v, transposed Tensor
	floor               float32
	block               int
}

// V̄ += wᵀ·ȳ over all steps
func (r *mixVarianceGroupRecord) backward(t *Tape) {
	t.multiplyTransA(r.v.grads(), r.w.values(), r.y.grads(), kernel.Epilogue{Accumulate: true})
}
