package autodiff

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// undefined is memory that no result may depend on.
var undefined = float32(math.NaN())

// TestUndefinedGradients runs a network whose activations are written by every operation that knows how to write one,
// and by others, in whole and in part, on memory full of NaN: its gradients are those of cleared memory.
func TestUndefinedGradients(t *testing.T) {
	const rows, block, width = 12, 3, 5
	p := NewParams()
	draws := rng.New(5, rng.Init).At(0, 0, 0)
	first, second, head := p.Matrix("first", 2, width), p.Matrix("second", width, width), p.Matrix("head", width, 4)
	b, unused := p.Vector("b", width), p.Matrix("unused", 3, 3)
	lstm := LSTMWeights{p.Matrix("i", width+2, 4*width), p.Matrix("r", width, 4*width), p.Matrix("lb", 1, 4*width)}
	for _, w := range p.weights {
		w.InitUniform(&draws, 1)
	}
	p.Pack()
	data, seen := make([]float32, 2*rows), make([]float32, rows)
	draws.Normals(data)
	for i := range seen {
		seen[i] = float32(i % 2)
	}
	network := func(t *Tape) Tensor {
		x := t.Constant(data, rows, 2)
		h, y := t.Activation(rows, width), t.Activation(rows, width)
		l1, l2 := t.StepLinear(h, x, first, b, ReLU, block+1), t.StepLinear(y, h, second, nil, Identity, block+1)
		for i := range rows / (block + 1) {
			l1.Step(i)
			l2.Step(i)
			t.AddReLU(y.Block(i, block+1), h.Block(i, block+1))
		}
		in := t.Activation(rows, width+1)
		t.Concat(in, t.HideRows(y, t.Constant(seen, rows, 1)), t.Constant(seen, rows, 1))
		r := t.BackwardLSTM(in, t.Constant(data, rows, 1), lstm, block)
		middle := dot(t, t.Linear(r.Slice(4, 9), head, nil, Identity)) // the rows around have no gradient
		middle = t.Add(middle, dot(t, t.ForwardLSTM(in, t.Constant(data, rows, 1), lstm, block).Slice(4, 9)))
		softened := t.Softplus(t.Linear(h, second, b, ReLU), 0.1)
		return t.WeightedSum([]float32{1, 1, 1}, middle, dot(t, softened), dot(t, y.Slice(2, 4)))
	}
	tape := NewTape(p)
	run := func(memory float32) []float32 {
		tape.Reset()
		network(tape) // so that the arena is as large as it gets
		gradient := make([]float32, p.Len())
		tape.Record(gradient)
		for _, m := range append(tape.grads.blocks, gradient) {
			for i := range m {
				m[i] = memory
			}
		}
		tape.Backward(network(tape))
		return gradient
	}
	want, got := run(0), run(undefined)
	zeros := 0
	for i, g := range got {
		if math.Float32bits(g) != math.Float32bits(want[i]) {
			t.Fatalf("parameter %d: gradient %v, on cleared memory %v", i, g, want[i])
		}
		if g == 0 {
			zeros++
		}
	}
	if zeros < unused.Size() || zeros > p.Len()/2 {
		t.Errorf("%d of %d gradients are zero", zeros, p.Len())
	}
}

// A loss may be an activation.
func TestUndefinedGradients_OfTheLoss(t *testing.T) {
	p := NewParams()
	w := p.Matrix("w", 2, 1)
	w.Fill(3)
	p.Pack()
	tape := NewTape(p)
	tape.Backward(tape.Linear(tape.Constant([]float32{5, 7}, 1, 2), w, nil, Identity))
	if g := tape.Gradient; g[0] != 5 || g[1] != 7 {
		t.Errorf("got %v, want 5 and 7", g)
	}
}

// Results of the discrete switch may be activations, of which the loss needs some rows alone.
func TestUndefinedGradients_OfASwitch(t *testing.T) {
	const rows, systems, n = 4, 2, 1
	p := NewParams()
	logWeights, moves, head := p.Table("w", rows, systems), p.Table("moves", rows, systems*n), p.Matrix("head", 1, 1)
	variance := p.Table("variance", systems, n)
	for _, w := range p.weights {
		w.Fill(0.5)
	}
	p.Pack()
	tape := NewTape(p)
	run := func(memory float32) []float32 {
		tape.Reset()
		for _, m := range tape.grads.blocks {
			for i := range m {
				m[i] = memory
			}
		}
		w, m := tape.Param(logWeights), tape.Param(moves)
		mean, density := tape.Activation(rows, n), tape.Activation(rows, 1)
		tape.MixMoves(mean, w, Tensor{}, m)
		tape.WeighSwitch(SwitchEvidence{
			LogDensity: density, LogBelief: tape.New(rows, systems), LogWeights: w, Z: mean, Moves: m, Variance: tape.Param(variance),
		})
		loss := tape.Add(dot(tape, tape.Linear(mean.Slice(2, 4), head, nil, Identity)),
			dot(tape, tape.Linear(density.Slice(2, 4), head, nil, Identity)))
		tape.Backward(loss)
		return append([]float32(nil), tape.Gradient...)
	}
	run(0) // so that the arena is as large as it gets
	want, got := run(0), run(undefined)
	for i, g := range got {
		if math.Float32bits(g) != math.Float32bits(want[i]) {
			t.Fatalf("parameter %d: gradient %v, on cleared memory %v", i, g, want[i])
		}
	}
}
