package trials

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/sweep"
)

// File is a sweep as it was written. Its keys, with what they mean if they are left out:
//
//	preset, config    the configuration that is searched around; one of them is needed
//	parameters        keys with values, ranges or one fixed value; needed, unless there are configurations
//	configurations    the list of all configurations, for method: list
//	method            tpe (default), random, grid, sobol or list
//	seed              of the method: 1
//	metric, metrics   validation_elbo, maximised
//	early_terminate   halving with eta 3; none for grid and list
//	run_cap           trials; of a grid or a list all that there are, otherwise needed
//	confirm           best trials that run again with fresh seeds: none; an empty one has top 3, seeds 5
//	parallel          the most legs at the same time: as many as the workers can do with
//	keep              whose checkpoints stay: complete
//	invalid           refuse combinations of a grid that are no configuration, or skip them: refuse
//
// Parse reads the text alone; Resolve adds what depends on the configuration, and is needed before the sweep is
// led. The tags describe the keys that are one value or a list, as key says; those of Spec and top are the others.
type File struct {
	Spec    sweep.Spec     // complete after Resolve
	Preset  string         `yaml:"preset"`             // of the base; empty: the one that the files name
	Configs []string       `yaml:"config" also:"base"` // paths of files of the base
	Fixed   sweep.Settings // keys with one value, on top of the base
	// Parallel is the most legs at the same time; 0: as many as there are workers.
	Parallel int      `yaml:"parallel" want:"[1,1000000000]" also:"workers n_jobs max_concurrent"`
	Keep     Keep     `yaml:"keep" values:"complete best all"`
	Notes    []string // what was understood otherwise than it is written

	unnamed  bool // no metric is named
	halving  halving
	origins  map[string]config.Origin // of paths such as parameters.optim.rate
	problems []config.Problem
}

// Keep says whose checkpoints stay on the disk.
type Keep string

// What can be kept. Configuration and metrics of every run stay.
const (
	KeepComplete Keep = "complete" // of the trials that were not pruned
	KeepBest     Keep = "best"     // of the best trials alone, when the sweep is done
	KeepAll      Keep = "all"
)

// halving is how the rungs are described. It becomes Spec.Stop.Rungs when the length of the training is known:
// see fillRungs. Names of Ray mean the same as those of W&B.
type halving struct {
	// Least and Most are the updates at the first rung and at the last; 0: not said.
	Least uint64 `yaml:"min_iter" same:"grace_period" also:"min_steps min_resource" want:"[1,1000000000]"`
	Most  uint64 `yaml:"max_iter" same:"max_t" also:"max_resource" want:"[1,1000000000]"`
	// Brackets are the rungs before the last one; 0: not said.
	Brackets int          `yaml:"s" want:"[1,1000000000]"`
	Strict   *config.Pair `yaml:"strict" unused:"halving keeps exactly one of eta"`
}

// top are the keys of a file that have sections, and those of W&B that mean nothing here. A sweep has its name from
// the command line; the key only has to have one value.
type top struct {
	Parameters     *config.Pair `yaml:"parameters" also:"space search_space params sweep hyperparameters"`
	Configurations *config.Pair `yaml:"configurations"`
	Metric         *config.Pair `yaml:"metric" also:"objective direction goal mode"`
	Metrics        *config.Pair `yaml:"metrics" also:"objectives"`
	Stop           *config.Pair `yaml:"early_terminate" also:"pruner scheduler early_stopping pruning"`
	Confirm        *config.Pair `yaml:"confirm"`
	Invalid        string       `yaml:"invalid" values:"skip refuse"`
	Name           string       `yaml:"name"`

	Description *config.Pair `yaml:"description" unused:""` // it is kept in spec.yaml
	Schema      *config.Pair `yaml:"$schema" unused:""`     // it is for editors
	Program     *config.Pair `yaml:"program" unused:"the program is switchyard"`
	Command     *config.Pair `yaml:"command" unused:"the program is switchyard"`
	Project     *config.Pair `yaml:"project" unused:"sweeps are folders here"`
	Entity      *config.Pair `yaml:"entity" unused:"sweeps are folders here"`
}

