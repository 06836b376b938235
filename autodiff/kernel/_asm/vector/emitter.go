package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// vector is a register of the width in use.
type vector = VecVirtual

// emitter emits the operations of one function, on vectors of 32 or 64 bytes. Each operation returns its result in
// a new register, unless its comment says so. Registers are virtual: avo gives them numbers, and fails if more are
// in use at a time than there are. Its methods take operands in the order of the formula; the calls of avo have
// that of Go's assembler, which is the reverse, with the result last.
type emitter struct {
	bytes   int
	hoisted map[uint32]vector // constants that stay in registers
}

// begin starts the function name<ISA>.
func begin(bytes int, name, signature string) *emitter {
	e := &emitter{bytes: bytes, hoisted: map[uint32]vector{}}
	TEXT(name+e.isa(), NOSPLIT, signature)
	Pragma("noescape")
	return e
}

// end clears the upper halves of the registers, without which code for SSE would be slow after AVX, and returns.
func (e *emitter) end() {
	VZEROUPPER()
	RET()
}

// wide reports whether the function is for AVX-512.
func (e *emitter) wide() bool { return e.bytes == 64 }
func (e *emitter) lanes() int { return e.bytes / 4 }

// perSixteen returns how many vectors 16 values take.
func (e *emitter) perSixteen() int { return 64 / e.bytes }

// isa is the end of the function's name.
func (e *emitter) isa() string {
	if e.wide() {
		return "AVX512"
	}
	return "AVX2"
}

func (e *emitter) new() vector {
	if e.wide() {
		return ZMM()
	}
	return YMM()
}

// hoist keeps constants in registers from here on. AVX2 has too few registers and
// takes constants from memory.
func (e *emitter) hoist(lists ...[]uint32) {
	if !e.wide() {
		return
	}
	for _, list := range lists {
		for _, b := range list {
			if _, ok := e.hoisted[b]; !ok {
				e.hoisted[b] = e.broadcast(b)
			}
		}
	}
}

// broadcast loads a constant into all lanes of a new register.
func (e *emitter) broadcast(b uint32) vector {
	r := e.new()
	VBROADCASTSS(constant(b), r)
	return r
}

// word returns a constant as an operand: a register or, on AVX2, memory.
func (e *emitter) word(b uint32) Op {
	if r, ok := e.hoisted[b]; ok {
		return r
	}
	if e.wide() {
		return e.broadcast(b)
	}
	return constant(b)
}

func (e *emitter) wordReg(b uint32) vector { return e.reg(e.word(b)) }

func (e *emitter) valueReg(x float64) vector { return e.wordReg(formula.Bits(x)) }

// reg returns o in a register that must not be written.
func (e *emitter) reg(o Op) vector {
	if r, ok := o.(vector); ok {
		return r
	}
	return e.copy(o)
}

// copy returns a register or a place in memory in a new register.
func (e *emitter) copy(o Op) vector {
	r := e.new()
	VMOVUPS(o, r)
	return r
}

// zero returns +0 in all lanes of a new register; the instruction on its lowest part clears all of it.
func (e *emitter) zero() vector {
	r := e.new()
	VXORPS(r.AsX(), r.AsX(), r.AsX())
	return r
}

func (e *emitter) add(a vector, b Op) vector { r := e.new(); VADDPS(b, a, r); return r }
func (e *emitter) sub(a vector, b Op) vector { r := e.new(); VSUBPS(b, a, r); return r }
func (e *emitter) mul(a vector, b Op) vector { r := e.new(); VMULPS(b, a, r); return r }
func (e *emitter) div(a vector, b Op) vector { r := e.new(); VDIVPS(b, a, r); return r }
func (e *emitter) sqrt(a Op) vector          { r := e.new(); VSQRTPS(a, r); return r }

// floor rounds to the next integer below.
func (e *emitter) floor(a vector) vector {
	r := e.new()
	if e.wide() {
		VRNDSCALEPS(U8(1), a, r)
	} else {
		VROUNDPS(U8(1), a, r)
	}
	return r
}

