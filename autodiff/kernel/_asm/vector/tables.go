package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Constants lie in memory eight times each, so that AVX2 can use them as operands.
var (
	constantSlot = map[uint32]int{}
	constants    []uint32
)

// constant returns the place of a constant, in the order of first use.
func constant(b uint32) Mem {
	i, ok := constantSlot[b]
	if !ok {
		i = len(constants)
		constantSlot[b] = i
		constants = append(constants, b)
	}
	return table("constants", 32*i)
}

// table returns a place in the data with the given name.
func table(name string, offset int) Mem {
	return NewDataAddr(Symbol{Name: name, Static: true}, offset)
}

// tables emits the data of all functions: the constants that were used, the masks of tails, and for the generator
// the numbers of the blocks of a vector and the steps of its counter. It comes after the functions, when all
// constants are known.
func tables() {
	GLOBL("constants", attr.RODATA|attr.NOPTR)
	for i, b := range constants {
		for j := range 8 {
			DATA(32*i+4*j, U32(b))
		}
	}
	// 16 ones, then 16 zeros: 16 words from word 16-n on are a mask of n lanes.
	GLOBL("tailMasks", attr.RODATA|attr.NOPTR)
	for i := range 32 {
		var word uint32
		if i < 16 {
			word = 0xffffffff
		}
		DATA(4*i, U32(word))
	}
	GLOBL("blockNumbers", attr.RODATA|attr.NOPTR)
	for i := range 8 {
		DATA(8*i, U64(i))
	}
	GLOBL("blockSteps", attr.RODATA|attr.NOPTR) // for AVX2 and for AVX-512
	DATA(0, U64(4))
	DATA(8, U64(8))
}
