package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// A discrete switch may know how long its system has been in force: the age of a system is 1 in the step that switched
// to it, and D from the D-th step on. Beside the belief b(i) stand the probabilities a(i,d) of the ages of every
// system, given that it is the system. An observation weighs systems and says nothing of ages, so that only predictions
// change them.

// AgedPrediction names the tensors of PredictAgedSwitch.
type AgedPrediction struct {
	SwitchPrediction
	Ages      Tensor // output a′, [rows, M·D]
	From      Tensor // a, [rows, M·D]
	Durations Tensor // C, [M, D]
}

// PredictAgedSwitch is PredictSwitch of a switch whose chance to stay depends on the age of its system:
//
//	w(j) = Σᵢ b(i)·Σ_d a(i,d)·p(j|i,d);  p(j|i,d) = softmaxⱼ(L(i,j) + g(j) + C(i,d)·[i=j]), and so for g(i,j)
//	a′(j,1) = Σᵢ b(i)·Σ_d a(i,d)·p(j|i,d)/w(j) over i ≠ j;  a′(j,d+1) = b(j)·a(j,d)·p(j|j,d)/w(j)
//
// where age D has D+1 too. It takes M² + M·D operations for each row: which system follows a switch does not
// depend on the age, so p(j|i,d) is the probability to leave i at age d times one of j given that i is left.
func (t *Tape) PredictAgedSwitch(p AgedPrediction) {
	n, m, d := p.LogBelief.Rows, p.LogBelief.Cols, p.Durations.Cols
	p.check("PredictAgedSwitch")
	sameShape("PredictAgedSwitch", p.Ages, p.From)
	shapeCheck(p.Durations.Rows == m && p.Ages.Rows == n && p.Ages.Cols == m*d, "PredictAgedSwitch", p.Durations, p.Ages)
	clearAll(p.Durations)
	r := agedSwitchRecord{
		AgedPrediction: p, next: t.scratch(n*m, m), from: t.scratch(n*m, m), stay: t.scratch(n, m*d),
		leave: t.scratch(n, m*d), stays: t.scratch(n, m), leaves: t.scratch(n, m),
	}
	AgedRows(r.next, r.stay, r.leave, p.Scores, p.Transition, p.Durations)
	// The means over the ages of p(i|i,d) and of 1 − p(i|i,d): the weights need no more of the ages.
	mark := t.values.mark()
	stays, leaves := t.scratch(n, m), t.scratch(n, m)
	for i := range n * m {
		a, stay, leave := r.ages(i)
		var kept, left float32
		for k, p := range a {
			kept += float32(p * stay[k])
			left += float32(p * leave[k])
		}
		r.stays.Value[i], r.leaves.Value[i] = kept, left
	}
	kernel.Log(stays.Value, r.stays.Value)
	kernel.Log(leaves.Value, r.leaves.Value)
	// f is the joint probability of i before j, as a logarithm: b(i)·stays(i) for i = j, b(i)·leaves(i)·p(j|i)
	// otherwise.
	for row := range n {
		stayed, left, next := stays.row(row), leaves.row(row), r.next.Value[row*m*m:]
		for j := range m {
			f := r.from.row(row*m + j)
			for i, b := range p.LogBelief.row(row) {
				if f[i] = b + stayed[i]; i != j {
					f[i] = b + left[i] + next[i*m+j]
				}
			}
		}
	}
	t.weighSources(r.from, p.SwitchPrediction)
	kernel.Exp(r.next.Value, r.next.Value)
	t.values.release(mark)
	r.grow()
	record(t, &t.lists.agedSwitch, r)
}

// mostCertain bounds the logarithm of the odds to stay, so that both probabilities have logarithms.
const mostCertain = 40

// AgedRows writes log p(j|i) of a switch that leaves system i into row n·M+i of next for each row n of the scores, and
// the probabilities that it stays with a system and that it leaves it, by age. It is not differentiated.
func AgedRows(next, stay, leave, scores, transition, durations Tensor) {
	m, d := durations.Rows, durations.Cols
	for row := range scores.Rows {
		writeLogits(next, scores, transition, row)
	}
	for at := range next.Rows {
		y, i := next.row(at), at%m
		stay.Value[at*d] = y[i] - y[(i+1)%m] // of one other system
		y[i] = Unlikely
	}
	kernel.LogSoftmax(next.values(), next.values())
	for at := range next.Rows {
		i := at % m
		odds, against := stay.Value[at*d:][:d], leave.Value[at*d:][:d]
		// log p(stay) − log p(leave) at age d is logit(i) + C(i,d) − LSE of the other logits, and the LSE is a
		// logit minus its log softmax.
		first := odds[0] + next.Value[at*m+(i+1)%m]
		for k, c := range durations.row(i) {
			odds[k] = min(max(first+c, -mostCertain), mostCertain)
			against[k] = -odds[k]
		}
	}
	kernel.Sigmoid(stay.Value, stay.Value)
	kernel.Sigmoid(leave.Value, leave.Value)
}

// agedSwitchRecord is what PredictAgedSwitch keeps for its VJP: 2·(M² + M·D + M) numbers for each row.
type agedSwitchRecord struct {
	AgedPrediction
	next          Tensor // p(j|i) of a switch that leaves i, in row n·M+i
	from          Tensor // the probability of i before j, in row n·M+j
	stay, leave   Tensor // p(i|i,d) and the rest, [rows, M·D]
	stays, leaves Tensor // their means over the ages of a system, [rows, M]
}

