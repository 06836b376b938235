package fusion

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"

	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

var (
	_ model.Segmenter  = (*forecaster)(nil)
	_ model.Sampler    = (*forecaster)(nil)
	_ model.Systematic = (*forecaster)(nil)
	_ model.Emitter    = (*forecaster)(nil)
)

// Segment averages the mixing weights over paths of the filter.
func (f *forecaster) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	model.SegmentByFilter(dst, f, b, paths, noise)
}

// Sample draws h from its prior and all else from the generative model.
func (f *forecaster) Sample(dst *model.Sampling, q model.SampleQuery) {
	t := f.tape
	statespace.Sample(t, dst, q, f.m.dims, func(u autodiff.Tensor, n int, noise *rng.Stream) statespace.Drawn {
		z := t.New(q.T*n, f.m.dims.NZ)
		eps := statespace.Normals(t, noise, z.Rows, z.Cols)
		f.m.initial.Start(t, z.Block(0, n), eps.Block(0, n))
		weights := f.roll(z, u, eps, n)
		mean, sd := f.m.emission.Predict(t, z)
		return statespace.Drawn{Z: z, Weights: weights, Mean: mean, SD: sd}
	})
}

// Systems are the base systems.
func (f *forecaster) Systems() model.Systems {
	d := f.m.dims
	return f.m.transition.Systems(d.M, d.NZ, d.NU)
}

// Emit decodes rows of z.
func (f *forecaster) Emit(mean, sd, z []float32) { f.m.emission.Emit(f.tape, mean, sd, z) }
