package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// A group is k consecutive rows, at least 2. Its pairs are a row r and each row s ≠ r of its group: k − 1 pairs for
// every row, in ascending order of r and then of s, so that pairs of n rows are n·(k − 1) rows.

// PairTanh writes y_rs = tanh(own_r + other_s) for all pairs: the first layer of a network that sees both rows,
// whose products with its weights are formed once for each row. own and other are [n, cols], y is [n·(k−1), cols].
func (t *Tape) PairTanh(y, own, other Tensor, k int) {
	checkPairs("PairTanh", y, own, k)
	sameShape("PairTanh", own, other)
	clearAll(y, own)
	eachPair(own.Rows, k, func(pair, row, s int) {
		to := y.row(pair)
		copy(to, own.row(row))
		kernel.Add(to, other.row(s))
	})
	kernel.Tanh(y.Value, y.Value)
	record(t, &t.lists.pairTanh, pairTanhRecord{own: own, other: other, y: y, k: k})
}

type pairTanhRecord struct {
	own, other, y Tensor
	k             int
}

// With d_rs = ȳ_rs ⊙ (1 − tanh²):  own̄_r += Σ_s d_rs;  other̄_s += Σ_r d_rs
func (r *pairTanhRecord) backward(*Tape) {
	d := r.y.Grad // in place
	kernel.TanhBackward(d, d, r.y.Value)
	// Each row is in k−1 pairs as itself and in k−1 as the other one.
	eachPair(r.own.Rows, r.k, func(pair, row, s int) {
		if r.own.Grad != nil {
			kernel.Add(r.own.gradRow(row), r.y.gradRow(pair))
		}
		if r.other.Grad != nil {
			kernel.Add(r.other.gradRow(s), r.y.gradRow(pair))
		}
	})
}

// PairSums adds to each row of y what its pairs say: y_r += share·Σ_s x_rs, in ascending order of s. y is [n,
// cols], x is [n·(k−1), cols]. What y held before stays in the sum, and its gradient is that of the sum.
func (t *Tape) PairSums(y, x Tensor, k int, share float32) {
	checkPairs("PairSums", x, y, k)
	clearAll(y, x)
	eachPair(y.Rows, k, func(pair, row, _ int) {
		to := y.row(row)
		for j, v := range x.row(pair) {
			to[j] += float32(share * v)
		}
	})
	record(t, &t.lists.pairSums, pairSumsRecord{y: y, x: x, k: k, share: share})
}

type pairSumsRecord struct {
	y, x  Tensor
	k     int
	share float32
}

// x̄_rs += share·ȳ_r
func (r *pairSumsRecord) backward(*Tape) {
	if r.x.Grad == nil {
		return
	}
	eachPair(r.y.Rows, r.k, func(pair, row, _ int) {
		to := r.x.gradRow(pair)
		for j, g := range r.y.gradRow(row) {
			to[j] += float32(r.share * g)
		}
	})
}

// checkPairs panics unless pairs has the pairs of x, whose groups have k rows.
func checkPairs(op string, pairs, x Tensor, k int) {
	shapeCheck(k > 1 && x.Rows%k == 0 && pairs.Rows == x.Rows*(k-1) && pairs.Cols == x.Cols, op, pairs, x)
}

// eachPair calls do for all pairs of so many rows, with the number of the pair.
func eachPair(rows, k int, do func(pair, row, other int)) {
	pair := 0
	for row := range rows {
		for s := row / k * k; s < row/k*k+k; s++ {
			if s != row {
				do(pair, row, s)
				pair++
			}
		}
	}
}
