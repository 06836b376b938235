package kernel

import "unsafe"

// Packed is the right-hand side of a product, K x N, laid out for the kernels of the instruction set that was
// active when it was packed: panels of a few columns, zero padded, each with its rows one after another. Element
// (k, j) is data[(j/width)·panel + k·width + j%width]. The zero value is empty and ready for Pack. Products may
// share a Packed; packing needs it alone.
type Packed struct {
	K, N  int
	isa   ISA
	width int // columns of a panel
	panel int // values from one panel to the next
	data  scratch
}

// Rows returns rows i to j-1 as a view, which is valid until p is packed again. The panels keep their distance; the
// view begins i rows later.
func (p *Packed) Rows(i, j int) Packed {
	v := *p
	v.K, v.data = j-i, scratch{buf: p.data.buf[i*p.width:]}
	return v
}

// Columns returns the first n columns as a view, which is valid until p is packed again.
func (p *Packed) Columns(n int) Packed {
	v := *p
	v.N, v.data = n, scratch{buf: p.data.buf}
	return v
}

// Pack sets p to b. It allocates only when it needs more memory than ever before.
func (p *Packed) Pack(b Matrix) {
	b.check("Pack")
	p.reset(b.Rows, b.Cols)
	if b.empty() {
		return
	}
	// Assembly copies whole panels; a narrow last one, and all of them without assembly, are copied by Go.
	whole := 0
	if p.isa != Portable {
		whole = p.N / p.width
		packWholePanels(p.data.buf, p.width, &b, whole)
	}
	for j := whole * p.width; j < p.N; j += p.width {
		packPanel(p.data.buf[j*p.K:], p.width, b, j)
	}
}

// PackTransposed sets p to bᵀ, where b is N x K: a panel takes width rows of b.
func (p *Packed) PackTransposed(b Matrix) {
	b.check("PackTransposed")
	p.reset(b.Cols, b.Rows)
	if b.empty() {
		return
	}
	for j := 0; j < p.N; j += p.width {
		packTransposedPanel(p.data.buf[j*p.K:], p.width, b.rowRange(j, min(j+p.width, p.N)), p.isa)
	}
}

// reset gives p its shape and the panels of the active instruction set. What the padding holds is undefined.
func (p *Packed) reset(k, n int) {
	p.K, p.N = k, n
	p.isa = active
	p.width = panelWidth(p.isa)
	p.panel = k * p.width
	p.data.resize(k * ceilTo(n, p.width))
}

// panelWidth returns the columns of a panel: two vectors.
func panelWidth(isa ISA) int {
	if isa == AVX512 {
		return 32
	}
	return 16
}

// packPanel copies up to width columns of b, from column j on, and pads with zeros.
func packPanel(dst []float32, width int, b Matrix, j int) {
	w := min(width, b.Cols-j)
	for k := range b.Rows {
		row := dst[k*width:][:width]
		copy(row, b.Data[k*b.Stride+j:][:w])
		clear(row[w:])
	}
}

// packTransposedPanel makes column j of a panel of row j of b, and pads with zeros.
func packTransposedPanel(dst []float32, width int, b Matrix, isa ISA) {
	j := 0
	if isa != Portable {
		j = packTransposedRows(dst, width, &b)
	}
	for ; j < b.Rows; j++ {
		for k, v := range b.row(j) {
			dst[k*width+j] = v
		}
	}
	for ; j < width; j++ {
		for k := range b.Cols {
			dst[k*width+j] = 0
		}
	}
}

// scratch is a buffer that only grows, aligned to a cache line.
type scratch struct{ mem, buf []float32 }

const cacheLine = 64 / 4 // values

// resize gives buf n values; what they hold is undefined. If memory is short it is allocated anew, with room to
// start at a multiple of 64 bytes.
func (s *scratch) resize(n int) {
	if cap(s.buf) < n {
		s.mem = make([]float32, n+cacheLine)
		skip := (-uintptr(unsafe.Pointer(&s.mem[0])) % 64) / 4
		s.buf = s.mem[skip:]
	}
	s.buf = s.buf[:n]
}

// ceilTo returns n rounded up to a multiple of m.
func ceilTo(n, m int) int { return (n + m - 1) / m * m }