// max and min return b if either is NaN.
func (e *emitter) max(a vector, b Op) vector { r := e.new(); VMAXPS(b, a, r); return r }
func (e *emitter) min(a vector, b Op) vector { r := e.new(); VMINPS(b, a, r); return r }

// addProduct is acc += a*b, in place.
func (e *emitter) addProduct(acc, a vector, b Op) { VFMADD231PS(b, a, acc) }

// subProduct is acc -= a*b, in place.
func (e *emitter) subProduct(acc, a vector, b Op) { VFNMADD231PS(b, a, acc) }

// horner is p = p*x + c, in place.
func (e *emitter) horner(p, x vector, c Op) { VFMADD213PS(c, x, p) }

// and, or and xor work on the bits of all lanes.
func (e *emitter) and(a vector, b Op) vector {
	r := e.new()
	if e.wide() {
		VPANDD(b, a, r)
	} else {
		VANDPS(b, a, r)
	}
	return r
}

func (e *emitter) or(a vector, b Op) vector {
	r := e.new()
	if e.wide() {
		VPORD(b, a, r)
	} else {
		VORPS(b, a, r)
	}
	return r
}

func (e *emitter) xor(a vector, b Op) vector {
	r := e.new()
	if e.wide() {
		VPXORD(b, a, r)
	} else {
		VXORPS(b, a, r)
	}
	return r
}

// xor3 is a xor b xor c.
func (e *emitter) xor3(a, b, c vector) vector {
	if !e.wide() {
		return e.xor(e.xor(a, b), c)
	}
	r := e.copy(a)
	VPTERNLOGD(U8(0x96), c, b, r)
	return r
}

// Integer operations on 32-bit lanes.

func (e *emitter) addInt(a vector, b Op) vector { r := e.new(); VPADDD(b, a, r); return r }
func (e *emitter) subInt(a vector, b Op) vector { r := e.new(); VPSUBD(b, a, r); return r }
func (e *emitter) left(a vector, n int) vector  { r := e.new(); VPSLLD(U8(n), a, r); return r }
func (e *emitter) right(a vector, n int) vector { r := e.new(); VPSRLD(U8(n), a, r); return r }
func (e *emitter) rightSigned(a vector, n int) vector {
	r := e.new()
	VPSRAD(U8(n), a, r)
	return r
}
func (e *emitter) toFloat(a Op) vector { r := e.new(); VCVTDQ2PS(a, r); return r }

// condition is true or false for each lane: a mask register, or the sign bits of a
// vector on AVX2.
type condition struct {
	k OpmaskVirtual
	v vector
}

// Predicates of compare.
const (
	equal           = 0
	less            = 1
	notGreaterEqual = 9 // true for a NaN
	greater         = 14
)

// compare compares lane by lane with a predicate of VCMPPS.
func (e *emitter) compare(a vector, predicate int, b Op) condition {
	if e.wide() {
		k := K()
		VCMPPS(U8(predicate), b, a, k)
		return condition{k: k}
	}
	r := e.new()
	VCMPPS(U8(predicate), b, a, r)
	return condition{v: r}
}

// negative is true where the sign bit is set.
func (e *emitter) negative(a vector) condition {
	if e.wide() {
		k := K()
		VPMOVD2M(a, k)
		return condition{k: k}
	}
	return condition{v: a}
}

// choose returns a where c holds, else b.
func (e *emitter) choose(c condition, a Op, b vector) vector {
	r := e.new()
	if e.wide() {
		VBLENDMPS(a, b, c.k, r)
	} else {
		VBLENDVPS(c.v, a, b, r)
	}
	return r
}

// only returns a where c, the result of compare, holds, else 0.
func (e *emitter) only(c condition, a Op) vector {
	r := e.new()
	if e.wide() {
		VMOVAPS_Z(e.reg(a), c.k, r)
	} else {
		VANDPS(a, c.v, r)
	}
	return r
}

// except returns 0 where c, the result of compare, holds, else a.
func (e *emitter) except(c condition, a vector) vector {
	r := e.new()
	if e.wide() {
		k := K()
		KNOTW(c.k, k)
		VMOVAPS_Z(a, k, r)
	} else {
		VANDNPS(a, c.v, r)
	}
	return r
}
