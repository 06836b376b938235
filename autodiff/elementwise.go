package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Softplus returns y = log(1 + eˣ) + floor, element by element: a standard deviation that stays off zero.
func (t *Tape) Softplus(x Tensor, floor float32) Tensor {
	clearAll(x)
	y := t.New(x.Rows, x.Cols)
	kernel.Softplus(y.Value, x.Value)
	addConstant(y.Value, floor)
	record(t, &t.lists.softplus, softplusRecord{x, y})
	return y
}

type softplusRecord struct{ x, y Tensor }

// x̄ += ȳ·σ(x)
func (r *softplusRecord) backward(t *Tape) {
	if r.x.Grad == nil {
		return
	}
	mark := t.values.mark()
	defer t.values.release(mark)
	slope := t.values.alloc(len(r.x.Value))
	kernel.Sigmoid(slope, r.x.Value)
	kernel.AddMul(r.x.Grad, slope, r.y.Grad)
}

// Variance writes y = (log(1 + eˣ) + floor)², element by element: the variance of a head that gives a standard
// deviation.
func (t *Tape) Variance(y, x Tensor, floor float32) {
	sameShape("Variance", y, x)
	sd := t.scratch(x.Rows, x.Cols)
	kernel.Softplus(sd.Value, x.Value)
	addConstant(sd.Value, floor)
	kernel.Mul(y.Value, sd.Value, sd.Value)
	record(t, &t.lists.variance, varianceRecord{x, y, sd})
}

type varianceRecord struct{ x, y, sd Tensor }

// x̄ += ȳ·2·sd·σ(x)
func (r *varianceRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	slope := t.values.alloc(len(r.x.Value))
	kernel.Sigmoid(slope, r.x.Value)
	kernel.Mul(slope, slope, r.sd.Value)
	kernel.Scale(slope, 2)
	kernel.AddMul(r.x.Grad, slope, r.y.Grad)
}

// Sigmoid writes y = 1/(1 + e⁻ˣ), element by element. Where the tape records, y is not x.
func (t *Tape) Sigmoid(y, x Tensor) {
	sameShape("Sigmoid", y, x)
	kernel.Sigmoid(y.Value, x.Value)
	record(t, &t.lists.sigmoid, sigmoidRecord{x, y})
}

type sigmoidRecord struct{ x, y Tensor }

// x̄ += ȳ·y·(1 − y)
func (r *sigmoidRecord) backward(*Tape) {
	for i := range r.x.Grad {
		y := r.y.Value[i]
		r.x.Grad[i] += float32(r.y.Grad[i] * float32(y*(1-y)))
	}
}

// Softmax writes y = softmax(x) row by row. Where the tape records, y is not x.
func (t *Tape) Softmax(y, x Tensor) {
	sameShape("Softmax", y, x)
	kernel.Softmax(y.values(), x.values())
	record(t, &t.lists.softmax, softmaxRecord{x, y})
}

type softmaxRecord struct{ x, y Tensor }

// x̄ += y ⊙ (ȳ − ⟨ȳ, y⟩)
func (r *softmaxRecord) backward(*Tape) {
	if r.x.Grad != nil {
		softmaxVJP(r.x, r.y, 1)
	}
}

// softmaxVJP adds scale·(y ⊙ (ȳ − ⟨ȳ, y⟩)) to x̄, row by row.
func softmaxVJP(x, y Tensor, scale float32) {
	for row := range y.Rows {
		dx, p, dy := x.gradRow(row), y.row(row), y.gradRow(row)
		var dot float32
		for i, g := range dy {
			dot += float32(g * p[i])
		}
		for i, g := range dy {
			dx[i] += float32(scale * float32(p[i]*(g-dot)))
		}
	}
}

// LimitSum writes y = x/m with m = max(0, Σⱼ xⱼ − 1) + 1, row by row: a row whose sum is above one is scaled down to
// a sum of one. x is not negative, and y is not x where the tape records.
func (t *Tape) LimitSum(y, x Tensor) {
	sameShape("LimitSum", y, x)
	for row := range x.Rows {
		m := limit(x.row(row))
		for i, v := range x.row(row) {
			y.row(row)[i] = v / m
		}
	}
	record(t, &t.lists.limitSum, limitSumRecord{x, y})
}

type limitSumRecord struct{ x, y Tensor }

// x̄ += ȳ/m, and where m > 1, x̄ −= ⟨ȳ/m, y⟩, term by term
func (r *limitSumRecord) backward(*Tape) {
	if r.x.Grad == nil {
		return
	}
	for row := range r.x.Rows {
		dx, y, dy := r.x.gradRow(row), r.y.row(row), r.y.gradRow(row)
		m := limit(r.x.row(row))
		for i, g := range dy {
			dx[i] += g / m
		}
		if m == 1 {
			continue
		}
		for j, g := range dy {
			term := float32(float32(g/m) * y[j])
			for i := range dx {
				dx[i] -= term
			}
		}
	}
}

// limit is m of LimitSum.
func limit(x []float32) float32 {
	var sum float32
	for _, v := range x {
		sum += v
	}
	return max(0, sum-1) + 1
}

// WeightedSum returns the scalar Σ cᵢ·xᵢ of at most 6 scalars, in their order.
func (t *Tape) WeightedSum(c []float32, x ...Tensor) Tensor {
	clearAll(x...)
	r := weightedSumRecord{n: len(x), y: t.New(1, 1)}
	if len(x) > len(r.x) || len(c) != len(x) {
		panic("autodiff: WeightedSum: number of terms")
	}
	var sum float32
	for i, xi := range x {
		sum += float32(c[i] * xi.Value[0])
		r.x[i], r.c[i] = xi, c[i]
	}
	r.y.Value[0] = sum
	record(t, &t.lists.weightedSum, r)
	return r.y
}

type weightedSumRecord struct {
	n int
	c [6]float32
	x [6]Tensor
	y Tensor
}

// x̄ᵢ += cᵢ·ȳ
func (r *weightedSumRecord) backward(*Tape) {
	for i := range r.n {
		if r.x[i].Grad != nil {
			r.x[i].Grad[0] += float32(r.c[i] * r.y.Grad[0])
		}
	}
}

// ones returns n ones in scratch memory.
func (t *Tape) ones(n int) []float32 {
	x := t.values.alloc(n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// addConstant adds c to every element of x.
func addConstant(x []float32, c float32) {
	if c == 0 {
		return
	}
	for i := range x {
		x[i] += c
	}
}
