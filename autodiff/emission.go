package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// The likelihoods take the mask seen in the shape of x: 0 for a missing value, which counts for
// nothing, and 1 for any other. A mask without columns means that all values were seen.

const halfLog2Pi = 0.91893853320467274178

// GaussianNLL returns the scalar −Σ log N(x; mean, sd²) over the values seen, in nats; sd is a standard deviation.
// x is a constant, mean and sd have gradients.
func (t *Tape) GaussianNLL(x, mean, sd, seen Tensor) Tensor {
	sameShape("GaussianNLL", x, mean, sd)
	mark := t.values.mark()
	// log sd + ½((x − mean)/sd)² + ½·log 2π, value by value.
	terms := t.values.alloc(len(x.Value))
	kernel.Log(terms, sd.Value)
	squares := t.values.alloc(len(x.Value))
	kernel.Sub(squares, x.Value, mean.Value)
	kernel.Div(squares, squares, sd.Value)
	kernel.Mul(squares, squares, squares)
	kernel.Scale(squares, 0.5)
	addConstant(squares, halfLog2Pi)
	kernel.Add(terms, squares)
	sum := sumSeen(terms, x, seen)
	t.values.release(mark)
	y := t.New(1, 1)
	y.Value[0] = sum
	record(t, &t.lists.gaussianNLL, gaussianNLLRecord{x, mean, sd, seen, y})
	return y
}

type gaussianNLLRecord struct{ x, mean, sd, seen, y Tensor }

// With e = (x − mean)/sd: mean̄ −= ȳ·e/sd; sd̄ += ȳ(1 − e²)/sd
func (r *gaussianNLLRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	g, n, sd := r.y.Grad[0], len(r.x.Value), r.sd.Value
	e, d, ones := t.values.alloc(n), t.values.alloc(n), t.ones(n)
	kernel.Sub(e, r.x.Value, r.mean.Value)
	kernel.Div(e, e, sd)

	kernel.Div(d, e, sd)
	scaleSeen(d, g, r.seen)
	kernel.Sub(r.mean.Grad, r.mean.Grad, d)

	kernel.Mul(d, e, e)
	kernel.Sub(d, ones, d)
	kernel.Div(d, d, sd)
	scaleSeen(d, g, r.seen)
	kernel.Add(r.sd.Grad, d)
}

// scaleSeen multiplies gradients by g; those of values that were not seen become 0.
func scaleSeen(d []float32, g float32, seen Tensor) {
	kernel.Scale(d, g)
	dropMissing(d, seen, 0)
}

// BernoulliNLL returns the scalar −Σ log Bernoulli(x; σ(logits)) = Σ softplus(l) − x·l over the values seen, in
// nats. x is a constant of values from 0 to 1. In its VJP a difference σ(l) − x below 2⁻⁶⁴ is 0.
func (t *Tape) BernoulliNLL(x, logits, seen Tensor) Tensor {
	shapeCheck(x.Rows == logits.Rows && x.Cols == logits.Cols, "BernoulliNLL", x, logits)
	mark := t.values.mark()
	terms, product := t.values.alloc(len(x.Value)), t.values.alloc(pass)
	// The loss is formed in passes that stay in the cache; an image has many values.
	for i := 0; i < len(terms); i += pass {
		j := min(i+pass, len(terms))
		kernel.Softplus(terms[i:j], logits.Value[i:j])
		kernel.Mul(product[:j-i], x.Value[i:j], logits.Value[i:j])
		kernel.Sub(terms[i:j], terms[i:j], product[:j-i])
	}
	sum := sumSeen(terms, x, seen)
	t.values.release(mark)
	y := t.New(1, 1)
	y.Value[0] = sum
	record(t, &t.lists.bernoulliNLL, bernoulliNLLRecord{x, logits, seen, y})
	return y
}

type bernoulliNLLRecord struct{ x, logits, seen, y Tensor }

// l̄ += ȳ(σ(l) − x), where a negligible difference is 0
func (r *bernoulliNLLRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	// The first VJP that reaches the logits writes their gradient in place of adding to it.
	scratch, write := t.values.alloc(pass), r.logits.claim()
	for i := 0; i < len(r.x.Value); i += pass {
		j := min(i+pass, len(r.x.Value))
		to := r.logits.Grad[i:j]
		d := to
		if !write {
			d = scratch[:j-i]
		}
		kernel.Sigmoid(d, r.logits.Value[i:j])
		kernel.Sub(d, d, r.x.Value[i:j])
		kernel.DropBelow(d, negligible)
		kernel.Scale(d, r.y.Grad[0])
		dropMissing(d, r.seen, i)
		if !write {
			kernel.Add(to, d)
		}
	}
}

// negligible is a difference, reached at a logit of −44.4, beside which nothing is lost: where a one is predicted,
// float32 has no difference but 0 below 2⁻²⁴.
const negligible = 0x1p-64

// dropMissing sets the terms of values that were not seen to 0; terms begin at the value first.
func dropMissing(terms []float32, seen Tensor, first int) {
	if seen.Cols == 0 {
		return
	}
	for i := range terms {
		if seen.Value[first+i] == 0 {
			terms[i] = 0
		}
	}
}

// sumSeen is the sum of the terms of x that were seen; it overwrites the others.
func sumSeen(terms []float32, x, seen Tensor) float32 {
	if seen.Cols > 0 {
		sameShape("likelihood mask", x, seen)
	}
	dropMissing(terms, seen, 0)
	return kernel.Sum(terms)
}

// HideRows returns x with zeros in the rows that were not seen; seen is [rows,1]. x may hold anything there, also
// a NaN.
func (t *Tape) HideRows(x, seen Tensor) Tensor {
	shapeCheck(seen.Rows == x.Rows && seen.Cols == 1, "HideRows", x, seen)
	y := t.New(x.Rows, x.Cols)
	for row := range x.Rows {
		if seen.Value[row] == 0 {
			clear(y.row(row))
		} else {
			copy(y.row(row), x.row(row))
		}
	}
	record(t, &t.lists.hideRows, hideRowsRecord{x, seen, y})
	return y
}

type hideRowsRecord struct{ x, seen, y Tensor }

// x̄ += ȳ in the rows seen
func (r *hideRowsRecord) backward(*Tape) {
	if r.x.Grad == nil {
		return
	}
	r.y.settle()
	r.x.settle()
	for row := range r.y.Rows {
		if r.seen.Value[row] != 0 {
			kernel.Add(r.x.gradRow(row), r.y.gradRow(row))
		}
	}
}
