package autodiff

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

var lstmTests = []opTest{
	{name: "ForwardLSTM", inputs: [][2]int{{6, 3}}, weights: [][2]int{{3, 20}, {5, 20}, {1, 20}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		return dot(t, t.ForwardLSTM(in[0], Tensor{}, LSTMWeights{w[0], w[1], w[2]}, 2))
	}},
	{name: "ForwardLSTM/controls", inputs: [][2]int{{6, 3}}, weights: [][2]int{{5, 20}, {5, 20}, {1, 20}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		u := t.Constant(coefficients(12), 6, 2)
		return dot(t, t.ForwardLSTM(in[0], u, LSTMWeights{w[0], w[1], w[2]}, 2))
	}},
}

// TestLSTM_DirectionsMirror: the forward layer on a sequence is the backward layer on the reversed one, bit for bit, in
// its states and in the gradients of its input.
func TestLSTM_DirectionsMirror(t *testing.T) {
	const steps, block, inputs, units = 5, 2, 3, 4
	p := NewParams()
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w := LSTMWeights{p.Matrix("i", inputs, 4*units), p.Matrix("r", units, 4*units), p.Vector("b", 4*units)}
	for _, x := range p.weights {
		x.InitUniform(&draws, 1)
	}
	p.Pack()
	reversed := func(x []float32) []float32 {
		blocks := slices.Collect(slices.Chunk(x, len(x)/steps))
		slices.Reverse(blocks)
		return slices.Concat(blocks...)
	}
	x, c := coefficients(steps*block*inputs), coefficients(steps*block*units)
	run := func(layer func(*Tape, Tensor, Tensor, LSTMWeights, int) Tensor, x, c []float32) (h, gradient []float32) {
		tape := NewTape(p)
		in := tape.New(steps*block, inputs)
		copy(in.Value, x)
		y := layer(tape, in, Tensor{}, w, block)
		tape.Backward(tape.Sum(tape.Mul(y, tape.Constant(c, steps*block, units))))
		return y.Value, in.Grad
	}
	h, g := run((*Tape).ForwardLSTM, x, c)
	mirrored, mirroredGradient := run((*Tape).BackwardLSTM, reversed(x), reversed(c))
	if got, want := h, reversed(mirrored); !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
	if got, want := g, reversed(mirroredGradient); !slices.Equal(got, want) {
		t.Errorf("gradients %v, want %v", got, want)
	}
}
