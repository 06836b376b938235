package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// arithmetic emits the functions that are an operation or two for each value. Their references are in
// portable_vector.go, under the same names with Portable behind them.
func arithmetic(bytes int) {
	add(bytes)
	binary(bytes, "sub", func(e *emitter, x, y vector) vector { return e.sub(x, y) })
	binary(bytes, "mul", func(e *emitter, x, y vector) vector { return e.mul(x, y) })
	binary(bytes, "div", func(e *emitter, x, y vector) vector { return e.div(x, y) })
	binary(bytes, "reluBackward", func(e *emitter, dy, y vector) vector {
		return e.reg(e.formulas().ReLUBackward(dy, y))
	}, 0)
	binary(bytes, "tanhBackward", func(e *emitter, dy, y vector) vector {
		return e.reg(e.formulas().TanhBackward(dy, y))
	}, formula.Bits(1))
	addMul(bytes)
	addScaled(bytes)
	scale(bytes)
	addRow(bytes)
}

// add emits dst[i] += x[i].
func add(bytes int) {
	e := begin(bytes, "add", "func(dst, x *float32, n int)")
	dst, x, n := arg("dst"), arg("x"), arg("n")
	e.each("loop", n, pointers(dst, x), func(s *span) {
		s.store(e.add(s.load(at(dst)), s.load(at(x))), at(dst))
	})
	e.end()
}

// binary emits dst[i] = f(x[i], y[i]); hoist are the constants of f.
func binary(bytes int, name string, f func(e *emitter, x, y vector) vector, hoist ...uint32) {
	e := begin(bytes, name, "func(dst, x, y *float32, n int)")
	dst, x, y, n := arg("dst"), arg("x"), arg("y"), arg("n")
	e.hoist(hoist)
	e.each("loop", n, pointers(dst, x, y), func(s *span) {
		s.store(f(e, s.load(at(x)), s.load(at(y))), at(dst))
	})
	e.end()
}

// addMul emits dst[i] = x[i]*y[i] + dst[i], fused.
func addMul(bytes int) {
	e := begin(bytes, "addMul", "func(dst, x, y *float32, n int)")
	dst, x, y, n := arg("dst"), arg("x"), arg("y"), arg("n")
	e.each("loop", n, pointers(dst, x, y), func(s *span) {
		sum := s.load(at(dst))
		e.addProduct(sum, s.load(at(x)), s.load(at(y)))
		s.store(sum, at(dst))
	})
	e.end()
}

// addScaled emits dst[i] = a*x[i] + dst[i], fused.
func addScaled(bytes int) {
	e := begin(bytes, "addScaled", "func(dst *float32, a float32, x *float32, n int)")
	dst, x, n := arg("dst"), arg("x"), arg("n")
	a := e.new()
	VBROADCASTSS(argPlace("a"), a)
	e.each("loop", n, pointers(dst, x), func(s *span) {
		y := s.load(at(dst))
		e.addProduct(y, a, s.load(at(x)))
		s.store(y, at(dst))
	})
	e.end()
}

// scale emits dst[i] *= a.
func scale(bytes int) {
	e := begin(bytes, "scale", "func(dst *float32, a float32, n int)")
	dst, n := arg("dst"), arg("n")
	a := e.new()
	VBROADCASTSS(argPlace("a"), a)
	e.each("loop", n, pointers(dst), func(s *span) {
		s.store(e.mul(s.load(at(dst)), a), at(dst))
	})
	e.end()
}

// addRow emits dst[i, j] += row[j]: a loop over the rows around that over the n columns; stride is in values.
func addRow(bytes int) {
	e := begin(bytes, "addRow", "func(dst, row *float32, rows, n, stride int)")
	dst, row, rows, n, stride := arg("dst"), arg("row"), arg("rows"), arg("n"), arg("stride")
	SHLQ(U8(2), stride)
	Label("row")
	to, from, left := e.copyOf(dst), e.copyOf(row), e.copyOf(n)
	e.each("loop", left, pointers(to, from), func(s *span) {
		s.store(e.add(s.load(at(to)), s.load(at(from))), at(to))
	})
	ADDQ(stride, dst)
	DECQ(rows)
	JNZ(LabelRef("row"))
	e.end()
}

// finite emits whether all values are finite: the greatest magnitude, as an
// integer, is less than that of infinity.
func finite(bytes int) {
	e := begin(bytes, "finite", "func(x *float32, n int) bool")
	x, n := arg("x"), arg("n")
	greatest := e.zero()
	magnitude := e.wordReg(0x7fffffff)
	e.each("loop", n, pointers(x), func(s *span) {
		VPMAXSD(e.and(s.load(at(x)), magnitude), greatest, greatest)
	})
	e.storeNoneAbove(greatest, 0x7f7fffff)
	e.end()
}

// storeNoneAbove returns to the caller whether no integer lane is above the limit.
func (e *emitter) storeNoneAbove(v vector, limit uint32) {
	found, none := GP32(), GP8()
	if e.wide() {
		k := K()
		VPCMPGTD(e.wordReg(limit), v, k)
		KMOVW(k, found)
	} else {
		over := e.new()
		VPCMPGTD(constant(limit), v, over)
		VMOVMSKPS(over, found)
	}
	TESTL(found, found)
	SETEQ(none)
	Store(none, ReturnIndex(0))
}
