package autodiff_test

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/rng"
)

// Swish returns y = x·σ(x), an operation that the package does not have. (Ramachandran, Zoph & Le 2017)
func Swish(t *autodiff.Tape, x autodiff.Tensor) autodiff.Tensor {
	y, slope := t.New(x.Rows, x.Cols), t.NewConstant(x.Rows, x.Cols)
	kernel.Sigmoid(slope.Value, x.Value)
	kernel.Mul(y.Value, slope.Value, x.Value)
	autodiff.Custom(t, swish{x, y, slope}, x, y)
	return y
}

type swish struct{ x, y, sigmoid autodiff.Tensor }

// VJP is x̄ += ȳ·(σ(x) + y·(1 − σ(x))).
func (s *swish) VJP(*autodiff.Tape) {
	for i := range s.x.Grad {
		p := s.sigmoid.Value[i]
		slope := p + float32(s.y.Value[i]*(1-p))
		s.x.Grad[i] += float32(s.y.Grad[i] * slope)
	}
}

// An operation of one's own is a function that computes, a record, and the record's VJP. Its gradient is checked in
// random directions, here with respect to a table of parameters that it is applied to.
func ExampleCustom() {
	params := autodiff.NewParams()
	table := params.Table("x", 4, 3)
	draws := rng.New(1, rng.Init).At(0, 0, 0)
	table.InitNormal(&draws, 1)

	tape := autodiff.NewTape(params)
	loss := func() autodiff.Tensor {
		tape.Reset()
		x := tape.Param(table)
		return tape.Sum(tape.Mul(x, Swish(tape, x))) // x feeds two operations
	}
	tape.Backward(loss())
	directions := rng.New(2, rng.Evaluation).At(0, 0, 0)
	err := autodiff.GradCheck{
		Values:     params.Values,
		Gradient:   append([]float32(nil), tape.Gradient...),
		Loss:       func() float64 { return float64(loss().Value[0]) },
		Directions: 5, Steps: []float64{1e-2}, Tolerance: 1e-2,
	}.Run(directions.Normal)
	fmt.Println("difference:", err)
	// Output:
	// difference: <nil>
}
