package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// SwitchPreview names the tensors of PreviewSwitch.
type SwitchPreview struct {
	Weights      Tensor // output w̃, [rows, M]
	LogWeights   Tensor // log w, [rows, M]
	Mean, Spread Tensor // m and the variance v of a measurement of the state, [rows, n]
	Seen         Tensor // [rows, 1], 0 where there is no measurement; without columns: measured everywhere
	From, Moves  Tensor // as in SwitchEvidence
	Variance     Tensor // Q, [M, n]
}

// PreviewSwitch weighs the systems by a measurement of the state that they lead to:
//
//	w̃(j) ∝ w(j)·N(m; μ(j), Q(j) + v),  μ(j) = from + move(j)
//
// Where nothing was measured, w̃ = w.
func (t *Tape) PreviewSwitch(p SwitchPreview) {
	m, n := p.LogWeights.Cols, p.Mean.Cols
	sameShape("PreviewSwitch", p.Weights, p.LogWeights)
	sameShape("PreviewSwitch", p.Mean, p.Spread)
	shapeCheck(p.Moves.Cols == m*n && p.Variance.Rows == m && p.Variance.Cols == n, "PreviewSwitch", p.Moves, p.Variance)
	clearAll(p.From, p.Moves, p.Variance)
	r := previewSwitchRecord{p, t.scratch(p.Mean.Rows, m*n)}
	mark := t.values.mark()
	// logs holds Q + v, then its logarithm.
	logs := t.scratch(p.Mean.Rows, m*n)
	for row := range p.Mean.Rows {
		for k := range m * n {
			logs.row(row)[k] = p.Variance.Value[k] + p.Spread.row(row)[k%n]
			r.precision.row(row)[k] = 1 / logs.row(row)[k]
		}
	}
	kernel.Log(logs.Value, logs.Value)
	copy(p.Weights.Value, p.LogWeights.Value)
	for row := range p.Mean.Rows {
		if !p.measured(row) {
			continue
		}
		// log w(j) + log N(m; μ(j), Q(j) + v) up to a constant that all systems have, then the softmax.
		w := p.Weights.row(row)
		for j := range w {
			var sum float32
			for d := range n {
				e := p.error(row, j, d)
				k := j*n + d
				sum += float32(float32(e*e)*r.precision.row(row)[k]) + logs.row(row)[k]
			}
			w[j] -= float32(0.5 * sum)
		}
	}
	t.values.release(mark)
	kernel.Softmax(p.Weights.values(), p.Weights.values())
	record(t, &t.lists.previewSwitch, r)
}

// measured reports whether a row has a measurement.
func (p *SwitchPreview) measured(row int) bool { return p.Seen.Cols == 0 || p.Seen.Value[row] != 0 }

// error is m − μ(j) in one dimension.
func (p *SwitchPreview) error(row, j, d int) float32 {
	n := p.Mean.Cols
	e := p.Mean.row(row)[d] - p.Moves.row(row)[j*n+d]
	if p.From.Cols > 0 {
		e -= p.From.row(row)[d]
	}
	return e
}

type previewSwitchRecord struct {
	SwitchPreview
	precision Tensor // 1/(Q + v), [rows, M·n]
}

// With s̄(j) = w̃(j)·(w̄(j) − ⟨w̃, w̄⟩) and δ(j) = (m − μ(j))/(Q(j) + v):
//
//	log w̄(j) += s̄(j);  m̄ −= Σⱼ s̄(j)·δ(j);  mōve(j) += s̄(j)·δ(j), and so for from
//	Q̄(j), v̄ += ½·s̄(j)·(δ(j)² − 1/(Q(j) + v))
func (r *previewSwitchRecord) backward(*Tape) {
	for row := range r.Weights.Rows {
		w, dw, dlog := r.Weights.row(row), r.Weights.gradRow(row), r.LogWeights.gradRow(row)
		var mean float32
		for j, g := range dw {
			mean += float32(g * w[j])
		}
		for j, g := range dw {
			ds := float32(w[j] * (g - mean))
			dlog[j] += ds
			if r.measured(row) {
				r.systemVJP(row, j, ds)
			}
		}
	}
}

// systemVJP adds what the density of one system owes its mean and variance, given s̄(j).
func (r *previewSwitchRecord) systemVJP(row, j int, ds float32) {
	n := r.Mean.Cols
	dm, dv, dmove, dq := r.Mean.gradRow(row), r.Spread.gradRow(row), r.Moves.gradRow(row)[j*n:], r.Variance.gradRow(j)
	for d := range n {
		p := r.precision.row(row)[j*n+d]
		delta := float32(r.error(row, j, d) * p)
		g := float32(ds * delta)
		dm[d] -= g
		dmove[d] += g
		if r.From.Cols > 0 {
			r.From.gradRow(row)[d] += g
		}
		half := float32(float32(0.5*ds) * (float32(delta*delta) - p))
		dq[d] += half
		dv[d] += half
	}
}
