package main

import "github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"

// operands are the addresses of the operands of a formula.
type operands map[int]*register

// of returns how to load and store operands in a span.
func (o operands) of(s *span) (load func(int) *register, store func(*register, int)) {
	return func(i int) *register { return s.load(o[i]) },
		func(v *register, i int) { s.store(v, o[i]) }
}

// pointers are the addresses, in a fixed order.
func (o operands) pointers() []*register {
	var list []*register
	for i := range formula.Operands {
		if o[i] != nil {
			list = append(list, o[i])
		}
	}
	return list
}

// gates are the addresses of the four blocks of n values each from p on.
func (e *emitter) gates(p, n *register) operands {
	o := operands{formula.InputGate: p}
	for _, gate := range []int{formula.ForgetGate, formula.CellGate, formula.OutputGate} {
		o[gate] = newGP()
		e.op("ADD %s<<2, %s, %s", n.gp(), o[gate-1].gp(), o[gate].gp())
	}
	return o
}

// lstmForward emits the cell of one row of n units. The reference is lstmForwardPortable.
func (out *file) lstmForward() {
	e := out.begin("lstmForward", "z, c, cNext, h, tanhC *float32, n int")
	z, c, cNext, h, tanhC, n := e.load("z"), e.load("c"), e.load("cNext"), e.load("h"), e.load("tanhC"), e.load("n")
	o := e.gates(z, n)
	o[formula.Previous], o[formula.Next], o[formula.Hidden], o[formula.TanhNext] = c, cNext, h, tanhC
	e.hoist(formula.ReduceConstants, formula.SigmoidConstants, formula.TanhConstants)
	e.each("loop", 1, n, o.pointers(), false, func(s *span) {
		e.formulas().LSTMForward(o.of(s))
	})
	e.end()
}

// lstmBackward emits the reverse of the cell of one row of n units. The reference is lstmBackwardPortable.
func (out *file) lstmBackward() {
	e := out.begin("lstmBackward", "act, dz, dh, dc, tanhC, cPrev *float32, n int")
	act, dz, dh, dc := e.load("act"), e.load("dz"), e.load("dh"), e.load("dc")
	tanhC, cPrev, n := e.load("tanhC"), e.load("cPrev"), e.load("n")
	from, to := e.gates(act, n), e.gates(dz, n)
	gates := to.pointers()
	from[formula.Hidden], from[formula.TanhNext], from[formula.Previous] = dh, tanhC, cPrev
	from[formula.Gradient], to[formula.Gradient] = dc, dc
	e.hoist(formula.Ones)
	e.each("loop", 1, n, append(gates, from.pointers()...), false, func(s *span) {
		load, _ := from.of(s)
		_, store := to.of(s)
		e.formulas().LSTMBackward(load, store)
	})
	e.end()
}

// adam emits the update of kernel.Adam; step points to an AdamStep. Its six constants stay in registers. The
// reference is adamPortable.
func (out *file) adam() {
	e := out.begin("adam", "p, m, v, grad, step *float32, n int")
	p, m, v, g, step, n := e.load("p"), e.load("m"), e.load("v"), e.load("grad"), e.load("step"), e.load("n")
	var k [6]*register
	for i := range k {
		one := newVector()
		e.op("FMOVS %s, %s", step.at(4*i), one.f())
		k[i] = e.new(broadcast, one)
	}
	constants := formula.AdamStep[*register]{Beta1: k[0], Rest1: k[1], Beta2: k[2], Rest2: k[3], Rate: k[4], Eps: k[5]}
	o := operands{
		formula.Parameter: p, formula.FirstMoment: m,
		formula.SecondMoment: v, formula.ParameterGradient: g,
	}
	e.each("loop", 2, n, o.pointers(), false, func(s *span) {
		load, store := o.of(s)
		e.formulas().Adam(constants, load, store)
	})
	e.end()
}
