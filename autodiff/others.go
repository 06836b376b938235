package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Others pools what the other rows of a group tell each of its rows. A group is k consecutive rows, at least 2:
//
//	y_r = 1/(k − 1)·Σ_s tanh(own_r + other_s), with the sum over the rows s ≠ r of the group of r, in ascending order
func (t *Tape) Others(own, other Tensor, k int) Tensor {
	shapeCheck(k > 1 && own.Rows%k == 0, "Others", own, Tensor{Rows: k, Cols: own.Cols})
	sameShape("Others", own, other)
	r := othersRecord{own: own, other: other, y: t.result(own.Rows, own.Cols, own), k: k}
	r.pairs = t.scratch(own.Rows*(k-1), own.Cols)
	r.each(func(pair, row, s int) {
		to, b := r.pairs.row(pair), other.row(s)
		for j, a := range own.row(row) {
			to[j] = a + b[j]
		}
	})
	kernel.Tanh(r.pairs.Value, r.pairs.Value)
	clear(r.y.Value)
	share := 1 / float32(k-1)
	r.each(func(pair, row, _ int) {
		to := r.y.row(row)
		for j, v := range r.pairs.row(pair) {
			to[j] += float32(share * v)
		}
	})
	record(t, &t.lists.others, r)
	return r.y
}

type othersRecord struct {
	own, other, y Tensor
	pairs         Tensor // tanh of row r and each s, k−1 rows for each r
	k             int
}

// each calls do for all pairs of a row and another row of its group, in ascending order.
func (r *othersRecord) each(do func(pair, row, other int)) {
	pair := 0
	for row := range r.own.Rows {
		for s := row / r.k * r.k; s < row/r.k*r.k+r.k; s++ {
			if s != row {
				do(pair, row, s)
				pair++
			}
		}
	}
}

// With d_rs = ȳ_r ⊙ (1 − tanh²)/(k − 1):  own̄_r += Σ_s d_rs;  other̄_s += Σ_r d_rs
func (r *othersRecord) backward(*Tape) {
	share := 1 / float32(r.k-1)
	r.each(func(pair, row, s int) {
		g := r.y.gradRow(row)
		for j, v := range r.pairs.row(pair) {
			d := float32(float32(share*g[j]) * (1 - float32(v*v)))
			if r.own.Grad != nil {
				r.own.gradRow(row)[j] += d
			}
			if r.other.Grad != nil {
				r.other.gradRow(s)[j] += d
			}
		}
	})
}
