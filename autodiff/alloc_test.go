//go:build !race

// The race detector allocates on its own, so the test of allocations is built without it.

package autodiff

import (
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// TestNoAllocation holds a warm recording of layers, a recurrence and a divergence to zero allocations;
// the test of the same name in package slds does so for every operation of its model.
func TestNoAllocation(t *testing.T) {
	p := NewParams()
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w, b := p.Matrix("w", 16, 16), p.Vector("b", 16)
	lstm := LSTMWeights{p.Matrix("i", 16, 64), p.Matrix("r", 16, 64), p.Vector("lb", 64)}
	for _, x := range []*Weight{w, b, lstm.Input, lstm.Recurrent, lstm.Bias} {
		x.InitUniform(&draws, 0.3)
	}
	p.Pack()
	tape := NewTape(p)
	data := make([]float32, 32*16)
	draws.Normals(data)
	step := func() {
		tape.Reset()
		x := tape.Constant(data, 32, 16)
		h := tape.BackwardLSTM(tape.Linear(x, w, b, ReLU), Tensor{}, lstm, 4)
		v := tape.New(32, 16)
		tape.Variance(v, h, 0.1)
		tape.Backward(tape.ConcreteKL(h, v, tape.Constant(data, 32, 16), 0.7, 2))
	}
	step()
	step()
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("a warm step allocates %v times", n)
	}
}

// TestNoAllocation_OfTensorOperations does so for the operations that take any tensors, and for one of one's own.
func TestNoAllocation_OfTensorOperations(t *testing.T) {
	p := NewParams()
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w, b := p.Table("w", 4, 9), p.Vector("b", 9)
	lstm := LSTMWeights{p.Matrix("i", 9, 20), p.Matrix("r", 5, 20), p.Vector("lb", 20)}
	for _, x := range p.weights {
		x.InitUniform(&draws, 0.3)
	}
	filter := p.Matrix("f", 18, 8)
	filter.InitUniform(&draws, 0.3)
	p.Pack()
	tape := NewTape(p)
	data := make([]float32, 8*4)
	draws.Normals(data)
	var err error
	step := func() {
		tape.Reset()
		x := tape.Constant(data, 8, 4)
		h := tape.Tanh(tape.Add(tape.MatMul(x, tape.Param(w)), tape.Param(b)))
		h = tape.Div(tape.Mul(tape.Sub(h, tape.SumRows(h)), tape.Mean(h)), tape.Exp(tape.SumColumns(h)))
		pairs, sums := tape.New(24, 9), tape.Scale(h, 1)
		tape.PairTanh(pairs, h, tape.Scale(h, 2), 4)
		tape.PairSums(sums, pairs, 4, 0.3)
		h = tape.Add(h, sums)
		h = tape.Scale(tape.AddScalar(tape.Square(tape.ReLU(h)), 1), 0.5)
		h = tape.Add(h, tape.MatMulTransA(tape.MatMulTransB(x, x), tape.Log(h)))
		a := tape.BatchMulTransB(h, h, 3)
		a = tape.Add(tape.Symmetric(a), tape.Repeat(tape.Scale(tape.Param(b), 0), 8))
		a = tape.Add(a, tape.Constant(identity[:], 1, 9))
		l := tape.Cholesky(a)
		r := tape.LowerSolve(l, tape.BatchMul(h, tape.Columns(tape.CholeskySolve(l, h), 0, 3), 3))
		r = tape.BatchMulTransA(l, r, 3)
		f := tape.ForwardLSTM(h, Tensor{}, lstm, 2)
		y := tape.New(r.Rows, r.Cols)
		copy(y.Value, r.Value)
		Custom(tape, copied{r, y}, r, y)
		tape.Freeze(lstm.Bias)
		steps := tape.StepLSTM(h, lstm, 4, LSTMState{})
		steps.Step(0)
		steps.Step(1)
		image := tape.Convolve(tape.Columns(h, 0, 8), filter, nil, Convolution{Image{2, 2, 2}, 3, 1}, ReLU)
		image = tape.Subpixel(image, Image{2, 2, 8}, 2)
		tape.Backward(tape.WeightedSum([]float32{1, 1, 1, 1, 1}, tape.Sum(tape.LogDet(l)), tape.Sum(y), tape.Sum(f), tape.Sum(steps.H), tape.Sum(image)))
		err = tape.Err()
	}
	step()
	step()
	if n := testing.AllocsPerRun(10, step); n != 0 || err != nil {
		t.Errorf("a warm step allocates %v times; error %v", n, err)
	}
}

var identity = [9]float32{1, 0, 0, 0, 1, 0, 0, 0, 1}
