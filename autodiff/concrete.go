package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// The Concrete distribution (Maddison, Mnih & Teh 2017) relaxes a categorical variable with logits l
// (log α) and temperature λ: with Gumbel noise g, y = logsoftmax((l + g)/λ) and s = eʸ. The Binary
// Concrete does so for every component alone: with logistic noise L, y = (l + L)/λ and s = σ(y).
// Densities are those of y (ExpConcrete and logit space), which stay finite at low temperatures.

// Gate writes the posterior logits y = γ⊙trans + (1 − γ)⊙meas, as meas + γ⊙(trans − meas). All tensors are [rows,
// M].
func (t *Tape) Gate(y, gate, trans, meas Tensor) {
	sameShape("Gate", y, gate, trans, meas)
	for i, g := range gate.Value {
		y.Value[i] = meas.Value[i] + float32(g*(trans.Value[i]-meas.Value[i]))
	}
	record(t, &t.lists.gate, gateRecord{y, gate, trans, meas})
}

type gateRecord struct{ y, gate, trans, meas Tensor }

// γ̄ += ȳ(trans − meas); trans̄ += ȳγ; meas̄ += ȳ(1 − γ)
func (r *gateRecord) backward(*Tape) {
	for i, dy := range r.y.Grad {
		g := r.gate.Value[i]
		through := float32(dy * g)
		r.gate.Grad[i] += float32(dy * (r.trans.Value[i] - r.meas.Value[i]))
		r.trans.Grad[i] += through
		r.meas.Grad[i] += dy - through
	}
}

// Concrete writes s = softmax((l + g)/λ) for Gumbel noise g, row by row; s, l and g are [rows, M]. If hard, the
// forward value is the one-hot vector of the largest component and the gradient that of the relaxed sample. The
// noise has no gradient.
func (t *Tape) Concrete(s, logits, gumbel Tensor, temperature float32, hard bool) {
	sameShape("Concrete", s, logits, gumbel)
	r := concreteRecord{s: s, relaxed: s, logits: logits, scale: 1 / temperature}
	if hard {
		r.relaxed = t.scratch(s.Rows, s.Cols)
		// The VJP reads the relaxed sample beside the gradient of s.
		r.relaxed.Grad = s.Grad
	}
	perturbed(r.relaxed.Value, logits.Value, gumbel.Value, r.scale)
	kernel.Softmax(r.relaxed.values(), r.relaxed.values())
	if hard {
		oneHot(s, r.relaxed)
	}
	record(t, &t.lists.concrete, r)
}

type concreteRecord struct {
	s, relaxed, logits Tensor
	scale              float32 // 1/λ
}

// l̄ += s ⊙ (s̄ − ⟨s̄, s⟩)/λ
func (r *concreteRecord) backward(*Tape) { softmaxVJP(r.logits, r.relaxed, r.scale) }

// BinaryConcrete writes s = σ((l + L)/λ) for logistic noise L, element by element. If hard, the forward value is
// rounded to 0 or 1 (½ to 0) and the gradient that of the relaxed sample. The noise has no gradient.
func (t *Tape) BinaryConcrete(s, logits, logistic Tensor, temperature float32, hard bool) {
	sameShape("BinaryConcrete", s, logits, logistic)
	r := binaryRecord{s: s, relaxed: s, logits: logits, scale: 1 / temperature}
	if hard {
		r.relaxed = t.scratch(s.Rows, s.Cols)
	}
	perturbed(r.relaxed.Value, logits.Value, logistic.Value, r.scale)
	kernel.Sigmoid(r.relaxed.Value, r.relaxed.Value)
	if hard {
		for i, p := range r.relaxed.Value {
			s.Value[i] = 0
			if p > 0.5 {
				s.Value[i] = 1
			}
		}
	}
	record(t, &t.lists.binary, r)
}

type binaryRecord struct {
	s, relaxed, logits Tensor
	scale              float32
}

// l̄ += s̄·s(1 − s)/λ
func (r *binaryRecord) backward(*Tape) {
	for i, p := range r.relaxed.Value {
		slope := float32(r.scale * float32(p*(1-p)))
		r.logits.Grad[i] += float32(r.s.Grad[i] * slope)
	}
}

// perturbed writes y = (l + noise)·scale; y and l may be the same slice.
func perturbed(y, logits, noise []float32, scale float32) {
	copy(y, logits)
	kernel.Add(y, noise)
	kernel.Scale(y, scale)
}

// oneHot writes a 1 at the first of the largest values of every row of p, and zeros elsewhere.
func oneHot(s, p Tensor) {
	for row := range s.Rows {
		best := 0
		for i, v := range p.row(row) {
			if v > p.row(row)[best] {
				best = i
			}
		}
		clear(s.row(row))
		s.row(row)[best] = 1
	}
}

