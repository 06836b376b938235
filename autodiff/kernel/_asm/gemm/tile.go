package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Words of the geometry array; kernel/tile.go has the same list.
const (
	aRow   = iota // bytes from one row of A to the next
	aCol          // bytes from one column of A to the next
	bRow          // bytes from one row of a panel of B to the next
	bPanel        // bytes from one panel to the next
	cRow          // bytes from one row of C to the next
	depth         // K
	panels        // how many panels of B to multiply with
	width         // columns of each panel that exist
	flags
	ahead     // address of what comes after this tile, to be fetched meanwhile
	aheadStep // bytes of it for each step of k
	cAhead    // bytes from the C of the last panel to the next C
	words
)

const (
	fromC    = 1 // start the chains from C
	fromBias = 2 // start the chains from the bias
	relu     = 4
)

// kernel is one micro-kernel in the making. Its accumulators stay in registers over all k: rows x vectors of them,
// beside the vectors of a row of B and, where A is not an operand in memory, one for a value of A:
//
//	AVX-512  14·2 + 2 + 1 of 32 registers
//	AVX2      6·2 + 2 + 1 of 16 registers
type kernel struct {
	target
	rows, vectors int
	geometry      GPVirtual
	accs          [][]VecVirtual // C, by row and vector
	exists        OpmaskVirtual  // AVX-512: lanes of the last vector that exist
}

// tile emits tile<rows>x<columns><ISA>, for one tile of rows of A and C and some
// panels of B, one after another:
//
//	C = start + A B, each element one chain of FMAs over k
//
// On AVX-512 the last vector of a panel is always masked, so a narrow last panel is nothing special. On AVX2, C
// and the bias are masked if the panel is narrow; B must have its padding. The loop over panels holds the loop
// over k:
//
//	for each panel
//		accumulators = C, bias or 0             start; the C of the next panel is fetched
//		for k, two at a time                    multiply
//			load a row of the panel; for each row i: acc[i] += a[i, k]·b[k]
//		ReLU, if it is the last block of k      finish
//		store the accumulators to C
//
// The reference is multiplyPortable.
func tile(t target, rows, vectors int) {
	k := &kernel{target: t, rows: rows, vectors: vectors}
	TEXT(fmt.Sprintf("tile%dx%d%s", rows, vectors*t.lanes(), t.name), NOSPLIT,
		fmt.Sprintf("func(a, b, c, bias *float32, geometry *[%d]uintptr)", words))
	Pragma("noescape")
	k.geometry = Load(Param("geometry"), GP64()).(GPVirtual)
	if t == avx512 {
		k.loadOpmask()
	}
	for range rows {
		row := make([]VecVirtual, vectors)
		for j := range row {
			row[j] = t.vector()
		}
		k.accs = append(k.accs, row)
	}

	Label("panel")
	k.start()
	k.multiply()
	k.finish()
	k.nextPanel()
	VZEROUPPER()
	RET()
}

// word returns the place of a word of the geometry.
func (k *kernel) word(i int) Mem { return Mem{Base: k.geometry, Disp: 8 * i} }

// loadWord returns a word of the geometry in a register.
func (k *kernel) loadWord(i int) GPVirtual {
	r := GP64()
	MOVQ(k.word(i), r)
	return r
}

