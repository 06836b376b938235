package worker

import (
	"fmt"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Sequences is where the sequences of training and validation come from. Its methods may be called
// from several goroutines at once and are pure functions of their arguments. Windows of more steps
// than an episode has are a programmer's error.
type Sequences interface {
	// Dims are the dimensions of an observation and of a control.
	Dims() (observations, controls int)
	// Training draws a window of the given number of steps from the training set.
	Training(draws *rng.Stream, steps int) Window
	// Validation is the window of a validation sequence; where it begins may be drawn.
	Validation(draws *rng.Stream, index, steps int) Window
}

// Window is a part of an episode that begins at step First. Rows of its arrays are those of the whole
// episode.
type Window struct {
	Observations, Controls []float32
	Seen                   []float32 // in the layout of Observations, 0 where a value is missing; nil: none is
	First                  int
}

// Simulated are the sequences of an environment: windows that begin anywhere in its episodes, those of
// training and those of validation under keys of their own.
type Simulated struct {
	spec                 envs.Spec
	length               int
	training, validation episodes
}

var _ Sequences = (*Simulated)(nil)

// NewSimulated returns the sequences of the given numbers of training and validation episodes of the
// given length.
func NewSimulated(env envs.Env, seed uint64, training, validation, length int) (*Simulated, error) {
	if training < 1 || validation < 1 || length < 2 {
		return nil, fmt.Errorf("simulate sequences: %d training and %d validation episodes of %d steps", training, validation, length)
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
func (s *Simulated) Training(draws *rng.Stream, steps int) Window {
	e := s.training.at(draws.IntN(len(s.training.kept)))
	return s.window(e, draws, steps)
}

// Validation draws the first step in the episode of that index.
func (s *Simulated) Validation(draws *rng.Stream, index, steps int) Window {
	return s.window(s.validation.at(index%len(s.validation.kept)), draws, steps)
}

func (s *Simulated) window(e *envs.Episode, draws *rng.Stream, steps int) Window {
	return Window{Observations: e.Observations, Controls: e.Controls, First: draws.IntN(s.length - steps + 1)}
}

// Bytes is the memory that the episodes take once all of them were asked for.
func (s *Simulated) Bytes() int { return s.training.bytes() + s.validation.bytes() }

// episodes is a data set that is simulated where it is first asked for and then kept, up to a bound
// of memory; beyond it episodes are simulated again each time.
type episodes struct {
	env    envs.Env
	key    rng.Key
	length int
	values int // of an episode
	kept   []atomic.Pointer[envs.Episode]
	keep   bool
}

// episodesInMemory bounds the simulated data that a set of episodes keeps, in float32 values.
const episodesInMemory = 64 << 20

func newEpisodes(env envs.Env, key rng.Key, n, length int) episodes {
	spec := env.Spec()
	values := length * (spec.Observation + spec.Control + spec.State + len(spec.Labels))
	return episodes{
		env: env, key: key, length: length, values: values,
		kept: make([]atomic.Pointer[envs.Episode], n), keep: n*values <= episodesInMemory,
	}
}

// bytes is the memory of all episodes, if they are kept.
func (e *episodes) bytes() int {
	if !e.keep {
		return 0
	}
	return 4 * e.values * len(e.kept)
}

// at returns an episode; two goroutines that simulate the same one at once make the same bits.
func (e *episodes) at(index int) *envs.Episode {
	if known := e.kept[index].Load(); known != nil {
		return known
	}
	fresh := new(envs.Episode)
	e.env.Simulate(fresh, e.key, uint32(index), e.length)
	if e.keep {
		e.kept[index].Store(fresh)
	}
	return fresh
}