// ConcreteKL returns the scalar Monte-Carlo estimate, summed over rows,
//
//	(1/n)·Σⱼ log q(yⱼ) − log p(yⱼ),  yⱼ = logsoftmax((lq + gⱼ)/λq),
//	q = ExpConcrete(lq, λq),  p = ExpConcrete(lp, λp),
//
// of the divergence between two relaxed distributions, each density at its own temperature. noise is
// [n·rows, M], sample after sample. With M categories and τ = lp − λp·y,
//
//	log p(y) = log Γ(M) + (M−1)·log λp + Σ τ − M·LSE(τ)
//
// and, since lq − λq·y = −g up to a constant that the density ignores, log q(y) is a function of the
// noise alone: log Γ(M) + (M−1)·log λq − Σ g − M·LSE(−g). Hence q adds no gradient of its own.
func (t *Tape) ConcreteKL(lq, lp, noise Tensor, lambdaQ, lambdaP float32) Tensor {
	sameShape("ConcreteKL", lq, lp)
	// n is the number of samples; sample j is block j of the noise.
	n := noise.Rows / lq.Rows
	shapeCheck(noise.Cols == lq.Cols && noise.Rows == n*lq.Rows, "ConcreteKL", lq, noise)
	r := concreteKLRecord{lq: lq, lp: lp, slope: t.scratch(lq.Rows, lq.Cols), ratio: lambdaP / lambdaQ, y: t.New(1, 1)}
	clear(r.slope.Value)
	mark := t.values.mark()
	// Rows go through all samples in groups of about pass values, and each row has its samples in their order, so
	// groups do not show in the bits.
	step := max(1, pass/lq.Cols)
	d := t.density(min(step, lq.Rows)*lq.Cols, lambdaQ, lambdaP)
	ratio := t.values.alloc(lq.Rows)
	clear(ratio)
	for i := 0; i < lq.Rows; i += step {
		to := min(i+step, lq.Rows)
		for j := range n {
			d.concrete(r.slope.Slice(i, to), ratio[i:to], lq.Slice(i, to), lp.Slice(i, to), noise.Block(j, lq.Rows).Slice(i, to))
		}
	}
	inverse := 1 / float32(n)
	constant := float32(float32(lq.Rows*(lq.Cols-1)) * logRatio(lambdaQ, lambdaP))
	r.y.Value[0] = float32(kernel.Sum(ratio)*inverse) + constant
	kernel.Scale(r.slope.Value, inverse)
	t.values.release(mark)
	record(t, &t.lists.concreteKL, r)
	return r.y
}

// density is the scratch of the divergences between relaxed distributions. They take some rows through all samples
// at a time, which stay in the first-level cache.
type density struct {
	lambdaP, scale    float32
	a, b, zeros, ones []float32
}

// density allocates scratch for n values at a time; the caller releases it.
func (t *Tape) density(n int, lambdaQ, lambdaP float32) density {
	d := density{
		lambdaP: lambdaP, scale: 1 / lambdaQ,
		a: t.values.alloc(n), b: t.values.alloc(n), zeros: t.values.alloc(n), ones: t.values.alloc(n),
	}
	clear(d.zeros)
	for i := range d.ones {
		d.ones[i] = 1
	}
	return d
}

// tau turns y into τ = lp − λp·y.
func (d *density) tau(y, lp []float32) {
	kernel.Scale(y, d.lambdaP)
	kernel.Sub(y, lp, y)
}

// addSlope adds c·p − 1 to the derivative with respect to τ; p is overwritten.
func (d *density) addSlope(slope []float32, c float32, p []float32) {
	kernel.Scale(p, c)
	kernel.Sub(p, p, d.ones[:len(p)])
	kernel.Add(slope, p)
}

// concrete adds −Σg − M·LSE(−g) − Στ + M·LSE(τ) of one sample to the ratio, by row, and its derivative with
// respect to τ, M·softmax(τ) − 1, to the slope.
func (d *density) concrete(slope Tensor, ratio []float32, lq, lp, noise Tensor) {
	n, cols := len(lq.Value), lq.Cols
	m := float32(cols)
	a, b := d.a[:n], d.b[:n]
	logSoftmax := func(dst, src []float32) {
		kernel.LogSoftmax(kernel.Dense(dst, lq.Rows, cols), kernel.Dense(src, lq.Rows, cols))
	}
	// The numerator: b = −g, of which the density of q is a function.
	kernel.Sub(b, d.zeros[:n], noise.Value)
	logSoftmax(a, b)
	for row := range ratio {
		sum, lse := sumAndLSE(b, a, row*cols, cols)
		ratio[row] += sum - float32(m*lse)
	}
	// The denominator: a = y, then τ; b = logsoftmax(τ).
	perturbed(a, lq.Value, noise.Value, d.scale)
	logSoftmax(a, a)
	d.tau(a, lp.Value)
	logSoftmax(b, a)
	for row := range ratio {
		sum, lse := sumAndLSE(a, b, row*cols, cols)
		ratio[row] += float32(m*lse) - sum
	}
	kernel.Exp(b, b)
	d.addSlope(slope.Value, m, b)
}

