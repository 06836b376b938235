package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Core is a model of latent states and mixing weights, as a Shell asks it. Each call gets a fresh tape that does
// not record; a group of sequences is on it. Tensors of the answers live on the tape. A Core is only read, so
// several Shells may ask it at a time.
type Core interface {
	model.Forecasting
	// Filtered infers q(z_t) of a batch, and the weights of the base systems from the second time step on.
	Filtered(t *autodiff.Tape, b model.Batch, noise *rng.Stream) (Posterior, autodiff.Tensor)
	// Continued infers the prefix of a query along every path of a group and rolls them out.
	Continued(t *autodiff.Tape, q model.Query, g Group, noise *rng.Stream) Paths
	// Imagined draws n sequences of so many steps from the generative model, under the controls u of the steps from the
	// second on.
	Imagined(t *autodiff.Tape, steps, n int, u autodiff.Tensor, noise *rng.Stream) Drawn
	// Systems are the base systems.
	Systems() model.Systems
}

// Shell answers questions of a trained model: what the state is given a prefix, what follows, and what it makes up. It
// never sees more than the prefix of a query. It is the Forecaster of a family, or is held by one that adds what the
// family does alone.
type Shell struct {
	Tape     *autodiff.Tape
	core     Core
	frame    *Frame
	prefixes Prefixes
}

var (
	_ model.Forecaster = (*Shell)(nil)
	_ model.Filterer   = (*Shell)(nil)
	_ model.Segmenter  = (*Shell)(nil)
	_ model.Sampler    = (*Shell)(nil)
	_ model.Systematic = (*Shell)(nil)
	_ model.Emitter    = (*Shell)(nil)
)

// NewShell returns a Shell over the parameters of a model with its Frame.
func NewShell(core Core, f *Frame) *Shell {
	return &Shell{
		Tape: autodiff.NewInferenceTape(f.params), core: core, frame: f, prefixes: Prefixes{Bodies: f.Nets.Bodies},
	}
}

// Clone returns a forecaster for another goroutine.
func (s *Shell) Clone() model.Forecaster { return s.core.NewForecaster() }

// Dims are the sizes of the model.
func (s *Shell) Dims() model.Dims { return s.frame.Nets.Dims }

// Filter infers q(z_t) and the weights of every time step of the prefix, along one path of draws. Groups draw from
// the noise one after another.
func (s *Shell) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	d := s.Dims()
	dst.Resize(prefix.T, prefix.B, d.NZ, d.M)
	s.Each(prefix, prefix.T, func(g Group) {
		p, weights := s.core.Filtered(s.Tape, g.Batch, &noise)
		p.Filtering(dst, g, weights)
	})
}

// Each calls do for groups of the sequences of a batch, each on a fresh tape; a sequence needs so many rows.
func (s *Shell) Each(b model.Batch, rows int, do func(g Group)) {
	s.prefixes.Each(s.Tape, b, 1, rows, do)
}

// Forecast filters the prefix and rolls out q.Samples latent paths under the given controls.
func (s *Shell) Forecast(dst *model.Forecast, q model.Query) {
	rows := max(q.Prefix.T, q.Horizon)
	Answer(&s.prefixes, s.Tape, dst, q, s.Dims(), rows, func(q model.Query, g Group, noise *rng.Stream) Paths {
		return s.core.Continued(s.Tape, q, g, noise)
	})
}

// Segment averages the weights over paths of the filter.
func (s *Shell) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	model.SegmentByFilter(dst, s, b, paths, noise)
}

// Sample draws z_1 from its prior and all else from the generative model.
func (s *Shell) Sample(dst *model.Sampling, q model.SampleQuery) {
	Sample(s.Tape, dst, q, s.Dims(), func(u autodiff.Tensor, n int, noise *rng.Stream) Drawn {
		return s.core.Imagined(s.Tape, q.T, n, u, noise)
	})
}

// Systems are the base systems.
func (s *Shell) Systems() model.Systems { return s.core.Systems() }

// Emit decodes rows of z; it resets the tape.
func (s *Shell) Emit(mean, sd, z []float32) { s.frame.Emission.Emit(s.Tape, mean, sd, z) }

// Warmup is how many observations q(h) reads: k.
func (s *Shell) Warmup() int { return s.frame.Nets.InitialObservations }

// Begin infers z_1 = t(h) from the mean of q(h). No switch has led to it.
func (s *Shell) Begin(dst *model.Belief, first model.Batch) {
	s.frame.Initial.Begin(s.Tape, dst, first, s.Dims())
}

// Leave writes the belief after a step from block 0 of p.Z to block 1, and the switch and weights that led there. They
// are copies, as the next step resets the tape.
func (s *Shell) Leave(dst *model.Belief, p Posterior, switched, weights autodiff.Tensor) {
	n := p.Mean.Rows
	dst.Resize(n, s.Dims(), true)
	copy(dst.Z, p.Z.Block(1, n).Value)
	copy(dst.Mean, p.Mean.Value)
	copy(dst.Variance, p.Variance.Value)
	copy(dst.Switch, switched.Value)
	copy(dst.Weights, weights.Value)
}
