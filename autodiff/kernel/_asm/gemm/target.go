package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// target is an instruction set to generate for.
type target struct {
	name  string
	bytes int // of a vector
}

var (
	avx2   = target{"AVX2", 32}
	avx512 = target{"AVX512", 64}
)

// lanes is the number of values of a vector.
func (t target) lanes() int { return t.bytes / 4 }

// vector returns a new register of the width in use; avo gives it its number.
func (t target) vector() VecVirtual {
	if t == avx512 {
		return ZMM()
	}
	return YMM()
}

// zero sets a register to +0 in all lanes.
func (t target) zero(v VecVirtual) {
	if t == avx512 {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

const masksName = "partialMasks"

// partialMasks is a table of 16 ones and then 16 zeros: 16 words from word 16-n on
// are the mask of the first n of 16 columns.
func partialMasks() {
	GLOBL(masksName, attr.RODATA|attr.NOPTR)
	for i := range 32 {
		var word uint32
		if i < 16 {
			word = 0xffffffff
		}
		DATA(4*i, U32(word))
	}
}

// masks returns the vector masks of the first width of 16 columns.
func masks(width GPVirtual) [2]VecVirtual {
	at := GP64()
	LEAQ(NewDataAddr(Symbol{Name: masksName, Static: true}, 64), at)
	skip := GP64()
	MOVQ(width, skip)
	NEGQ(skip)
	m := [2]VecVirtual{YMM(), YMM()}
	VMOVUPS(Mem{Base: at}.Idx(skip, 4), m[0])
	VMOVUPS(Mem{Base: at, Disp: 32}.Idx(skip, 4), m[1])
	return m
}
