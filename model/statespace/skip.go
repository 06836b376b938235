package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// skip is a linear map beside a network, y + x·S, so that the network has to learn only what is not linear. Without a
// weight it is none.
type skip struct{ w *autodiff.Weight }

// newSkip declares the parameter name, [in, out], drawn from U(±1/√in), if it is wanted.
func newSkip(p *autodiff.Params, wanted bool, name string, in, out int, draws *rng.Stream) skip {
	if !wanted {
		return skip{}
	}
	w := p.Matrix(name, in, out)
	w.InitFanIn(draws, in)
	return skip{w}
}

// add returns y + x·S.
func (s skip) add(t *autodiff.Tape, y, x autodiff.Tensor) autodiff.Tensor {
	if s.w == nil {
		return y
	}
	return t.Add(y, t.Linear(x, s.w, nil, autodiff.Identity))
}
