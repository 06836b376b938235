package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// normal returns standard normal values.
func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// special are the values at which functions change their ways.
var special = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
	1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, math.MaxFloat32, -math.MaxFloat32,
	88.72283, 88.72284, 88.9, 89, 90, -87, -87.33654, -87.4, -103, -103.97, -104, -105,
	9.1, 9.2, -9.1, 0.70710677, 0.7071068, 1.4142135, 1.4142137, 0.41421354, 0.41421357,
	0.5, 2, 0.34657, 0.34658,
}

// mixed returns values of all kinds: usual ones, any bit pattern, special ones.
func mixed(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		switch r.IntN(4) {
		case 0:
			x[i] = math.Float32frombits(r.Uint32())
		case 1:
			x[i] = special[r.IntN(len(special))]
		default:
			x[i] = float32(r.NormFloat64() * 5)
		}
	}
	return x
}

// same reports whether a and b have the same bits or are both NaN.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func compare(t *testing.T, name string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", name, len(got), len(want))
	}
	for i := range want {
		if !same(got[i], want[i]) {
			t.Fatalf("%s of %d values: value %d is %g (%#x), want %g (%#x)", name, len(want), i,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// canary is a NaN: where it is read by mistake, the result is a NaN too.
const canary = 0x7fdeadbe

// guard is a vector between canaries. The race detector and checkptr do not see
// what assembly touches; canaries do.
type guard struct{ mem, values []float32 }

const margin = 40 // more than two vectors

// guarded returns a copy of x between canaries.
func guarded(x []float32) guard {
	mem := make([]float32, len(x)+2*margin)
	for i := range mem {
		mem[i] = math.Float32frombits(canary)
	}
	g := guard{mem, mem[margin : margin+len(x) : margin+len(x)]}
	copy(g.values, x)
	return g
}

// compare checks the values and that nothing was written beside them.
func (g guard) compare(t *testing.T, name string, want []float32) {
	t.Helper()
	compare(t, name, g.values, want)
	beside := slices.Concat(g.mem[:margin], g.mem[margin+len(g.values):])
	for i, v := range beside {
		if math.Float32bits(v) != canary {
			t.Fatalf("%s of %d values wrote beside them (canary %d)", name, len(g.values), i)
		}
	}
}

// randomMatrix returns a matrix of values with gaps of up to three canaries between
// its rows, and canaries around it.
func randomMatrix(r *rand.Rand, rows, cols int, values func(*rand.Rand, int) []float32) (Matrix, guard) {
	stride := cols + r.IntN(4)
	g := guarded(make([]float32, rows*stride))
	for i := range g.values {
		g.values[i] = math.Float32frombits(canary)
	}
	m := Matrix{Data: g.values, Rows: rows, Cols: cols, Stride: stride}
	for i := range rows {
		copy(m.row(i), values(r, cols))
	}
	return m, g
}

// cloned returns m with memory of its own.
func cloned(m Matrix) Matrix {
	m.Data = slices.Clone(m.Data)
	return m
}

// panics reports whether f panics.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}
