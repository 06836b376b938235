package trials

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/sweep"
)

// Base makes the configurations of trials: it puts the settings of each on top of the preset, the files, the
// environment and the fixed keys.
type Base struct {
	Config  config.Config // without the settings of a trial
	sources config.Sources
	kinds   *config.Kinds
}

// KeyVariables are the environment variables that set a key.
func KeyVariables(k *config.Kinds, environment []string) []string {
	var list []string
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		if slices.ContainsFunc(k.Keys(), func(k config.Key) bool { return k.Variable() == name }) {
			list = append(list, v)
		}
	}
	return list
}

// Of is the configuration of a trial. The error is an *config.Error.
func (b *Base) Of(s sweep.Settings) (config.Config, error) {
	sources := b.sources
	sources.Arguments = slices.Concat(sources.Arguments, s.Arguments())
	r, err := b.kinds.Resolve(sources)
	if err != nil {
		return config.Config{}, err
	}
	return r.Config, nil
}

// Overrides are the settings of a trial on top of the preset.
func (b *Base) Overrides(s sweep.Settings) []string {
	return slices.Concat(b.sources.Environment, b.sources.Arguments, s.Arguments())
}

// Rungs are the updates at which a configuration is judged: the same shares of its training as those of the spec,
// at ends of rounds, and at validations if these are often enough or train.patience counts them: a rung elsewhere is
// one more validation. They ascend, and the last is the end of the training:
//
//	at(r) = r·steps/whole, rounded to a multiple of the unit, and at least one unit after the rung before
func (b *Base) Rungs(stop sweep.Stop, c config.Config) []uint64 {
	whole := stop.Rungs[len(stop.Rungs)-1]
	// Between two exchanges there are no parameters to judge. A rung at a validation needs none of its own.
	unit := job.Stride(c)
	if v := c.Train.ValidateEvery; v > 0 && v%unit == 0 && !job.Sweeping(c) &&
		(c.Train.Patience > 0 || v <= scaled(stop.Rungs[0], c.Train.Steps, whole)) {
		unit = v
	}
	var list []uint64
	last := uint64(0)
	for _, r := range stop.Rungs[:len(stop.Rungs)-1] {
		at := (scaled(r, c.Train.Steps, whole) + unit/2) / unit * unit
		last = max(at, last+unit)
		list = append(list, min(last, c.Train.Steps))
	}
	return append(list, c.Train.Steps)
}

// scaled is r·steps/whole, rounded down.
func scaled(r, steps, whole uint64) uint64 {
	return uint64(math.Floor(float64(r) * (float64(steps) / float64(whole))))
}

// Sources are what a file needs from outside.
type Sources struct {
	Kinds       *config.Kinds
	Folder      string // that paths in the file are relative to
	Read        func(path string) ([]byte, error)
	Environment []string // NAME=value, of keys
}

// Resolve completes a file: it reads the base, fills in what is left out, and checks that values fit the configuration.
// The error is an *config.Error with all problems, or one of reading a file.
func (f *File) Resolve(s Sources) (*Base, error) {
	b := &Base{kinds: s.Kinds, sources: config.Sources{Preset: f.Preset, Environment: s.Environment}}
	for _, path := range f.Configs {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.Folder, path)
		}
		data, err := s.Read(path)
		if err != nil {
			f.fault(f.origins["config"], "config", err.Error(), "paths are relative to the folder of the sweep file")
			return nil, f.err()
		}
		b.sources.Files = append(b.sources.Files, config.File{Name: path, Data: data})
	}
	b.sources.Arguments = f.Fixed.Arguments()
	r, err := s.Kinds.Resolve(b.sources)
	if err != nil {
		return nil, f.located(err)
	}
	b.Config = r.Config
	f.Spec.Base = string(b.Config.YAML())
	f.fill(b)
	if err := f.err(); err != nil {
		return nil, err
	}
	if f.Spec.Method != sweep.List { // each configuration is checked whole
		f.checkValues(b)
	}
	f.checkMetrics(b)
	return b, f.err()
}

// located puts the problems of a configuration where the sweep file has their keys.
func (f *File) located(err error) error {
	var all *config.Error
	if !errors.As(err, &all) {
		return err
	}
	for _, p := range all.Problems {
		f.problems = append(f.problems, f.locate(p))
	}
	return f.err()
}

