package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Bodied is a model whose sequences are bodies: consecutive sequences of a batch belong together and know of each other
// by a Message.
type Bodied interface {
	model.Trainable
	model.Forecasting
	model.Weighing
}

// Bodies is a model of sequences that several bodies make up. Every body has its own block of the latent state and its
// own switch; encoder, decoder, initial network and base systems are those of all. For the model within, a body is one
// more axis of the batch: [T, B, n] are [T, B·K, n/K]. What is said of a sequence is the sum over its bodies.
type Bodies struct {
	Bodied
	layout Layout
	adds   []bool // by term: whether it is a part of the loss, or a mean over all bodies
}

var (
	_ model.Trainable   = (*Bodies)(nil)
	_ model.Forecasting = (*Bodies)(nil)
	_ model.Weighing    = (*Bodies)(nil)
)

// NewBodies returns a model of sequences over one of their bodies, which has as many bodies as the layout.
func NewBodies(m Bodied, l Layout) *Bodies {
	b := &Bodies{Bodied: m, layout: l}
	// Parts of the loss and of the bound add up over bodies; other terms are means over them.
	for i, t := range m.Terms() {
		b.adds = append(b.adds, i == 0 || t.Weight != 0 || t.Bound != 0)
	}
	return b
}

// Loss is the sum of the losses of the bodies of a sequence, and so is every term of it; terms that are means over
// bodies, as those of the use of the systems, stay as they are.
func (m *Bodies) Loss(t *autodiff.Tape, b model.Batch, noise rng.Stream, step uint64, terms []float32) autodiff.Tensor {
	loss := m.Bodied.Loss(t, m.layout.Batch(t, b), noise, step, terms)
	k := float32(m.layout.Bodies) // a body counts as a sequence in the mean of the model within
	for i := range terms {
		if m.adds[i] {
			terms[i] *= k
		}
	}
	return t.Scale(loss, k)
}

// LogWeights adds up those of the bodies of each sequence, which are consecutive sequences of the model within.
func (m *Bodies) LogWeights(t *autodiff.Tape, b model.Batch, noise rng.Stream, dst []float64) {
	k := m.layout.Bodies
	each := make([]float64, b.B*k)
	m.Bodied.LogWeights(t, m.layout.Batch(t, b), noise, each)
	for i := range dst {
		dst[i] = 0
		for _, w := range each[i*k : (i+1)*k] {
			dst[i] += w
		}
	}
}

// NewForecaster returns a forecaster over the model's parameters.
func (m *Bodies) NewForecaster() model.Forecaster {
	return &bodiesForecaster{
		one: m.Bodied.NewForecaster().(bodyForecaster), m: m, tape: autodiff.NewInferenceTape(m.Params()),
	}
}

// bodyForecaster is what a forecaster of bodies asks that of the model within.
type bodyForecaster interface {
	model.Exporter
	model.Filterer
	model.Smoother
	model.Segmenter
	model.Sampler
	model.Systematic
	model.Emitter
}

// bodiesForecaster answers questions about sequences of several bodies. Rows of the answers of the model within
// are those of one body after another, so that they are rows of the sequence, too: an answer [T, B·K, n] is [T, B,
// K·n] in the same memory, and only its dimensions are set anew. Channels alone may need another order
// (Layout.Restore).
type bodiesForecaster struct {
	one  bodyForecaster
	m    *Bodies
	tape *autodiff.Tape // for what a question has in another order
}

var _ bodyForecaster = (*bodiesForecaster)(nil)

// Clone returns a forecaster for another goroutine.
func (f *bodiesForecaster) Clone() model.Forecaster { return f.m.NewForecaster() }

// Dims are the sizes of all bodies.
func (f *bodiesForecaster) Dims() model.Dims {
	d, l := f.one.Dims(), f.m.layout
	return model.Dims{NX: l.NX, NU: l.NU, NZ: l.Bodies * d.NZ, M: l.Bodies * d.M, Bodies: l.Bodies, Ages: d.Ages}
}

// bodies has a sequence for each body. What it copies is on the tape and valid until the next question.
func (f *bodiesForecaster) bodies(b model.Batch) model.Batch {
	f.tape.Reset()
	return f.m.layout.Batch(f.tape, b)
}

// Forecast filters the prefix of all bodies and rolls them out together.
func (f *bodiesForecaster) Forecast(dst *model.Forecast, q model.Query) {
	n, l := q.Prefix.B, &f.m.layout
	q.Prefix = f.bodies(q.Prefix)
	q.Controls = l.Controls(f.tape, q.Controls)
	f.one.Forecast(dst, q)
	d := f.Dims()
	dst.B, dst.NX, dst.M = n, d.NX, d.M
	l.Restore(dst.Mean, dst.Paths, dst.SD, dst.Draw)
}

// Filter infers states and mixing weights of all bodies.
func (f *bodiesForecaster) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	f.one.Filter(dst, f.bodies(prefix), noise)
	d := f.Dims()
	dst.B, dst.NZ, dst.M = prefix.B, d.NZ, d.M
}

// Smooth infers states and observations of all bodies.
func (f *bodiesForecaster) Smooth(dst *model.Smoothing, b model.Batch) {
	f.one.Smooth(dst, f.bodies(b))
	d := f.Dims()
	dst.B, dst.NX, dst.NZ = b.B, d.NX, d.NZ
	f.m.layout.Restore(dst.Observations)
}

// Segment divides each body into regimes.
func (f *bodiesForecaster) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	f.one.Segment(dst, f.bodies(b), paths, noise)
	dst.B, dst.M = b.B, f.Dims().M
}

// Sample draws all bodies together.
func (f *bodiesForecaster) Sample(dst *model.Sampling, q model.SampleQuery) {
	n, l := q.B, &f.m.layout
	f.tape.Reset()
	q.B, q.Controls = n*l.Bodies, l.Controls(f.tape, q.Controls)
	f.one.Sample(dst, q)
	d := f.Dims()
	dst.B, dst.NX, dst.NZ, dst.M = n, d.NX, d.NZ, d.M
	l.Restore(dst.Mean, dst.Draw)
}

// Emit decodes rows of the states of all bodies.
func (f *bodiesForecaster) Emit(mean, sd, z []float32) {
	f.one.Emit(mean, sd, z)
	f.m.layout.Restore(mean, sd)
}

// Systems has the base systems once for each body: systems k·M to k·M+M−1 move body k and leave the others out. What an
// Interaction adds is not among them.
func (f *bodiesForecaster) Systems() model.Systems {
	one, d, l := f.one.Systems(), f.Dims(), &f.m.layout
	s := model.NewSystems(d.M, d.NZ, d.NU)
	s.Bodies, s.Residual, s.Floor = d.Bodies, one.Residual, one.Floor
	for system := range d.M {
		// System k·M+j of the sequence is system j of body k: a block on the diagonal, with the controls of that
		// body.
		k, j := system/one.M, system%one.M
		_, controls := l.of(k)
		for i := range one.NZ {
			from, to := j*one.NZ+i, system*d.NZ+k*one.NZ+i
			copy(s.A[to*d.NZ+k*one.NZ:], one.A[from*one.NZ:(from+1)*one.NZ])
			copy(s.Q[to*d.NZ+k*one.NZ:], one.Q[from*one.NZ:(from+1)*one.NZ])
			s.Bias[to] = one.Bias[from]
			for c, control := range controls {
				s.B[to*d.NU+control] = one.B[from*one.NU+c]
			}
		}
	}
	return s
}
