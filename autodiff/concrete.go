package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// The Concrete distribution (Maddison, Mnih & Teh 2017) relaxes a categorical variable with logits l
// (log α) and temperature λ: with Gumbel noise g, y = logsoftmax((l + g)/λ) and s = eʸ. The Binary
// Concrete does so for every component alone: with logistic noise L, y = (l + L)/λ and s = σ(y).
// Densities are those of y (ExpConcrete and logit space), which stay finite at low temperatures.

// Gate writes the posterior logits y = γ⊙trans + (1 − γ)⊙meas.
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

// Concrete writes s = softmax((l + g)/λ) for Gumbel noise g. If hard, the forward value is the
// one-hot vector of the largest component and the gradient that of the relaxed sample.
func (t *Tape) Concrete(s, logits, gumbel Tensor, temperature float32, hard bool) {
	sameShape("Concrete", s, logits, gumbel)
	r := concreteRecord{s: s, relaxed: s, logits: logits, scale: 1 / temperature}
	if hard {
		r.relaxed = t.scratch(s.Rows, s.Cols)
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

// BinaryConcrete writes s = σ((l + L)/λ) for logistic noise L. If hard, the forward value is rounded
// to 0 or 1 and the gradient that of the relaxed sample.
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

// perturbed writes y = (l + noise)·scale.
func perturbed(y, logits, noise []float32, scale float32) {
	for i, l := range logits {
		y[i] = float32((l + noise[i]) * scale)
	}
}

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
	n := noise.Rows / lq.Rows
	shapeCheck(noise.Cols == lq.Cols && noise.Rows == n*lq.Rows, "ConcreteKL", lq, noise)
	r := concreteKLRecord{lq: lq, lp: lp, slope: t.scratch(lq.Rows, lq.Cols), ratio: lambdaP / lambdaQ, y: t.New(1, 1)}
	clear(r.slope.Value)
	mark := t.values.mark()
	e := concreteDensity{
		categories: float32(lq.Cols), lambdaP: lambdaP, scale: 1 / lambdaQ,
		a: t.scratch(lq.Rows, lq.Cols), b: t.scratch(lq.Rows, lq.Cols), rows: t.values.alloc(lq.Rows),
	}
	clear(e.rows)
	for j := range n {
		e.sample(r.slope, lq, lp, noise.Block(j, lq.Rows))
	}
	inverse := 1 / float32(n)
	constant := float32(float32(lq.Rows*(lq.Cols-1)) * logRatio(lambdaQ, lambdaP))
	r.y.Value[0] = float32(kernel.Sum(e.rows)*inverse) + constant
	kernel.Scale(r.slope.Value, inverse)
	t.values.release(mark)
	record(t, &t.lists.concreteKL, r)
	return r.y
}

// concreteDensity is the scratch of ConcreteKL.
type concreteDensity struct {
	categories, lambdaP, scale float32
	a, b                       Tensor
	rows                       []float32 // Σⱼ log q − log p by row, without constants
}

// sample adds −Σg − M·LSE(−g) − Στ + M·LSE(τ) of one sample to the rows and its derivative with
// respect to τ, M·softmax(τ) − 1, to the slope.
func (e *concreteDensity) sample(slope, lq, lp, noise Tensor) {
	m := lq.Cols
	for i, g := range noise.Value {
		e.b.Value[i] = -g
	}
	kernel.LogSoftmax(e.a.values(), e.b.values())
	for row := range e.rows {
		var sum float32
		for _, v := range e.b.row(row) {
			sum += v
		}
		lse := e.b.row(row)[0] - e.a.row(row)[0]
		e.rows[row] += sum - float32(e.categories*lse)
	}
	perturbed(e.a.Value, lq.Value, noise.Value, e.scale)
	kernel.LogSoftmax(e.a.values(), e.a.values())
	for i, y := range e.a.Value {
		e.a.Value[i] = lp.Value[i] - float32(e.lambdaP*y)
	}
	kernel.LogSoftmax(e.b.values(), e.a.values())
	for row := range e.rows {
		var sum float32
		for _, v := range e.a.row(row) {
			sum += v
		}
		lse := e.a.row(row)[0] - e.b.row(row)[0]
		e.rows[row] += float32(e.categories*lse) - sum
	}
	kernel.Exp(e.b.Value, e.b.Value)
	for i, p := range e.b.Value[:len(e.rows)*m] {
		slope.Value[i] += float32(e.categories*p) - 1
	}
}

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
	n := noise.Rows / lq.Rows
	shapeCheck(noise.Cols == lq.Cols && noise.Rows == n*lq.Rows, "BinaryConcreteKL", lq, noise)
	r := binaryKLRecord{lq: lq, lp: lp, slope: t.scratch(lq.Rows, lq.Cols), ratio: lambdaP / lambdaQ, y: t.New(1, 1)}
	clear(r.slope.Value)
	mark := t.values.mark()
	size := len(lq.Value)
	tau, term, total := t.values.alloc(size), t.values.alloc(size), t.values.alloc(size)
	clear(total)
	for j := range n {
		binaryDensity(r.slope.Value, total, tau, term, lq.Value, lp.Value, noise.Block(j, lq.Rows).Value, lambdaP, 1/lambdaQ)
	}
	inverse := 1 / float32(n)
	r.y.Value[0] = float32(kernel.Sum(total)*inverse) + float32(float32(size)*logRatio(lambdaQ, lambdaP))
	kernel.Scale(r.slope.Value, inverse)
	t.values.release(mark)
	record(t, &t.lists.binaryKL, r)
	return r.y
}

// binaryDensity adds one sample's −L − 2·softplus(−L) − τ + 2·softplus(τ) to total and its derivative
// with respect to τ, 2σ(τ) − 1, to slope. tau and term are scratch.
func binaryDensity(slope, total, tau, term, lq, lp, noise []float32, lambdaP, scale float32) {
	for i, l := range noise {
		tau[i] = -l
	}
	kernel.Softplus(term, tau)
	for i, l := range noise {
		total[i] -= l + float32(2*term[i])
		y := float32((lq[i] + l) * scale)
		tau[i] = lp[i] - float32(lambdaP*y)
	}
	kernel.Softplus(term, tau)
	for i, x := range tau {
		total[i] += float32(2*term[i]) - x
	}
	kernel.Sigmoid(term, tau)
	for i, p := range term {
		slope[i] += float32(2*p) - 1
	}
}

type binaryKLRecord struct {
	lq, lp, slope Tensor
	ratio         float32
	y             Tensor
}

// l̄p += ȳ·slope; l̄q −= ȳ·(λp/λq)·slope
func (r *binaryKLRecord) backward(*Tape) { relaxedKLVJP(r.lq, r.lp, r.slope, r.ratio, r.y.Grad[0]) }

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
