package slds

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"

	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

var (
	_ model.Smoother   = (*Forecaster)(nil)
	_ model.Segmenter  = (*Forecaster)(nil)
	_ model.Sampler    = (*Forecaster)(nil)
	_ model.Systematic = (*Forecaster)(nil)
	_ model.Emitter    = (*Forecaster)(nil)
)

// Smooth averages paths of the posterior q of training, whose switches are inferred from all later observations too, if
// the measurement is the LSTM.
func (f *Forecaster) Smooth(dst *model.Smoothing, b model.Batch) { statespace.Smooth(dst, f, b) }

// Segment averages the mixing weights over paths of the posterior.
func (f *Forecaster) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	model.SegmentByFilter(dst, f, b, paths, noise)
}

// Sample draws h from its prior and all else from the generative model.
func (f *Forecaster) Sample(dst *model.Sampling, q model.SampleQuery) {
	c, t := f.m.cfg, f.tape
	statespace.Sample(t, dst, q, c.Dims, func(u autodiff.Tensor, n int, noise *rng.Stream) statespace.Drawn {
		z := t.New(q.T*n, c.NZ)
		eps := statespace.Normals(t, noise, z.Rows, c.NZ)
		f.m.initial.Start(t, z.Block(0, n), eps.Block(0, n))
		d := f.roll(z, u, eps, autodiff.Tensor{}, n, c.drawSwitchNoise(t, noise, 1, u.Rows))
		mean, sd := f.m.emission.Predict(t, z)
		return statespace.Drawn{Z: z, Weights: d.weights, Mean: mean, SD: sd}
	})
}

// Systems are the base systems.
func (f *Forecaster) Systems() model.Systems {
	c := f.m.cfg
	return f.m.transition.state.Systems(c.M, c.NZ, c.NU)
}

// Emit decodes rows of z.
func (f *Forecaster) Emit(mean, sd, z []float32) { f.m.emission.Emit(f.tape, mean, sd, z) }
