package dvbf

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

// Sample draws every noise from its prior.
func (f *forecaster) Sample(dst *model.Sampling, q model.SampleQuery) {
	t, nz := f.tape, f.m.dims.NZ
	statespace.Sample(t, dst, q, f.m.dims, func(u autodiff.Tensor, n int, noise *rng.Stream) statespace.Drawn {
		z, w := t.New(q.T*n, nz), statespace.Normals(t, noise, q.T*n, nz)
		f.m.initial.Start(t, z.Block(0, n), w.Block(0, n))
		d := f.m.begin(t, z, u, w.Slice(n, w.Rows), n)
		for i := range q.T - 1 {
			d.step(i)
		}
		mean, sd := f.m.emission.Predict(t, z)
		return statespace.Drawn{Z: z, Weights: d.mixing.Weights, Mean: mean, SD: sd}
	})
}

// Systems are the base systems; Q of a system is CᵢᵀCᵢ, that of its noise alone. (Mixed noise has the covariance of
// mixed matrices, which is not the mixture of these.)
func (f *forecaster) Systems() model.Systems {
	d := f.m.dims
	s := f.m.transition.Systems(d.M, d.NZ, d.NU)
	for k := range d.M {
		c := f.m.noiseMatrix(k)
		for i := range d.NZ {
			for j := range d.NZ {
				for w := range d.NZ {
					s.Q[(k*d.NZ+i)*d.NZ+j] += float64(c[w*d.NZ+i]) * float64(c[w*d.NZ+j])
				}
			}
		}
	}
	return s
}

// Emit decodes rows of z.
func (f *forecaster) Emit(mean, sd, z []float32) { f.m.emission.Emit(f.tape, mean, sd, z) }
