package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Drawn is a group of sequences that a model made up.
type Drawn struct {
	Z        autodiff.Tensor // states of all time steps, [T·n, nz]
	Weights  autodiff.Tensor // of the transitions, [(T−1)·n, M]
	Mean, SD autodiff.Tensor // of p(x | z), [T·n, nx]; SD has no columns if observations are binary
}

// Sample fills a sampling with groups of sequences that draw makes, each on a fresh tape. u are the controls from
// the second time step on, [(T−1)·n, nu]. The order of the noise is that of the groups: what draw takes, then the
// noise of the observations step by step.
func Sample(t *autodiff.Tape, dst *model.Sampling, q model.SampleQuery, d model.Dims,
	draw func(u autodiff.Tensor, n int, noise *rng.Stream) Drawn,
) {
	dst.Resize(q.T, q.B, d.NX, d.NZ, d.M)
	clear(dst.Switches)
	// Groups keep the bodies of a sequence together.
	noise, size := q.Noise, whole(groupRows/q.T, d.Switches())
	for first := 0; first < q.B; first += size {
		n := min(size, q.B-first)
		t.Reset()
		u := t.NewConstant((q.T-1)*n, d.NU)
		for step := 1; step < q.T; step++ {
			copy(u.Value[(step-1)*n*d.NU:][:n*d.NU], q.Controls[(step*q.B+first)*d.NU:])
		}
		s := draw(u, n, &noise)
		paths := Paths{Mean: s.Mean, SD: s.SD}
		for step := range q.T {
			at := step*q.B + first
			copy(dst.States[at*d.NZ:], s.Z.Block(step, n).Value)
			copy(dst.Mean[at*d.NX:], s.Mean.Block(step, n).Value)
			paths.draw(dst.Draw[at*d.NX:][:n*d.NX], step*n, &noise)
			if step > 0 {
				copy(dst.Switches[at*d.M:], s.Weights.Block(step-1, n).Value)
			}
		}
	}
}
