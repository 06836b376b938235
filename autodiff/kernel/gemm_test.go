package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// chains is the definition of C = A·B: one FMA chain per element.
func chains(c, a, b Matrix, e Epilogue) {
	for i := range c.Rows {
		for j := range c.Cols {
			var s float32
			switch {
			case e.Accumulate:
				s = c.Data[i*c.Stride+j]
			case e.Bias != nil:
				s = e.Bias[j]
			}
			for k := range b.Rows {
				s = FMA(a.Data[i*a.Stride+k], b.Data[k*b.Stride+j], s)
			}
			if e.ReLU && 0 > s {
				s = 0
			}
			c.Data[i*c.Stride+j] = s
		}
	}
}

func transposed(m Matrix) Matrix {
	t := Dense(make([]float32, m.Rows*m.Cols), m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			t.Data[j*t.Stride+i] = m.Data[i*m.Stride+j]
		}
	}
	return t
}

func randomEpilogue(r *rand.Rand, n int) Epilogue {
	e := Epilogue{ReLU: r.IntN(2) == 0}
	switch r.IntN(3) {
	case 0:
		e.Accumulate = true
	case 1:
		e.Bias = guarded(normal(r, n)).values
	}
	return e
}

// forms are the ways to the same product.
var forms = []struct {
	name     string
	multiply func(w *Workspace, p *Packed, c, a, b Matrix, e Epilogue)
}{
	{"MulPacked", func(w *Workspace, p *Packed, c, a, b Matrix, e Epilogue) {
		p.Pack(b)
		w.MulPacked(c, a, p, e)
	}},
	{"MulPacked of PackTransposed", func(w *Workspace, p *Packed, c, a, b Matrix, e Epilogue) {
		p.PackTransposed(transposed(b))
		w.MulPacked(c, a, p, e)
	}},
	{"MulPacked by Rows", func(w *Workspace, p *Packed, c, a, b Matrix, e Epilogue) {
		p.Pack(b)
		k := b.Rows / 3
		first, rest := p.Rows(0, k), p.Rows(k, b.Rows)
		left, right := a, a
		left.Cols, right.Cols, right.Data = k, a.Cols-k, a.Data[min(k, len(a.Data)):]
		begin, end := e, e
		begin.ReLU, end.Accumulate = false, true
		w.MulPacked(c, left, &first, begin)
		w.MulPacked(c, right, &rest, end)
	}},
	{"MulPacked by Columns", func(w *Workspace, p *Packed, c, a, b Matrix, e Epilogue) {
		more := Dense(make([]float32, b.Rows*(b.Cols+20)), b.Rows, b.Cols+20)
		for i := range b.Rows {
			copy(more.row(i), b.row(i))
		}
		p.Pack(more)
		columns := p.Columns(b.Cols)
		w.MulPacked(c, a, &columns, e)
	}},
	{"Mul", func(w *Workspace, _ *Packed, c, a, b Matrix, e Epilogue) { w.Mul(c, a, b, e) }},
	{"MulTransA", func(w *Workspace, _ *Packed, c, a, b Matrix, e Epilogue) {
		w.MulTransA(c, transposed(a), b, e)
	}},
}

// TestProducts_AreChains compares all forms with the definition, for random shapes
// (with none of some dimension, too), strides and epilogues.
func TestProducts_AreChains(t *testing.T) {
	shapes := 120
	if underRace {
		shapes = 15
	}
	eachISA(t, func(t *testing.T) {
		r := source()
		var w Workspace
		var p Packed
		for range shapes {
			m, n, k := r.IntN(40), r.IntN(100), r.IntN(100)
			switch r.IntN(10) {
			case 0:
				k = 500 + r.IntN(400) // more than one block
			case 1:
				m, n = 1+r.IntN(3), 300+r.IntN(100)
			}
			testProduct(t, r, &w, &p, m, n, k)
		}
	})
}

