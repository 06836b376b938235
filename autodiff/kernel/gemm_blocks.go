//go:build (amd64 || arm64) && !purego

package kernel

import "unsafe"

const (
	// packedDepth and plainDepth are the most rows of B, packed and not, that one
	// block of a product takes: what is in use stays in the first two caches, beside
	// what the next block will use. A little more than one block is not cut in two.
	packedDepth = 512
	plainDepth  = 128

	// blockValues is the most values of B in one block: it is read once for each
	// tile of rows, from the second-level cache.
	blockValues = 1 << 18

	// callWork is the most panels times rows of B in one call of assembly: 50 µs.
	callWork = 8192
)

// multiply computes C = A·B in blocks of columns, then of k, then in tiles of rows. Blocks of k only store and
// reload the chains. For panels of w columns:
//
//	for columns j, as many as make at most blockValues values of B
//		for k, about packedDepth or plainDepth rows of B at a time
//			for tiles of up to tileRows rows of C
//				for panels: one micro-kernel, rows × w chains in registers
//
// The bias and C enter in the first block of k, the ReLU follows the last one.
func multiply(c *Matrix, a *left, b *right, e *Epilogue) {
	if b.isa == Portable || b.k == 0 || c.empty() {
		multiplyPortable(c, a, b, e)
		return
	}
	raceProduct(c, a, b, e)
	deepest := packedDepth
	// B is not packed: its rows are far apart, and fewer of them stay in the caches.
	if b.row != b.width {
		deepest = plainDepth
	}
	step := b.k
	if step > deepest+deepest/4 {
		step = deepest
	}
	// A block of columns is a whole number of panels, at least one.
	columns := max(1, blockValues/(step*b.width)) * b.width
	var g geometry
	g[aRow], g[aCol] = uintptr(a.row)*4, uintptr(a.col)*4
	g[bRow], g[bPanel] = uintptr(b.row)*4, uintptr(b.panel)*4
	g[cRow] = uintptr(c.Stride) * 4
	for j := 0; j < b.n; j += columns {
		n := min(columns, b.n-j)
		for k := 0; k < b.k; k += step {
			g[depth] = uintptr(min(step, b.k-k))
			g[flags] = e.flags(k == 0, k+step >= b.k)
			if few(c.Rows, b) {
				multiplyFew(c, a, b, e, &g, k, j, n)
			} else {
				multiplyBlock(c, a, b, e, &g, k, j, n)
			}
		}
	}
}

// raceProduct tells the race detector what a product touches.
func raceProduct(c *Matrix, a *left, b *right, e *Epilogue) {
	if !raceEnabled {
		return
	}
	raceWriteMatrix(c)
	lines := Matrix{Data: a.data, Rows: a.rows, Cols: b.k, Stride: a.row}
	if a.col != 1 {
		lines = Matrix{Data: a.data, Rows: b.k, Cols: a.rows, Stride: a.col}
	}
	raceReadMatrix(&lines)
	for j := 0; j < b.n; j += b.width {
		n := min(b.width, b.n-j)
		for k := range b.k {
			raceRead(b.data[j/b.width*b.panel+k*b.row:][:n])
		}
	}
	raceRead(e.Bias)
}

// flags returns what the micro-kernels do in the first and the last block of k.
func (e *Epilogue) flags(first, last bool) uintptr {
	var f uintptr
	switch {
	case !first || e.Accumulate:
		f = fromC
	case e.Bias != nil:
		f = fromBias
	}
	if last && e.ReLU {
		f |= withReLU
	}
	return f
}

// multiplyBlock goes over the rows of C for the n columns from column j on and the
// rows of B from row k on, in tiles of nearly equal height.
func multiplyBlock(c *Matrix, a *left, b *right, e *Epilogue, g *geometry, k, j, n int) {
	first := &b.data[j/b.width*b.panel+k*b.row]
	most := tileRows(b.isa)
	wide := (n + b.width - 1) / b.width
	tiles := (c.Rows + most - 1) / most
	for i, tile := 0, 0; tile < tiles; tile++ {
		rows := (c.Rows - i + tiles - tile - 1) / (tiles - tile)
		at, bias := place(c, e, i, j)
		g[cAhead] = uintptr((rows*c.Stride - wide*b.width) * 4)
		if a.col == 1 {
			fetchNextRows(a, g, k, i+rows, rows, wide)
		} else {
			fetchNextBlock(a, b, g, k, tile, tiles, wide)
		}
		multiplyTile(b.isa, rows, n, b.width, &a.data[i*a.row+k*a.col], first, at, bias, g)
		i += rows
	}
}

