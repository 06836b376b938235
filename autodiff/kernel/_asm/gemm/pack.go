package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// packPanels emits packPanels<ISA>, which copies the whole panels of a matrix, two vectors wide: row r of panel p
// goes to dst + p*panel + r*width. The outer loop goes over the rows, the inner one over the panels, so that src
// is read in the order of its memory. The reference is packPanel, in Go.
func packPanels(t target) {
	TEXT("packPanels"+t.name, NOSPLIT,
		"func(dst, src *float32, panel, srcRow, rows, panels uintptr)")
	Pragma("noescape")
	dst := Load(Param("dst"), GP64()).(GPVirtual)
	src := Load(Param("src"), GP64()).(GPVirtual)
	panel := Load(Param("panel"), GP64())
	srcRow := Load(Param("srcRow"), GP64()).(GPVirtual)
	rows := Load(Param("rows"), GP64())
	panels := Load(Param("panels"), GP64())
	width := I32(int32(2 * t.bytes))

	Label("row")
	to, from, n := GP64(), GP64(), GP64()
	MOVQ(dst, to)
	MOVQ(src, from)
	MOVQ(panels, n)
	Label("panel")
	Comment("The rows are far apart; fetch ahead what the hardware may not.")
	PREFETCHT0(Mem{Base: from}.Idx(srcRow, 2))
	if t == avx512 {
		PREFETCHT0(Mem{Base: from, Disp: 64}.Idx(srcRow, 2))
	}
	v0, v1 := t.vector(), t.vector()
	VMOVUPS(Mem{Base: from}, v0)
	VMOVUPS(Mem{Base: from, Disp: t.bytes}, v1)
	VMOVUPS(v0, Mem{Base: to})
	VMOVUPS(v1, Mem{Base: to, Disp: t.bytes})
	ADDQ(panel, to)
	ADDQ(width, from)
	DECQ(n)
	JNZ(LabelRef("panel"))
	ADDQ(width, dst)
	ADDQ(srcRow, src)
	DECQ(rows)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// packTransposed emits packTransposed8, for AVX2 and AVX-512 alike, which turns 8 rows of src of 8*blocks values
// into 8*blocks rows of dst of 8 values. A block is a square of 8 x 8: its rows are loaded half by half, rows i
// and i+4 into one register, so that two rounds of unpacking, by values and by pairs, make columns of them. The
// reference is the plain loop of packTransposedPanel.
func packTransposed() {
	TEXT("packTransposed8", NOSPLIT, "func(dst, src *float32, dstRow, srcRow, blocks uintptr)")
	Pragma("noescape")
	dst := Load(Param("dst"), GP64()).(GPVirtual)
	src := Load(Param("src"), GP64()).(GPVirtual)
	to := strided{base: dst, by1: Load(Param("dstRow"), GP64()).(GPVirtual)}
	from := strided{base: src, by1: Load(Param("srcRow"), GP64()).(GPVirtual)}
	blocks := Load(Param("blocks"), GP64())
	to.multiples()
	from.multiples()

	Label("block")
	to.fourth()
	from.fourth()
	Comment("low[i] has columns 0-3 of rows i and i+4, high[i] columns 4-7.")
	var low, high [4]VecVirtual
	for i := range low {
		low[i], high[i] = YMM(), YMM()
		VMOVUPS(from.row(i), low[i].AsX())
		VINSERTF128(U8(1), from.row(i+4), low[i], low[i])
		VMOVUPS(from.row(i).Offset(16), high[i].AsX())
		VINSERTF128(U8(1), from.row(i+4).Offset(16), high[i], high[i])
	}
	for half, r := range [][4]VecVirtual{low, high} {
		Comment(fmt.Sprintf("Columns %d-%d become rows.", 4*half, 4*half+3))
		t0, t1, t2, t3 := YMM(), YMM(), YMM(), YMM()
		VUNPCKLPS(r[1], r[0], t0)
		VUNPCKHPS(r[1], r[0], t1)
		VUNPCKLPS(r[3], r[2], t2)
		VUNPCKHPS(r[3], r[2], t3)
		VUNPCKLPD(t2, t0, r[0])
		VUNPCKHPD(t2, t0, r[1])
		VUNPCKLPD(t3, t1, r[2])
		VUNPCKHPD(t3, t1, r[3])
		for i, v := range r {
			VMOVUPS(v, to.row(4*half+i))
		}
	}
	ADDQ(U8(32), src)
	LEAQ(Mem{Base: dst}.Idx(to.by1, 8), dst)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// strided forms the addresses of 8 rows.
type strided struct {
	base, four GPVirtual // rows 0 and 4
	by1, by3   GPVirtual
}

// multiples emits the threefold of the distance, once for all blocks.
func (s *strided) multiples() {
	s.by3, s.four = GP64(), GP64()
	LEAQ(Mem{Base: s.by1}.Idx(s.by1, 2), s.by3)
}

// fourth emits the address of row 4, which moves with the base.
func (s *strided) fourth() { LEAQ(Mem{Base: s.base}.Idx(s.by1, 4), s.four) }

// row returns the place of row i, from 0 to 7.
func (s *strided) row(i int) Mem {
	base := s.base
	if i >= 4 {
		base, i = s.four, i-4
	}
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base}.Idx(s.by3, 1)
	}
	return Mem{Base: base}.Idx(s.by1, uint8(i))
}