// Parse reads a sweep file; name is for messages. Resolve completes it. The error is an *config.Error with all
// faults that the text alone shows, each with its line, or the one by which it is no YAML.
func Parse(name string, data []byte) (*File, error) {
	root, err := config.ReadNodes(name, data)
	if err != nil {
		return nil, err
	}
	f := newFile()
	if root.Kind != config.NodeMapping {
		root.Origin.Line, root.Origin.Col = max(root.Origin.Line, 1), max(root.Origin.Col, 1)
		f.fault(root.Origin, "", "this is no sweep: it has no keys", "e.g. a line `method: tpe`, and a section `parameters:`")
		return nil, f.err()
	}
	sections := f.top(root)
	// What is wrong with several keys comes after what is wrong with one of them.
	slices.SortStableFunc(f.problems, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.Origin.Line, b.Origin.Line), cmp.Compare(a.Origin.Col, b.Origin.Col))
	})
	f.whole(root, sections)
	return f, f.err()
}

// newFile is a file with the defaults.
func newFile() *File {
	return &File{
		Spec: sweep.Spec{
			Method: sweep.TPE, Seed: 1,
			Replicates: sweep.Replicates{Key: "seed", Aggregate: sweep.Mean},
			Stop:       sweep.Stop{Type: sweep.Halving, Eta: 3, Grace: 5},
		},
		Keep: KeepComplete, origins: map[string]config.Origin{},
	}
}

// err is an *config.Error with all problems; nil if there are none.
func (f *File) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	return &config.Error{Problems: f.problems}
}

// fault adds a problem; the file is read on, so that all are found at once. The hint may be empty.
func (f *File) fault(at config.Origin, key, message, hint string) {
	f.problems = append(f.problems, config.Problem{Origin: at, Key: key, Message: message, Hint: hint})
}

// note adds a sentence about what was understood otherwise than it is written.
func (f *File) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// top reads the keys of the file, and their sections.
func (f *File) top(root config.Node) top {
	if p := root.Pair("config"); p != nil {
		p.Value = listed(p.Value)
	}
	f.bayes(root.Pair("method"))
	var t top
	f.section(config.Pair{At: root.Origin, Value: root}, "", "", f, &f.Spec, &t)
	f.Spec.SkipInvalid = t.Invalid == "skip"
	for _, p := range root.Pairs { // metrics have the order of the file
		switch p.Key {
		case "metric":
			f.metric(p, p.Key)
		case "metrics":
			f.metrics(p)
		case "parameters":
			f.parameters(p, "")
		case "configurations":
			f.configurations(p)
		case "early_terminate":
			f.stop(p)
		case "confirm":
			f.confirm(p)
		}
	}
	return t
}

// whole checks what holds between the keys of the file.
func (f *File) whole(root config.Node, t top) {
	// Configurations and parameters are two ways to say what is tried. The parameters of a list are its keys.
	listed := t.Configurations != nil
	if listed {
		if len(f.Spec.Parameters) > 0 {
			f.fault(t.Configurations.At, "configurations", "with configurations, parameters have one value each, and "+
				f.Spec.Parameters[0].Key+" has several", "write it into the configurations")
		}
		f.Spec.Parameters = keysOf(f.Spec.List)
	}
	if listed != (f.Spec.Method == sweep.List) {
		f.fault(root.Origin, "configurations", "they are tried by method: list alone, and by it nothing else is",
			"e.g. method: list, and configurations: [{model.kind: arhmm}, {model.kind: lstm}]")
	}
	if t.Parameters == nil && !listed {
		f.fault(root.Origin, "parameters", "missing: nothing to search", "e.g. parameters: {optim.rate: {min: 1e-4, max: "+
			"1e-2, distribution: log_uniform_values}}")
	}
	// What a sweep cannot do without.
	if root.Pair("preset") == nil && root.Pair("config") == nil {
		f.fault(root.Origin, "preset", "missing: the configuration that is searched around",
			"e.g. preset: fhn/smoke, or config: my.yaml")
	}
	if t.Metric == nil && t.Metrics == nil {
		f.Spec.Metrics = []sweep.Metric{{Name: "validation_elbo", Goal: sweep.Maximize}}
		f.unnamed = true
		f.note("no metric is named: validation_elbo is maximised")
	}
}