// locate puts a problem where the sweep file has its key; one that names no key stands at the preset.
func (f *File) locate(p config.Problem) config.Problem {
	key := p.Key
	if text, ok := strings.CutPrefix(p.Origin.Name, "argument "); ok {
		word, _, _ := strings.Cut(strings.Trim(text, `"`), "=")
		key = word
	}
	if at, ok := f.origins["parameters."+key]; ok {
		p.Origin = at
	} else if p.Key == "" && f.origins["preset"] != (config.Origin{}) {
		p.Origin, p.Key = f.origins["preset"], "preset"
	}
	return p
}

// fill completes the spec with what follows from the base, and adds what is then wrong with it. A fault stands at
// the longest part of its path that the file has.
func (f *File) fill(b *Base) {
	s := &f.Spec
	f.settle(b)
	if len(s.Replicates.Seeds) == 0 {
		s.Replicates.Seeds = []uint64{b.Config.Seed}
	}
	if len(s.Replicates.Seeds) > 1 {
		f.note("each trial has %d runs, one for each seed; a trial is worth their %s", len(s.Replicates.Seeds),
			s.Replicates.Aggregate)
	}
	if _, said := f.origins["early_terminate"]; !said && (s.Method == sweep.Grid || s.Method == sweep.List) {
		s.Stop.Type = sweep.NoStop
	}
	f.fillRungs(b.Config.Train.Steps)
	// Without a run_cap a grid and a list are tried as a whole.
	if s.Trials == 0 && s.Method == sweep.Grid && !slices.ContainsFunc(s.Parameters,
		func(p sweep.Parameter) bool { return p.Cells() == 0 }) {
		s.Trials = len(s.Combinations(maxCombinations))
	}
	if s.Trials == 0 && s.Method == sweep.List {
		s.Trials = max(len(s.List), 1)
	}
	if s.Trials == 0 && s.Method == sweep.Grid {
		s.Trials = 1 // there is no grid: Faults says why
	}
	if s.Trials == 0 && len(f.problems) == 0 && f.origins["run_cap"] == (config.Origin{}) {
		f.fault(f.origins["method"], "run_cap", "missing: the number of trials", "e.g. run_cap: 60")
		s.Trials = 1
	}
	f.fillCohort()
	if len(f.problems) > 0 {
		return
	}
	// Where a key is left out, the fault stands at the section that would have it.
	for _, fault := range s.Faults() {
		at := config.Origin{}
		for path := fault.Path; path != ""; {
			if o, ok := f.origins[path]; ok {
				at = o
				break
			}
			i := strings.LastIndexByte(path, '.')
			path = path[:max(i, 0)]
		}
		f.fault(at, fault.Path, fault.Message, fault.Hint)
	}
}

// maxCombinations is the most trials that a grid may have without a run_cap.
const maxCombinations = 100_000

// fillRungs makes the rungs of a training of so many updates, in one of four ways:
//
//	none          the end of the training alone
//	rungs         those of the file, and the end
//	s             steps/eta^s, …, steps/eta, steps
//	min_iter      all steps/eta^k that are not below it; without one, not below steps/eta²
//
// A rung beyond the end of the training is a fault.
func (f *File) fillRungs(steps uint64) {
	t := &f.Spec.Stop
	at := f.origins["early_terminate"]
	if f.halving.Most != 0 && f.halving.Most != steps {
		f.fault(at, "early_terminate.max_iter", fmt.Sprintf("it is %d, and train.steps is %d", f.halving.Most, steps),
			"leave it out: the last rung is the end of the training")
		return
	}
	switch {
	case t.Type == sweep.NoStop:
		t.Rungs = []uint64{steps}
		return
	case len(t.Rungs) > 0:
		for _, r := range t.Rungs {
			if r > steps {
				f.fault(at, "early_terminate.rungs", fmt.Sprintf("%d is beyond train.steps, which is %d", r, steps), "")
				return
			}
		}
		if t.Rungs[len(t.Rungs)-1] < steps {
			t.Rungs = append(t.Rungs, steps)
		}
		return
	}
	eta := uint64(max(t.Eta, 2))
	least := f.halving.Least
	switch {
	case least > steps:
		f.fault(at, "early_terminate.min_iter", fmt.Sprintf("%d is beyond train.steps, which is %d", least, steps),
			"iterations are updates")
		return
	case f.halving.Brackets > 0:
		if float64(steps) < math.Pow(float64(eta), float64(f.halving.Brackets)) {
			f.fault(at, "early_terminate.s", fmt.Sprintf("%d rungs below %d updates: the first would be before update 1",
				f.halving.Brackets, steps), "use fewer")
			return
		}
		t.Rungs = []uint64{steps}
		for range f.halving.Brackets {
			t.Rungs = slices.Insert(t.Rungs, 0, t.Rungs[0]/eta)
		}
		return
	case least == 0:
		least = max(steps/(eta*eta), 1)
	}
	for r := steps; r >= least; r /= eta {
		t.Rungs = slices.Insert(t.Rungs, 0, r)
		if r < eta {
			break
		}
	}
}

