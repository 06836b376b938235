package kvae

import "github.com/switchyard-ml/switchyard/autodiff"

// filtered is what a Kalman filter says of a sequence: with m⁻, P⁻ the mean and covariance of z_t before a_t is
// known,
//
//	m⁻ = A_t m + B_t u_t;  P⁻ = A_t P A_tᵀ + Q;  S = C_t P⁻ C_tᵀ + R;  G = P⁻ C_tᵀ S⁻¹
//	m = m⁻ + G(a_t − C_t m⁻);  P = (I − G C_t) P⁻ (I − G C_t)ᵀ + G R Gᵀ
//
// The last is the form of Joseph, which stays positive definite under rounding. Where a_t is missing G is 0: m =
// m⁻ and P = P⁻. Row t·B+b of a tensor is step t of sequence b.
type filtered struct {
	systems
	n   *lgssm
	seq sequence

	before, beforeCov autodiff.Tensor // m⁻ [T·B, nz] and P⁻ [T·B, nz·nz]
	mean, cov         autodiff.Tensor // m and P
	surprise, factor  autodiff.Tensor // a_t − C_t m⁻ and the Cholesky factor of S
	next              autodiff.Tensor // what the LSTM reads after the last step, [B, na]
	unit, qI, rI      autodiff.Tensor // I, Q and R
}

// filter runs over a sequence from its beginning, all sequences of a batch at a time. The matrices of a step
// depend on the codes before it, so steps go in order: mix, predict, update.
func (n *lgssm) filter(t *autodiff.Tape, seq sequence) filtered {
	rows := seq.steps * seq.block
	f := filtered{
		n: n, seq: seq, systems: n.begin(t, seq.steps, seq.block, autodiff.LSTMState{}),
		before: t.New(rows, n.nz), beforeCov: t.New(rows, n.nz*n.nz), mean: t.New(rows, n.nz), cov: t.New(rows, n.nz*n.nz),
		surprise: t.New(rows, n.na), factor: t.New(rows, n.na*n.na),
		unit: diagonal(t, n.nz, 1), qI: diagonal(t, n.nz, n.q), rI: diagonal(t, n.na, n.r),
	}
	f.next = t.Repeat(t.Param(n.code), seq.block)
	for i := range seq.steps {
		f.step(i, f.next)
		f.predict(i)
		f.next = f.update(i)
	}
	return f
}

// predict computes m⁻ and P⁻ of step i: 0 and σ₁²I at the first, which no transition leads to.
func (f *filtered) predict(i int) {
	t, n := f.tape, f.n
	before, cov := f.at(f.before, i), f.at(f.beforeCov, i)
	if i == 0 {
		zero := t.NewConstant(f.block, n.nz)
		clear(zero.Value)
		t.Concat(before, zero)
		t.Concat(cov, t.Repeat(diagonal(t, n.nz, n.start), f.block))
		return
	}
	t.Concat(before, f.move(f.at(f.mean, i-1), f.at(f.seq.u, i), i*f.block))
	t.Concat(cov, t.Add(quadratic(t, f.at(f.a, i), f.at(f.cov, i-1), n.nz), f.qI))
}

// update computes m and P of step i, and returns the code that the LSTM reads next: a_t, or C_t m⁻ where it is
// missing.
func (f *filtered) update(i int) autodiff.Tensor {
	t, n := f.tape, f.n
	c, a := f.at(f.c, i), f.at(f.seq.a, i)
	before, p := f.at(f.before, i), f.at(f.beforeCov, i)
	cp := t.BatchMul(c, p, n.nz)
	t.Concat(f.at(f.factor, i), t.Cholesky(t.Add(t.BatchMulTransB(cp, c, n.nz), f.rI)))
	// Gᵀ = S⁻¹ C P⁻, as P⁻ is symmetric.
	gain := t.CholeskySolve(f.at(f.factor, i), cp) // Gᵀ
	if f.seq.seen.Cols > 0 {
		gain = t.HideRows(gain, f.at(f.seq.seen, i))
	}
	expected := f.emit(before, i*f.block)
	t.Concat(f.at(f.surprise, i), t.Sub(a, expected))
	t.Concat(f.at(f.mean, i), t.Add(before, t.BatchMulTransA(gain, f.at(f.surprise, i), n.na)))
	keep := f.without(t.BatchMulTransA(gain, c, n.na))
	noise := t.Scale(t.BatchMulTransA(gain, gain, n.na), n.r)
	t.Concat(f.at(f.cov, i), t.Add(quadratic(t, keep, p, n.nz), noise))
	return f.seq.fill(t, a, expected, i)
}

// smoothed is what all codes say of the states: with the gain J = P A_{t+1}ᵀ (P⁻_{t+1})⁻¹ of Rauch, Tung and Striebel,
//
//	mˢ = m + J(mˢ_{t+1} − m⁻_{t+1});  Pˢ = (I − J A_{t+1}) P (I − J A_{t+1})ᵀ + J(Pˢ_{t+1} + Q)Jᵀ
//
// the latter in the form of Joseph, too.
type smoothed struct{ mean, cov autodiff.Tensor }

// smooth goes backward from the last step, whose smoothed state is the filtered one. It needs all steps of the
// filter, and no codes.
func (f *filtered) smooth() smoothed {
	t, nz := f.tape, f.n.nz
	s := smoothed{t.New(f.mean.Rows, nz), t.New(f.cov.Rows, nz*nz)}
	last := f.seq.steps - 1
	t.Concat(f.at(s.mean, last), f.at(f.mean, last))
	t.Concat(f.at(s.cov, last), f.at(f.cov, last))
	for i := last - 1; i >= 0; i-- {
		a, p := f.at(f.a, i+1), f.at(f.cov, i)
		gain := t.CholeskySolve(t.Cholesky(f.at(f.beforeCov, i+1)), t.BatchMul(a, p, nz)) // Jᵀ
		shift := t.Sub(f.at(s.mean, i+1), f.at(f.before, i+1))
		t.Concat(f.at(s.mean, i), t.Add(f.at(f.mean, i), t.BatchMulTransA(gain, shift, nz)))
		keep := f.without(t.BatchMulTransA(gain, a, nz))
		later := t.BatchMul(t.Add(f.at(s.cov, i+1), f.qI), gain, nz)
		t.Concat(f.at(s.cov, i), t.Add(quadratic(t, keep, p, nz), t.BatchMulTransA(gain, later, nz)))
	}
	return s
}

// without is I − X of the nz×nz matrix in each row.
func (f *filtered) without(x autodiff.Tensor) autodiff.Tensor {
	return f.tape.Add(f.tape.Scale(x, -1), f.unit)
}

// quadratic is X P Xᵀ of the n×n matrices in each row.
func quadratic(t *autodiff.Tape, x, p autodiff.Tensor, n int) autodiff.Tensor {
	return t.BatchMulTransB(t.BatchMul(x, p, n), x, n)
}
