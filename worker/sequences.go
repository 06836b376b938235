package worker

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Sequences is the source of the sequences of training and validation. Several goroutines may call its methods at the
// same time, each with a window of its own. The methods are pure functions of their other arguments. A window with more
// steps than an episode is a programming error.
type Sequences interface {
	// Dims are the dimensions of an observation and of a control.
	Dims() (observations, controls int)
	// Training draws a window with the given number of steps from the training set.
	Training(w *Window, draws *rng.Stream, steps int)
	// Validation sets w to the window of a validation sequence. Its first step may be drawn.
	Validation(w *Window, draws *rng.Stream, index, steps int)
}

// Window is a part of an episode that begins at step First. The rows of its arrays are those of the episode, from the
// episode's beginning. They must not be changed, and are valid until the window is set again.
type Window struct {
	Observations, Controls []float32
	Seen                   []float32 // in the layout of Observations, 0 where a value is missing; nil: no value is missing
	First                  int

	episode envs.Episode // memory for an episode that is simulated for this window alone
}

// bytes is the memory that a window has for itself, in bytes.
func (w *Window) bytes() int {
	e := &w.episode
	return 4 * (cap(e.Observations) + cap(e.Controls) + cap(e.States) + cap(e.Labels))
}

// Simulated are the sequences of an environment: windows that begin anywhere in its episodes. The episodes of training
// and those of validation have different keys.
type Simulated struct {
	spec                 envs.Spec
	length               int
	training, validation episodes
}

var _ Sequences = (*Simulated)(nil)

// NewSimulated returns the sequences of the given numbers of training and validation episodes of the given length.
func NewSimulated(env envs.Env, seed uint64, training, validation, length int) (*Simulated, error) {
	if training < 1 || validation < 1 || length < 2 {
		return nil, fmt.Errorf("simulate sequences: %d training and %d validation episodes of %d steps", training, validation,
			length)
	}
	return &Simulated{
		spec: env.Spec(), length: length,
		training:   newEpisodes(env, rng.New(seed, rng.Episode), training, length),
		validation: newEpisodes(env, rng.New(seed, rng.Validation), validation, length),
	}, nil
}

// Dims are those of the environment.
func (s *Simulated) Dims() (observations, controls int) { return s.spec.Observation, s.spec.Control }

// Training draws an episode and a first step.
func (s *Simulated) Training(w *Window, draws *rng.Stream, steps int) {
	index := draws.IntN(s.training.n)
	s.training.window(w, index, draws.IntN(s.length-steps+1), steps)
}

// Validation draws the first step in the episode of that index.
func (s *Simulated) Validation(w *Window, draws *rng.Stream, index, steps int) {
	s.validation.window(w, index%s.validation.n, draws.IntN(s.length-steps+1), steps)
}

// Bytes is the memory for the episodes that are kept, including those that are not simulated yet.
func (s *Simulated) Bytes() int { return s.training.bytes() + s.validation.bytes() }
