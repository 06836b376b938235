// Command gomlx times the matrix products of a training step in package autodiff/kernel and in gomlx/compute, by turns,
// on one core, and writes a table in Markdown. The kernels of gomlx/compute for AVX2 and AVX-512 need the experiment:
//
//	GOMAXPROCS=1 GOEXPERIMENT=simd go run .
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

const (
	rounds = 9                    // of both, by turns; medians are reported
	sample = 4 * time.Millisecond // least length of one timing
)

// product is C [m,n] = A·B over k: nn as a layer does it, A [m,k]·W [k,n]; nt as its VJP, dY [m,k]·Wᵀ of W [n,k]; tn as
// the gradient of its weights, Xᵀ of X [k,m] · dY [k,n].
type product struct {
	op      string
	m, n, k int
}

// products are those of steps with 64 to 256 hidden units, by 16 to 640 rows.
func products() (list []product) {
	for _, width := range []int{64, 128, 256} {
		for _, rows := range []int{16, 64, 192, 640} {
			list = append(list, product{"nn", rows, width, width}, product{"nt", rows, width, width}, product{"tn", width, width, rows})
		}
	}
	return list
}

func main() {
	if err := compare(); err != nil {
		fmt.Fprintln(os.Stderr, "gomlx:", err)
		os.Exit(1)
	}
}

func compare() error {
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		return fmt.Errorf("start the backend: %w", err)
	}
	defer backend.Finalize()
	fmt.Printf("%s, kernels %s, GOMAXPROCS %d\n\n", runtime.Version(), kernel.Active(), runtime.GOMAXPROCS(0))
	fmt.Print("| op | m | n | k | autodiff/kernel, GFLOP/s | gomlx/compute, GFLOP/s | ratio |\n|---|---|---|---|---|---|---|\n")
	logs := map[string][]float64{}
	for _, p := range products() {
		a, b := numbers(p.m*p.k, 1), numbers(p.k*p.n, 2)
		ours, c := p.ours(a, b)
		theirs, err := p.theirs(backend, a, b)
		if err != nil {
			return fmt.Errorf("%s %d×%d×%d: %w", p.op, p.m, p.n, p.k, err)
		}
		if err := p.agree(ours, c, theirs); err != nil {
			return err
		}
		var ourTimes, theirTimes, ratios []float64
		for range rounds {
			x := perCall(ours)
			y := perCall(func() { theirs(nil) })
			ourTimes, theirTimes, ratios = append(ourTimes, x), append(theirTimes, y), append(ratios, y/x)
		}
		flops := 2e-9 * float64(p.m) * float64(p.n) * float64(p.k)
		ratio := median(ratios)
		logs[p.op] = append(logs[p.op], math.Log(ratio))
		fmt.Printf("| %s | %d | %d | %d | %.1f | %.1f | %.2f |\n", p.op, p.m, p.n, p.k,
			flops/median(ourTimes), flops/median(theirTimes), ratio)
	}
	for _, op := range []string{"nn", "nt", "tn"} {
		sum := 0.0
		for _, v := range logs[op] {
			sum += v
		}
		fmt.Printf("\n%s: %.2f times as fast in the geometric mean.", op, math.Exp(sum/float64(len(logs[op]))))
	}
	fmt.Println()
	return nil
}

// ours is the product as a training step calls it, and its result. Weights are packed once for many products.
func (p product) ours(a, b []float32) (call func(), c []float32) {
	var w kernel.Workspace
	var packed kernel.Packed
	c = make([]float32, p.m*p.n)
	to := kernel.Dense(c, p.m, p.n)
	switch p.op {
	case "nn":
		packed.Pack(kernel.Dense(b, p.k, p.n))
		return func() { w.MulPacked(to, kernel.Dense(a, p.m, p.k), &packed, kernel.Epilogue{}) }, c
	case "nt":
		packed.PackTransposed(kernel.Dense(b, p.n, p.k))
		return func() { w.MulPacked(to, kernel.Dense(a, p.m, p.k), &packed, kernel.Epilogue{}) }, c
	}
	return func() { w.MulTransA(to, kernel.Dense(a, p.k, p.m), kernel.Dense(b, p.k, p.n), kernel.Epilogue{}) }, c
}

// theirs is the product as a compiled graph of one operation, whose operands are there already. If c is not nil, the
// result is copied to it.
func (p product) theirs(backend compute.Backend, a, b []float32) (func(c []float32), error) {
	left, right, of := []int{p.m, p.k}, []int{p.k, p.n}, [2]int{1, 0}
	switch p.op {
	case "nt":
		right, of = []int{p.n, p.k}, [2]int{1, 1}
	case "tn":
		left, of = []int{p.k, p.m}, [2]int{0, 0}
	}
	builder := backend.Builder(p.op)
	f := builder.Main()
	x, err := f.Parameter("a", shapes.Make(dtypes.Float32, left...), nil)
	if err != nil {
		return nil, err
	}
	y, err := f.Parameter("b", shapes.Make(dtypes.Float32, right...), nil)
	if err != nil {
		return nil, err
	}
	z, err := f.DotGeneral(x, []int{of[0]}, nil, y, []int{of[1]}, nil, compute.DotGeneralConfig{})
	if err != nil {
		return nil, err
	}
	if err := f.Return([]compute.Value{z}, nil); err != nil {
		return nil, err
	}
	program, err := builder.Compile()
	if err != nil {
		return nil, err
	}
	operands := make([]compute.Buffer, 2)
	if operands[0], err = backend.BufferFromFlatData(0, a, shapes.Make(dtypes.Float32, left...)); err != nil {
		return nil, err
	}
	if operands[1], err = backend.BufferFromFlatData(0, b, shapes.Make(dtypes.Float32, right...)); err != nil {
		return nil, err
	}
	return func(c []float32) {
		out, err := program.Execute(operands, nil, 0)
		if err == nil && c != nil {
			err = out[0].ToFlatData(c)
		}
		if err == nil {
			err = out[0].Finalize()
		}
		if err != nil {
			panic(err) // the graph and its operands fit, as the first call has shown
		}
	}, nil
}

// agree returns an error if both results differ by more than rounding.
func (p product) agree(ours func(), c []float32, theirs func([]float32)) error {
	other := make([]float32, len(c))
	ours()
	theirs(other)
	for i, v := range c {
		if d := math.Abs(float64(v - other[i])); !(d <= 1e-4*math.Sqrt(float64(p.k))) {
			return fmt.Errorf("%s %d×%d×%d: element %d is %v and %v", p.op, p.m, p.n, p.k, i, v, other[i])
		}
	}
	return nil
}

// perCall is the time of one call in seconds.
func perCall(run func()) float64 {
	for calls := 1; ; calls *= 2 {
		start := time.Now()
		for range calls {
			run()
		}
		if took := time.Since(start); took >= sample {
			return took.Seconds() / float64(calls)
		}
	}
}

func numbers(n int, seed uint64) []float32 {
	x := make([]float32, n)
	p := kernel.NewPhilox(seed, 0)
	p.Normals(x, 0)
	return x
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}
