package main

import "fmt"

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
	geometryWords = flags + 4 // the others say what to fetch ahead
)

const (
	fromC    = 0 // bit that says: start the chains from C
	fromBias = 1 // start the chains from the bias
	withReLU = 2
)

const (
	// The largest tile, in rows of A and in vectors of a panel.
	tileRows     = 6
	panelVectors = 4
)

// tile is one micro-kernel in the making.
type tile struct {
	*emitter
	rows, vectors int
	geometry      *register
	a             []*register   // addresses of the rows of A
	b, c, bias    *register     // of the panel
	accs          [][]*register // C, by row and vector
}

// tile emits tile<rows>x<columns>, for one tile of rows of A and C and some panels of
// B, one after another:
//
//	C = start + A B, each element one chain of FMAs over k
//
// 6 x 16 is 24 accumulators, 4 vectors of B and 4 values of A: all registers. A value of A is loaded alone and
// multiplied by element, which takes no work from the pipes that multiply, whatever the strides of A. A narrow
// panel takes as few vectors as hold its columns; B must have whole vectors, of C only what exists is touched.
// Nothing is fetched ahead: whether that pays was not measured on any such processor. The loop over panels holds
// that over k:
//
//	for each panel
//		accumulators = C, bias or 0             start
//		for k, two at a time                    multiply
//			load a row of the panel; for each row i: acc[i] += b[k]·a[i, k]
//		ReLU, if it is the last block of k      finish
//		store the accumulators to C
//
// Only tiles of the full width have the loop over panels: a narrow panel is the last. The reference is
// multiplyPortable.
func (out *file) tile(rows, vectors int) {
	list := fmt.Sprintf("a, b, c, bias *float32, geometry *[%d]uintptr", geometryWords)
	t := &tile{emitter: out.begin(fmt.Sprintf("tile%dx%d", rows, 4*vectors), list), rows: rows, vectors: vectors}
	t.geometry, t.b, t.c, t.bias = t.load("geometry"), t.load("b"), t.load("c"), t.load("bias")
	t.rowsOfA()
	left := t.get(panels)
	t.label("panel")
	t.newAccumulators()
	t.start()
	t.multiply()
	t.finish()
	if vectors == panelVectors {
		t.subtract(left, 1)
		t.branch("BEQ", "end")
		t.addBytes(t.c, 16*vectors)
		t.addBytes(t.bias, 16*vectors)
		t.add(t.b, t.get(bPanel))
		t.branch("JMP", "panel")
		t.label("end")
	}
	t.end()
}

// get returns a word of the geometry.
func (t *tile) get(word int) *register {
	r := newGP()
	t.op("MOVD %s, %s", t.geometry.at(8*word), r.gp())
	return r
}

// rowsOfA keeps the address of every row of A in a register; a common offset moves over the columns.
func (t *tile) rowsOfA() {
	t.a = []*register{t.load("a")}
	if t.rows == 1 {
		return
	}
	step := t.get(aRow)
	for i := 1; i < t.rows; i++ {
		row := newGP()
		t.op("ADD %s, %s, %s", step.gp(), t.a[i-1].gp(), row.gp())
		t.a = append(t.a, row)
	}
}

// newAccumulators makes new registers for the sums of a panel, so that their lives end with it.
func (t *tile) newAccumulators() {
	t.accs = nil
	for range t.rows {
		var row []*register
		for range t.vectors {
			row = append(row, newVector())
		}
		t.accs = append(t.accs, row)
	}
}

// start sets the accumulators to the first value of their chains.
func (t *tile) start() {
	f := t.get(flags)
	t.branch(fmt.Sprintf("TBZ $%d, %%s,", fromC), "notFromC", f.gp())
	t.wholeOrPartial("fromC", func(last *span) {
		t.eachRow(func(c *register, row []*register) { t.read(row, c, last) })
	})
	t.branch("JMP", "started")

	t.label("notFromC")
	t.branch(fmt.Sprintf("TBZ $%d, %%s,", fromBias), "fromZero", f.gp())
	t.wholeOrPartial("fromBias", func(last *span) { t.read(t.accs[0], t.bias, last) })
	for _, row := range t.accs[1:] {
		for j, v := range row {
			t.into(v, vmov, t.accs[0][j])
		}
	}
	t.branch("JMP", "started")

	t.label("fromZero")
	for _, row := range t.accs {
		for _, v := range row {
			t.into(v, vzero)
		}
	}
	t.label("started")
}

