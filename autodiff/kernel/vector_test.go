package kernel

import (
	"math"
	"slices"
	"testing"
)

// vectorOp is an element-wise function and its portable loop: out is overwritten or updated, x and y are read.
type vectorOp struct {
	name            string
	fast, reference func(out, x, y []float32)
}

// vectorOps are all of them.
var vectorOps = append(hashedOps,
	vectorOp{"Div", Div, divPortable},
	vectorOp{"Sqrt", func(out, x, _ []float32) { Sqrt(out, x) }, func(out, x, _ []float32) { sqrtPortable(out, x) }},
	vectorOp{"TanhBackward", TanhBackward, tanhBackwardPortable},
)

// hashedOps are those that goldenHash covers, in their order. The others have a line of the fingerprint, as all have.
var hashedOps = []vectorOp{
	{"Exp", func(out, x, _ []float32) { Exp(out, x) }, func(out, x, _ []float32) { expPortable(out, x) }},
	{"Log", func(out, x, _ []float32) { Log(out, x) }, func(out, x, _ []float32) { logPortable(out, x) }},
	{"Tanh", func(out, x, _ []float32) { Tanh(out, x) }, func(out, x, _ []float32) { tanhPortable(out, x) }},
	{"Sigmoid", func(out, x, _ []float32) { Sigmoid(out, x) }, func(out, x, _ []float32) { sigmoidPortable(out, x) }},
	{"Softplus", func(out, x, _ []float32) { Softplus(out, x) }, func(out, x, _ []float32) { softplusPortable(out, x) }},
	{"ReLU", func(out, x, _ []float32) { ReLU(out, x) }, func(out, x, _ []float32) { reluPortable(out, x) }},
	{"ReLUBackward", ReLUBackward, reluBackwardPortable},
	{"Add", func(out, x, _ []float32) { Add(out, x) }, func(out, x, _ []float32) { addPortable(out, x) }},
	{"Sub", Sub, subPortable},
	{"Mul", Mul, mulPortable},
	{"AddMul", AddMul, addMulPortable},
	{
		"AddScaled",
		func(out, x, _ []float32) { AddScaled(out, 1.7, x) },
		func(out, x, _ []float32) { addScaledPortable(out, 1.7, x) },
	},
	{
		"Scale",
		func(out, _, _ []float32) { Scale(out, 1.7) },
		func(out, _, _ []float32) { scalePortable(out, 1.7) },
	},
}

// lengths are all short ones, and one that is cut into calls.
func lengths() []int {
	var n []int
	for i := range 131 {
		n = append(n, i)
	}
	return append(n, chunk+77)
}

func TestVectorOps_EveryLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		for _, op := range vectorOps {
			for _, n := range lengths() {
				x, y := guarded(mixed(r, n)).values, guarded(mixed(r, n)).values
				out := guarded(mixed(r, n))
				want := slices.Clone(out.values)
				op.reference(want, x, y)
				op.fast(out.values, x, y)
				out.compare(t, op.name, want)
			}
		}
	})
}

func TestVectorOps_InPlace(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		for _, op := range vectorOps {
			x, y := mixed(r, 77), mixed(r, 77)
			want, first, second := slices.Clone(x), slices.Clone(x), slices.Clone(y)
			op.reference(want, slices.Clone(x), y)
			op.fast(first, first, y)
			compare(t, op.name+" onto its first operand", first, want)
			want = slices.Clone(y)
			op.reference(want, x, slices.Clone(y))
			op.fast(second, x, second)
			compare(t, op.name+" onto its second operand", second, want)
		}
	})
}

func TestFinite(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, n := range lengths() {
			x := guarded(make([]float32, n)).values // NaN canaries must not count
			for i := range x {
				x[i] = []float32{math.MaxFloat32, -math.MaxFloat32, 1e-45, 0}[i%4]
			}
			if !Finite(x) {
				t.Fatalf("%d finite values", n)
			}
			for i := 0; i < n; i += 1 + n/50 {
				for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
					before := x[i]
					x[i] = bad
					if Finite(x) {
						t.Fatalf("%g at %d of %d", bad, i, n)
					}
					x[i] = before
				}
			}
		}
	})
}

func TestVectorOps_DoNotAllocate(t *testing.T) {
	if underRace {
		t.Skip("what is announced to the race detector escapes")
	}
	eachISA(t, func(t *testing.T) {
		p := NewPhilox(1, 2)
		allocs := testing.AllocsPerRun(10, func() {
			var x, y [70]float32
			p.Normals(x[:], 0)
			Exp(y[:], x[:])
			AddMul(y[:], x[:], x[:])
			Sum(y[:])
			SumSquares(y[:])
			LogSoftmax(Dense(y[:], 10, 7), Dense(x[:], 10, 7))
			AddSumColumns(x[:7], Dense(y[:], 10, 7))
			AddWeightedRows(Dense(x[:], 1, 3), Dense(y[:], 1, 20), Dense(y[:], 1, 60))
			AddDots(Dense(x[:], 1, 20), Dense(y[:], 1, 60), Dense(y[:], 1, 3))
			Greatest(x[:])
			p.Round(x[:], 2, 9, 0)
			Adam(x[:], y[:], y[:], y[:], AdamStep{})
		})
		if allocs != 0 {
			t.Errorf("%g allocations", allocs)
		}
	})
}
