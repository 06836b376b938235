package worker

import (
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// keptValues is the largest size of a set of episodes that is kept in memory, in float32 values of observations and
// controls: 64 MiB.
const keptValues = 16 << 20

// episodes is a data set that is simulated when it is needed. A set of up to keptValues is kept. Its memory is
// allocated at once; the operating system provides it as it fills. An episode of a larger set is simulated each time it
// is needed, into the memory of the window.
type episodes struct {
	env    envs.Env
	key    rng.Key
	n      int
	length int
	nx, nu int

	kept                   []atomic.Uint32 // by episode: absent, simulating or present; nil: nothing is kept
	observations, controls []float32       // [n, length, ·]
}

const (
	absent     uint32 = iota
	simulating        // a goroutine is simulating it
	present
)

// newEpisodes is a set of n episodes of that many steps. Nothing is simulated yet.
func newEpisodes(env envs.Env, key rng.Key, n, length int) episodes {
	spec := env.Spec()
	e := episodes{env: env, key: key, n: n, length: length, nx: spec.Observation, nu: spec.Control}
	if n <= keptValues/(length*(e.nx+e.nu)) {
		e.kept = make([]atomic.Uint32, n)
		e.observations, e.controls = make([]float32, n*length*e.nx), make([]float32, n*length*e.nu)
	}
	return e
}

// bytes is the memory for the set, in bytes; 0 if nothing is kept.
func (e *episodes) bytes() int { return 4 * (len(e.kept) + len(e.observations) + len(e.controls)) }

// window sets w to some steps of an episode. Several goroutines may do so at a time, each with its own w. Of a kept
// episode, w aliases the set.
func (e *episodes) window(w *Window, index, first, steps int) {
	w.First, w.Seen = first, nil
	if e.kept == nil {
		e.env.Simulate(&w.episode, e.key, uint32(index), first+steps) // the steps after the window are not simulated
		w.Observations, w.Controls = w.episode.Observations, w.episode.Controls
		return
	}
	observations := e.observations[index*e.length*e.nx:][:e.length*e.nx]
	controls := e.controls[index*e.length*e.nu:][:e.length*e.nu]
	if state := &e.kept[index]; state.Load() != present {
		mine := state.CompareAndSwap(absent, simulating)
		e.env.Simulate(&w.episode, e.key, uint32(index), e.length)
		if !mine { // another goroutine is filling the place with the same bits
			w.Observations, w.Controls = w.episode.Observations, w.episode.Controls
			return
		}
		copy(observations, w.episode.Observations)
		copy(controls, w.episode.Controls)
		state.Store(present)
	}
	w.Observations, w.Controls = observations, controls
}