// ages are those before the step of system i % M of row i/M, and what it stays and leaves with.
func (r *agedSwitchRecord) ages(i int) (a, stay, leave []float32) {
	d := r.Durations.Cols
	return r.From.Value[i*d:][:d], r.stay.Value[i*d:][:d], r.leave.Value[i*d:][:d]
}

// grow computes the next ages.
func (r *agedSwitchRecord) grow() {
	m, d := r.Weights.Cols, r.Durations.Cols
	for at := range r.stays.Value {
		y, f := r.Ages.Value[at*d:][:d], r.from.row(at)
		y[0] = 0
		for i, v := range f {
			if i != at%m {
				y[0] += v
			}
		}
		a, stay, _ := r.ages(at)
		// same is b(j)/w(j). Ages D−1 and D both go on to D.
		same, last := f[at%m]/r.stays.Value[at], d-1
		for k, p := range a[:last] {
			y[k+1] = float32(same * float32(p*stay[k]))
		}
		y[last] += float32(same * float32(a[last]*stay[last]))
	}
}

// held is the mean of x by the next ages of the system i % M of row i/M, given that it stays.
func (r *agedSwitchRecord) held(i int, x []float32) float32 {
	a, stay, _ := r.ages(i)
	last := len(a) - 1
	var sum float32
	for k, p := range a[:last] {
		sum += float32(float32(p*stay[k]) * x[k+1])
	}
	sum += float32(float32(a[last]*stay[last]) * x[last])
	return sum / r.stays.Value[i]
}

// With v(j) = log w̄(j) + w(j)·w̄(j) and e(i,j), the gradient of from(j,i) by the ages of j, the logarithm of the joint
// probability of i and j has
//
//	F(i,j) = from(j,i)·(v(j) + e(i,j) − Σₖ from(j,k)·e(k,j))
func (r *agedSwitchRecord) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	m, d := r.Weights.Cols, r.Durations.Cols
	joint, kept := t.scratch(m, m), t.values.alloc(m)
	for row := range r.Weights.Rows {
		dw, dlog := r.Weights.gradRow(row), r.LogWeights.gradRow(row)
		for j, w := range r.Weights.row(row) {
			// da is ā′(j,·): where a switch leads to j its age is 1, whose gradient is da[0]; where j stays,
			// kept[j] is the mean.
			da, f := r.Ages.gradRow(row)[j*d:][:d], r.from.row(row*m+j)
			kept[j] = r.held(row*m+j, da)
			v, mean := dlog[j]+float32(w*dw[j]), float32(0)
			for i, p := range f {
				if i == j {
					mean += float32(p * kept[j])
				} else {
					mean += float32(p * da[0])
				}
			}
			for i, p := range f {
				e := da[0]
				if i == j {
					e = kept[j]
				}
				joint.row(i)[j] = float32(p * (v + e - mean))
			}
		}
		for i := range m {
			r.rowVJP(row, i, kept[i], joint.row(i))
		}
	}
}

// rowVJP is that of the transition that leaves system i. With F(i) = Σⱼ F(i,j) over j ≠ i, and S and R the means of
// p(i|i,d) and 1 − p(i|i,d) over the ages:
//
//	U(d) = (F(i,i) + from(i,i)·(ā′(i,d+1) − e(i,i)))/S;  V = F(i)/R
//	log b̄(i) += F(i,i) + F(i);  ā(i,d) += U(d)·p(i|i,d) + V·(1 − p(i|i,d))
//	C̄(i,d) += X(d) = a(i,d)·p(i|i,d)·(1 − p(i|i,d))·(U(d) − V);  L̄(i,i) += X = Σ_d X(d)
//	L̄(i,j) += F(i,j) − p(j|i)·(F(i) + X), and so for ḡ
func (r *agedSwitchRecord) rowVJP(row, i int, kept float32, joint []float32) {
	m, d := r.Weights.Cols, r.Durations.Cols
	var left, x float32
	for j, f := range joint {
		if j != i {
			left += f
		}
	}
	if r.LogBelief.Grad != nil {
		r.LogBelief.gradRow(row)[i] += joint[i] + left
	}
	// in is U(d), out is V, x is Σ_d X(d).
	self, out := r.from.row(row*m + i)[i], left/r.leaves.row(row)[i]
	next, dc, da := r.Ages.gradRow(row)[i*d:][:d], r.Durations.gradRow(i), []float32(nil)
	if r.From.Grad != nil {
		da = r.From.gradRow(row)[i*d:][:d]
	}
	a, stay, leave := r.ages(row*m + i)
	each := 1 / r.stays.row(row)[i]
	for k, p := range a {
		in := float32((joint[i] + float32(self*(next[min(k+1, d-1)]-kept))) * each)
		if da != nil {
			da[k] += float32(in*stay[k]) + float32(out*leave[k])
		}
		dx := float32(float32(p*float32(stay[k]*leave[k])) * (in - out))
		dc[k] += dx
		x += dx
	}
	dg, dl := r.Scores.gradRow(row), r.Transition.gradRow(i)
	if len(dg) > m {
		dg = dg[i*m:][:m]
	}
	for j, p := range r.next.row(row*m + i) {
		v := x
		if j != i {
			v = joint[j] - float32(p*(left+x))
		}
		dg[j] += v
		dl[j] += v
	}
}
