package autodiff_test

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// A regression with one hidden layer, fitted to y = x² by gradient descent.
func Example() {
	params := autodiff.NewParams()
	w1, b1 := params.Matrix("hidden.weight", 1, 8), params.Vector("hidden.bias", 8)
	w2, b2 := params.Matrix("output.weight", 8, 1), params.Vector("output.bias", 1)
	draws := rng.New(1, rng.Init).At(0, 0, 0)
	for _, w := range []*autodiff.Weight{w1, b1, w2} {
		w.InitUniform(&draws, 1)
	}

	const rows = 21
	x, y := make([]float32, rows), make([]float32, rows)
	for i := range x {
		x[i] = float32(i-rows/2) / (rows / 2)
		y[i] = x[i] * x[i]
	}

	tape := autodiff.NewTape(params)
	for step := range 301 {
		params.Pack() // the values have changed
		tape.Reset()
		h := tape.Tanh(tape.Linear(tape.Constant(x, rows, 1), w1, b1, autodiff.Identity))
		prediction := tape.Linear(h, w2, b2, autodiff.Identity)
		loss := tape.Mean(tape.Square(tape.Sub(prediction, tape.Constant(y, rows, 1))))
		tape.Backward(loss)
		for i, g := range tape.Gradient {
			params.Values[i] -= float32(0.2 * g)
		}
		if step%100 == 0 {
			fmt.Printf("step %3d: loss %.4f\n", step, loss.Value[0])
		}
	}
	// Output:
	// step   0: loss 0.2371
	// step 100: loss 0.0124
	// step 200: loss 0.0037
	// step 300: loss 0.0032
}

// The log-density of two points under a Gaussian with a full covariance, and its gradient.
func ExampleTape_Cholesky() {
	tape := autodiff.NewTape(autodiff.NewParams())
	covariance, residual := tape.New(2, 4), tape.Constant([]float32{1, 2, 0, -1}, 2, 2)
	copy(covariance.Value, []float32{
		4, 2, 2, 5,
		1, 0, 0, 1,
	})
	l := tape.Cholesky(covariance)
	z := tape.LowerSolve(l, residual)
	twice := tape.Add(tape.LogDet(l), tape.SumRows(tape.Square(z)))
	density := tape.AddScalar(tape.Scale(twice, -0.5), -1.8378771) // log 2π in two dimensions
	fmt.Printf("%.4f\n", density.Value)
	tape.Backward(tape.Sum(density))
	fmt.Printf("%.4f\n", covariance.Grad)
	// Output:
	// [-3.6304 -2.3379]
	// [-0.1543 0.0742 0.0742 -0.0547 -0.5000 0.0000 0.0000 0.0000]
}