// TestProducts_Blocks has more columns than one block and than one call take, and few rows for a large B.
func TestProducts_Blocks(t *testing.T) {
	if underRace {
		t.Skip("slow under the race detector")
	}
	eachISA(t, func(t *testing.T) {
		var w Workspace
		var p Packed
		testProduct(t, source(), &w, &p, 2, 1100, 600)
		testProduct(t, source(), &w, &p, 37, 290, 500)
		testProduct(t, source(), &w, &p, 70, 970, 150)
	})
}

func testProduct(t *testing.T, r *rand.Rand, w *Workspace, p *Packed, m, n, k int) {
	t.Helper()
	a, _ := randomMatrix(r, m, k, normal)
	b, _ := randomMatrix(r, k, n, normal)
	c, g := randomMatrix(r, m, n, normal)
	e := randomEpilogue(r, n)
	start, want := slices.Clone(c.Data), cloned(c)
	chains(want, a, b, e)
	for _, form := range forms {
		copy(c.Data, start)
		spoil(&p.data, &w.left, &w.tail, &w.turned) // what one form has packed may be what the next one has to
		form.multiply(w, p, c, a, b, e)
		g.compare(t, fmt.Sprintf("%s of %d x %d x %d", form.name, m, n, k), want.Data)
	}
}

// spoil overwrites what is left in buffers.
func spoil(buffers ...*scratch) {
	for _, s := range buffers {
		b := s.buf[:cap(s.buf)]
		for i := range b {
			b[i] = float32(math.NaN())
		}
	}
}

// TestProducts_ReLU has the chains end in what a maximum with 0 could lose: a NaN, and
// the sign of a zero.
func TestProducts_ReLU(t *testing.T) {
	const m, n, k = 7, 19, 2
	zero, inf := float32(math.Copysign(0, -1)), float32(math.Inf(1))
	eachISA(t, func(t *testing.T) {
		a, b, bias := Dense(make([]float32, m*k), m, k), Dense(make([]float32, k*n), k, n), make([]float32, n)
		for i := range b.Data {
			b.Data[i] = -1 // and A is 0: each chain ends in its bias
		}
		for i := range bias {
			bias[i] = []float32{float32(math.NaN()), zero, 0, -1, 1, -inf, inf}[i%7]
		}
		want := make([]float32, n)
		reluPortable(want, bias)
		var w Workspace
		var p Packed
		for _, form := range forms {
			c := Dense(make([]float32, m*n), m, n)
			form.multiply(&w, &p, c, a, b, Epilogue{Bias: bias, ReLU: true})
			for i := range m {
				compare(t, form.name, c.row(i), want)
			}
		}
	})
}

// TestMulPacked_OtherISA multiplies with what was packed for another set.
func TestMulPacked_OtherISA(t *testing.T) {
	r := source()
	a, _ := randomMatrix(r, 9, 20, normal)
	b, _ := randomMatrix(r, 20, 45, normal)
	want := Dense(make([]float32, 9*45), 9, 45)
	chains(want, a, b, Epilogue{})
	eachISA(t, func(t *testing.T) {
		var w Workspace
		var p Packed
		p.Pack(b)
		use(t, Portable)
		c := Dense(make([]float32, 9*45), 9, 45)
		w.MulPacked(c, a, &p, Epilogue{})
		compare(t, "MulPacked", c.Data, want.Data)
	})
}

// TestPack_Padding packs little after much: the padding must be zeros, which are
// multiplied like all else and must not be slow or infinite.
func TestPack_Padding(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		var p Packed
		large := Dense(mixed(source(), 60*60), 60, 60)
		small := Dense([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
		for _, pack := range []func(){func() { p.Pack(small) }, func() { p.PackTransposed(transposed(small)) }} {
			p.Pack(large)
			pack()
			for i, v := range p.data.buf {
				want := float32(0)
				if k, j := i/p.width, i%p.width; j < 3 {
					want = small.row(k)[j]
				}
				if v != want {
					t.Fatalf("value %d is %g, want %g", i, v, want)
				}
			}
		}
	})
}

