package eval

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/rng"
)

// What the protocol segmentation compares comes from an environment that switches or from recordings with labels.
// Both become lists of labelled recordings in the units of the model, and nothing behind this file knows which
// they were.

// ErrUnlabelled is returned where regimes are to be compared with labels that there are none of.
var ErrUnlabelled = errors.New("no true regimes are known")

// labelled is a recording with its true regimes. Without labels it is seen whole, and nothing of it is scored.
type labelled struct {
	Recording
	labels []int // of its last steps; those before are seen, and not scored
}

// scored is the first step that has a label.
func (l labelled) scored() int { return l.T - len(l.labels) }

// divided is what regimes are compared on, in the units of the model.
type divided struct {
	title          string
	test, training []labelled
	order          []int // of the model's regimes, see Numbering; nil: its own
	seed           uint64
	threads        int

	names []string // of the channels
	dt    float64  // between two steps; 0: unknown
	unit  string   // of dt; empty: unknown
}

// divided gathers what the protocol compares. ErrUnlabelled is returned where no labels are known, and ErrOptions
// or ErrDims as by the protocols of environments.
func (s Subject) divided() (divided, error) {
	d := divided{seed: s.Seed, threads: s.Threads}
	if s.Recordings != nil {
		return s.recordedDivision(d)
	}
	env, ok := s.Env.(envs.Switching)
	if !ok {
		return d, ErrUnlabelled
	}
	task := s.task(segmentationEpisodes)
	if err := task.validate(s.Forecaster.Dims(), env.Spec()); err != nil {
		return d, err
	}
	// The whole of a test episode is seen and scored: every step has a label.
	test := task.test(env, task.Length)
	d.test, d.training = test.labelled("test episode", env), s.trainingPart(markovSteps)
	spec := env.Spec()
	d.title, d.dt, d.names = spec.Name, spec.DT, (&files.Dataset{Spec: spec}).Channels()
	return d, nil
}

// trainingPart are the first training recordings, of about so many steps, with the labels that there are. Of
// simulated data they are the first training episodes, made again; the last of own recordings is cut.
func (s Subject) trainingPart(steps int) []labelled {
	if s.Recordings == nil {
		n := min(s.Training, (steps+s.Length-1)/s.Length)
		training := simulateTrials(s.Env, rng.New(s.Seed, rng.Episode), 0, n, s.Length)
		return training.labelled("training episode", s.Env)
	}
	var list []labelled
	for _, i := range s.Recordings.Split.Training {
		if steps <= 0 {
			break
		}
		one, _ := labelledPieces(s.Recordings.pieces([]int{i}, 0), []int{i}, s.Recordings.Set) // they need no labels
		e := one[0].first(steps)
		list, steps = append(list, e), steps-e.T
	}
	return list
}

// first are the first steps of a recording, all of which have labels or none.
func (l labelled) first(steps int) labelled {
	if l.T <= steps {
		return l
	}
	return labelled{l.part(0, steps), l.labels[:min(len(l.labels), steps)]}
}

// labelled are trials as recordings with their regimes, if the environment knows them. The arrays share the memory
// of the trials.
func (d *trials) labelled(name string, env envs.Env) []labelled {
	switching, ok := env.(envs.Switching)
	var list []labelled
	for n := range d.N {
		e := labelled{Recording: Recording{
			Name: fmt.Sprintf("%s %d", name, n+1), T: d.T, Observations: d.x[n*d.T*d.NX : (n+1)*d.T*d.NX],
			Controls: d.u[n*d.T*d.NU : (n+1)*d.T*d.NU],
		}}
		for t := range d.T {
			if ok {
				e.labels = append(e.labels, int(d.label(n, t)[switching.Regime()]))
			}
		}
		list = append(list, e)
	}
	return list
}

// recordedDivision gathers the recordings of a run on own data: the test part, or the validation part if there is none
// or it is asked for. A window of steps before is seen where a split by time cut them off. It returns
// ErrUnlabelled if any of the held-out recordings has no labels.
func (s Subject) recordedDivision(d divided) (divided, error) {
	set, test := s.Recordings.Set, s.heldOut()
	d.title, d.dt, d.unit = "recordings", set.Spec.DT, set.TimeUnit
	var err error
	if d.test, err = labelledPieces(s.Recordings.pieces(test, s.Length), test, set); err != nil {
		return d, err
	}
	d.training = s.trainingPart(markovSteps)
	d.names = set.Channels()
	return d, nil
}

// labelledPieces are pieces of episodes with the labels of those. ErrUnlabelled comes with the list, for callers
// that need no labels.
func labelledPieces(list []Recording, episodes []int, set *files.Dataset) ([]labelled, error) {
	var all []labelled
	var err error
	for i, e := range list {
		l := labelled{Recording: e}
		for _, z := range set.Episodes[episodes[i]].Modes {
			l.labels = append(l.labels, int(z))
		}
		if l.labels == nil {
			err = ErrUnlabelled
		}
		all = append(all, l)
	}
	return all, err
}

// values are observations in the units of the data, before transforms, [end−first][nx]; NaN: missing.
func (e Recording) values(first, end int) [][]float64 {
	var list [][]float64
	nx := len(e.Observations) / e.T
	for t := first; t < end; t++ {
		row := make([]float64, nx)
		for c := range row {
			i := t*nx + c
			switch {
			case e.levels != nil:
				row[c] = e.levels[i]
			case !e.seen(i):
				row[c] = math.NaN()
			default:
				row[c] = e.Scale.Unscaled(c, float64(e.Observations[i]))
			}
		}
		list = append(list, row)
	}
	return list
}