// sumAndLSE returns Σ x and log Σ eˣ of a row of n values, given y = logsoftmax(x).
func sumAndLSE(x, y []float32, first, n int) (sum, lse float32) {
	row := x[first:][:n]
	for _, v := range row {
		sum += v
	}
	return sum, row[0] - y[first]
}

// concreteKLRecord keeps the derivative of the estimate instead of the samples: one number for each logit.
type concreteKLRecord struct {
	lq, lp, slope Tensor // slope is the mean derivative with respect to τ
	ratio         float32
	y             Tensor
}

// l̄p += ȳ·slope; l̄q −= ȳ·(λp/λq)·slope
func (r *concreteKLRecord) backward(*Tape) { relaxedKLVJP(r.lq, r.lp, r.slope, r.ratio, r.y.Grad[0]) }

// BinaryConcreteKL is ConcreteKL for independent Binary Concrete components: with logistic noise L,
// y = (lq + L)/λq and τ = lp − λp·y,
//
//	log q(y) − log p(y) = log(λq/λp) − L − 2·softplus(−L) − τ + 2·softplus(τ)
func (t *Tape) BinaryConcreteKL(lq, lp, noise Tensor, lambdaQ, lambdaP float32) Tensor {
	sameShape("BinaryConcreteKL", lq, lp)
	// n is the number of samples; sample j is block j of the noise.
	n := noise.Rows / lq.Rows
	shapeCheck(noise.Cols == lq.Cols && noise.Rows == n*lq.Rows, "BinaryConcreteKL", lq, noise)
	r := binaryKLRecord{lq: lq, lp: lp, slope: t.scratch(lq.Rows, lq.Cols), ratio: lambdaP / lambdaQ, y: t.New(1, 1)}
	clear(r.slope.Value)
	mark := t.values.mark()
	size := len(lq.Value)
	d := t.density(min(pass, size), lambdaQ, lambdaP)
	ratio := t.values.alloc(size)
	clear(ratio)
	for i := 0; i < size; i += pass {
		to := min(i+pass, size)
		for j := range n {
			d.binary(r.slope.Value[i:to], ratio[i:to], lq.Value[i:to], lp.Value[i:to], noise.Value[j*size:][i:to])
		}
	}
	inverse := 1 / float32(n)
	r.y.Value[0] = float32(kernel.Sum(ratio)*inverse) + float32(float32(size)*logRatio(lambdaQ, lambdaP))
	kernel.Scale(r.slope.Value, inverse)
	t.values.release(mark)
	record(t, &t.lists.binaryKL, r)
	return r.y
}

// binary adds −L − 2·softplus(−L) − τ + 2·softplus(τ) of one sample to the ratio and its derivative with respect to
// τ, 2σ(τ) − 1, to the slope.
func (d *density) binary(slope, ratio, lq, lp, noise []float32) {
	tau, term := d.a[:len(lq)], d.b[:len(lq)]
	// First the noise alone, −L and softplus(−L), then τ of the draw.
	kernel.Sub(tau, d.zeros[:len(lq)], noise)
	kernel.Softplus(term, tau)
	kernel.Scale(term, 2)
	kernel.Add(term, noise)
	kernel.Sub(ratio, ratio, term)
	perturbed(tau, lq, noise, d.scale)
	d.tau(tau, lp)
	kernel.Softplus(term, tau)
	kernel.Scale(term, 2)
	kernel.Sub(term, term, tau)
	kernel.Add(ratio, term)
	kernel.Sigmoid(term, tau)
	d.addSlope(slope, 2, term)
}

type binaryKLRecord struct {
	lq, lp, slope Tensor
	ratio         float32
	y             Tensor
}

// l̄p += ȳ·slope; l̄q −= ȳ·(λp/λq)·slope
func (r *binaryKLRecord) backward(*Tape) { relaxedKLVJP(r.lq, r.lp, r.slope, r.ratio, r.y.Grad[0]) }

// relaxedKLVJP adds to both logits what a divergence owes them, given dy = ȳ and the mean derivative with respect
// to τ: τ = lp − λp·y, and y moves by lq/λq.
func relaxedKLVJP(lq, lp, slope Tensor, ratio, dy float32) {
	kernel.AddScaled(lp.Grad, dy, slope.Value)
	kernel.AddScaled(lq.Grad, -float32(dy*ratio), slope.Value)
}

// logRatio is log(a/b) by the kernels, whose bits are the same everywhere.
func logRatio(a, b float32) float32 {
	x := [2]float32{a, b}
	kernel.Log(x[:], x[:])
	return x[0] - x[1]
}
