package autodiff

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Draw writes the reparameterised draw y = mean + √variance⊙ε (Kingma & Welling 2014). The noise ε is a constant
// of the shape of y; mean and variance have gradients.
func (t *Tape) Draw(y, mean, variance, noise Tensor) {
	sameShape("Draw", y, mean, variance, noise)
	for i, v := range variance.Value {
		y.Value[i] = mean.Value[i] + float32(sqrt(v)*noise.Value[i])
	}
	record(t, &t.lists.draw, drawRecord{y, mean, variance, noise})
}

type drawRecord struct{ y, mean, variance, noise Tensor }

// mean̄ += ȳ; variancē += ȳ·ε/(2√variance)
func (r *drawRecord) backward(*Tape) {
	kernel.Add(r.mean.Grad, r.y.Grad)
	for i, v := range r.variance.Value {
		r.variance.Grad[i] += float32(r.y.Grad[i]*r.noise.Value[i]) / float32(2*sqrt(v))
	}
}

// Fusion is the product of two diagonal Gaussians and a draw from it, the posterior of a state given its
// transition (mean m₁, variance v₁) and its measurement (m₂, v₂). All tensors but Seen have one shape; all but the
// noise and Seen have gradients.
type Fusion struct {
	Draw, Mean, Variance Tensor // outputs
	M1, V1, M2, V2       Tensor
	Noise                Tensor
	Seen                 Tensor // [rows,1], 0 where there is no measurement; without columns: measured everywhere
}

// measured reports whether a row has a measurement.
func (f *Fusion) measured(row int) bool { return f.Seen.Cols == 0 || f.Seen.Value[row] != 0 }

// Fuse computes
//
//	D = v₁ + v₂;  mean = (m₁v₂ + m₂v₁)/D;  variance = v₁v₂/D;  draw = mean + √variance⊙ε
//
// Where nothing was measured, v₂ is infinite: mean = m₁ and variance = v₁.
func (t *Tape) Fuse(f Fusion) {
	sameShape("Fuse", f.Draw, f.Mean, f.Variance, f.M1, f.V1, f.M2, f.V2, f.Noise)
	for row := range f.Draw.Rows {
		seen := f.measured(row)
		for i := row * f.Draw.Cols; i < (row+1)*f.Draw.Cols; i++ {
			mean, variance := f.M1.Value[i], f.V1.Value[i]
			if seen {
				v1, v2 := variance, f.V2.Value[i]
				d := v1 + v2
				mean = (float32(mean*v2) + float32(f.M2.Value[i]*v1)) / d
				variance = float32(v1*v2) / d
			}
			f.Mean.Value[i], f.Variance.Value[i] = mean, variance
			f.Draw.Value[i] = mean + float32(sqrt(variance)*f.Noise.Value[i])
		}
	}
	record(t, &t.lists.fuse, fuseRecord{f})
}

type fuseRecord struct{ Fusion }

// With m̄ = mean̄ + draw̄ and v̄ = variancē + draw̄·ε/(2√variance):
//
//	m̄₁ += m̄·v₂/D;  v̄₁ += m̄·(m₂ − mean)/D + v̄·(v₂/D)²;  and with 1 and 2 exchanged
func (r *fuseRecord) backward(*Tape) {
	for row := range r.Draw.Rows {
		seen := r.measured(row)
		for i := row * r.Draw.Cols; i < (row+1)*r.Draw.Cols; i++ {
			r.element(i, seen)
		}
	}
}

// element is the VJP of one element; without a measurement m̄₁ += m̄ and v̄₁ += v̄.
func (r *fuseRecord) element(i int, seen bool) {
	mean, variance, dDraw := r.Mean.Value[i], r.Variance.Value[i], r.Draw.Grad[i]
	dm := r.Mean.Grad[i] + dDraw
	dv := r.Variance.Grad[i] + float32(dDraw*r.Noise.Value[i])/float32(2*sqrt(variance))
	if !seen {
		r.M1.Grad[i] += dm
		r.V1.Grad[i] += dv
		return
	}
	v1, v2 := r.V1.Value[i], r.V2.Value[i]
	d := v1 + v2
	a1, a2 := v2/d, v1/d
	r.M1.Grad[i] += float32(dm * a1)
	r.M2.Grad[i] += float32(dm * a2)
	r.V1.Grad[i] += float32(dm*(r.M2.Value[i]-mean))/d + float32(dv*float32(a1*a1))
	r.V2.Grad[i] += float32(dm*(r.M1.Value[i]-mean))/d + float32(dv*float32(a2*a2))
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
	for i, v := range vq.Value {
		diff := mq.Value[i] - mp.Value[i]
		moment := (v + float32(diff*diff)) / vp.Value[i]
		logP[i] = float32(0.5 * (logP[i] - logQ[i] + moment - 1))
	}
	sum := kernel.Sum(logP)
	t.values.release(mark)
	y := t.New(1, 1)
	y.Value[0] = sum
	record(t, &t.lists.gaussianKL, gaussianKLRecord{mq, vq, mp, vp, y})
	return y
}

type gaussianKLRecord struct{ mq, vq, mp, vp, y Tensor }

// With δ = mq − mp: m̄q += ȳδ/vp; m̄p −= ȳδ/vp; v̄q += ½ȳ(1/vp − 1/vq); v̄p += ½ȳ(1/vp)(1 − (vq + δ²)/vp)
func (r *gaussianKLRecord) backward(*Tape) {
	g := r.y.Grad[0]
	for i, vq := range r.vq.Value {
		precision := 1 / r.vp.Value[i]
		diff := r.mq.Value[i] - r.mp.Value[i]
		dm := float32(g * float32(diff*precision))
		r.mq.Grad[i] += dm
		r.mp.Grad[i] -= dm
		r.vq.Grad[i] += float32(float32(0.5*g) * (precision - 1/vq))
		moment := float32((vq + float32(diff*diff)) * precision)
		r.vp.Grad[i] += float32(float32(0.5*g) * float32(precision*(1-moment)))
	}
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

// sqrt is correctly rounded: the square root of a float32 taken in float64 rounds twice without harm.
func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

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
