package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Scale returns y = c·x for a constant c; −x is Scale(x, −1).
func (t *Tape) Scale(x Tensor, c float32) Tensor {
	y := t.result(x.Rows, x.Cols, x)
	copy(y.Value, x.Value)
	kernel.Scale(y.Value, c)
	record(t, &t.lists.scale, scaleRecord{x, y, c})
	return y
}

type scaleRecord struct {
	x, y Tensor
	c    float32
}

// x̄ += c·ȳ
func (r *scaleRecord) backward(*Tape) {
	if r.x.Grad != nil {
		kernel.AddScaled(r.x.Grad, r.c, r.y.Grad)
	}
}

// AddScalar returns y = x + c for a constant c.
func (t *Tape) AddScalar(x Tensor, c float32) Tensor {
	y := t.result(x.Rows, x.Cols, x)
	copy(y.Value, x.Value)
	addConstant(y.Value, c)
	record(t, &t.lists.addScalar, addScalarRecord{x, y})
	return y
}

type addScalarRecord struct{ x, y Tensor }

// x̄ += ȳ
func (r *addScalarRecord) backward(*Tape) {
	if r.x.Grad != nil {
		kernel.Add(r.x.Grad, r.y.Grad)
	}
}

// Square returns y = x², element by element.
func (t *Tape) Square(x Tensor) Tensor {
	y := t.result(x.Rows, x.Cols, x)
	kernel.Mul(y.Value, x.Value, x.Value)
	record(t, &t.lists.square, squareRecord{x, y})
	return y
}

type squareRecord struct{ x, y Tensor }

// x̄ += 2·ȳ·x
func (r *squareRecord) backward(*Tape) {
	for i := range r.x.Grad {
		r.x.Grad[i] += float32(2 * float32(r.y.Grad[i]*r.x.Value[i]))
	}
}

// Exp returns y = eˣ, element by element.
func (t *Tape) Exp(x Tensor) Tensor {
	y := t.result(x.Rows, x.Cols, x)
	kernel.Exp(y.Value, x.Value)
	record(t, &t.lists.exp, expRecord{x, y})
	return y
}

type expRecord struct{ x, y Tensor }

// x̄ += ȳ·y
func (r *expRecord) backward(*Tape) {
	if r.x.Grad != nil {
		kernel.AddMul(r.x.Grad, r.y.Grad, r.y.Value)
	}
}

// Log returns y = ln x, element by element; ln 0 is −∞, and NaN below.
func (t *Tape) Log(x Tensor) Tensor {
	y := t.result(x.Rows, x.Cols, x)
	kernel.Log(y.Value, x.Value)
	record(t, &t.lists.log, logRecord{x, y})
	return y
}

type logRecord struct{ x, y Tensor }

// x̄ += ȳ/x
func (r *logRecord) backward(*Tape) {
	for i := range r.x.Grad {
		r.x.Grad[i] += r.y.Grad[i] / r.x.Value[i]
	}
}

// Tanh returns y = tanh x, element by element.
func (t *Tape) Tanh(x Tensor) Tensor {
	y := t.result(x.Rows, x.Cols, x)
	kernel.Tanh(y.Value, x.Value)
	record(t, &t.lists.tanh, tanhRecord{x, y})
	return y
}

type tanhRecord struct{ x, y Tensor }

// x̄ += ȳ·(1 − y²)
func (r *tanhRecord) backward(t *Tape) {
	if r.x.Grad == nil {
		return
	}
	mark := t.values.mark()
	defer t.values.release(mark)
	d := t.values.alloc(len(r.y.Grad))
	kernel.TanhBackward(d, r.y.Grad, r.y.Value)
	kernel.Add(r.x.Grad, d)
}

// ReLU returns y = max(x, 0); after a linear layer, Linear does it in one go.
func (t *Tape) ReLU(x Tensor) Tensor {
	y := t.result(x.Rows, x.Cols, x)
	kernel.ReLU(y.Value, x.Value)
	record(t, &t.lists.relu, reluRecord{x, y})
	return y
}

type reluRecord struct{ x, y Tensor }

// x̄ += ȳ·[y > 0]
func (r *reluRecord) backward(*Tape) {
	for i := range r.x.Grad {
		if r.y.Value[i] > 0 {
			r.x.Grad[i] += r.y.Grad[i]
		}
	}
}
