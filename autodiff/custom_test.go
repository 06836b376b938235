package autodiff

import (
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// copied is an operation as another package adds it: y = x.
type copied struct{ x, y Tensor }

func (c *copied) VJP(t *Tape) {
	g := t.NewConstant(c.x.Rows, c.x.Cols)
	copy(g.Value, c.y.Grad)
	kernel.Add(c.x.Grad, g.Value)
}

func copyOf(t *Tape, x Tensor) Tensor {
	y := t.New(x.Rows, x.Cols)
	copy(y.Value, x.Value)
	Custom(t, copied{x, y}, x, y)
	return y
}

// doubled is another one, so that a tape holds records of two types: y = 2x.
type doubled struct{ x, y Tensor }

func (d *doubled) VJP(*Tape) { kernel.AddScaled(d.x.Grad, 2, d.y.Grad) }

var customTests = []opTest{{
	name: "Custom", inputs: [][2]int{{3, 4}},
	f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 4)
		copy(y.Value, in[0].Value)
		kernel.Scale(y.Value, 2)
		Custom(t, doubled{in[0], y}, in[0], y)
		return dot(t, t.Mul(copyOf(t, y), copyOf(t, in[0])))
	},
	value: func(in [][]float64) []float64 {
		y := make([]float64, len(in[0]))
		for i, x := range in[0] {
			y[i] = 2 * x * x
		}
		return y
	},
}}

// TestCustom_ScratchIsTakenBack when a VJP returns, not only at the next Reset.
func TestCustom_ScratchIsTakenBack(t *testing.T) {
	tape := NewTape(NewParams())
	x := tape.New(100, 100)
	clear(x.Value)
	y := tape.Sum(copyOf(tape, x))
	before := tape.values.used
	tape.Backward(y)
	if got := tape.values.used; got != before {
		t.Errorf("%d values in use after Backward, %d before", got, before)
	}
	if x.Grad[0] != 1 {
		t.Errorf("gradient %v, want 1", x.Grad[0])
	}
}

// TestCustom_IsForgottenByEvaluation, which keeps no records.
func TestCustom_IsForgottenByEvaluation(t *testing.T) {
	tape := NewInferenceTape(NewParams())
	copyOf(tape, tape.New(2, 2))
	if n := len(tape.records); n != 0 {
		t.Errorf("%d records", n)
	}
}
