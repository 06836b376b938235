package main

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// integers emits the kernels of gradients that travel as integers; their references are in portable_integers.go.
func (out *file) integers() {
	out.greatest()
	out.putInt16()
	out.getInt16()
	out.roundGroups()
}

// greatest emits the greatest magnitude, as an integer.
func (out *file) greatest() {
	e := out.beginResult("greatest", "x *float32, n int", "uint32")
	most := e.greatestMagnitude()
	e.op(fmt.Sprintf("FMOVS %%s, ret+%d(FP)", e.params.resultOffset), most.f())
	e.end()
}

// putInt16 emits dst[i] = src[i] of n values, a multiple of 16: cut towards zero, and to
// the range of int16.
func (out *file) putInt16() {
	e := out.begin("putInt16", "dst *byte, src *float32, n int")
	dst, src, n := e.load("dst"), e.load("src"), e.load("n")
	e.label("loop")
	for i := range 2 {
		half := e.new(sqxtn, e.new(fcvtzs, e.loadVector(src.at(32*i))))
		e.into(half, sqxtn2, e.new(fcvtzs, e.loadVector(src.at(32*i+16))))
		e.storeVector(half, dst.at(16*i))
	}
	e.addBytes(src, 64)
	e.addBytes(dst, 32)
	e.subtract(n, 16)
	e.branch("BNE", "loop")
	e.end()
}

// getInt16 emits dst[i] = src[i] of n values, a multiple of 16.
func (out *file) getInt16() {
	e := out.begin("getInt16", "dst *float32, src *byte, n int")
	dst, src, n := e.load("dst"), e.load("src"), e.load("n")
	e.label("loop")
	for i := range 2 {
		half := e.loadVector(src.at(16 * i))
		for j, widen := range []instruction{sxtl, sxtl2} {
			e.storeVector(e.ToFloat(e.new(widen, half)), dst.at(32*i+16*j))
		}
	}
	e.addBytes(dst, 64)
	e.addBytes(src, 32)
	e.subtract(n, 16)
	e.branch("BNE", "loop")
	e.end()
}

// roundGroups emits the rounding of whole groups of 64 values, with the words of the groups of random numbers: the
// low halves for its first 32 values, the high ones for the others. The reference is roundGroupsPortable.
func (out *file) roundGroups() {
	e := out.begin("roundGroups", "x *float32, keys *uint32, block uint64, stream0, stream1 uint32, a, limit float32, groups int")
	x, scale, limit := e.load("x"), e.new(broadcast, e.load("a")), e.new(broadcast, e.load("limit"))
	e.hoist(formula.RoundConstants, []uint32{formula.HalfWord})
	round := func(half *register, displacement int) {
		y := e.Mul(scale, e.loadVector(x.at(displacement)))
		e.storeVector(e.formulas().Round(y, half, limit), x.at(displacement))
	}
	// a has words of the first half of a group, b of the second; their low and high halves are 32 values apart.
	e.eachGroup(func(a, b *register, displacement int) {
		for i, w := range []*register{a, b} {
			round(e.And(w, e.Word(formula.HalfWord)), displacement+64*i)
			round(e.Right(w, 16), displacement+64*i+128)
		}
	}, func() { e.addBytes(x, 256) })
	e.end()
}
