package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// gates are the places of the four blocks of n values each from p on.
type gates struct{ p, by1, by3 GPVirtual }

// byteCounts returns n and 3n in bytes of float32.
func byteCounts(n GPVirtual) (by1, by3 GPVirtual) {
	by1, by3 = GP64(), GP64()
	MOVQ(n, by1)
	SHLQ(U8(2), by1)
	LEAQ(Mem{Base: by1}.Idx(by1, 2), by3)
	return by1, by3
}

// operands are the places of the four gates.
func (g gates) operands() operands {
	return operands{
		formula.InputGate:  at(g.p),
		formula.ForgetGate: at(g.p).Idx(g.by1, 1),
		formula.CellGate:   at(g.p).Idx(g.by1, 2),
		formula.OutputGate: at(g.p).Idx(g.by3, 1),
	}
}

// operands are the places of the operands of a formula.
type operands map[int]Mem

// of returns how to load and store operands in a span.
func (o operands) of(s *span) (load func(int) Op, store func(Op, int)) {
	return func(i int) Op { return s.load(o[i]) },
		func(v Op, i int) { s.store(v.(vector), o[i]) }
}

// lstmForward emits the cell of one row of n units. One pointer and two distances, n and 3n values, reach all four
// gates. The reference is lstmForwardPortable.
func lstmForward(bytes int) {
	e := begin(bytes, "lstmForward", "func(z, c, cNext, h, tanhC *float32, n int)")
	z, c, cNext, h, tanhC, n := arg("z"), arg("c"), arg("cNext"), arg("h"), arg("tanhC"), arg("n")
	by1, by3 := byteCounts(n)
	o := gates{z, by1, by3}.operands()
	o[formula.Previous], o[formula.Next], o[formula.Hidden], o[formula.TanhNext] = at(c), at(cNext), at(h), at(tanhC)
	e.hoist(formula.ReduceConstants, formula.SigmoidConstants, formula.TanhConstants)
	e.each("loop", n, pointers(z, c, cNext, h, tanhC), func(s *span) {
		e.formulas().LSTMForward(o.of(s))
	})
	e.end()
}

// lstmBackward emits the reverse of the cell of one row of n units. The reference is lstmBackwardPortable.
func lstmBackward(bytes int) {
	e := begin(bytes, "lstmBackward", "func(act, dz, dh, dc, tanhC, cPrev *float32, n int)")
	act, dz, dh, dc := arg("act"), arg("dz"), arg("dh"), arg("dc")
	tanhC, cPrev, n := arg("tanhC"), arg("cPrev"), arg("n")
	by1, by3 := byteCounts(n)
	from, to := gates{act, by1, by3}.operands(), gates{dz, by1, by3}.operands()
	from[formula.Hidden], from[formula.TanhNext], from[formula.Previous] = at(dh), at(tanhC), at(cPrev)
	from[formula.Gradient], to[formula.Gradient] = at(dc), at(dc)
	e.hoist(formula.Ones)
	e.each("loop", n, pointers(act, dz, dh, dc, tanhC, cPrev), func(s *span) {
		load, _ := from.of(s)
		_, store := to.of(s)
		e.formulas().LSTMBackward(load, store)
	})
	e.end()
}

// adam emits the update of kernel.Adam; step points to an AdamStep. Its six constants stay in registers. The
// reference is adamPortable.
func adam(bytes int) {
	e := begin(bytes, "adam", "func(p, m, v, grad, step *float32, n int)")
	p, m, v, g, step, n := arg("p"), arg("m"), arg("v"), arg("grad"), arg("step"), arg("n")
	var k [6]vector
	for i := range k {
		k[i] = e.new()
		VBROADCASTSS(at(step).Offset(4*i), k[i])
	}
	constants := formula.AdamStep[Op]{Beta1: k[0], Rest1: k[1], Beta2: k[2], Rest2: k[3], Rate: k[4], Eps: k[5]}
	o := operands{
		formula.Parameter: at(p), formula.FirstMoment: at(m),
		formula.SecondMoment: at(v), formula.ParameterGradient: at(g),
	}
	e.each("loop", n, pointers(p, m, v, g), func(s *span) {
		load, store := o.of(s)
		e.formulas().Adam(constants, load, store)
	})
	e.end()
}
