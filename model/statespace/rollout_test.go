package statespace

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestAnswer_EveryPathOnce: groups have bounded rows, those of one sequence with many paths too, and each path of each
// sequence has its own controls and its own place. The observations here are the controls.
func TestAnswer_EveryPathOnce(t *testing.T) {
	for _, c := range []struct{ sequences, paths, rows, groups int }{
		{3, 4, 5, 1}, {5, 2, groupRows / 4, 3}, {2, 5, groupRows / 2, 6}, {1, 3, 2 * groupRows, 3},
	} {
		const horizon = 2
		var q model.Query
		q.Prefix.Resize(4, c.sequences, 1, 1)
		for i := range q.Prefix.Observations {
			q.Prefix.Observations[i] = float32(i % c.sequences)
		}
		q.Horizon, q.Samples, q.Controls = horizon, c.paths, make([]float32, c.paths*horizon*c.sequences)
		for i := range q.Controls {
			q.Controls[i] = float32(i)
		}
		var p Prefixes
		var dst model.Forecast
		tape, groups := autodiff.NewInferenceTape(autodiff.NewParams()), 0
		Answer(&p, tape, &dst, q, model.Dims{NX: 1, NU: 1}, c.rows, func(q model.Query, g Group, _ *rng.Stream) Paths {
			if groups++; g.Rows()*c.rows > groupRows && g.Rows() > 1 {
				t.Errorf("%+v: %d rows of %d paths", c, g.Rows()*c.rows, g.Rows())
			}
			for i, x := range Repeat(tape, tape.Constant(g.Batch.Observations, 4*g.N, 1), g.N, g.Paths).Value {
				if want := float32(g.First + i%g.N); x != want {
					t.Errorf("%+v: row %d of the prefix is of sequence %v, want %v", c, i, x, want)
				}
			}
			return Paths{Mean: Controls(tape, q, 1, g), SD: tape.NewConstant(horizon*g.Rows(), 1)}
		})
		if groups != c.groups || !slices.Equal(dst.Paths, q.Controls) {
			t.Errorf("%+v: %d groups, want %d; paths %v", c, groups, c.groups, dst.Paths)
		}
	}
}
