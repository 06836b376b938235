package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Fusion is the product of two diagonal Gaussians and a draw from it, the posterior of a state given its
// transition (mean m₁, variance v₁) and its measurement (m₂, v₂). All tensors but Seen have one shape; all but the
// noise and Seen have gradients.
type Fusion struct {
	Draw, Mean, Variance Tensor // outputs
	M1, V1, M2, V2       Tensor
	Noise                Tensor
	Seen                 Tensor // [rows,1], 0 where there is no measurement; without columns: measured everywhere
}

// Fuse computes
//
//	D = v₁ + v₂;  mean = (m₁v₂ + m₂v₁)/D;  variance = v₁v₂/D;  draw = mean + √variance⊙ε
//
// Where nothing was measured, v₂ is infinite: mean = m₁ and variance = v₁.
func (t *Tape) Fuse(f Fusion) {
	sameShape("Fuse", f.Draw, f.Mean, f.Variance, f.M1, f.V1, f.M2, f.V2, f.Noise)
	mark := t.values.mark()
	sum, product := t.values.alloc(len(f.Draw.Value)), t.values.alloc(len(f.Draw.Value))
	f.spans(func(i, j int, seen bool) {
		mean, variance, m1, v1 := f.Mean.Value[i:j], f.Variance.Value[i:j], f.M1.Value[i:j], f.V1.Value[i:j]
		if !seen {
			copy(mean, m1)
			copy(variance, v1)
			return
		}
		m2, v2, d, p := f.M2.Value[i:j], f.V2.Value[i:j], sum[i:j], product[i:j]
		copy(d, v1)
		kernel.Add(d, v2)
		kernel.Mul(p, m2, v1)
		kernel.Mul(mean, m1, v2)
		kernel.Add(mean, p)
		kernel.Div(mean, mean, d)
		kernel.Mul(variance, v1, v2)
		kernel.Div(variance, variance, d)
	})
	t.values.release(mark)
	drawInto(f.Draw.Value, f.Mean.Value, f.Variance.Value, f.Noise.Value)
	record(t, &t.lists.fuse, fuseRecord{f})
}

// spans calls do for rows in a row that are all measured, or all not, as ranges of their values.
func (f *Fusion) spans(do func(i, j int, seen bool)) {
	if f.Seen.Cols == 0 {
		do(0, len(f.Draw.Value), true)
		return
	}
	from := 0
	for row := range f.Draw.Rows {
		if seen := f.Seen.Value[row] != 0; row+1 == f.Draw.Rows || (f.Seen.Value[row+1] != 0) != seen {
			do(from*f.Draw.Cols, (row+1)*f.Draw.Cols, seen)
			from = row + 1
		}
	}
}

type fuseRecord struct{ Fusion }

// With m̄ = mean̄ + draw̄ and v̄ = variancē + draw̄·ε/(2√variance):
//
//	m̄₁ += m̄·v₂/D;  v̄₁ += m̄·(m₂ − mean)/D + v̄·(v₂/D)²;  and with 1 and 2 exchanged
//
// Without a measurement m̄₁ += m̄ and v̄₁ += v̄.
func (r *fuseRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	dv := t.drawVJP(r.Draw.Grad, r.Variance.Value, r.Noise.Value)
	kernel.Add(dv, r.Variance.Grad)
	dm, d := t.values.alloc(len(dv)), t.values.alloc(len(dv))
	copy(dm, r.Mean.Grad)
	kernel.Add(dm, r.Draw.Grad)
	share, term := t.values.alloc(len(dv)), t.values.alloc(len(dv))
	r.spans(func(i, j int, seen bool) {
		if !seen {
			kernel.Add(r.M1.Grad[i:j], dm[i:j])
			kernel.Add(r.V1.Grad[i:j], dv[i:j])
			return
		}
		copy(d[i:j], r.V1.Value[i:j])
		kernel.Add(d[i:j], r.V2.Value[i:j])
		s := fusedSpan{mean: r.Mean.Value[i:j], d: d[i:j], dm: dm[i:j], dv: dv[i:j], share: share[i:j], term: term[i:j]}
		s.sideVJP(r.M1.Grad[i:j], r.V1.Grad[i:j], r.M2.Value[i:j], r.V2.Value[i:j])
		s.sideVJP(r.M2.Grad[i:j], r.V2.Grad[i:j], r.M1.Value[i:j], r.V1.Value[i:j])
	})
}

// fusedSpan are values of measured rows, m̄ and v̄, and scratch memory.
type fusedSpan struct {
	mean, d, dm, dv []float32
	share, term     []float32
}

// sideVJP adds the gradients of one of both Gaussians, given the other one, with a = v/D of the other:
// grad m += m̄·a;  grad v += m̄·(m − mean)/D + v̄·a².
func (s *fusedSpan) sideVJP(gradM, gradV, m, v []float32) {
	kernel.Div(s.share, v, s.d)
	kernel.Mul(s.term, s.dm, s.share)
	kernel.Add(gradM, s.term)
	kernel.Sub(s.term, m, s.mean)
	kernel.Mul(s.term, s.dm, s.term)
	kernel.Div(s.term, s.term, s.d)
	kernel.Mul(s.share, s.share, s.share)
	kernel.Mul(s.share, s.dv, s.share)
	kernel.Add(s.term, s.share)
	kernel.Add(gradV, s.term)
}
