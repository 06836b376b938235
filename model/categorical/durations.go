package categorical

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
)

// The switch with ages of systems. Beside block i of the log belief, ln b(j), stands a(j,d) = p(age d | system j),
// [block, M·D] with the ages of a system side by side; a row of D sums to 1. An observation changes b alone. From
// one step to the next, as a belief of model.Stepper, both go as the joint probabilities b(j)·a(j,d).

// firstAges writes the ages of the first time step, softmax_d of the learned logits, into block 0: a sequence may
// begin within a regime. Without ages it does nothing.
func (n *transition) firstAges(r *recurrence) {
	if r.ages.Cols == 0 {
		return
	}
	t := r.tape
	p := t.New(n.age.Rows, n.age.Cols)
	t.Softmax(p, t.Param(n.age))
	t.Concat(r.ages.Block(0, r.block), t.Repeat(p.Reshape(1, r.ages.Cols), r.block))
}

// recall sets block 0 of belief and ages from what was carried from the step before: the probability of every
// system, or of every system and age, [block, M] or [block, M·D]. No probability has a logarithm of less than that
// of smallest.
func (r *recurrence) recall(carried []float32) {
	logs := r.belief.Block(0, r.block).Value
	if r.ages.Cols == 0 {
		copy(logs, carried)
	} else {
		d, ages := r.hold.Cols, r.ages.Block(0, r.block).Value
		for i := range logs {
			a := ages[i*d:][:d]
			copy(a, carried[i*d:])
			logs[i] = 0
			for _, p := range a {
				logs[i] += p
			}
			if logs[i] < smallest { // of a system out of the question any age will do
				clear(a)
				a[0] = 1
				continue
			}
			for k := range a {
				a[k] /= logs[i]
			}
		}
	}
	for i, b := range logs {
		logs[i] = max(b, smallest)
	}
	kernel.Log(logs, logs)
}

// carry writes what recall reads, of block 1, to dst.Switch. It reads dst.Weights.
func (r *recurrence) carry(dst *model.Belief) {
	if r.ages.Cols == 0 {
		copy(dst.Switch, dst.Weights)
		return
	}
	for i, a := range r.ages.Block(1, r.block).Value {
		dst.Switch[i] = float32(dst.Weights[i/r.hold.Cols] * a)
	}
}

// smoothAged is smooth of a switch with ages, by
//
//	β_{t−1}(i,d) = log(p(i|i,d)·N_i·exp β_t(i,d+1) + Σ_j p(j|i,d)·N_j·exp β_t(j,1)),  N_j = N(z_t; μ_j, Q_j), j ≠ i
//
// where d+1 of the oldest age is that age. Log beliefs become probabilities in place. β is known up to a constant
// of each row, which the softmax takes out.
func (r *recurrence) smoothAged() {
	t, n, m, d := r.tape, r.block, r.weights.Cols, r.hold.Cols
	beta, joint := t.NewConstant(n, m*d), t.NewConstant(n, m*d)
	clear(beta.Value)
	next, stay, leave := t.NewConstant(n*m, m), t.NewConstant(n, m*d), t.NewConstant(n, m*d)
	// β of the last block is 0: nothing comes after it.
	for i := r.weights.Rows/n - 1; i >= 0; i-- {
		after, logs := r.belief.Block(i+1, n), r.logWeights.Block(i, n)
		for k, b := range beta.Value { // log N + β, up to a constant of the row
			joint.Value[k] = after.Value[k/d] - logs.Value[k/d] + b
		}
		r.weighAges(i+1, beta)
		autodiff.AgedRows(next, stay, leave, r.scores.Block(i, n), r.stay, r.hold)
		kernel.Log(stay.Value, stay.Value)
		kernel.Log(leave.Value, leave.Value)
		for row := range n * m {
			v := next.Value[row*m:][:m]
			for j := range v {
				v[j] += joint.Value[(row/m*m+j)*d]
			}
			// log Σ_j p(j|i)·N_j·exp β_t(j,1) of a switch that leaves i; stay and leave are its chances by age.
			moved := logSum(v)
			for k := range d {
				stayed := stay.Value[row*d+k] + joint.Value[row*d+min(k+1, d-1)]
				left := leave.Value[row*d+k] + moved
				beta.Value[row*d+k], leave.Value[row*d+k] = max(stayed, left), min(stayed, left)-max(stayed, left)
			}
		}
		// log(eˣ + eʸ) = max + log(1 + e^{min−max}), for all rows at a time.
		kernel.Exp(leave.Value, leave.Value)
		for k := range leave.Value {
			leave.Value[k]++
		}
		kernel.Log(leave.Value, leave.Value)
		kernel.Add(beta.Value, leave.Value)
	}
	r.weighAges(0, beta)
}

// weighAges turns a block of filtered log beliefs into smoothed probabilities of the systems, in place: ∝ b(i)·Σ_d
// a(i,d)·exp β(i,d). The block must not be used as a log belief after it.
func (r *recurrence) weighAges(block int, beta autodiff.Tensor) {
	b, d := r.belief.Block(block, r.block), r.hold.Cols
	one := make([]float32, d)
	for i := range b.Value {
		for k, a := range r.ages.Block(block, r.block).Value[i*d:][:d] {
			one[k] = max(a, smallest)
		}
		kernel.Log(one, one)
		kernel.Add(one, beta.Value[i*d:][:d])
		b.Value[i] += logSum(one)
	}
	r.tape.Softmax(b, b)
}
