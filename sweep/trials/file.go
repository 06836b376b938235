package trials

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
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
// led.
type File struct {
	Spec     sweep.Spec     // complete after Resolve
	Preset   string         // of the base; empty: the one that the files name
	Configs  []string       // paths of files of the base
	Fixed    sweep.Settings // keys with one value, on top of the base
	Parallel int            // the most legs at the same time; 0: as many as there are workers
	Keep     Keep
	Notes    []string // what was understood otherwise than it is written

	halving  halving
	hasStop  bool
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
// see fillRungs.
type halving struct {
	least, most uint64 // updates at the first rung and at the last; 0: not said
	brackets    int    // rungs before the last one; 0: not said
}

// synonyms are names that users of other programs try. A key is offered in place of one that is not known where
// it is a key, too.
var synonyms = map[string]string{
	"n_trials": "run_cap", "trials": "run_cap", "num_samples": "run_cap", "max_trials": "run_cap", "budget": "run_cap",
	"count":   "run_cap",
	"sampler": "method", "algorithm": "method", "search_alg": "method", "strategy": "method",
	"objective": "metric", "direction": "metric", "goal": "metric", "mode": "metric", "objectives": "metrics",
	"space": "parameters", "search_space": "parameters", "params": "parameters", "sweep": "parameters",
	"hyperparameters": "parameters",
	"pruner":          "early_terminate", "scheduler": "early_terminate", "early_stopping": "early_terminate",
	"pruning": "early_terminate",
	"base":    "config", "workers": "parallel", "n_jobs": "parallel", "max_concurrent": "parallel",
	"low": "min", "high": "max", "lower": "min", "upper": "max", "choices": "values", "options": "values", "step": "q",
	"mean": "mu", "std": "sigma",
	"dist": "distribution", "type": "distribution", "if": "when", "condition": "when", "conditions": "when",
	"weights":   "probabilities",
	"min_steps": "min_iter", "min_resource": "min_iter", "max_resource": "max_iter", "factor": "eta",
}

// ignored are keys of W&B that mean nothing here, with the reason.
var ignored = map[string]string{
	"program": "the program is switchyard", "command": "the program is switchyard", "project": "sweeps are folders here",
	"entity": "sweeps are folders here", "description": "it is kept in spec.yaml", "$schema": "it is for editors",
}

// topKeys are the keys of a file, with those that are ignored.
var topKeys = []string{
	"name", "preset", "config", "method", "seed", "metric", "metrics", "parameters", "configurations", "early_terminate",
	"run_cap",
	"confirm", "parallel", "keep",
	"invalid", "description", "program", "command", "project", "entity", "$schema",
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
	f.top(root)
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

// unknown reports a key that is not one of known.
func (f *File) unknown(p config.Pair, path string, known []string) {
	hint := "it has the keys " + strings.Join(known, ", ")
	if near := setting.Nearest(p.Key, known); near != "" {
		hint = "did you mean " + near + "?"
	} else if other, ok := synonyms[p.Key]; ok && slices.Contains(known, other) {
		hint = "did you mean " + other + "?"
	}
	f.fault(p.At, join(path, p.Key), "unknown key", hint)
}

// join is a dotted path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// top reads the keys of the file, and then checks what holds between them.
func (f *File) top(root config.Node) {
	for _, p := range root.Pairs {
		f.origins[p.Key] = p.At
		if !slices.Contains(topKeys, p.Key) {
			f.unknown(p, "", topKeys)
			continue
		}
		if why, ok := ignored[p.Key]; ok {
			if p.Key != "description" && p.Key != "$schema" {
				f.note("%s is not used: %s", p.Key, why)
			}
			continue
		}
		f.topKey(p)
	}
	// Configurations and parameters are two ways to say what is tried. The parameters of a list are its keys.
	at, listed := f.origins["configurations"]
	if listed {
		if len(f.Spec.Parameters) > 0 {
			f.fault(at, "configurations", "with configurations, parameters have one value each, and "+f.Spec.Parameters[0].Key+
				" has several", "write it into the configurations")
		}
		f.Spec.Parameters = keysOf(f.Spec.List)
	}
	if listed != (f.Spec.Method == sweep.List) {
		f.fault(root.Origin, "configurations", "they are tried by method: list alone, and by it nothing else is",
			"e.g. method: list, and configurations: [{model.kind: arhmm}, {model.kind: lstm}]")
	}
	if _, ok := f.origins["parameters"]; !ok && !listed {
		f.fault(root.Origin, "parameters", "missing: nothing to search", "e.g. parameters: {optim.rate: {min: 1e-4, max: "+
			"1e-2, distribution: log_uniform_values}}")
	}
	// What a sweep cannot do without.
	_, preset := f.origins["preset"]
	if _, file := f.origins["config"]; !preset && !file {
		f.fault(root.Origin, "preset", "missing: the configuration that is searched around",
			"e.g. preset: fhn/smoke, or config: my.yaml")
	}
	if len(f.Spec.Metrics) == 0 && f.origins["metric"] == (config.Origin{}) && f.origins["metrics"] == (config.Origin{}) {
		f.Spec.Metrics = []sweep.Metric{{Name: "validation_elbo", Goal: sweep.Maximize}}
		f.note("no metric is named: validation_elbo is maximised")
	}
}

// topKey reads one key that is known and not ignored. A sweep has its name from the command line; the key only
// has to have one value.
func (f *File) topKey(p config.Pair) {
	switch p.Key {
	case "name":
		f.word(p, "")
	case "preset":
		f.Preset = f.word(p, "")
	case "config":
		if p.Value.Kind == config.NodeList {
			for _, item := range p.Value.Items {
				f.Configs = append(f.Configs, item.Text)
			}
			return
		}
		if path := f.word(p, ""); path != "" {
			f.Configs = []string{path}
		}
	case "method":
		f.method(p)
	case "seed":
		f.Spec.Seed = f.count(p, "", 0)
	case "run_cap":
		f.Spec.Trials = int(f.count(p, "", 1))
	case "parallel":
		f.Parallel = int(f.count(p, "", 1))
	case "metric":
		f.metric(p.Value, p.At, "metric")
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
	case "keep":
		keeps := []string{string(KeepComplete), string(KeepBest), string(KeepAll)}
		f.Keep = Keep(f.oneOf(p, "", keeps))
	case "invalid":
		f.Spec.SkipInvalid = f.oneOf(p, "", []string{"skip", "refuse"}) == "skip"
	}
}

// word is the value of a key that has one; otherwise it reports a fault and returns an empty text.
func (f *File) word(p config.Pair, path string) string {
	if p.Value.Kind != config.NodeValue {
		f.fault(p.At, join(path, p.Key), "expected one value, found "+describe(p.Value), "")
		return ""
	}
	return p.Value.Text
}

// describe is what a node is, for a message.
func describe(n config.Node) string {
	return [...]string{"nothing", "a value", "a list", "keys with values"}[n.Kind]
}

// oneOf is a value out of known. For another one it reports a fault and returns the first, so that reading can go
// on.
func (f *File) oneOf(p config.Pair, path string, known []string) string {
	text := f.word(p, path)
	if text == "" || slices.Contains(known, text) {
		return text
	}
	hint := "must be " + strings.Join(known, ", ")
	if near := setting.Nearest(text, known); near != "" {
		hint = "did you mean " + near + "? (" + hint + ")"
	}
	f.fault(p.Value.Origin, join(path, p.Key), fmt.Sprintf("%q is not possible", text), hint)
	return known[0]
}

// count is a whole number of at least least, up to 10¹⁵. 1e4 and 10_000 are whole numbers. For anything else it
// reports a fault and returns least.
func (f *File) count(p config.Pair, path string, least uint64) uint64 {
	text := f.word(p, path)
	if text == "" {
		return least
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || v != float64(uint64(max(v, 0))) || v < float64(least) || v > 1e15 {
		f.fault(p.Value.Origin, join(path, p.Key), fmt.Sprintf("%q is no whole number of at least %d", text, least), "")
		return least
	}
	return uint64(v)
}

// number is a value that is a number; underscores between digits are allowed. For another one it reports a fault
// and returns 0.
func (f *File) number(p config.Pair, path string) float64 {
	text := f.word(p, path)
	if text == "" {
		return 0
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil {
		f.fault(p.Value.Origin, join(path, p.Key), fmt.Sprintf("%q is no number", text), "")
	}
	return v
}
