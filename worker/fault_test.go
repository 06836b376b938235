package worker

import (
	"errors"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
)

// indefinite is a model whose loss takes the determinant of its only parameter.
type indefinite struct {
	params   *autodiff.Params
	variance *autodiff.Weight
	used     bool // whether the determinant goes into the loss
}

func (m *indefinite) Params() *autodiff.Params { return m.params }
func (m *indefinite) Terms() []model.Term      { return []model.Term{{Name: "loss"}} }

func (m *indefinite) Loss(t *autodiff.Tape, _ model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	v := t.Param(m.variance)
	loss := t.LogDet(t.Cholesky(v))
	if !m.used {
		loss = t.Sum(v)
	}
	terms[0] = loss.Value[0]
	return loss
}

// TestShards_SayWhichOperationFailed where a result is not finite, and nothing where it is.
func TestShards_SayWhichOperationFailed(t *testing.T) {
	p := autodiff.NewParams()
	m := &indefinite{params: p, variance: p.Vector("variance", 1)}
	shards, err := NewShards(m, testShards(t, slds.Concrete, 1).sequences, Sampling{Seed: 1, Batch: 4, Shards: 2, Window: 20, Validation: 4}, 1)
	if err != nil {
		t.Fatal(err)
	}
	grad, terms := make([]float32, 1), make([]float32, 1)
	failed := autodiff.ErrNotPositiveDefinite
	for _, test := range []struct {
		used                 bool
		variance             float32
		gradient, validation error
	}{
		{true, 2, nil, nil},
		{false, -1, failed, nil}, // zero times NaN is NaN
		{true, -1, failed, failed},
		{true, 2, nil, nil},
	} {
		m.used = test.used
		if err := shards.Load(0, []float32{test.variance}); err != nil {
			t.Fatal(err)
		}
		if got := shards.Gradient(0, 0, 1, grad, terms); !errors.Is(got, test.gradient) {
			t.Errorf("variance %v: got %v, want %v", test.variance, got, test.gradient)
		}
		if got := shards.Validate(0, 0, 1, terms); !errors.Is(got, test.validation) {
			t.Errorf("validation, variance %v: got %v, want %v", test.variance, got, test.validation)
		}
	}
}
