package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// A discrete switch of M systems that is summed out step by step. Between two steps stands its belief b(i), the
// probability of system i given the path of the state; beliefs and weights are carried as logarithms. All sums over
// systems are chains in ascending order.

// Unlikely is the logarithm of a probability of zero: no sum of beliefs notices it, and differences of it are finite.
const Unlikely = -1e30

// SwitchPrediction names the tensors of PredictSwitch.
type SwitchPrediction struct {
	LogWeights, Weights Tensor // outputs, [rows, M]
	LogBelief           Tensor // log b, [rows, M]
	Scores              Tensor // g, [rows, M], or [rows, M·M] with a row of its own for each system that is left
	Transition          Tensor // L, [M, M]
}

// PredictSwitch computes the probability of every system at the next step, and its logarithm:
//
//	w(j) = Σᵢ b(i)·p(j|i);  p(j|i) = softmaxⱼ(L(i,j) + g(j)), or softmaxⱼ(L(i,j) + g(i,j))
//
// It keeps two numbers for each pair of systems and row for its VJP. The belief may be a constant, as at a first
// step.
func (t *Tape) PredictSwitch(p SwitchPrediction) {
	n, m := p.LogBelief.Rows, p.LogBelief.Cols
	p.check("PredictSwitch")
	r := predictSwitchRecord{SwitchPrediction: p, next: t.scratch(n*m, m), from: t.scratch(n*m, m)}
	SwitchRows(r.next, p.Scores, p.Transition)
	for row := range n {
		b := p.LogBelief.row(row)
		for j := range m { // from(j,i) = log b(i) + log p(j|i)
			f := r.from.row(row*m + j)
			for i, bi := range b {
				f[i] = bi + r.next.Value[(row*m+i)*m+j]
			}
		}
	}
	t.weighSources(r.from, p)
	kernel.Exp(r.next.Value, r.next.Value)
	record(t, &t.lists.predictSwitch, r)
}

// check panics unless shapes fit.
func (p *SwitchPrediction) check(op string) {
	n, m := p.LogBelief.Rows, p.LogBelief.Cols
	sameShape(op, p.LogWeights, p.Weights, p.LogBelief)
	shapeCheck(p.Scores.Rows == n && (p.Scores.Cols == m || p.Scores.Cols == m*m), op, p.Scores, p.LogBelief)
	shapeCheck(p.Transition.Rows == m && p.Transition.Cols == m, op, p.Transition, p.LogBelief)
	clearAll(p.Scores, p.Transition)
}

// weighSources turns the logarithm of the joint probability of i before j, in row n·M+j, into the probability of i
// given j. The weights are the sums over i. The largest term of every sum is taken out before the exponentials, so
// beliefs may be as small as float32 can say in logarithms.
func (t *Tape) weighSources(from Tensor, p SwitchPrediction) {
	mark := t.values.mark()
	largest := t.values.alloc(from.Rows)
	for j := range from.Rows {
		f, most := from.row(j), float32(Unlikely)
		for _, v := range f {
			most = max(most, v)
		}
		for i := range f {
			f[i] -= most
		}
		largest[j] = most
	}
	kernel.Exp(from.Value, from.Value)
	for j := range from.Rows {
		f := from.row(j)
		var sum float32
		for _, v := range f {
			sum += v
		}
		for i := range f {
			f[i] /= sum
		}
		p.Weights.Value[j] = sum
	}
	kernel.Log(p.LogWeights.Value, p.Weights.Value)
	kernel.Add(p.LogWeights.Value, largest)
	kernel.Exp(p.Weights.Value, p.LogWeights.Value)
	t.values.release(mark)
}

// SwitchRows writes log p(j|i) of a prediction into row n·M+i for each row n of the scores. It is not differentiated.
func SwitchRows(dst, scores, transition Tensor) {
	for row := range scores.Rows {
		writeLogits(dst, scores, transition, row)
	}
	kernel.LogSoftmax(dst.values(), dst.values())
}

// writeLogits writes L(i,j) + g(j), or + g(i,j), of one row of the scores.
func writeLogits(dst, scores, transition Tensor, row int) {
	m, g := transition.Cols, scores.row(row)
	for i := range m {
		y, gi := dst.row(row*m+i), g
		if len(g) > m {
			gi = g[i*m:][:m]
		}
		for j, l := range transition.row(i) {
			y[j] = l + gi[j]
		}
	}
}