// TestMul_TrimmedB multiplies with a B in memory whose rows are as far apart as those of a panel, and which ends with its
// last value; and with one without rows.
func TestMul_TrimmedB(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r, stride := source(), panelWidth(Active())
		k, n := 8192, stride-4
		a, _ := randomMatrix(r, 1, k, normal)
		b := Matrix{Data: normal(r, (k-1)*stride+n), Rows: k, Cols: n, Stride: stride}
		got, want := Dense(make([]float32, n), 1, n), Dense(make([]float32, n), 1, n)
		var w Workspace
		w.Mul(got, a, b, Epilogue{})
		chains(want, a, b, Epilogue{})
		compare(t, "trimmed B", got.Data, want.Data)

		wide := Dense(normal(r, 3*stride), 1, 3*stride)
		w.Mul(wide, Matrix{Rows: 1}, Matrix{Cols: 3 * stride, Stride: 3 * stride}, Epilogue{})
		compare(t, "no rows", wide.Data, make([]float32, 3*stride))
	})
}

func TestProducts_DoNotAllocate(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		a, b := Dense(normal(r, 8*33), 8, 33), Dense(normal(r, 33*45), 33, 45)
		c, bias := Dense(make([]float32, 8*45), 8, 45), normal(r, 45)
		at, bt := transposed(a), transposed(b)
		var w Workspace
		var p Packed
		p.Pack(b)
		allocs := testing.AllocsPerRun(10, func() {
			p.Pack(b)
			w.MulPacked(c, a, &p, Epilogue{Bias: bias, ReLU: true})
			p.PackTransposed(bt)
			w.Mul(c, a, b, Epilogue{Accumulate: true})
			w.MulTransA(c, at, b, Epilogue{})
		})
		if allocs != 0 {
			t.Errorf("%g allocations", allocs)
		}
	})
}

func TestProducts_PanicOnShapes(t *testing.T) {
	x := make([]float32, 100)
	m := func(rows, cols int) Matrix { return Dense(x[:rows*cols], rows, cols) }
	var w Workspace
	var p Packed
	p.Pack(m(3, 4))
	for name, f := range map[string]func(){
		"rows":        func() { w.Mul(m(2, 4), m(5, 3), m(3, 4), Epilogue{}) },
		"columns":     func() { w.Mul(m(2, 5), m(2, 3), m(3, 4), Epilogue{}) },
		"depth":       func() { w.Mul(m(2, 4), m(2, 4), m(3, 4), Epilogue{}) },
		"bias":        func() { w.Mul(m(2, 4), m(2, 3), m(3, 4), Epilogue{Bias: x[:3]}) },
		"packed":      func() { w.MulPacked(m(2, 4), m(2, 4), &p, Epilogue{}) },
		"transposed":  func() { w.MulTransA(m(3, 4), m(3, 2), m(3, 4), Epilogue{}) },
		"data":        func() { w.Mul(Matrix{x[:7], 2, 4, 4}, m(2, 3), m(3, 4), Epilogue{}) },
		"stride":      func() { p.Pack(Matrix{x, 2, 4, 3}) },
		"Dense":       func() { Dense(x, 11, 10) },
		"negative":    func() { Dense(x, -1, 10) },
		"vector":      func() { Add(x[:3], x[:4]) },
		"two vectors": func() { Mul(x[:3], x[:3], x[:4]) },
		"softmax":     func() { Softmax(m(2, 3), m(3, 2)) },
		"row sums":    func() { SumRows(x[:2], m(3, 2)) },
		"column sums": func() { AddSumColumns(x[:3], m(3, 2)) },
		"cell":        func() { LSTMForward(x[:7], x[:2], x[:2], x[:2], x[:2], 2) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}