// param returns the place of an argument in the frame.
func param(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// loadParam returns an argument in a register. Arguments change in the frame from panel to panel, so they are
// loaded anew where they are needed, which leaves the few general registers to the loop over k.
func loadParam(name string) GPVirtual {
	r := GP64()
	MOVQ(param(name), r)
	return r
}

// loadOpmask makes the mask of the last vector, from the low bits of all ones.
func (k *kernel) loadOpmask() {
	Comment("Mask of the columns of the last vector that exist.")
	n, ones := GP64(), GP32()
	MOVQ(k.word(width), n)
	if k.vectors > 1 {
		SUBQ(U8(k.lanes()*(k.vectors-1)), n)
	}
	MOVL(U32(0xffffffff), ones)
	BZHIL(n.As32(), ones, ones)
	k.exists = K()
	KMOVW(ones, k.exists)
}

// each calls f for the accumulators of all rows, with their place in C.
func (k *kernel) each(f func(at Mem, row []VecVirtual)) {
	c, step := loadParam("c"), k.loadWord(cRow)
	for i, row := range k.accs {
		if i > 0 {
			ADDQ(step, c)
		}
		f(Mem{Base: c}, row)
	}
}

// load and store move vector j of a row; mask is nil for whole panels on AVX2.
func (k *kernel) load(at Mem, j int, mask []VecVirtual, v VecVirtual) {
	at = at.Offset(k.bytes * j)
	switch {
	case k.target == avx512 && j == k.vectors-1:
		VMOVUPS_Z(at, k.exists, v)
	case mask != nil:
		VMASKMOVPS(at, mask[j], v)
	default:
		VMOVUPS(at, v)
	}
}

// store is the counterpart of load.
func (k *kernel) store(v VecVirtual, at Mem, j int, mask []VecVirtual) {
	at = at.Offset(k.bytes * j)
	switch {
	case k.target == avx512 && j == k.vectors-1:
		VMOVUPS(v, k.exists, at)
	case mask != nil:
		VMASKMOVPS(v, mask[j], at)
	default:
		VMOVUPS(v, at)
	}
}

// wholeOrPartial emits f for whole panels and, on AVX2, again for narrow ones.
func (k *kernel) wholeOrPartial(label string, f func(mask []VecVirtual)) {
	if k.target == avx512 {
		f(nil)
		return
	}
	n := k.loadWord(width)
	CMPQ(n, U8(k.vectors*k.lanes()))
	JL(LabelRef(label + "Partial"))
	f(nil)
	JMP(LabelRef(label + "Done"))
	Label(label + "Partial")
	m := masks(n)
	f(m[:])
	Label(label + "Done")
}

// fetchC fetches the lines of C that come after those of this panel, while the chains run.
func (k *kernel) fetchC() {
	c, step := loadParam("c"), k.loadWord(cRow)
	CMPQ(k.word(panels), U8(1))
	JNE(LabelRef("nextPanelOfC"))
	ADDQ(k.word(cAhead), c)
	Label("nextPanelOfC")
	ADDQ(U32(k.bytes*k.vectors), c)
	for i, row := range k.accs {
		if i > 0 {
			ADDQ(step, c)
		}
		for j := range row {
			PREFETCHT0(Mem{Base: c, Disp: k.bytes * j})
		}
	}
}

// start sets the accumulators to the first value of their chains.
func (k *kernel) start() {
	k.fetchC()
	// The three starts: C, the bias in every row, or zero.
	f := GP32()
	MOVL(k.word(flags), f)
	TESTL(U32(fromC), f)
	JZ(LabelRef("notFromC"))
	k.wholeOrPartial("fromC", func(mask []VecVirtual) {
		k.each(func(at Mem, row []VecVirtual) {
			for j, v := range row {
				k.load(at, j, mask, v)
			}
		})
	})
	JMP(LabelRef("started"))

	Label("notFromC")
	TESTL(U32(fromBias), f)
	JZ(LabelRef("fromZero"))
	k.wholeOrPartial("fromBias", func(mask []VecVirtual) {
		bias := Mem{Base: loadParam("bias")}
		for j, v := range k.accs[0] {
			k.load(bias, j, mask, v)
			for _, row := range k.accs[1:] {
				VMOVAPS(v, row[j])
			}
		}
	})
	JMP(LabelRef("started"))

	Label("fromZero")
	for _, row := range k.accs {
		for _, v := range row {
			k.zero(v)
		}
	}
	Label("started")
}

// multiply runs the chains over k. Each step fetches the row of B eight steps ahead, the A eight steps ahead where
// it lies by columns, and a part of what comes after the tile, whose address it moves on in the geometry.
func (k *kernel) multiply() {
	a := loadRowAddresses(k)
	b := loadParam("b")
	step, column := k.loadWord(bRow), k.loadWord(aCol)
	n, next := k.loadWord(depth), k.loadWord(ahead)
	one := func() {
		// The row of B is loaded once for all rows of A.
		bs := make([]VecVirtual, k.vectors)
		for j := range bs {
			bs[j] = k.vector()
			k.load(Mem{Base: b}, j, nil, bs[j])
		}
		for j := range bs {
			PREFETCHT0(Mem{Base: b, Disp: k.bytes * j}.Idx(step, 8))
		}
		ADDQ(step, b)
		for i, row := range k.accs {
			if k.target == avx512 && k.vectors == 1 {
				VFMADD231PS_BCST(a.row(i), bs[0], row[0])
				continue
			}
			v := k.vector()
			VBROADCASTSS(a.row(i), v)
			for j := range row {
				VFMADD231PS(v, bs[j], row[j])
			}
		}
		a.prefetch(column)
		a.next(column)
		PREFETCHT0(Mem{Base: next})
		ADDQ(k.word(aheadStep), next)
	}
	Comment("Two steps of k at a time, then the odd one.")
	SUBQ(U8(2), n)
	JL(LabelRef("odd"))
	Comment("@PCALIGN 32")
	Label("twice")
	one()
	one()
	SUBQ(U8(2), n)
	JGE(LabelRef("twice"))
	Label("odd")
	ADDQ(U8(2), n)
	JZ(LabelRef("multiplied"))
	one()
	Label("multiplied")
	MOVQ(next, k.word(ahead))
}

// finish applies the ReLU and writes the accumulators to C.
func (k *kernel) finish() {
	TESTL(U32(relu), k.word(flags))
	JZ(LabelRef("store"))
	zero := k.vector()
	k.zero(zero)
	for _, row := range k.accs {
		for _, v := range row {
			VMAXPS(v, zero, v) // 0 > v ? 0 : v; a NaN stays
		}
	}
	Label("store")
	k.wholeOrPartial("store", func(mask []VecVirtual) {
		k.each(func(at Mem, row []VecVirtual) {
			for j, v := range row {
				k.store(v, at, j, mask)
			}
		})
	})
}

// nextPanel moves the arguments on to the next panel, in place in the frame. Nothing that has to survive the loop
// over k stays in a register.
func (k *kernel) nextPanel() {
	DECQ(k.word(panels))
	JZ(LabelRef("end"))
	bytes := U32(k.bytes * k.vectors)
	ADDQ(bytes, param("c"))
	ADDQ(bytes, param("bias"))
	step := k.loadWord(bPanel)
	ADDQ(step, param("b"))
	JMP(LabelRef("panel"))
	Label("end")
}
