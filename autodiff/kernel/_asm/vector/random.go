package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// random emits the distributions of the bulk generator. Their references are in portable_random.go.
func random(bytes int) {
	single := func(f func(formulas, Op) Op) func(*emitter, vector, vector) (vector, vector) {
		return func(e *emitter, a, b vector) (vector, vector) { return e.apply(f, a), e.apply(f, b) }
	}
	normals := func(e *emitter, a, b vector) (vector, vector) {
		x, y := e.formulas().BoxMuller(a, b)
		return x.(vector), y.(vector)
	}
	groups(bytes, "uniforms", single(formulas.Uniform), formula.UniformConstants)
	groups(bytes, "normals", normals, formula.UniformConstants, formula.LogConstants)
	groups(bytes, "gumbels", single(formulas.Gumbel), formula.UniformConstants, formula.LogConstants)
	groups(bytes, "logistics", single(formulas.Logistic), formula.UniformConstants)
}

// groups emits the filling of whole groups of 32 values. One block of the generator sits in each 64-bit lane: on
// AVX-512 a group is one step of the loop, on AVX2 two. f turns the words 0 and 1 of the blocks, and the words 2
// and 3, into numbers. On AVX2 a step has four of the eight blocks: it writes the first 32 bytes of both halves of
// the group, the next step the last 32.
func groups(bytes int, name string, f func(e *emitter, a, b vector) (vector, vector), hoist ...[]uint32) {
	e := begin(bytes, name, "func(dst *float32, keys *uint32, block uint64, stream0, stream1 uint32, groups int)")
	dst, keys, n := arg("dst"), arg("keys"), arg("groups")
	e.hoist(append(hoist, []uint32{formula.Mult0, formula.Mult1})...)
	counter, step := e.new(), e.new()
	VPBROADCASTQ(argPlace("block"), counter)
	VPADDQ(table("blockNumbers", 0), counter, counter)
	VPBROADCASTQ(table("blockSteps", 8*(bytes/64)), step)
	if !e.wide() {
		ADDQ(n, n)
	}
	Label("loop")
	a, b := e.philox(counter, keys)
	a, b = f(e, a, b)
	VMOVUPS(a, at(dst))
	VMOVUPS(b, at(dst).Offset(64))
	if e.wide() {
		SUBQ(I8(-128), dst)
	} else {
		Comment("After the first half of a group 32 bytes on, after the second 96.")
		advance := e.copyOf(n)
		ANDQ(U8(1), advance)
		SHLQ(U8(6), advance)
		ADDQ(U8(32), advance)
		ADDQ(advance, dst)
	}
	VPADDQ(step, counter, counter)
	DECQ(n)
	JNZ(LabelRef("loop"))
	e.end()
}

// philox returns words 0 and 1 of the blocks, interleaved, and words 2 and 3. A
// word sits in the lower half of its 64-bit lane; what the multiplications leave in
// the upper halves never matters.
func (e *emitter) philox(counter vector, keys GPVirtual) (vector, vector) {
	// Words 0 and 1 of the counter are the number of the block, 2 and 3 its stream.
	x := [4]vector{counter, e.upper(counter), e.new(), e.new()}
	VBROADCASTSS(argPlace("stream0"), x[2])
	VBROADCASTSS(argPlace("stream1"), x[3])
	m0, m1 := e.wordReg(formula.Mult0), e.wordReg(formula.Mult1)
	for i := range formula.Rounds {
		a, b := e.new(), e.new()
		VPMULUDQ(m0, x[0], a)
		VPMULUDQ(m1, x[2], b)
		k0, k1 := e.new(), e.new()
		VPBROADCASTD(at(keys).Offset(8*i), k0)
		VPBROADCASTD(at(keys).Offset(8*i+4), k1)
		x = [4]vector{
			e.xor3(e.upper(b), x[1], k0), b,
			e.xor3(e.upper(a), x[3], k1), a,
		}
	}
	return e.interleave(x[0], x[1]), e.interleave(x[2], x[3])
}

// upper returns the upper halves of 64-bit lanes as lower ones.
func (e *emitter) upper(v vector) vector { r := e.new(); VPSHUFD(U8(0xf5), v, r); return r }

// interleave returns the lower halves of a and b as lower and upper halves.
func (e *emitter) interleave(a, b vector) vector {
	up, r := e.new(), e.new()
	VPSLLQ(U8(32), b, up)
	if e.wide() {
		odd, k := GP32(), K()
		MOVL(U32(0xaaaa), odd)
		KMOVW(odd, k)
		VPBLENDMD(up, a, k, r)
	} else {
		VPBLENDD(U8(0xaa), up, a, r)
	}
	return r
}
