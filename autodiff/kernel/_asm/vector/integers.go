package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// integers emits the kernels of gradients that travel as integers; their references are in portable_integers.go.
func integers(bytes int) {
	greatest(bytes)
	putInt16(bytes)
	getInt16(bytes)
	roundGroups(bytes)
}

// greatest emits the greatest magnitude, as an integer: a maximum for each lane, then of the lanes by halves. A
// maximum does not depend on the order.
func greatest(bytes int) {
	e := begin(bytes, "greatest", "func(x *float32, n int) uint32")
	x, n := arg("x"), arg("n")
	most := e.zero()
	magnitude := e.wordReg(0x7fffffff)
	e.each("loop", n, pointers(x), func(s *span) {
		VPMAXSD(e.and(s.load(at(x)), magnitude), most, most)
	})
	// From here on the lanes are joined: 16 or 8 to 4, 2 and 1.
	half := XMM()
	if e.wide() {
		quarter := YMM()
		VEXTRACTF64X4(U8(1), most, quarter)
		VPMAXSD(most.AsY(), quarter, quarter)
		most = quarter
	}
	VEXTRACTF128(U8(1), most.AsY(), half)
	VPMAXSD(most.AsX(), half, half)
	for _, order := range []uint8{0x4e, 0xb1} { // the other two lanes, the other one
		other := XMM()
		VPSHUFD(U8(order), half, other)
		VPMAXSD(other, half, half)
	}
	found := GP32()
	VMOVD(half, found)
	Store(found, ReturnIndex(0))
	e.end()
}

// putInt16 emits dst[i] = src[i] of n values, a multiple of 16: cut towards zero, and to the range of int16.
func putInt16(bytes int) {
	e := begin(bytes, "putInt16", "func(dst *byte, src *float32, n int)")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	Label("loop")
	out := YMM()
	if e.wide() {
		v := e.new()
		VCVTTPS2DQ(at(src), v)
		VPMOVSDW(v, out)
	} else {
		low, high := YMM(), YMM()
		VCVTTPS2DQ(at(src), low)
		VCVTTPS2DQ(at(src).Offset(32), high)
		VPACKSSDW(high, low, out) // the quarters 0 and 2 are of low
		VPERMQ(U8(0xd8), out, out)
	}
	VMOVDQU(out, at(dst))
	ADDQ(U8(64), src)
	ADDQ(U8(32), dst)
	SUBQ(U8(16), n)
	JNZ(LabelRef("loop"))
	e.end()
}

// getInt16 emits dst[i] = src[i] of n values, a multiple of 16.
func getInt16(bytes int) {
	e := begin(bytes, "getInt16", "func(dst *float32, src *byte, n int)")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	Label("loop")
	for i := range e.perSixteen() {
		v := e.new()
		VPMOVSXWD(at(src).Offset(i*bytes/2), v)
		VMOVUPS(e.toFloat(v), at(dst).Offset(i*bytes))
	}
	ADDQ(U8(64), dst)
	ADDQ(U8(32), src)
	SUBQ(U8(16), n)
	JNZ(LabelRef("loop"))
	e.end()
}

// roundGroups emits the rounding of whole groups of 64 values, with the words of the groups of random numbers: see
// groups. Of each word the low half rounds a value of the first half of the group, the high half one of the
// second. The reference is roundGroupsPortable.
func roundGroups(bytes int) {
	e := begin(bytes, "roundGroups", "func(x *float32, keys *uint32, block uint64, stream0, stream1 uint32, a, limit float32, groups int)")
	x, keys, n := arg("x"), arg("keys"), arg("groups")
	e.hoist([]uint32{formula.Mult0, formula.Mult1, formula.HalfWord}, formula.RoundConstants)
	// The counter has the numbers of the next four or eight blocks, one in each 64-bit lane.
	counter, step := e.new(), e.new()
	VPBROADCASTQ(argPlace("block"), counter)
	VPADDQ(table("blockNumbers", 0), counter, counter)
	VPBROADCASTQ(table("blockSteps", 8*(bytes/64)), step)
	if !e.wide() {
		ADDQ(n, n)
	}
	Label("loop")
	first, second := e.philox(counter, keys)
	for i, w := range []vector{first, second} {
		e.roundOnto(at(x).Offset(64*i), e.and(w, e.word(formula.HalfWord)))
		e.roundOnto(at(x).Offset(64*i+128), e.right(w, 16))
	}
	if e.wide() {
		ADDQ(U32(256), x)
	} else {
		Comment("After the first half of a group 32 bytes on, after the second 224.")
		advance := e.copyOf(n)
		ANDQ(U8(1), advance)
		NEGQ(advance)
		ANDQ(U32(192), advance)
		ADDQ(U8(32), advance)
		ADDQ(advance, x)
	}
	VPADDQ(step, counter, counter)
	DECQ(n)
	JNZ(LabelRef("loop"))
	e.end()
}

// roundOnto rounds the values at a place by half words.
func (e *emitter) roundOnto(place Mem, half vector) {
	scale, limit := e.new(), e.new()
	VBROADCASTSS(argPlace("a"), scale)
	VBROADCASTSS(argPlace("limit"), limit)
	y := e.mul(scale, place)
	VMOVUPS(e.formulas().Round(y, half, limit), place)
}
