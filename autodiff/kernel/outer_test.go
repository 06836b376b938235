package kernel

import (
	"fmt"
	"testing"
)

// TestOuter_EveryShape compares the outer product and the sums of its VJP with the portable loops, for every rest of
// rows and columns, on matrices with gaps between their rows. Sums of values of all kinds would nearly all be NaN.
func TestOuter_EveryShape(t *testing.T) {
	const rows = 3
	eachISA(t, func(t *testing.T) {
		r := source()
		for n := range 67 {
			for _, k := range []int{0, 1, 3, 16, 21, 35} {
				name := fmt.Sprintf("%d x %d", k, n)
				x, _ := randomMatrix(r, rows, k, mixed)
				y, _ := randomMatrix(r, rows, n, mixed)
				m, g := randomMatrix(r, rows, k*n, mixed)
				want := cloned(m)
				outerPortable(want, x, y)
				Outer(m, x, y)
				g.compare(t, "Outer "+name, want.Data)

				x, gx := randomMatrix(r, rows, k, normal)
				y, gy := randomMatrix(r, rows, n, normal)
				m, _ = randomMatrix(r, rows, k*n, normal)
				want = cloned(y)
				addWeightedRowsPortable(want, x, m)
				AddWeightedRows(y, x, m)
				gy.compare(t, "AddWeightedRows "+name, want.Data)

				want = cloned(x)
				addDotsPortable(want, m, y)
				AddDots(x, m, y)
				gx.compare(t, "AddDots "+name, want.Data)
			}
		}
	})
}

// TestOuter_Chains spells out that products are rounded before they are added, in ascending order.
func TestOuter_Chains(t *testing.T) {
	const rows, k, n = 2, 19, 7
	r := source()
	m, w, x := Dense(normal(r, rows*k*n), rows, k*n), Dense(normal(r, rows*k), rows, k), Dense(normal(r, rows*n), rows, n)
	down, across := make([]float32, rows*n), make([]float32, rows*k)
	for row := range rows {
		for i := range k {
			var dot float32
			for j := range n {
				v := m.row(row)[i*n+j]
				down[row*n+j] += float32(w.row(row)[i] * v)
				dot += float32(v * x.row(row)[j])
			}
			across[row*k+i] = dot
		}
	}
	eachISA(t, func(t *testing.T) {
		got := Dense(make([]float32, rows*n), rows, n)
		AddWeightedRows(got, w, m)
		compare(t, "AddWeightedRows", got.Data, down)
		got = Dense(make([]float32, rows*k), rows, k)
		AddDots(got, m, x)
		compare(t, "AddDots", got.Data, across)
	})
}

func TestOuter_Shapes(t *testing.T) {
	of := func(rows, cols int) Matrix { return Dense(make([]float32, rows*cols), rows, cols) }
	for name, f := range map[string]func(){
		"columns": func() { Outer(of(2, 11), of(2, 3), of(2, 4)) },
		"rows":    func() { AddDots(of(2, 3), of(2, 12), of(3, 4)) },
		"swapped": func() { AddWeightedRows(of(2, 12), of(2, 3), of(2, 4)) },
	} {
		if !panics(f) {
			t.Errorf("%s do not fit", name)
		}
	}
}