type predictSwitchRecord struct {
	SwitchPrediction
	next Tensor // p(j|i) in row n·M+i
	from Tensor // the probability of i before j, in row n·M+j
}

// With v(j) = log w̄(j) + w(j)·w̄(j) and G(i,j) = from(j,i)·v(j):
//
//	log b̄(i) += Σⱼ G(i,j);  ḡ(j), L̄(i,j) += G(i,j) − p(j|i)·Σₖ G(i,k)
func (r *predictSwitchRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	m := r.Weights.Cols
	v := t.values.alloc(m)
	for row := range r.Weights.Rows {
		dw := r.Weights.gradRow(row)
		for j, w := range r.Weights.row(row) {
			v[j] = r.LogWeights.gradRow(row)[j] + float32(w*dw[j])
		}
		for i := range m {
			r.rowVJP(row, i, v)
		}
	}
}

// rowVJP is that of the transition that leaves system i.
func (r *predictSwitchRecord) rowVJP(row, i int, v []float32) {
	m := len(v)
	from := r.from.Value[row*m*m:][:m*m]
	var total float32
	for j, vj := range v {
		total += float32(from[j*m+i] * vj)
	}
	if r.LogBelief.Grad != nil {
		r.LogBelief.gradRow(row)[i] += total
	}
	dg := r.Scores.gradRow(row)
	if len(dg) > m {
		dg = dg[i*m:][:m]
	}
	dl := r.Transition.gradRow(i)
	// d is the gradient of the logit of j: what its probability gets, less what the softmax takes from all of row
	// i.
	for j, p := range r.next.row(row*m + i) {
		d := float32(from[j*m+i]*v[j]) - float32(p*total)
		dg[j] += d
		dl[j] += d
	}
}

// MixMoves writes the mean of the mixture of systems y = x + Σⱼ w(j)·move(j); moves are [rows, M·n]. Without columns, x
// is left out.
func (t *Tape) MixMoves(y, w, x, moves Tensor) {
	n := y.Cols
	shapeCheck(w.Rows == y.Rows && moves.Rows == y.Rows && moves.Cols == w.Cols*n, "MixMoves", w, moves)
	clearAll(y, w, x, moves)
	if x.Cols > 0 {
		copy(y.Value, x.Value)
	} else {
		clear(y.Value)
	}
	kernel.AddWeightedRows(y.values(), w.values(), moves.values())
	record(t, &t.lists.mixMoves, mixMovesRecord{y, w, x, moves})
}

type mixMovesRecord struct{ y, w, x, moves Tensor }

// x̄ += ȳ;  w̄(j) += ⟨ȳ, move(j)⟩;  mōve(j) += w(j)·ȳ
func (r *mixMovesRecord) backward(*Tape) {
	n := r.y.Cols
	if r.x.Cols > 0 && r.x.Grad != nil {
		kernel.Add(r.x.Grad, r.y.Grad)
	}
	kernel.AddDots(r.w.grads(), r.moves.values(), r.y.grads())
	for row := range r.y.Rows {
		dy, dm := r.y.gradRow(row), r.moves.gradRow(row)
		for j, wj := range r.w.row(row) {
			to := dm[j*n:][:n]
			for d, g := range dy {
				to[d] += float32(wj * g)
			}
		}
	}
}

// SwitchEvidence names the tensors of WeighSwitch.
type SwitchEvidence struct {
	LogDensity Tensor // output ℓ, [rows, 1]
	LogBelief  Tensor // output log b, [rows, M]
	LogWeights Tensor // log w, [rows, M]
	Z          Tensor // the state, [rows, n]
	From       Tensor // the state before it, which moves are added to; without columns: nothing is
	Moves      Tensor // [rows, M·n]
	Variance   Tensor // [M, n]
}

