package kernel

import (
	"fmt"
	"slices"
	"testing"
)

// TestOuter_EveryLength compares the outer product and the sums of its VJP with the portable loops, for every rest of
// rows and columns, on matrices with gaps between their rows and values of all kinds.
func TestOuter_EveryLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		for n := range 67 {
			for _, rows := range []int{0, 1, 3, 16, 21, 35} {
				name := fmt.Sprintf("%d x %d", rows, n)
				w, x := guarded(mixed(r, rows)).values, guarded(mixed(r, n)).values

				product, want := guarded(mixed(r, rows*n)), make([]float32, rows*n)
				outerPortable(want, w, x)
				Outer(product.values, w, x)
				product.compare(t, "Outer "+name, want)

				// Sums of values of all kinds would nearly all be NaN.
				m, _ := randomMatrix(r, rows, n, normal)
				w, x = guarded(normal(r, rows)).values, guarded(normal(r, n)).values
				sums := guarded(normal(r, n))
				want = slices.Clone(sums.values)
				addWeightedRowsPortable(want, w, m)
				AddWeightedRows(sums.values, w, m)
				sums.compare(t, "AddWeightedRows "+name, want)

				dots := guarded(normal(r, rows))
				want = slices.Clone(dots.values)
				addDotsPortable(want, m, x)
				AddDots(dots.values, m, x)
				dots.compare(t, "AddDots "+name, want)
			}
		}
	})
}

// TestOuter_Chains spells out that products are rounded before they are added, in ascending order.
func TestOuter_Chains(t *testing.T) {
	const rows, n = 19, 7
	r := source()
	m, _ := randomMatrix(r, rows, n, normal)
	w, x := normal(r, rows), normal(r, n)
	down, across := make([]float32, n), make([]float32, rows)
	for i := range rows {
		var dot float32
		for j := range n {
			v := m.row(i)[j]
			down[j] += float32(w[i] * v)
			dot += float32(v * x[j])
		}
		across[i] = dot
	}
	eachISA(t, func(t *testing.T) {
		got := make([]float32, n)
		AddWeightedRows(got, w, m)
		compare(t, "AddWeightedRows", got, down)
		got = make([]float32, rows)
		AddDots(got, m, x)
		compare(t, "AddDots", got, across)
	})
}

// TestOuter_InSeveralCalls has matrices of more rows than a call takes.
func TestOuter_InSeveralCalls(t *testing.T) {
	const n, rows = 1000, 50
	eachISA(t, func(t *testing.T) {
		r := source()
		w, x := normal(r, rows), normal(r, n)
		m := Dense(make([]float32, rows*n), rows, n)
		Outer(m.Data, w, x)
		want := make([]float32, rows*n)
		outerPortable(want, w, x)
		compare(t, "Outer", m.Data, want)

		down, across := make([]float32, n), make([]float32, rows)
		AddWeightedRows(down, w, m)
		AddDots(across, m, x)
		wantDown, wantAcross := make([]float32, n), make([]float32, rows)
		addWeightedRowsPortable(wantDown, w, m)
		addDotsPortable(wantAcross, m, x)
		compare(t, "AddWeightedRows", down, wantDown)
		compare(t, "AddDots", across, wantAcross)
	})
}
