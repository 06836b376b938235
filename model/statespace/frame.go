package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Frame is what the models of latent states have in common: their parameters and sizes, how a sequence begins and what
// a state shows. A model holds one, and adds how a state leads to the next and how it is inferred.
type Frame struct {
	Nets     Nets
	Initial  Initial
	Emission Emission
	params   *autodiff.Params
}

// NewFrame declares the initial network, whose parameters are the first of a model.
func NewFrame(n Nets, draws *rng.Stream) Frame {
	p := autodiff.NewParams()
	return Frame{Nets: n, Initial: NewInitial(p, n.InitialConfig(), draws), params: p}
}

// Complete declares the decoder, whose parameters are the last of a model.
func (f *Frame) Complete(draws *rng.Stream) {
	f.Emission = NewEmission(f.params, f.Nets.EmissionConfig(), draws)
	f.params.Pack()
}

// Params are the parameters of model and inference.
func (f *Frame) Params() *autodiff.Params { return f.params }

// Inference is a pass of inference over a batch: its states, which a family draws step by step, and what they begin
// with.
type Inference struct {
	Posterior
	First     Start           // the draw of h behind z_1
	KLInitial autodiff.Tensor // KL[q(h) ‖ p(h)], summed over all rows
	Noise     autodiff.Tensor // block i is for block i of z; the first was that of h
	Controls  autodiff.Tensor // those of the transitions
}

// Infer begins a pass along so many paths of each sequence: it draws z_1, and lays out the rest. A time step has n =
// B·paths rows, path j of sequence i in row j·B+i. Order of the noise: h, then z step by step, in one draw of [T·n, nz]
// numbers.
func (f *Frame) Infer(t *autodiff.Tape, b model.Batch, paths int, noise *rng.Stream) Inference {
	nz, steps, n := f.Nets.NZ, b.T-1, b.B*paths
	p := Inference{
		Posterior: Posterior{Z: t.New(b.T*n, nz), Mean: t.New(steps*n, nz), Variance: t.New(steps*n, nz)},
		Noise:     Normals(t, noise, b.T*n, nz),
		// Controls[0] acts before the first step and is left out.
		Controls: Repeat(t, t.Constant(b.Controls[b.B*b.NU:], steps*b.B, b.NU), b.B, paths),
	}
	p.First.Noise = p.Noise.Block(0, n)
	p.First.Mean, p.First.Variance = f.Initial.Infer(t, p.Z.Block(0, n), b, p.First.Noise)
	p.KLInitial = t.StandardKL(p.First.Mean, p.First.Variance)
	return p
}
