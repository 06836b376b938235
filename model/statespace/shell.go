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
	Params() *autodiff.Params
	Sizes() model.Dims
	// Filtered infers q(z_t) of a batch, and the weights of the base systems from the second time step on.
	Filtered(t *autodiff.Tape, b model.Batch, noise *rng.Stream) (Posterior, autodiff.Tensor)
	// Continued infers the prefix of a query along every path of a group and rolls them out.
	Continued(t *autodiff.Tape, q model.Query, g Group, noise *rng.Stream) Paths
	// Imagined draws n sequences of so many steps from the generative model, under the controls u of the steps from the
	// second on.
	Imagined(t *autodiff.Tape, steps, n int, u autodiff.Tensor, noise *rng.Stream) Drawn
	// Systems are the base systems.
	Systems() model.Systems
	// Decoder is p(x | z).
	Decoder() Emission
}

// Shell answers questions of a trained model: what the state is given a prefix, what follows, and what it makes up. It
// never sees more than the prefix of a query. A Forecaster of a family holds one and adds what the family does alone.
type Shell struct {
	Tape     *autodiff.Tape
	core     Core
	prefixes Prefixes
}

var (
	_ model.Filterer   = (*Shell)(nil)
	_ model.Segmenter  = (*Shell)(nil)
	_ model.Sampler    = (*Shell)(nil)
	_ model.Systematic = (*Shell)(nil)
	_ model.Emitter    = (*Shell)(nil)
)

// NewShell returns a Shell over the model's parameters.
func NewShell(core Core) *Shell {
	return &Shell{
		Tape: autodiff.NewInferenceTape(core.Params()), core: core, prefixes: Prefixes{Bodies: core.Sizes().Bodies},
	}
}

// Dims are the sizes of the model.
func (s *Shell) Dims() model.Dims { return s.core.Sizes() }

// Filter infers q(z_t) and the weights of every time step of the prefix, along one path of draws. Groups draw from
// the noise one after another.
func (s *Shell) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	d := s.core.Sizes()
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
	Answer(&s.prefixes, s.Tape, dst, q, s.core.Sizes(), rows, func(g Group, noise *rng.Stream) {
		Collect(dst, q, g, s.core.Continued(s.Tape, q, g, noise), noise)
	})
}

// Segment averages the weights over paths of the filter.
func (s *Shell) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	model.SegmentByFilter(dst, s, b, paths, noise)
}

// Sample draws z_1 from its prior and all else from the generative model.
func (s *Shell) Sample(dst *model.Sampling, q model.SampleQuery) {
	Sample(s.Tape, dst, q, s.core.Sizes(), func(u autodiff.Tensor, n int, noise *rng.Stream) Drawn {
		return s.core.Imagined(s.Tape, q.T, n, u, noise)
	})
}

// Systems are the base systems.
func (s *Shell) Systems() model.Systems { return s.core.Systems() }

// Emit decodes rows of z; it resets the tape.
func (s *Shell) Emit(mean, sd, z []float32) { s.core.Decoder().Emit(s.Tape, mean, sd, z) }
