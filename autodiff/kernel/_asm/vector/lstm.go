package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
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

func (g gates) input() Mem  { return at(g.p) }
func (g gates) forget() Mem { return at(g.p).Idx(g.by1, 1) }
func (g gates) cell() Mem   { return at(g.p).Idx(g.by1, 2) }
func (g gates) output() Mem { return at(g.p).Idx(g.by3, 1) }

func lstmForward(bytes int) {
	e := begin(bytes, "lstmForward", "func(z, c, cNext, h, tanhC *float32, n int)")
	z, c, cNext, h, tanhC, n := arg("z"), arg("c"), arg("cNext"), arg("h"), arg("tanhC"), arg("n")
	by1, by3 := byteCounts(n)
	g := gates{z, by1, by3}
	e.hoist(reduceConstants, sigmoidConstants, tanhConstants)
	e.each("loop", n, pointers(z, c, cNext, h, tanhC), func(s *span) {
		activate := func(place Mem, f func(*emitter, vector) vector) vector {
			v := f(e, s.load(place))
			s.store(v, place)
			return v
		}
		i := activate(g.input(), (*emitter).sigmoid)
		cell := activate(g.cell(), (*emitter).tanh)
		next := e.mul(i, cell)
		f := activate(g.forget(), (*emitter).sigmoid)
		e.addProduct(next, f, s.load(at(c)))
		s.store(next, at(cNext))
		t := e.tanh(next)
		s.store(t, at(tanhC))
		o := activate(g.output(), (*emitter).sigmoid)
		s.store(e.mul(o, t), at(h))
	})
	e.end()
}

func lstmBackward(bytes int) {
	e := begin(bytes, "lstmBackward", "func(act, dz, dh, dc, tanhC, cPrev *float32, n int)")
	act, dz, dh, dc := arg("act"), arg("dz"), arg("dh"), arg("dc")
	tanhC, cPrev, n := arg("tanhC"), arg("cPrev"), arg("n")
	by1, by3 := byteCounts(n)
	a, d := gates{act, by1, by3}, gates{dz, by1, by3}
	e.hoist([]uint32{oneBits})
	e.each("loop", n, pointers(act, dz, dh, dc, tanhC, cPrev), func(s *span) {
		one := e.valueReg(1)
		slope := func(g vector) vector { return e.mul(g, e.sub(one, g)) } // g (1-g)
		tanhSlope := func(t vector) vector {                              // 1 - t²
			r := e.copy(one)
			e.subProduct(r, t, t)
			return r
		}
		o, t, h := s.load(a.output()), s.load(at(tanhC)), s.load(at(dh))
		s.store(e.mul(e.mul(h, t), slope(o)), d.output())
		cell := s.load(at(dc))
		e.addProduct(cell, e.mul(h, o), tanhSlope(t))
		i, g, f := s.load(a.input()), s.load(a.cell()), s.load(a.forget())
		s.store(e.mul(e.mul(cell, g), slope(i)), d.input())
		s.store(e.mul(e.mul(cell, i), tanhSlope(g)), d.cell())
		s.store(e.mul(e.mul(cell, s.load(at(cPrev))), slope(f)), d.forget())
		s.store(e.mul(cell, f), at(dc))
	})
	e.end()
}

// adam emits the update of kernel.Adam; step points to an AdamStep.
func adam(bytes int) {
	e := begin(bytes, "adam", "func(p, m, v, grad, step *float32, n int)")
	p, m, v, g, step, n := arg("p"), arg("m"), arg("v"), arg("grad"), arg("step"), arg("n")
	var k [6]vector
	for i := range k {
		k[i] = e.new()
		VBROADCASTSS(at(step).Offset(4*i), k[i])
	}
	beta1, rest1, beta2, rest2, rate, eps := k[0], k[1], k[2], k[3], k[4], k[5]
	e.each("loop", n, pointers(p, m, v, g), func(s *span) {
		grad := s.load(at(g))
		first := e.mul(grad, rest1)
		e.addProduct(first, beta1, s.load(at(m)))
		s.store(first, at(m))
		second := e.mul(e.mul(grad, grad), rest2)
		e.addProduct(second, beta2, s.load(at(v)))
		s.store(second, at(v))
		param := s.load(at(p))
		e.subProduct(param, rate, e.div(first, e.add(e.sqrt(second), eps)))
		s.store(param, at(p))
	})
	e.end()
}
