package eval_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/ball"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/envs/reacher"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// built returns an environment, or ends the test.
func built[E envs.Env](t testing.TB) func(e E, err error) envs.Env {
	return func(e E, err error) envs.Env {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
}

func newMaze(t testing.TB) envs.Env { return built[*maze.Env](t)(maze.New(maze.A())) }
func newReacher(t testing.TB) envs.Env {
	return built[*reacher.Env](t)(reacher.New(reacher.DefaultConfig()))
}

func newBall(t testing.TB) envs.Env { return built[*ball.Env](t)(ball.New(ball.DefaultConfig())) }

// task is a small one; the length is that of the paper's episodes.
func task(episodes int) eval.Task {
	return eval.Task{Question: eval.Question{Episodes: episodes, Prefix: 4}, Seed: 5, Training: 500, Length: 20, Samples: 3}
}

// simulator is the environment itself as a model: it knows an episode again by how it begins, and answers with what
// the environment does. Its latent state is the true state, its weights are the labels.
type simulator struct {
	env      envs.Env
	episodes map[string]*envs.Episode
	seen     *queries

	late  int                                                          // steps by which answers lag behind: a planted error
	paths func(path []float32, truth []float32, q *model.Query)        // what a rollout says; nil: the truth
	draw  func(draw []float32, path []float32, noise *rng.Stream)      // nil: the path itself
	reply func(seen *envs.Episode, at int, prefix []float32) []float32 // in place of the environment; nil: it
}

// firstFresh is where test episodes begin.
const firstFresh = 1 << 31

// newSimulator knows the episodes of a task.
func newSimulator(env envs.Env, task eval.Task) *simulator {
	s := &simulator{env: env, episodes: map[string]*envs.Episode{}, seen: new(queries)}
	for i := range uint32(max(task.Episodes, task.Training)) {
		for _, first := range []uint32{0, firstFresh} {
			e := new(envs.Episode)
			env.Simulate(e, rng.New(task.Seed, rng.Episode), first+i, task.Length+20)
			s.episodes[string(beginning(env.Spec().Observation, func(t int) []float32 { return e.Observations[t*env.Spec().Observation:] }))] = e
		}
	}
	return s
}

func (s *simulator) Dims() model.Dims {
	spec := s.env.Spec()
	return model.Dims{NX: spec.Observation, NU: spec.Control, NZ: spec.State, M: 1 + len(spec.Labels)}
}

func (s *simulator) Clone() model.Forecaster { return s }

func (s *simulator) episode(b *model.Batch, i int) *envs.Episode {
	e := s.episodes[string(beginning(b.NX, func(t int) []float32 { return b.Observations[(t*b.B+i)*b.NX:] }))]
	if e == nil {
		panic("this is none of the task's episodes")
	}
	return e
}

// beginning is what an episode is known by: its first four observations, the first of which two images may share.
func beginning(nx int, observation func(t int) []float32) []byte {
	var key []byte
	for t := range 4 {
		for _, v := range observation(t)[:nx] {
			key = binary.LittleEndian.AppendUint32(key, math.Float32bits(v))
		}
	}
	return key
}

func (s *simulator) Forecast(dst *model.Forecast, q model.Query) {
	s.seen.Lock()
	s.seen.all = append(s.seen.all, q)
	s.seen.Unlock()
	d := s.Dims()
	n, nx := q.Prefix.B, d.NX
	dst.Resize(q.Horizon, n, q.Samples, nx, d.M)
	clear(dst.Mean)
	for i := range n {
		e := s.episode(&q.Prefix, i)
		for k := range q.Horizon {
			at := (k*n + i) * nx
			t := q.Prefix.T + k - s.late
			truth := e.Observations[t*nx : (t+1)*nx]
			if s.reply != nil {
				truth = s.reply(e, t, q.Prefix.Observations[((q.Prefix.T-1)*n+i)*nx:][:nx])
			}
			for p := range q.Samples {
				path := dst.Paths[p*q.Horizon*n*nx+at:][:nx]
				copy(path, truth)
				if s.paths != nil {
					s.paths(path, truth, &q)
				}
				for j, v := range path {
					dst.Mean[at+j] += v / float32(q.Samples)
				}
			}
			copy(dst.Draw[at:at+nx], dst.Paths[at:at+nx])
			if s.draw != nil {
				s.draw(dst.Draw[at:at+nx], dst.Paths[at:at+nx], &q.Noise)
			}
		}
	}
}

func (s *simulator) Filter(dst *model.Filtering, prefix model.Batch, _ rng.Stream) {
	d := s.Dims()
	dst.Resize(prefix.T, prefix.B, d.NZ, d.M)
	clear(dst.SD)
	labels := d.M - 1
	for i := range prefix.B {
		e := s.episode(&prefix, i)
		for t := range prefix.T {
			row := t*prefix.B + i
			copy(dst.Mean[row*d.NZ:(row+1)*d.NZ], e.States[t*d.NZ:])
			w := dst.Switches[row*d.M : (row+1)*d.M]
			w[0] = 1
			copy(w[1:], e.Labels[t*labels:(t+1)*labels])
		}
	}
}

func (s *simulator) Interpolates() {}

// Smooth fills gaps with the truth.
func (s *simulator) Smooth(dst *model.Smoothing, b model.Batch) {
	dst.Resize(b.T, b.B, b.NX, 0)
	for i := range b.B {
		e := s.episode(&b, i)
		for t := range b.T {
			copy(dst.Observations[(t*b.B+i)*b.NX:][:b.NX], e.Observations[t*b.NX:])
		}
	}
}

// forgetful is a model that only forecasts: no latent state, no switch, no smoothing.
type forgetful struct{ s *simulator }

func (f forgetful) Dims() model.Dims {
	d := f.s.Dims()
	return model.Dims{NX: d.NX, NU: d.NU}
}
func (f forgetful) Clone() model.Forecaster                     { return f }
func (f forgetful) Forecast(dst *model.Forecast, q model.Query) { f.s.Forecast(dst, q) }

// silent is a model that says 0 to everything.
type silent struct{ spec envs.Spec }

func (s silent) Dims() model.Dims        { return model.Dims{NX: s.spec.Observation, NU: s.spec.Control} }
func (s silent) Clone() model.Forecaster { return s }
func (s silent) Forecast(dst *model.Forecast, q model.Query) {
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, s.spec.Observation, 0)
	clear(dst.Mean)
	clear(dst.Paths)
	clear(dst.Draw)
}

// upTo is an environment whose observations are other ones from a step on.
type upTo struct {
	envs.Env
	steps int
}

func (u upTo) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	u.Env.Simulate(dst, key, index, T)
	for i := u.steps * u.Spec().Observation; i < len(dst.Observations); i++ {
		dst.Observations[i] = 1 - dst.Observations[i]
	}
}

// picturedUpTo is upTo of an environment of images.
type picturedUpTo struct{ upTo }

func (p picturedUpTo) Image() [3]int { return p.Env.(envs.Pictured).Image() }