// wholeOrPartial emits f for panels whose last vector is whole and again for those
// where it is not.
func (t *tile) wholeOrPartial(label string, f func(last *span)) {
	at := 16 * (t.vectors - 1)
	n := t.get(width)
	t.op(fmt.Sprintf("SUB $%d, %%s", 4*(t.vectors-1)), n.gp())
	t.op("CMP $4, %s", n.gp())
	t.branch("BLT", label+"Partial")
	f(&span{emitter: t.emitter, displacement: at})
	t.branch("JMP", label+"Done")
	t.label(label + "Partial")
	last := t.first(n, false)
	last.displacement = at
	f(last)
	t.label(label + "Done")
}

// eachRow calls f for the accumulators of all rows, with their place in C.
func (t *tile) eachRow(f func(c *register, row []*register)) {
	c, step := t.copyGP(t.c), t.get(cRow)
	for i, row := range t.accs {
		if i > 0 {
			t.add(c, step)
		}
		f(c, row)
	}
}

// part is the span of vector j of a row.
func (t *tile) part(j int, last *span) *span {
	if j == t.vectors-1 {
		return last
	}
	return &span{emitter: t.emitter, displacement: 16 * j}
}

// read loads a row of C, or the bias, into accumulators.
func (t *tile) read(row []*register, from *register, last *span) {
	for j, v := range row {
		t.part(j, last).loadInto(v, from)
	}
}

// multiply runs the chains over k, two steps at a time and then the odd one. Values of A are loaded three rows
// before they are needed, so that they are there when the multiplications come to them.
func (t *tile) multiply() {
	b, step := t.copyGP(t.b), t.get(bRow)
	column, n := t.get(aCol), t.get(depth)
	offset := newGP()
	t.op("MOVD $0, %s", offset.gp())
	one := func() {
		bs := t.rowOfB(b)
		t.add(b, step)
		const ahead = 3 // rows of A
		var as []*register
		for i := range t.rows + ahead {
			if i < t.rows {
				v := newVector()
				t.op("FMOVS %s%s, %s", operand{t.a[i], "(R%d)"}, operand{offset, "(R%d)"}, v.f())
				as = append(as, v)
			}
			if i >= ahead {
				for j, acc := range t.accs[i-ahead] {
					t.into(acc, fmlaByLane0, bs[j], as[i-ahead])
				}
			}
		}
		t.add(offset, column)
	}
	t.subtract(n, 2)
	t.branch("BLT", "odd")
	t.op("PCALIGN $32")
	t.label("twice")
	one()
	one()
	t.subtract(n, 2)
	t.branch("BGE", "twice")
	t.label("odd")
	t.branch("TBZ $0, %s,", "multiplied", n.gp()) // n is -2 or -1
	one()
	t.label("multiplied")
}

// rowOfB returns the vectors at b, which are loaded by twos.
func (t *tile) rowOfB(b *register) []*register {
	var bs []*register
	for range t.vectors {
		bs = append(bs, newVector())
	}
	j := 0
	for ; j+1 < len(bs); j += 2 {
		t.op("FLDPQ %s, (%s, %s)", b.at(16*j), bs[j].f(), bs[j+1].f())
	}
	if j < len(bs) {
		t.op("FMOVQ %s, %s", b.at(16*j), bs[j].f())
	}
	return bs
}

// finish applies the ReLU and writes the accumulators to C.
func (t *tile) finish() {
	t.branch(fmt.Sprintf("TBZ $%d, %%s,", withReLU), "store", t.get(flags).gp())
	for _, row := range t.accs {
		for _, v := range row {
			t.into(v, bic, v, t.new(fcmltZero, v)) // a NaN stays
		}
	}
	t.label("store")
	t.wholeOrPartial("write", func(last *span) {
		t.eachRow(func(c *register, row []*register) {
			for j, v := range row {
				t.part(j, last).store(v, c)
			}
		})
	})
}
