package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// peak emits peak<ISA>, a loop of 12 independent FMAs on registers: two ports with
// four or five cycles each need eight or ten under way.
func peak(t target) {
	TEXT("peak"+t.name, NOSPLIT, "func(iterations int)")
	n := Load(Param("iterations"), GP64())
	x, y := t.vector(), t.vector()
	t.zero(x)
	t.zero(y)
	var accs [12]VecVirtual
	for i := range accs {
		accs[i] = t.vector()
		t.zero(accs[i])
	}
	Comment("@PCALIGN 32")
	Label("loop")
	for _, acc := range accs {
		VFMADD231PS(x, y, acc)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
