package bench

import (
	"math"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Kernel is the measured speed of one operation: a matrix product of some shape, in GFLOP/s and as a fraction of
// the FMA peak of a core, or a function, in nanoseconds for a value.
type Kernel struct {
	Op           string  `json:"op"`               // a form of product, or the name of a function
	M            int     `json:"m,omitempty"`      // rows of the result; 0: a function
	N            int     `json:"n,omitempty"`      // columns of the result
	K            int     `json:"k,omitempty"`      // terms of each of its sums
	GFLOPS       float64 `json:"gflops,omitempty"` // 2·M·N·K operations in a call
	PeakFraction float64 `json:"peak_fraction,omitempty"`
	Nanoseconds  float64 `json:"ns_per_value,omitempty"`
}

// The forms of matrix products that backpropagation needs.
const (
	forward  = "nn" // C = A·B, B packed once and used often
	backward = "nt" // C = A·Bᵀ, Bᵀ packed once and used often
	weights  = "tn" // C = Aᵀ·B, used once; m x n are the weights, k the rows
)

// shape is the shape of a product.
type shape struct {
	op      string
	m, n, k int
}

// shapes are those of the study of kernels: every pair of five widths, with the rows of one shard up to those of all
// its time steps.
func shapes() (all []shape) {
	widths := []int{32, 128, 256, 512, 1024}
	for _, op := range []string{forward, backward, weights} {
		rows := []int{16, 32, 64, 128, 256, 640}
		if op == weights {
			rows = []int{32, 128, 640, 5120}
		}
		for _, r := range rows {
			for _, n := range widths {
				for _, k := range widths {
					s := shape{op, r, n, k}
					if op == weights {
						s = shape{op, k, n, r}
					}
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// sampleTime is the shortest duration of one sample, far above the resolution of the clock.
const sampleTime = 2 * time.Millisecond

// Operations are the names of what MeasureKernels measures: the forms of products, then the functions.
func Operations() []string {
	names := []string{forward, backward, weights}
	for _, f := range functions() {
		names = append(names, f.name)
	}
	return names
}

// MeasureKernels measures each shape and function of the operations named, on one core: samples times, by turns
// with the FMA peak. It takes medians. A fraction is relative to the larger of the peaks measured just before and
// just after, since a peak that was disturbed would flatter the kernel. Operations that are not known are left
// out.
func MeasureKernels(operations []string, samples int) []Kernel {
	var out []Kernel
	for _, s := range shapes() {
		if !slices.Contains(operations, s.op) {
			continue
		}
		run := s.prepare()
		flops := 2 * float64(s.m) * float64(s.n) * float64(s.k)
		rates, fractions := make([]float64, samples), make([]float64, samples)
		for i := range samples {
			peak := peakOnce(1)
			rates[i] = flops / perCall(run)
			fractions[i] = rates[i] / max(peak, peakOnce(1))
		}
		out = append(out, Kernel{
			Op: s.op, M: s.m, N: s.n, K: s.k, GFLOPS: spread(rates).Median / 1e9,
			PeakFraction: spread(fractions).Median,
		})
	}
	for _, f := range functions() {
		if !slices.Contains(operations, f.name) {
			continue
		}
		times := make([]float64, samples)
		for i := range samples {
			times[i] = perCall(f.run)
		}
		out = append(out, Kernel{Op: f.name, Nanoseconds: spread(times).Median / values * 1e9})
	}
	return out
}

// perCall is the time of one call in seconds, averaged over the calls of one sample. The number of calls is
// doubled until the sample is long enough, and shorter ones warm the caches.
func perCall(run func()) float64 {
	for calls := 1; ; calls *= 2 {
		start := time.Now()
		for range calls {
			run()
		}
		if took := time.Since(start); took >= sampleTime {
			return took.Seconds() / float64(calls)
		}
	}
}

// prepare makes the operands of a product and returns the call to be timed. Packing of operands that are used
// often is not part of the call.
func (s shape) prepare() func() {
	var w kernel.Workspace
	c := kernel.Dense(make([]float32, s.m*s.n), s.m, s.n)
	var packed kernel.Packed
	switch s.op {
	case forward:
		a := numbers(s.m, s.k)
		packed.Pack(numbers(s.k, s.n))
		return func() { w.MulPacked(c, a, &packed, kernel.Epilogue{}) }
	case backward:
		a := numbers(s.m, s.k)
		packed.PackTransposed(numbers(s.n, s.k))
		return func() { w.MulPacked(c, a, &packed, kernel.Epilogue{}) }
	}
	a, b := numbers(s.k, s.m), numbers(s.k, s.n)
	return func() { w.MulTransA(c, a, b, kernel.Epilogue{}) }
}

// numbers is a matrix of normal random numbers, the same ones for each shape.
func numbers(rows, cols int) kernel.Matrix {
	m := kernel.Dense(make([]float32, rows*cols), rows, cols)
	p := kernel.NewPhilox(uint64(rows), uint64(cols))
	p.Normals(m.Data, 0)
	return m
}

// values is the number of values that a function is measured on; they fit into the first-level cache.
const values = 4096

// function is an operation on values rather than a product. Each call does the same work, however often it is
// made.
type function struct {
	name string
	run  func()
}

// functions are calls of the functions on that many values.
func functions() []function {
	x, y, z := numbers(1, values).Data, numbers(2, values).Data[:values], make([]float32, values)
	h, t, p := make([]float32, values), make([]float32, values), kernel.NewPhilox(1, 2)
	theta, moment1, moment2 := make([]float32, values), make([]float32, values), make([]float32, values)
	adam := kernel.AdamStep{Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Rate: 1e-9, Eps: 1e-8}
	const units = 128
	gates, act, dz := numbers(4, values).Data, numbers(4, values).Data, make([]float32, 4*values)
	return []function{
		{"exp", func() { kernel.Exp(z, x) }},
		{"log", func() { kernel.Log(z, x) }},
		{"tanh", func() { kernel.Tanh(z, x) }},
		{"sigmoid", func() { kernel.Sigmoid(z, x) }},
		{"softplus", func() { kernel.Softplus(z, x) }},
		{"softmax 16", func() { kernel.Softmax(kernel.Dense(z, values/16, 16), kernel.Dense(x, values/16, 16)) }},
		{"softmax 256", func() { kernel.Softmax(kernel.Dense(z, values/256, 256), kernel.Dense(x, values/256, 256)) }},
		{"row sum 256", func() { kernel.SumRows(z[:values/256], kernel.Dense(x, values/256, 256)) }},
		{"lstm forward", func() {
			copy(dz, gates) // the activations overwrite the gates
			kernel.LSTMForward(dz, x, z, h, t, units)
		}},
		{"lstm backward", func() {
			clear(z) // otherwise the gradient of the cell would grow without limit
			kernel.LSTMBackward(act, dz, x, z, y, x, units)
		}},
		{"adam", func() { kernel.Adam(theta, moment1, moment2, x, adam) }},
		{"normals", func() { p.Normals(z, 0) }},
		{"gumbels", func() { p.Gumbels(z, 0) }},
	}
}

// Summary is the geometric mean of the fractions of peak for each form of a product and number of rows, over all
// widths: Op, M and PeakFraction are set. For products of weights the rows are K. Functions are left out.
func Summary(list []Kernel) (out []Kernel) {
	type group struct {
		op   string
		rows int
	}
	logs, counts := map[group]float64{}, map[group]int{}
	var order []group
	for _, k := range list {
		if k.M == 0 {
			continue
		}
		g := group{k.Op, k.M}
		// For products of weights the result is as large as these; the rows are summed over.
		if k.Op == weights {
			g.rows = k.K
		}
		if counts[g] == 0 {
			order = append(order, g)
		}
		logs[g] += math.Log(k.PeakFraction)
		counts[g]++
	}
	for _, g := range order {
		out = append(out, Kernel{Op: g.op, M: g.rows, PeakFraction: math.Exp(logs[g] / float64(counts[g]))})
	}
	return out
}
