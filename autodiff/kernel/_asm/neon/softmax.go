package main

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// The greatest value of a row is found with FMAX, which differs from the portable code
// in the sign of a zero and where there is a NaN. The results are the same: e^0 is 1
// for either zero, and a row with a NaN becomes NaN whatever is subtracted.

// softmaxName is the name of the kernel.
func softmaxName(log bool) string {
	if log {
		return "logSoftmax"
	}
	return "softmax"
}

// normaliser ends a softmax, log or not, given the maximum and the sum of a row in all
// lanes: it returns what normalise needs.
func (e *emitter) normaliser(log bool, max, sum *register) *register {
	if log {
		return e.Add(max, e.formulas().Log(sum))
	}
	return e.Div(e.Value(1), sum)
}

// normalise returns the result for x: a value, or its exponential if not log.
func (e *emitter) normalise(log bool, x, norm *register) *register {
	if log {
		return e.Sub(x, norm)
	}
	return e.Mul(x, norm)
}

// softmax emits the softmax, or its logarithm, of each row: its maximum, the sum of the exponentials (kept in dst
// if they are wanted), then the result. The references are softmaxPortable and logSoftmaxPortable. A row is gone
// through three times.
func (out *file) softmax(log bool) {
	e := out.begin(softmaxName(log), "dst, src *float32, rows, n, dstStride, srcStride int")
	dst, src, rows, n := e.load("dst"), e.load("src"), e.load("rows"), e.load("n")
	dstStride, srcStride := e.loadStride("dstStride"), e.loadStride("srcStride")
	e.hoist(formula.ReduceConstants, formula.ExpConstants)

	e.label("row")
	// First pass: the maximum of the row.
	max := e.rowMax(src, n)
	// Second pass: exponentials and their sum in 16 lanes.
	sum := e.zeros()
	x, y := e.copyGP(src), e.copyGP(dst)
	e.eachSixteen("sum", n, pointers(x, y), func(i int, s *span) {
		v := e.formulas().Exp(e.Sub(s.load(x), max))
		if !log {
			s.store(v, y)
		}
		e.into(sum[i], fadd, sum[i], s.existing(v))
	})
	// Third pass: the result, from the exponentials in dst or from the row itself.
	norm := e.normaliser(log, max, e.fold(sum, fadd))
	from := e.copyGP(dst)
	if log {
		from = e.copyGP(src)
	}
	to, left := e.copyGP(dst), e.copyGP(n)
	e.each("apply", 1, left, pointers(from, to), false, func(s *span) {
		s.store(e.normalise(log, s.load(from), norm), to)
	})
	e.add(src, srcStride)
	e.add(dst, dstStride)
	e.subtract(rows, 1)
	e.branch("BNE", "row")
	e.end()
}

// rowMax returns the maximum of the n values at src, in all lanes.
func (e *emitter) rowMax(src, n *register) *register {
	const lowest = 0xff800000 // -Inf
	x, left := e.copyGP(src), e.copyGP(n)
	max := e.Copy(e.Word(lowest))
	e.each("max", 1, left, pointers(x), true, func(s *span) {
		v := s.load(x)
		if s.partial {
			v = e.Choose(condition{mask: s.mask}, v, e.Word(lowest))
		}
		e.into(max, fmax, max, v)
	})
	return e.foldFour(max, fmax)
}

// shortSoftmax emits the softmax, or its logarithm, of dense rows of 4, 8 or 16 values:
// as many rows at once as 16 values hold. Lanes are joined by swapping, so that each
// lane ends up with the sum of its row, formed in the usual order.
func (out *file) shortSoftmax(columns int, log bool) {
	e := out.begin(fmt.Sprintf("%s%d", softmaxName(log), columns), "dst, src *float32, blocks int")
	dst, src, blocks := e.load("dst"), e.load("src"), e.load("blocks")
	e.hoist(formula.ReduceConstants, formula.ExpConstants)
	e.label("loop")
	var x, exps []*register
	for i := range 4 {
		x = append(x, e.loadVector(src.at(16*i)))
	}
	max := e.foldRows(x, columns, fmax)
	for i, v := range x {
		exps = append(exps, e.formulas().Exp(e.Sub(v, max[i])))
	}
	sum := e.foldRows(exps, columns, fadd)
	// Vectors of one row share their normaliser.
	norms := map[*register]*register{}
	for i := range 4 {
		norm := norms[sum[i]]
		if norm == nil {
			norm = e.normaliser(log, max[i], sum[i])
			norms[sum[i]] = norm
		}
		from := exps
		if log {
			from = x
		}
		e.storeVector(e.normalise(log, from[i], norm), dst.at(16*i))
	}
	e.addBytes(src, 64)
	e.addBytes(dst, 64)
	e.subtract(blocks, 1)
	e.branch("BNE", "loop")
	e.end()
}

// foldRows joins the rows of the given number of columns in 16 values; rows of more than four share a register.
// The result has a register for each of the four vectors, with the value of its row in all lanes; vectors of one
// row have the same.
func (e *emitter) foldRows(v []*register, columns int, f instruction) []*register {
	switch columns {
	case 4:
		return []*register{e.foldFour(v[0], f), e.foldFour(v[1], f), e.foldFour(v[2], f), e.foldFour(v[3], f)}
	case 8:
		a := e.foldFour(e.new(f, v[0], v[1]), f)
		b := e.foldFour(e.new(f, v[2], v[3]), f)
		return []*register{a, a, b, b}
	}
	a := e.fold(v, f)
	return []*register{a, a, a, a}
}