// place returns where element (i, j) of C lies, and the bias of its column. Without a bias that is C, too: it is not
// used, but moved along, and must stay within something.
func place(c *Matrix, e *Epilogue, i, j int) (at, bias *float32) {
	at = &c.Data[i*c.Stride+j]
	if e.Bias != nil {
		return at, &e.Bias[j]
	}
	return at, at
}

// few reports whether C has so few rows, for a packed B that fills much of the second-level cache, that it pays to go
// over them panel by panel: each comes into the first-level cache once, and the next one meanwhile.
func few(rows int, b *right) bool {
	const tiles, large = 5, 1 << 17
	return b.panel > b.width && b.k*b.n > large && rows <= tiles*tileRows(b.isa)
}

// multiplyFew is multiplyBlock, panel by panel.
func multiplyFew(c *Matrix, a *left, b *right, e *Epilogue, g *geometry, k, j, n int) {
	most := tileRows(b.isa)
	tiles := (c.Rows + most - 1) / most
	share := int(g[depth]) * b.width / tiles // of the next panel, for each tile to fetch
	for end := j + n; j < end; j += b.width {
		panel := b.data[j/b.width*b.panel+k*b.row:]
		next := min(b.panel, len(panel)-tiles*share)
		g[width] = uintptr(min(b.width, end-j))
		for i, t := 0, 0; t < tiles; t++ {
			rows := (c.Rows - i + tiles - t - 1) / (tiles - t)
			at, bias := place(c, e, i, j)
			g[panels] = 1
			g[cAhead] = uintptr((rows*c.Stride - b.width) * 4)
			if t == tiles-1 {
				g[cAhead] = uintptr(-i * c.Stride * 4)
			}
			fetchDuring(g, panel[next+t*share:][:share], 1)
			tile(b.isa, rows, &a.data[i*a.row+k*a.col], &panel[0], at, bias, g)
			i += rows
		}
	}
}

// fetchNextRows has a tile fetch the A of the next one, which lies behind it, if the
// block has all of k: the rows i to i+rows-1.
func fetchNextRows(a *left, g *geometry, k, i, rows, wide int) {
	from := i*a.row + k
	fetchDuring(g, a.data[min(from, len(a.data)-1):min(from+rows*a.row, len(a.data))], wide)
}

// fetchNextBlock has a tile fetch its share of the rows of A and B in the next block
// of k, which lie behind those of this one: first those of A, then those of B.
func fetchNextBlock(a *left, b *right, g *geometry, k, tile, tiles, wide int) {
	from := k + int(g[depth])
	rows := min(int(g[depth]), b.k-from)
	if rows <= 0 {
		fetchDuring(g, a.data[:1], wide)
		return
	}
	sizeA, sizeB := (rows-1)*a.col+a.rows, (rows-1)*b.row+b.n
	share := (sizeA + sizeB + tiles - 1) / tiles
	x, skip := a.data[from*a.col:][:sizeA], tile*share
	if skip >= sizeA {
		x, skip = b.data[from*b.row:][:sizeB], skip-sizeA
	}
	skip = min(skip, len(x)-1)
	fetchDuring(g, x[skip:min(skip+share, len(x))], wide)
}

// fetchDuring has a tile of so many panels fetch x, evenly over its steps of k.
func fetchDuring(g *geometry, x []float32, wide int) {
	g[ahead] = uintptr(unsafe.Pointer(&x[0])) // fetched or gone: it is not accessed
	g[aheadStep] = uintptr(len(x) * 4 / (wide * int(g[depth])))
}

// multiplyTile goes over n columns of a tile: all whole panels in few calls, then
// what is left.
func multiplyTile(isa ISA, rows, n, panel int, a, b, c, bias *float32, g *geometry) {
	g[width] = uintptr(panel)
	for n >= panel {
		count := min(n/panel, max(1, callWork/int(g[depth])))
		g[panels] = uintptr(count)
		tile(isa, rows, a, b, c, bias, g)
		n -= count * panel
		if n == 0 {
			return
		}
		b = offset(b, uintptr(count)*g[bPanel])
		c = offset(c, uintptr(count*panel)*4)
		bias = offset(bias, uintptr(count*panel)*4)
	}
	g[width], g[panels] = uintptr(n), 1
	tile(isa, rows, a, b, c, bias, g)
}

