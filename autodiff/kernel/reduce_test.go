package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSum_Order spells out the order for 20 values.
func TestSum_Order(t *testing.T) {
	r := source()
	for range 50 { // one alone may have the same sum in another order
		testSumOrder(t, normal(r, 20))
	}
}

func testSumOrder(t *testing.T, x []float32) {
	t.Helper()
	var l [16]float32
	for i := range l {
		l[i] = x[i]
	}
	for i := 16; i < 20; i++ {
		l[i-16] += x[i]
	}
	a := func(i int) float32 { return l[i] + l[i+8] }
	b := func(i int) float32 { return a(i) + a(i+4) }
	want := (b(0) + b(2)) + (b(1) + b(3))
	eachISA(t, func(t *testing.T) {
		if got := Sum(x); got != want {
			t.Errorf("%g, want %g", got, want)
		}
	})
}

func TestSums_EveryLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		for _, n := range append(lengths(), 3*chunk) {
			x := guarded(normal(r, n)).values
			var s [lanes]float32
			sumLanesPortable(&s, x)
			if got, want := Sum(x), fold32(&s); got != want {
				t.Fatalf("sum of %d values: %g, want %g", n, got, want)
			}
			var d [lanes]float64
			sumSquaresLanesPortable(&d, x)
			if got, want := SumSquares(x), fold64(&d); got != want {
				t.Fatalf("sum of %d squares: %g, want %g", n, got, want)
			}
		}
	})
}

// TestRows_EveryLength tests what goes over the rows of matrices, with values of
// all kinds: few and many rows, with and without gaps.
func TestRows_EveryLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		for n := range 131 {
			for _, rows := range []int{0, 1, 7, 64} {
				m, g := randomMatrix(r, rows, n, mixed)
				name := fmt.Sprintf("%d x %d", rows, n)

				want, got := make([]float32, rows), guarded(normal(r, rows))
				sumRowsPortable(want, m)
				SumRows(got.values, m)
				got.compare(t, "SumRows "+name, want)

				got = guarded(normal(r, n))
				want = slices.Clone(got.values)
				addSumColumnsPortable(want, m)
				AddSumColumns(got.values, m)
				got.compare(t, "AddSumColumns "+name, want)

				sum := cloned(m)
				addRowPortable(sum, want)
				AddRow(m, want)
				g.compare(t, "AddRow "+name, sum.Data)
			}
		}
	})
}

func TestSoftmax_EveryLength(t *testing.T) {
	functions := []struct {
		name            string
		fast, reference func(dst, src Matrix)
	}{
		{"Softmax", Softmax, softmaxPortable},
		{"LogSoftmax", LogSoftmax, logSoftmaxPortable},
	}
	values := []func(*rand.Rand, int) []float32{mixed, normal}
	eachISA(t, func(t *testing.T) {
		r := source()
		for n := 1; n < 131; n++ {
			for i, rows := range []int{1, 3, 16, 33} {
				src, in := randomMatrix(r, rows, n, values[i%2])
				if i == 3 {
					src = Dense(values[0](r, rows*n), rows, n)
					in = guarded(src.Data)
					src.Data = in.values
				}
				for _, f := range functions {
					name := fmt.Sprintf("%s %d x %d", f.name, rows, n)
					dst, out := randomMatrix(r, rows, n, normal)
					want := cloned(dst)
					f.reference(want, src)
					f.fast(dst, src)
					out.compare(t, name, want.Data)
				}
				want := cloned(src)
				logSoftmaxPortable(want, want)
				LogSoftmax(src, src)
				in.compare(t, "LogSoftmax in place", want.Data)
			}
		}
	})
}
