package model_test

import (
	"testing"

	"github.com/switchyard-ml/switchyard/model"
)

// TestEvaluate_OperandsThatDoNotFit: a node whose operands are too few or of other sizes is an error.
func TestEvaluate_OperandsThatDoNotFit(t *testing.T) {
	weights := []model.Weight{
		{Name: "w", Rows: 3, Cols: 2, Values: make([]float32, 6)}, {Name: "b", Cols: 1, Values: make([]float32, 1)},
	}
	for _, n := range []model.Node{
		{Op: "Concat", Inputs: []string{"x", "b"}},
		{Op: "Concat"},
		{Op: "Gemm", Inputs: []string{"x", "w", "b"}},
		{Op: "MatMul", Inputs: []string{"x"}},
		{Op: "Softmax"},
		{Op: "Tanh"},
		{Op: "Add", Inputs: []string{"x"}},
	} {
		n.Output = "y"
		g := model.Graph{
			Name: "g", Inputs: []model.Value{{Name: "x", Width: 3}}, Outputs: []model.Value{{Name: "y", Width: 2}},
			Nodes: []model.Node{n}, Weights: weights,
		}
		if _, err := g.Evaluate(2, map[string][]float32{"x": make([]float32, 6)}); err == nil {
			t.Errorf("%s of %v: no error", n.Op, n.Inputs)
		}
	}
}
