package main

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// functionsOfOne emits the functions of one variable, most of them two vectors at a time, so that their chains of
// dependent operations overlap. The references are exp1, log1 and the others of portable_math.go.
func (out *file) functionsOfOne() {
	out.unary("exp", 2, formulas.Exp, formula.ReduceConstants, formula.ExpConstants)
	out.unary("log", 2, formulas.Log, formula.LogConstants)
	out.unary("tanh", 2, formulas.Tanh, formula.ReduceConstants, formula.TanhConstants)
	out.unary("sigmoid", 2, formulas.Sigmoid, formula.ReduceConstants, formula.SigmoidConstants)
	out.unary("softplus", 2, formulas.Softplus, formula.ReduceConstants, formula.SigmoidConstants)
	out.unary("relu", 4, formulas.ReLU)
	out.unary("sqrt", 4, formulas.Sqrt)
}

// unary emits dst[i] = f(src[i]). several is how many vectors a step of the main loop takes; hoist are the
// constants that stay in registers.
func (out *file) unary(name string, several int, f func(formulas, *register) *register, hoist ...[]uint32) {
	e := out.begin(name, "dst, src *float32, n int")
	dst, src, n := e.load("dst"), e.load("src"), e.load("n")
	e.hoist(hoist...)
	e.each("loop", several, n, pointers(dst, src), false, func(s *span) {
		s.store(f(e.formulas(), s.load(src)), dst)
	})
	e.end()
}

// arithmetic emits the functions that are an operation or two for each value, four vectors at a time. Their
// references are in portable_vector.go, under the same names with Portable behind them.
func (out *file) arithmetic() {
	out.update("add", func(e *emitter, dst, x *register) *register { return e.Add(dst, x) })
	out.binary("sub", func(e *emitter, x, y *register) *register { return e.Sub(x, y) })
	out.binary("mul", func(e *emitter, x, y *register) *register { return e.Mul(x, y) })
	out.binary("div", func(e *emitter, x, y *register) *register { return e.Div(x, y) })
	out.binary("reluBackward", func(e *emitter, dy, y *register) *register {
		return e.formulas().ReLUBackward(dy, y)
	})
	out.binary("tanhBackward", func(e *emitter, dy, y *register) *register {
		return e.formulas().TanhBackward(dy, y)
	}, formula.Bits(1))
	out.addMul()
	out.addScaled()
	out.scale()
	out.addRow()
	out.finite()
}

// update emits dst[i] = f(dst[i], x[i]).
func (out *file) update(name string, f func(e *emitter, dst, x *register) *register) {
	e := out.begin(name, "dst, x *float32, n int")
	dst, x, n := e.load("dst"), e.load("x"), e.load("n")
	e.each("loop", 4, n, pointers(dst, x), false, func(s *span) {
		s.store(f(e, s.load(dst), s.load(x)), dst)
	})
	e.end()
}

// binary emits dst[i] = f(x[i], y[i]); hoist are the constants of f.
func (out *file) binary(name string, f func(e *emitter, x, y *register) *register, hoist ...uint32) {
	e := out.begin(name, "dst, x, y *float32, n int")
	dst, x, y, n := e.load("dst"), e.load("x"), e.load("y"), e.load("n")
	if len(hoist) > 0 {
		e.hoist(hoist)
	}
	e.each("loop", 4, n, pointers(dst, x, y), false, func(s *span) {
		s.store(f(e, s.load(x), s.load(y)), dst)
	})
	e.end()
}

// addMul emits dst[i] = x[i]*y[i] + dst[i], fused.
func (out *file) addMul() {
	e := out.begin("addMul", "dst, x, y *float32, n int")
	dst, x, y, n := e.load("dst"), e.load("x"), e.load("y"), e.load("n")
	e.each("loop", 4, n, pointers(dst, x, y), false, func(s *span) {
		sum := s.load(dst)
		e.AddProduct(sum, s.load(x), s.load(y))
		s.store(sum, dst)
	})
	e.end()
}

// addScaled emits dst[i] = a*x[i] + dst[i], fused. The instruction multiplies by lane 0 of a, which needs no
// broadcast.
func (out *file) addScaled() {
	e := out.begin("addScaled", "dst *float32, a float32, x *float32, n int")
	dst, a, x, n := e.load("dst"), e.load("a"), e.load("x"), e.load("n")
	e.each("loop", 4, n, pointers(dst, x), false, func(s *span) {
		sum := s.load(dst)
		e.into(sum, fmlaByLane0, s.load(x), a)
		s.store(sum, dst)
	})
	e.end()
}

// scale emits dst[i] *= a.
func (out *file) scale() {
	e := out.begin("scale", "dst *float32, a float32, n int")
	dst, a, n := e.load("dst"), e.new(broadcast, e.load("a")), e.load("n")
	e.each("loop", 4, n, pointers(dst), false, func(s *span) {
		s.store(e.Mul(s.load(dst), a), dst)
	})
	e.end()
}

// addRow emits dst[i, j] += row[j].
func (out *file) addRow() {
	e := out.begin("addRow", "dst, row *float32, rows, n, stride int")
	dst, row, rows, n, stride := e.load("dst"), e.load("row"), e.load("rows"), e.load("n"), e.loadStride("stride")
	e.label("row")
	to, from, left := e.copyGP(dst), e.copyGP(row), e.copyGP(n)
	e.each("loop", 4, left, pointers(to, from), false, func(s *span) {
		s.store(e.Add(s.load(to), s.load(from)), to)
	})
	e.add(dst, stride)
	e.subtract(rows, 1)
	e.branch("BNE", "row")
	e.end()
}

// loadStride returns a parameter that counts values, in bytes.
func (e *emitter) loadStride(name string) *register {
	r := e.load(name)
	e.op("LSL $2, %s, %s", r.gp(), r.gp())
	return r
}

// greatestMagnitude emits the loop over the n values at x, and returns the greatest one
// without its sign, as an integer, in lane 0.
func (e *emitter) greatestMagnitude() *register {
	x, n := e.load("x"), e.load("n")
	e.hoist([]uint32{0x7fffffff})
	greatest := e.new(vzero)
	e.each("loop", 4, n, pointers(x), false, func(s *span) {
		e.into(greatest, smax, greatest, e.And(s.load(x), e.Word(0x7fffffff)))
	})
	return e.into(greatest, smaxv, greatest)
}

// finite emits whether all values are finite: the greatest magnitude, as an integer, is
// less than that of infinity.
func (out *file) finite() {
	e := out.beginResult("finite", "x *float32, n int", "bool")
	greatest := e.greatestMagnitude()
	found, limit := newGP(), newGP()
	e.op("FMOVS %s, %s", greatest.f(), found.gp())
	e.op("MOVW $0x7f800000, %s", limit.gp())
	e.op("CMPW %s, %s", limit.gp(), found.gp())
	e.op("CSET LT, %s", found.gp())
	e.op(fmt.Sprintf("MOVB %%s, ret+%d(FP)", e.params.resultOffset), found.gp())
	e.end()
}