// apart reports whether the rows of A and B of a product Aᵀ·B lie so that few fit into the first-level cache, whose
// sets repeat every 4 KiB, and whether there is enough to do for copying them. AVX-512 hides what that costs.
func apart(a *left, b *Matrix, isa ISA) bool {
	const far, many, deep = 1024, 64, 64
	return isa == AVX2 && a.col > 1 && a.col+b.Stride >= far && min(a.rows, b.Cols) >= many && b.Rows >= deep
}

// multiplyApart is multiplyPlain on copies of A and B, block by block.
func (w *Workspace) multiplyApart(c *Matrix, a *left, b *Matrix, e *Epilogue) {
	part := *e
	for k := 0; k < b.Rows; k += plainDepth {
		rows := min(plainDepth, b.Rows-k)
		part.Accumulate = e.Accumulate || k > 0
		part.ReLU = e.ReLU && k+rows == b.Rows
		lines := Matrix{Data: a.data[k*a.col:], Rows: rows, Cols: a.rows, Stride: a.col}
		copyA, copyB := lines.copyTo(&w.left), b.rowRange(k, k+rows).copyTo(&w.tail)
		var l left
		var r right
		l.byColumns(&copyA)
		r.plain(&copyB, active)
		multiply(c, &l, &r, &part)
	}
}

// copyTo returns a copy of m in s, with a stride of an odd number of cache lines.
func (m Matrix) copyTo(s *scratch) Matrix {
	stride := (m.Cols/cacheLine + 1 | 1) * cacheLine
	s.resize(m.Rows * stride)
	dst := Matrix{Data: s.buf, Rows: m.Rows, Cols: m.Cols, Stride: stride}
	for i := range m.Rows {
		copy(dst.row(i), m.row(i))
	}
	return dst
}

// multiplyPlain computes C = A·B with B as it lies in memory. Where the kernels read
// more columns than there are, a narrow last panel is packed.
func (w *Workspace) multiplyPlain(c *Matrix, a *left, b *Matrix, e *Epilogue) {
	if apart(a, b, active) {
		w.multiplyApart(c, a, b, e)
		return
	}
	var r right
	r.plain(b, active)
	rest := b.Cols % r.width
	if !readsBeyond(r.isa, rest) || b.empty() || c.empty() {
		multiply(c, a, &r, e)
		return
	}
	whole := b.Cols - rest
	if whole > 0 {
		multiplyColumns(c, a, r, e, 0, whole)
	}
	w.tail.resize(b.Rows * r.width)
	packPanel(w.tail.buf, r.width, *b, whole)
	r.data, r.row = w.tail.buf, r.width
	multiplyColumns(c, a, r, e, whole, rest)
}

// multiplyColumns computes n columns of C, from column j on; b has just those.
func multiplyColumns(c *Matrix, a *left, b right, e *Epilogue, j, n int) {
	part, end := *c, *e
	part.Data, part.Cols = c.Data[j:], n
	if e.Bias != nil {
		end.Bias = e.Bias[j:]
	}
	b.n = n
	multiply(&part, a, &b, &end)
}

// packWholePanels packs count whole panels of b, some rows at a time.
func packWholePanels(dst []float32, width int, b *Matrix, count int) {
	if count == 0 {
		return
	}
	raceWrite(dst[:count*width*b.Rows])
	raceReadMatrix(b)
	step := max(1, 8*chunk/(width*count))
	for k := 0; k < b.Rows; k += step {
		rows := b.rowRange(k, min(k+step, b.Rows))
		packRows(&dst[k*width], width, width*b.Rows, &rows, count)
	}
}

// packTransposedRows packs whole blocks of 8 rows of b, and returns how many rows.
func packTransposedRows(dst []float32, width int, b *Matrix) int {
	raceWrite(dst[:width*b.Cols])
	raceReadMatrix(b)
	rows, blocks := b.Rows&^7, b.Cols/8
	for j := 0; j < rows; j += 8 {
		if blocks > 0 {
			packTransposed8(&dst[j], &b.Data[j*b.Stride], uintptr(width)*4, uintptr(b.Stride)*4, uintptr(blocks))
		}
		for i := j; i < j+8; i++ {
			for k := 8 * blocks; k < b.Cols; k++ {
				dst[k*width+i] = b.Data[i*b.Stride+k]
			}
		}
	}
	return rows
}