// WeighSwitch is the density of a state under a mixture of systems, and what the state says of the system:
//
//	ℓ = log Σⱼ w(j)·N(z; μ(j), Q(j)),  μ(j) = from + move(j);  b(j) = w(j)·N(z; μ(j), Q(j))/exp ℓ
//
// Q are diagonal variances that all rows share.
func (t *Tape) WeighSwitch(e SwitchEvidence) {
	m, n := e.LogWeights.Cols, e.Z.Cols
	sameShape("WeighSwitch", e.LogBelief, e.LogWeights)
	shapeCheck(e.Moves.Cols == m*n && e.Variance.Rows == m && e.Variance.Cols == n, "WeighSwitch", e.Moves, e.Variance)
	clearAll(e.LogDensity, e.Z, e.From, e.Moves, e.Variance)
	r := weighSwitchRecord{SwitchEvidence: e, precision: t.scratch(m, n), belief: t.scratch(e.Z.Rows, m)}
	mark := t.values.mark()
	constant, logs, largest := t.values.alloc(m), t.values.alloc(m*n), t.values.alloc(e.Z.Rows)
	// constant(j) = ½·n·log 2π + ½·Σ log Q(j), the same for all rows.
	kernel.Log(logs, e.Variance.Value)
	for j := range m {
		sum := float32(halfLog2Pi * float64(n))
		for d := range n {
			sum += float32(0.5 * logs[j*n+d])
			r.precision.Value[j*n+d] = 1 / e.Variance.Value[j*n+d]
		}
		constant[j] = sum
	}
	for row := range e.Z.Rows {
		s, most := e.LogBelief.row(row), float32(Unlikely)
		for j, w := range e.LogWeights.row(row) {
			s[j] = w - constant[j] - float32(0.5*r.distance(row, j))
			most = max(most, s[j])
		}
		for j := range s {
			// The largest term is taken out before the exponentials, and put back into ℓ.
			r.belief.row(row)[j] = s[j] - most
		}
		largest[row] = most
	}
	kernel.Exp(r.belief.Value, r.belief.Value)
	for row := range e.Z.Rows {
		b := r.belief.row(row)
		var sum float32
		for _, v := range b {
			sum += v
		}
		for j := range b {
			b[j] /= sum
		}
		e.LogDensity.Value[row] = sum
	}
	kernel.Log(e.LogDensity.Value, e.LogDensity.Value)
	kernel.Add(e.LogDensity.Value, largest)
	for row, l := range e.LogDensity.Value {
		s := e.LogBelief.row(row)
		for j := range s {
			s[j] -= l
		}
	}
	t.values.release(mark)
	record(t, &t.lists.weighSwitch, r)
}

type weighSwitchRecord struct {
	SwitchEvidence
	precision Tensor // 1/Q
	belief    Tensor // b
}

// distance is Σ (z − μ(j))²/Q(j).
func (r *weighSwitchRecord) distance(row, j int) float32 {
	n := r.Z.Cols
	move, precision := r.Moves.row(row)[j*n:][:n], r.precision.row(j)
	var from []float32
	if r.From.Cols > 0 {
		from = r.From.row(row)
	}
	var sum float32
	for d, z := range r.Z.row(row) {
		if from != nil {
			z -= from[d]
		}
		z -= move[d]
		sum += float32(float32(z*z) * precision[d])
	}
	return sum
}

// With s̄(j) = log b̄(j) + b(j)·(ℓ̄ − Σₖ log b̄(k)) and δ(j) = (z − μ(j))/Q(j):
//
//	log w̄(j) += s̄(j);  z̄ −= Σⱼ s̄(j)·δ(j), and the state before it gains that;  mōve(j) += s̄(j)·δ(j)
//	Q̄(j) += ½·s̄(j)·(δ(j)² − 1/Q(j))
func (r *weighSwitchRecord) backward(*Tape) {
	for row := range r.Z.Rows {
		db := r.LogBelief.gradRow(row)
		rest := r.LogDensity.Grad[row]
		for _, g := range db {
			rest -= g
		}
		dw := r.LogWeights.gradRow(row)
		for j, b := range r.belief.row(row) {
			ds := db[j] + float32(b*rest)
			dw[j] += ds
			r.systemVJP(row, j, ds)
		}
	}
}

// systemVJP adds what the density of one system owes its mean and variance, given s̄(j).
func (r *weighSwitchRecord) systemVJP(row, j int, ds float32) {
	n := r.Z.Cols
	move, dm := r.Moves.row(row)[j*n:][:n], r.Moves.gradRow(row)[j*n:][:n]
	precision, dq, dz := r.precision.row(j), r.Variance.gradRow(j), r.Z.gradRow(row)
	var from, df []float32
	if r.From.Cols > 0 {
		from, df = r.From.row(row), r.From.gradRow(row)
	}
	for d, z := range r.Z.row(row) {
		if from != nil {
			z -= from[d]
		}
		p := precision[d]
		delta := float32((z - move[d]) * p)
		g := float32(ds * delta)
		dz[d] -= g
		dm[d] += g
		if df != nil {
			df[d] += g
		}
		dq[d] += float32(float32(0.5*ds) * (float32(delta*delta) - p))
	}
}
