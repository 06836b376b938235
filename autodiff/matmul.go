package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Linear and StepLinear multiply by a packed weight and are the faster form for layers. The products here take any
// two tensors; a weight is one by Tape.Param. Every element is one chain of FMAs over ascending k.

// MatMul returns z = x·y for x [m, k] and y [k, n].
func (t *Tape) MatMul(x, y Tensor) Tensor {
	shapeCheck(x.Cols == y.Rows, "MatMul", x, y)
	z := t.result(x.Rows, y.Cols, x, y)
	t.multiplySmall(z.values(), x.values(), y.values(), kernel.Epilogue{})
	record(t, &t.lists.matMul, matMulRecord{x, y, z})
	return z
}

type matMulRecord struct{ x, y, z Tensor }

// x̄ += z̄·yᵀ; ȳ += xᵀ·z̄
func (r *matMulRecord) backward(t *Tape) {
	if r.x.Grad != nil {
		t.multiplyTransB(r.x.grads(), r.z.grads(), r.y.values(), kernel.Epilogue{Accumulate: true})
	}
	if r.y.Grad != nil {
		t.multiplyTransA(r.y.grads(), r.x.values(), r.z.grads(), kernel.Epilogue{Accumulate: true})
	}
}

// MatMulTransA returns z = xᵀ·y for x [k, m] and y [k, n].
func (t *Tape) MatMulTransA(x, y Tensor) Tensor {
	shapeCheck(x.Rows == y.Rows, "MatMulTransA", x, y)
	z := t.result(x.Cols, y.Cols, x, y)
	t.multiplyTransA(z.values(), x.values(), y.values(), kernel.Epilogue{})
	record(t, &t.lists.matMulTransA, matMulTransARecord{x, y, z})
	return z
}

type matMulTransARecord struct{ x, y, z Tensor }

// x̄ += y·z̄ᵀ; ȳ += x·z̄
func (r *matMulTransARecord) backward(t *Tape) {
	if r.x.Grad != nil {
		t.multiplyTransB(r.x.grads(), r.y.values(), r.z.grads(), kernel.Epilogue{Accumulate: true})
	}
	if r.y.Grad != nil {
		t.multiplySmall(r.y.grads(), r.x.values(), r.z.grads(), kernel.Epilogue{Accumulate: true})
	}
}

// MatMulTransB returns z = x·yᵀ for x [m, k] and y [n, k].
func (t *Tape) MatMulTransB(x, y Tensor) Tensor {
	shapeCheck(x.Cols == y.Cols, "MatMulTransB", x, y)
	z := t.result(x.Rows, y.Rows, x, y)
	t.multiplyTransB(z.values(), x.values(), y.values(), kernel.Epilogue{})
	record(t, &t.lists.matMulTransB, matMulTransBRecord{x, y, z})
	return z
}

type matMulTransBRecord struct{ x, y, z Tensor }

// x̄ += z̄·y; ȳ += z̄ᵀ·x
func (r *matMulTransBRecord) backward(t *Tape) {
	if r.x.Grad != nil {
		t.multiplySmall(r.x.grads(), r.z.grads(), r.y.values(), kernel.Epilogue{Accumulate: true})
	}
	if r.y.Grad != nil {
		t.multiplyTransA(r.y.grads(), r.z.grads(), r.x.values(), kernel.Epilogue{Accumulate: true})
	}
}
