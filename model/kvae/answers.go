package kvae

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

var (
	_ model.Segmenter  = (*forecaster)(nil)
	_ model.Sampler    = (*forecaster)(nil)
	_ model.Systematic = (*forecaster)(nil)
)

// Segment returns the mixing weights of the filter, which draws nothing: one path has them all. The first step has
// those of the second: its own, of a_0 alone, are the same in every sequence and mix no transition.
func (f *forecaster) Segment(dst *model.Segmentation, b model.Batch, _ int, noise rng.Stream) {
	model.SegmentByFilter(dst, f, b, 1, noise)
	if row := b.B * dst.M; b.T > 1 {
		copy(dst.Probability[:row], dst.Probability[row:])
	}
}

// Sample draws z_1 from its prior, then noise of every transition and code. In order, for all sequences at a time:
// z_1; of each step the noise of the transition, if there is one, and that of the code. The LSTM reads the codes
// that were drawn. Observations are decoded from them at the end.
func (f *forecaster) Sample(dst *model.Sampling, q model.SampleQuery) {
	t, m := f.tape, &f.m.state
	d := f.m.dims
	statespace.Sample(t, dst, q, d, func(u autodiff.Tensor, n int, noise *rng.Stream) statespace.Drawn {
		s := m.begin(t, q.T, n, autodiff.LSTMState{})
		out := statespace.Drawn{Z: t.New(q.T*n, m.nz), Weights: s.weights.Slice(n, s.weights.Rows)}
		codes, code := t.New(q.T*n, m.na), t.Repeat(t.Param(m.code), n)
		z := statespace.Normals(t, noise, n, m.nz)
		for i := range z.Value {
			z.Value[i] *= float32(math.Sqrt(float64(m.start)))
		}
		for step := range q.T {
			s.step(step, code)
			if step > 0 {
				z = s.move(z, u.Block(step-1, n), step*n)
				disturb(t, z, m.q, noise)
			}
			t.Concat(s.at(out.Z, step), z)
			code = s.emit(z, step*n)
			disturb(t, code, m.r, noise)
			t.Concat(s.at(codes, step), code)
		}
		out.Mean, out.SD = f.decode(codes)
		return out
	})
}

// Systems are the base systems A_k and B_k, without a bias; their noise Q is the same. C_k, which is mixed too, is
// not among them.
func (f *forecaster) Systems() model.Systems {
	m, d := &f.m.state, f.m.dims
	s := model.NewSystems(d.M, d.NZ, d.NU)
	for i, v := range m.a.Values() {
		s.A[i] = float64(v)
	}
	if m.b != nil {
		for i, v := range m.b.Values() {
			s.B[i] = float64(v)
		}
	}
	for k := range d.M {
		for i := range d.NZ {
			s.Q[(k*d.NZ+i)*d.NZ+i] = float64(m.q)
		}
	}
	return s
}