// fillCohort chooses the size of cohorts: for halving the smallest one that leaves one trial for the last rung.
// The other types have cohorts of eight, if they have any. None is greater than the sweep.
func (f *File) fillCohort() {
	t := &f.Spec.Stop
	if t.Cohort == 0 {
		t.Cohort = 8
		if t.Type == sweep.Halving && len(t.Rungs) > 0 {
			t.Cohort = int(math.Min(math.Pow(float64(t.Eta), float64(len(t.Rungs)-1)), 1e6))
		}
	}
	if f.Spec.Trials > 0 {
		t.Cohort = min(t.Cohort, f.Spec.Trials)
	}
}

// chances is how many configurations are drawn to find a valid one with a certain value.
const chances = 100

// checkValues finds values that are in no valid configuration: unknown keys, wrong types, and what other keys
// exclude. Of numbers the two ends are tried, and one in between.
func (f *File) checkValues(b *Base) {
	for i := range f.Spec.Parameters {
		p := &f.Spec.Parameters[i]
		values := p.Values
		if p.Distribution != sweep.Categorical {
			values = []string{p.At(0), p.At(1), p.At(math.Phi - 1)}
		}
		for _, v := range values {
			err := f.possible(b, i, v)
			if err == nil {
				continue
			}
			var all *config.Error
			if !errors.As(err, &all) {
				f.fault(f.origins["parameters."+p.Key], "parameters."+p.Key, err.Error(), "")
				break
			}
			problem := all.Problems[0]
			at, ok := f.origins["parameters."+p.Key+".values["+v+"]"]
			if !ok {
				at = f.origins["parameters."+p.Key]
			}
			message := problem.Message
			if p.Distribution == sweep.Uniform && strings.Contains(message, "whole number") {
				problem.Hint = "write distribution: int_uniform, or q_uniform"
			}
			if p.Sigma > 0 && problem.Hint == "" {
				problem.Hint = "values up to six standard deviations from the mean are drawn: use a smaller sigma, or a range"
			}
			// The fault is one of another key, which this value excludes.
			if problem.Key != p.Key {
				message = fmt.Sprintf("%s makes no valid configuration: %s: %s", v, problem.Key, message)
			}
			f.fault(at, "parameters."+p.Key, message, problem.Hint)
			if strings.Contains(problem.Message, "unknown key") || strings.Contains(problem.Message, "no such key") {
				break // the same for all values
			}
		}
	}
}

// possible looks for a valid configuration with a value of parameter i: first with that alone, then with random
// values of the others. It returns the error of the first if there is none among them. The draws are those of the
// seed, so that a file is accepted everywhere or nowhere.
func (f *File) possible(b *Base, i int, value string) error {
	settings := f.around(i, value, func(*sweep.Parameter) (string, bool) { return "", false })
	_, first := b.Of(settings)
	for n := uint64(0); first != nil && n < chances; n++ {
		stream := rng.New(f.Spec.Seed, rng.Search).At(n, uint32(i), 3)
		settings := f.around(i, value, func(p *sweep.Parameter) (string, bool) { return p.At(stream.Float64()), true })
		if _, err := b.Of(settings); err == nil {
			return nil
		}
	}
	return first
}

// around is a configuration with a value of parameter i. The parameters that its conditions name, and those that
// theirs name, have the first fitting value; others have one of draw, if that gives one and they exist.
func (f *File) around(i int, value string, draw func(*sweep.Parameter) (string, bool)) sweep.Settings {
	fixed := map[string]string{f.Spec.Parameters[i].Key: value}
	// Conditions name parameters above, so that one pass upwards finds all that are needed.
	for j := i; j >= 0; j-- {
		p := &f.Spec.Parameters[j]
		if _, needed := fixed[p.Key]; !needed {
			continue
		}
		for _, c := range p.When {
			if c.Fixed == "" && len(c.Values) > 0 {
				fixed[c.Key] = c.Values[0]
			}
		}
	}
	var s sweep.Settings
	for j := range f.Spec.Parameters {
		p := &f.Spec.Parameters[j]
		if v, ok := fixed[p.Key]; ok {
			s = append(s, sweep.Setting{Key: p.Key, Value: v})
		} else if v, ok := draw(p); ok && p.Exists(s) {
			s = append(s, sweep.Setting{Key: p.Key, Value: v})
		}
	}
	return s
}
