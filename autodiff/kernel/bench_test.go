package kernel

import (
	"fmt"
	"testing"
)

// benchISAs are the sets worth measuring here: the fast ones, if there are any.
func benchISAs() []ISA {
	if all := Available(); len(all) > 1 {
		return all[1:]
	}
	return []ISA{Portable}
}

// benchProduct measures m x n x k products with every instruction set.
func benchProduct(b *testing.B, m, n, k int, f func(w *Workspace, c, a, b Matrix) func()) {
	r := source()
	for _, isa := range benchISAs() {
		b.Run(fmt.Sprintf("%v/%dx%dx%d", isa, m, n, k), func(b *testing.B) {
			use(b, isa)
			var w Workspace
			c := Dense(make([]float32, m*n), m, n)
			run := f(&w, c, Dense(normal(r, m*k), m, k), Dense(normal(r, k*n), k, n))
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
			flops := 2 * float64(m) * float64(n) * float64(k) * float64(b.N)
			b.ReportMetric(flops/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

// BenchmarkMulPacked has the forward and backward shapes of the model: rows of a
// batch or of all its steps, and layers from tiny to wide.
func BenchmarkMulPacked(b *testing.B) {
	for _, m := range []int{4, 8, 16, 32, 128, 640, 1600, 5120} {
		for _, nk := range [][2]int{{128, 4}, {4, 128}, {128, 128}, {512, 128}, {128, 512}, {256, 256}, {1024, 1024}} {
			benchProduct(b, m, nk[0], nk[1], func(w *Workspace, c, a, b Matrix) func() {
				var p Packed
				return func() {
					if p.K == 0 {
						p.Pack(b)
					}
					w.MulPacked(c, a, &p, Epilogue{})
				}
			})
		}
	}
}

// BenchmarkMulTransA has the gradients of weights: K is the rows of all steps.
func BenchmarkMulTransA(b *testing.B) {
	for _, k := range []int{32, 640, 1600, 5120} {
		for _, mn := range [][2]int{{128, 128}, {129, 512}, {256, 256}, {512, 512}, {32, 512}, {512, 32}, {128, 8}} {
			benchProduct(b, mn[0], mn[1], k, func(w *Workspace, c, a, b Matrix) func() {
				at := transposed(a)
				return func() { w.MulTransA(c, at, b, Epilogue{}) }
			})
		}
	}
}

// BenchmarkPack has the weights of one layer, as they are packed once per step.
func BenchmarkPack(b *testing.B) {
	r := source()
	for _, isa := range benchISAs() {
		for _, transpose := range []bool{false, true} {
			b.Run(fmt.Sprintf("%v/transposed=%v", isa, transpose), func(b *testing.B) {
				use(b, isa)
				m := Dense(normal(r, 256*512), 256, 512)
				var p Packed
				b.SetBytes(4 * 256 * 512)
				for b.Loop() {
					if transpose {
						p.PackTransposed(m)
					} else {
						p.Pack(m)
					}
				}
			})
		}
	}
}

func BenchmarkPeak(b *testing.B) {
	for _, isa := range benchISAs() {
		b.Run(isa.String(), func(b *testing.B) {
			use(b, isa)
			var flops float64
			for b.Loop() {
				flops += Peak(10000)
			}
			b.ReportMetric(flops/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

// benchValues is what every function below goes over.
const benchValues = 4096

// vectorBenchmarks are calls on benchValues values in all.
func vectorBenchmarks() []struct {
	name string
	f    func()
} {
	const n = benchValues
	r := source()
	x, y, z, u, v := normal(r, n), normal(r, n), normal(r, n), normal(r, n), make([]float32, n)
	act, dz := normal(r, 4*n), normal(r, 4*n)
	p := NewPhilox(1, 2)
	rows := func(cols int, f func(dst, src Matrix)) func() {
		return func() { f(Dense(y[:n/cols*cols], n/cols, cols), Dense(x[:n/cols*cols], n/cols, cols)) }
	}
	bytes := make([]byte, 2*n)
	step := AdamStep{0.9, 0.1, 0.999, 0.001, 1e-9, 1e-8}
	return []struct {
		name string
		f    func()
	}{
		{"Exp", func() { Exp(y, x) }},
		{"Log", func() { Log(y, x) }},
		{"Tanh", func() { Tanh(y, x) }},
		{"Sigmoid", func() { Sigmoid(y, x) }},
		{"Softplus", func() { Softplus(y, x) }},
		{"Mul", func() { Mul(y, x, z) }},
		{"ReLUBackward", func() { ReLUBackward(y, x, z) }},
		{"Div", func() { Div(y, x, z) }},
		{"TanhBackward", func() { TanhBackward(y, x, z) }},
		{"Outer/32", func() { Outer(Dense(v, 8, 512), Dense(x, 8, 32), Dense(z, 8, 16)) }},
		{"AddWeightedRows/16", func() { AddWeightedRows(Dense(v, 8, 16), Dense(x, 8, 32), Dense(z, 8, 512)) }},
		{"AddDots/16", func() { AddDots(Dense(v, 8, 32), Dense(z, 8, 512), Dense(x, 8, 16)) }},
		{"Finite", func() { Finite(x) }},
		{"Sum", func() { Sum(x) }},
		{"SumSquares", func() { SumSquares(x) }},
		{"SumRows/128", func() { SumRows(v[:32], Dense(x, 32, 128)) }},
		{"SumRows/8", func() { SumRows(v[:512], Dense(x, 512, 8)) }},
		{"AddSumColumns/128", func() { AddSumColumns(v[:128], Dense(x, 32, 128)) }},
		{"Softmax/4", rows(4, Softmax)},
		{"Softmax/8", rows(8, Softmax)},
		{"Softmax/16", rows(16, Softmax)},
		{"Softmax/18", rows(18, Softmax)},
		{"Softmax/256", rows(256, Softmax)},
		{"LogSoftmax/4", rows(4, LogSoftmax)},
		{"LogSoftmax/8", rows(8, LogSoftmax)},
		{"LogSoftmax/16", rows(16, LogSoftmax)},
		{"LSTMForward", func() {
			for i := 0; i < n; i += 128 {
				copy(dz[:512], act[4*i:]) // the activations overwrite
				LSTMForward(dz[:512], x[i:i+128], y[i:i+128], u[i:i+128], v[i:i+128], 128)
			}
		}},
		{"LSTMBackward", func() {
			clear(v) // dc would grow beyond measure
			for i := 0; i < n; i += 128 {
				LSTMBackward(act[4*i:4*i+512], dz[4*i:4*i+512], x[i:i+128], v[i:i+128], z[i:i+128], u[i:i+128], 128)
			}
		}},
		{"Adam", func() { Adam(y, z, v, x, step) }},
		{"Uniforms", func() { p.Uniforms(y, 0) }},
		{"Normals", func() { p.Normals(y, 0) }},
		{"Gumbels", func() { p.Gumbels(y, 0) }},
		{"Logistics", func() { p.Logistics(y, 0) }},
		{"Greatest", func() { Greatest(x) }},
		{"Round", func() { p.Round(y, 1, 511, 0) }},
		{"PutInt16", func() { PutInt16(bytes, y) }},
		{"GetInt16", func() { GetInt16(v, bytes) }},
	}
}

func BenchmarkVector(b *testing.B) {
	for _, v := range vectorBenchmarks() {
		for _, isa := range benchISAs() {
			b.Run(v.name+"/"+isa.String(), func(b *testing.B) {
				use(b, isa)
				for b.Loop() {
					v.f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchValues, "ns/value")
			})
		}
	}
}
