package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Draw writes the reparameterised draw y = mean + √variance⊙ε (Kingma & Welling 2014). The noise ε is a constant
// of the shape of y; mean and variance have gradients.
func (t *Tape) Draw(y, mean, variance, noise Tensor) {
	sameShape("Draw", y, mean, variance, noise)
	drawInto(y.Value, mean.Value, variance.Value, noise.Value)
	record(t, &t.lists.draw, drawRecord{y, mean, variance, noise})
}

// drawInto writes y = mean + √variance⊙ε.
func drawInto(y, mean, variance, noise []float32) {
	kernel.Sqrt(y, variance)
	kernel.Mul(y, y, noise)
	kernel.Add(y, mean)
}

type drawRecord struct{ y, mean, variance, noise Tensor }

// mean̄ += ȳ; variancē += ȳ·ε/(2√variance)
func (r *drawRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	kernel.Add(r.mean.Grad, r.y.Grad)
	kernel.Add(r.variance.Grad, t.drawVJP(r.y.Grad, r.variance.Value, r.noise.Value))
}

// drawVJP returns ȳ·ε/(2√variance), in scratch memory.
func (t *Tape) drawVJP(dy, variance, noise []float32) []float32 {
	dv, root := t.values.alloc(len(dy)), t.values.alloc(len(dy))
	kernel.Sqrt(root, variance)
	kernel.Scale(root, 2)
	kernel.Mul(dv, dy, noise)
	kernel.Div(dv, dv, root)
	return dv
}

// GaussianKL returns the scalar Σ KL[N(mq, vq) ‖ N(mp, vp)] over all elements, vq and vp variances:
//
//	½·log(vp/vq) + (vq + (mq − mp)²)/(2vp) − ½
func (t *Tape) GaussianKL(mq, vq, mp, vp Tensor) Tensor {
	sameShape("GaussianKL", mq, vq, mp, vp)
	mark := t.values.mark()
	// logP becomes the terms of the sum.
	logQ, logP := t.values.alloc(len(mq.Value)), t.values.alloc(len(mq.Value))
	kernel.Log(logQ, vq.Value)
	kernel.Log(logP, vp.Value)
	kernel.Sub(logP, logP, logQ)
	moment := logQ // is not used again
	kernel.Sub(moment, mq.Value, mp.Value)
	kernel.Mul(moment, moment, moment)
	kernel.Add(moment, vq.Value)
	kernel.Div(moment, moment, vp.Value)
	kernel.Add(logP, moment)
	addConstant(logP, -1)
	kernel.Scale(logP, 0.5)
	sum := kernel.Sum(logP)
	t.values.release(mark)
	y := t.New(1, 1)
	y.Value[0] = sum
	record(t, &t.lists.gaussianKL, gaussianKLRecord{mq, vq, mp, vp, y})
	return y
}

type gaussianKLRecord struct{ mq, vq, mp, vp, y Tensor }

// With δ = mq − mp: m̄q += ȳδ/vp; m̄p −= ȳδ/vp; v̄q += ½ȳ(1/vp − 1/vq); v̄p += ½ȳ(1/vp)(1 − (vq + δ²)/vp)
func (r *gaussianKLRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	g, n := r.y.Grad[0], len(r.vq.Value)
	ones, precision, diff, d := t.ones(n), t.values.alloc(n), t.values.alloc(n), t.values.alloc(n)
	kernel.Div(precision, ones, r.vp.Value)
	kernel.Sub(diff, r.mq.Value, r.mp.Value)

	kernel.Mul(d, diff, precision)
	kernel.Scale(d, g)
	kernel.Add(r.mq.Grad, d)
	kernel.Sub(r.mp.Grad, r.mp.Grad, d)

	kernel.Div(d, ones, r.vq.Value)
	kernel.Sub(d, precision, d)
	kernel.Scale(d, 0.5*g)
	kernel.Add(r.vq.Grad, d)

	kernel.Mul(d, diff, diff)
	kernel.Add(d, r.vq.Value)
	kernel.Mul(d, d, precision)
	kernel.Sub(d, ones, d)
	kernel.Mul(d, d, precision)
	kernel.Scale(d, 0.5*g)
	kernel.Add(r.vp.Grad, d)
}

// StandardKL returns the scalar Σ KL[N(m, v) ‖ N(0, 1)] = Σ ½(v + m² − 1 − log v) over all elements; v are
// variances.
func (t *Tape) StandardKL(mean, variance Tensor) Tensor {
	sameShape("StandardKL", mean, variance)
	mark := t.values.mark()
	terms := t.values.alloc(len(mean.Value))
	kernel.Log(terms, variance.Value)
	for i, m := range mean.Value {
		terms[i] = float32(0.5 * (variance.Value[i] + float32(m*m) - 1 - terms[i]))
	}
	sum := kernel.Sum(terms)
	t.values.release(mark)
	y := t.New(1, 1)
	y.Value[0] = sum
	record(t, &t.lists.standardKL, standardKLRecord{mean, variance, y})
	return y
}

type standardKLRecord struct{ mean, variance, y Tensor }

// m̄ += ȳ·m; v̄ += ½ȳ(1 − 1/v)
func (r *standardKLRecord) backward(*Tape) {
	g := r.y.Grad[0]
	kernel.AddScaled(r.mean.Grad, g, r.mean.Value)
	for i, v := range r.variance.Value {
		r.variance.Grad[i] += float32(float32(0.5*g) * (1 - 1/v))
	}
}

// Repeat returns a tensor whose rows are all the row x.
func (t *Tape) Repeat(x Tensor, rows int) Tensor {
	shapeCheck(x.Rows == 1, "Repeat", x, x)
	clearAll(x)
	y := t.New(rows, x.Cols)
	for i := range rows {
		copy(y.row(i), x.Value)
	}
	record(t, &t.lists.repeat, repeatRecord{x, y})
	return y
}

type repeatRecord struct{ x, y Tensor }

// x̄ += Σ_rows ȳ
func (r *repeatRecord) backward(*Tape) {
	if r.x.Grad != nil {
		kernel.AddSumColumns(r.x.Grad, r.y.grads())
	}
}
