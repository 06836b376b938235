package main

// packPanels emits packPanels, which copies the whole panels of a matrix: row r of panel p goes to
// dst + p*panel + r*64. A panel is four vectors wide, 64 bytes. The outer loop goes over the rows, the inner one
// over the panels, so that src is read in the order of its memory. The reference is packPanel, in Go.
func (out *file) packPanels() {
	e := out.begin("packPanels", "dst, src *float32, panel, srcRow, rows, panels uintptr")
	dst, src, panel, srcRow := e.load("dst"), e.load("src"), e.load("panel"), e.load("srcRow")
	rows, panels := e.load("rows"), e.load("panels")
	e.label("row")
	to, from, n := e.copyGP(dst), e.copyGP(src), e.copyGP(panels)
	e.label("panel")
	var v [4]*register
	for i := range v {
		v[i] = newVector()
	}
	for i := 0; i < 4; i += 2 {
		e.op("FLDPQ %s, (%s, %s)", from.at(16*i), v[i].f(), v[i+1].f())
	}
	for i := 0; i < 4; i += 2 {
		e.op("FSTPQ (%s, %s), %s", v[i].f(), v[i+1].f(), to.at(16*i))
	}
	e.add(to, panel)
	e.addBytes(from, 64)
	e.subtract(n, 1)
	e.branch("BNE", "panel")
	e.addBytes(dst, 64)
	e.add(src, srcRow)
	e.subtract(rows, 1)
	e.branch("BNE", "row")
	e.end()
}

// packTransposed emits packTransposed8, which turns 8 rows of src of 8*blocks values into 8*blocks rows of dst of
// 8 values: per four rows, two squares of 4 x 4 in a block. The reference is the plain loop of
// packTransposedPanel.
func (out *file) packTransposed() {
	e := out.begin("packTransposed8", "dst, src *float32, dstRow, srcRow, blocks uintptr")
	e.name = "packTransposed8" // as on amd64, where it is for two instruction sets
	dst, src, dstRow, srcRow, blocks := e.load("dst"), e.load("src"), e.load("dstRow"), e.load("srcRow"), e.load("blocks")
	e.label("block")
	from := e.copyGP(src)
	// Rows 0 to 3 fill the first half of each row of dst, rows 4 to 7 the second.
	for half := range 2 {
		var squares [2][4]*register
		for i := range 4 {
			for j := range squares {
				squares[j][i] = e.loadVector(from.at(16 * j))
			}
			if half == 0 || i < 3 {
				e.add(from, srcRow)
			}
		}
		to := e.copyGP(dst)
		for j, square := range squares {
			for i, row := range e.transpose(square) {
				e.storeVector(row, to.at(16*half))
				if j == 0 || i < 3 {
					e.add(to, dstRow)
				}
			}
		}
	}
	e.addBytes(src, 32)
	e.op("ADD %s<<3, %s, %s", dstRow.gp(), dst.gp(), dst.gp())
	e.subtract(blocks, 1)
	e.branch("BNE", "block")
	e.end()
}

// transpose returns the columns of four rows. The two rounds of TRN exchange single values, then pairs of them.
func (e *emitter) transpose(v [4]*register) [4]*register {
	even, odd := [2]*register{}, [2]*register{} // columns 0 and 2, 1 and 3, of two rows
	for i := range even {
		even[i] = e.new(vtrn1, v[2*i], v[2*i+1])
		odd[i] = e.new(vtrn2, v[2*i], v[2*i+1])
	}
	return [4]*register{
		e.new(vtrn1Doubles, even[0], even[1]), e.new(vtrn1Doubles, odd[0], odd[1]),
		e.new(vtrn2Doubles, even[0], even[1]), e.new(vtrn2Doubles, odd[0], odd[1]),
	}
}

// peak emits a loop of 24 independent FMAs on registers: four pipes with four cycles
// each need 16 under way.
func (out *file) peak() {
	e := out.begin("peak", "iterations int")
	n := e.load("iterations")
	x := e.new(vzero)
	var accs []*register
	for range 24 {
		accs = append(accs, e.new(vzero))
	}
	e.op("PCALIGN $32")
	e.label("loop")
	for _, acc := range accs {
		e.into(acc, vfmla, x, x)
	}
	e.subtract(n, 1)
	e.branch("BNE", "loop")
	e.end()
}
