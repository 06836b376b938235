package autodiff

import (
	"math"
	"testing"
)

// unary makes the row of a function of every element; its argument is positive if need be.
func unary(name string, positive bool, op func(t *Tape, x Tensor) Tensor, exact func(x float64) float64) opTest {
	test := opTest{
		name: name, inputs: [][2]int{{3, 5}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			op(t, t.Constant(coefficients(4), 1, 4)) // of a constant there is nothing to add to
			return dot(t, op(t, in[0]))
		},
		value: func(in [][]float64) []float64 {
			y := make([]float64, len(in[0]))
			for i, x := range in[0] {
				y[i] = exact(x)
			}
			return y
		},
	}
	if positive {
		test.positive = []int{0}
	}
	return test
}

var functionTests = []opTest{
	unary("Scale", false, func(t *Tape, x Tensor) Tensor { return t.Scale(x, -1.5) }, func(x float64) float64 { return -1.5 * x }),
	unary("AddScalar", false, func(t *Tape, x Tensor) Tensor { return t.AddScalar(x, -1.5) }, func(x float64) float64 { return x - 1.5 }),
	unary("Square", false, (*Tape).Square, func(x float64) float64 { return x * x }),
	unary("Exp", false, (*Tape).Exp, math.Exp),
	unary("Log", true, (*Tape).Log, math.Log),
	unary("Tanh", false, (*Tape).Tanh, math.Tanh),
	unary("ReLU", false, (*Tape).ReLU, func(x float64) float64 { return max(x, 0) }),
}

// TestConstants: an operation on any tensors, or on observations, adds nothing to a constant.
func TestConstants(t *testing.T) {
	tape := NewTape(NewParams())
	c, y, leaf := tape.Constant(coefficients(4), 2, 2), tape.New(2, 2), tape.New(2, 2)
	tape.Softmax(y, c)
	tape.Sigmoid(y, c)
	tape.LimitSum(y, tape.HideRows(c, tape.Constant([]float32{1, 0}, 2, 1)))
	tape.LimitSum(y, c)
	tape.Concat(leaf, tape.Softplus(c, 0.1))
	tape.Backward(tape.Sum(tape.Add(tape.Repeat(tape.Columns(c, 0, 2).Slice(0, 1), 2), tape.Add(y, leaf))))
}
