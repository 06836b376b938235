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
	{ // the input of a step is made of the state before it
		name: "StepLSTM", inputs: [][2]int{{6, 5}}, weights: [][2]int{{5, 20}, {5, 20}, {1, 20}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
			x := t.Activation(6, 5)
			l := t.StepLSTM(x, LSTMWeights{w[0], w[1], w[2]}, 2, LSTMState{})
			for i := range 3 {
				now := in[0].Block(i, 2)
				if i > 0 {
					now = t.Add(now, l.H.Block(i-1, 2))
				}
				t.Concat(x.Block(i, 2), now)
				l.Step(i)
			}
			return dot(t, l.H)
		},
	},
	{name: "StepLSTM/continued", inputs: [][2]int{{4, 5}}, weights: [][2]int{{5, 20}, {5, 20}, {1, 20}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		from := LSTMState{t.Constant(coefficients(10), 2, 5), t.Constant(coefficients(10), 2, 5)}
		l := t.StepLSTM(in[0], LSTMWeights{w[0], w[1], w[2]}, 2, from)
		l.Step(0)
		l.Step(1)
		return dot(t, l.H)
	}},
}

// TestStepLSTM_Continues: a layer from the state of another goes on where that ended.
func TestStepLSTM_Continues(t *testing.T) {
	const steps, block, inputs, units = 5, 2, 3, 4
	p := NewParams()
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w := LSTMWeights{p.Matrix("i", inputs, 4*units), p.Matrix("r", units, 4*units), p.Vector("b", 4*units)}
	for _, x := range p.weights {
		x.InitUniform(&draws, 1)
	}
	p.Pack()
	tape := NewInferenceTape(p)
	x := tape.Constant(coefficients(steps*block*inputs), steps*block, inputs)
	run := func(from, to int, state LSTMState) LSTMSteps {
		l := tape.StepLSTM(x.Slice(from*block, to*block), w, block, state)
		for i := range to - from {
			l.Step(i)
		}
		return l
	}
	want := run(0, steps, LSTMState{}).H.Value
	first := run(0, 2, LSTMState{})
	got := slices.Concat(first.H.Value, run(2, steps, first.State(1)).H.Value)
	if !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
}

// TestStepLSTM_IsForwardLSTM, bit for bit, on inputs that do not depend on the states.
func TestStepLSTM_IsForwardLSTM(t *testing.T) {
	const steps, block, inputs, units = 5, 2, 3, 4
	p := NewParams()
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w := LSTMWeights{p.Matrix("i", inputs, 4*units), p.Matrix("r", units, 4*units), p.Vector("b", 4*units)}
	for _, x := range p.weights {
		x.InitUniform(&draws, 1)
	}
	p.Pack()
	run := func(step bool) (h, dx, dw []float32) {
		tape := NewTape(p)
		in := tape.New(steps*block, inputs)
		copy(in.Value, coefficients(len(in.Value)))
		var y Tensor
		if step {
			l := tape.StepLSTM(in, w, block, LSTMState{})
			for i := range steps {
				l.Step(i)
			}
			y = l.H
		} else {
			y = tape.ForwardLSTM(in, Tensor{}, w, block)
		}
		tape.Backward(dot(tape, y))
		return y.Value, in.Grad, tape.Gradient
	}
	h, dx, dw := run(false)
	hs, dxs, dws := run(true)
	if !slices.Equal(h, hs) || !slices.Equal(dx, dxs) || !slices.Equal(dw, dws) {
		t.Errorf("equal: states %v, gradients of inputs %v, of weights %v", slices.Equal(h, hs), slices.Equal(dx, dxs), slices.Equal(dw, dws))
	}
}

// TestFreeze_StopsTheGradientOfWeightsAlone, in every operation that has weights.
func TestFreeze_StopsTheGradientOfWeightsAlone(t *testing.T) {
	p := NewParams()
	draws := rng.New(3, rng.Init).At(0, 0, 0)
	w, b, v := p.Matrix("w", 8, 8), p.Vector("b", 8), p.Vector("v", 8)
	lstm := LSTMWeights{p.Matrix("i", 8, 16), p.Matrix("r", 4, 16), p.Vector("lb", 16)}
	for _, x := range p.weights {
		x.InitUniform(&draws, 1)
	}
	p.Pack()
	frozen := []*Weight{w, b, lstm.Input, lstm.Recurrent, lstm.Bias}
	run := func(freeze ...*Weight) (dx, dw []float32) {
		tape := NewTape(p)
		tape.Freeze(freeze...)
		in := tape.New(4, 8)
		copy(in.Value, coefficients(32))
		x := tape.Mul(tape.Linear(in, w, b, Identity), tape.Param(v))
		x = tape.Convolve(x, w, b, Convolution{Image{1, 1, 8}, 1, 1}, Identity)
		steps := tape.StepLSTM(x, lstm, 2, LSTMState{})
		steps.Step(0)
		steps.Step(1)
		tape.Backward(dot(tape, tape.Add(steps.H, tape.ForwardLSTM(x, Tensor{}, lstm, 2))))
		return in.Grad, tape.Gradient
	}
	dx, dw := run()
	dxs, dws := run(frozen...)
	if !slices.Equal(dx, dxs) {
		t.Error("frozen weights change the gradient of the inputs")
	}
	for _, x := range p.weights {
		got, want := dws[x.Offset:x.Offset+x.Size()], dw[x.Offset:x.Offset+x.Size()]
		if slices.Contains(frozen, x) {
			want = make([]float32, x.Size())
		}
		if !slices.Equal(got, want) {
			t.Errorf("gradient of %s: %v, want %v", x.Name, got, want)
		}
	}
	if _, again := run(); !slices.Equal(again, dw) {
		t.Error("a new recording has frozen weights")
	}
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
