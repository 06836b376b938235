package trials

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/sweep"
)

var update = flag.Bool("update", false, "rewrite testdata/malformed.txt")

// presets matches the list of presets, which grows.
var presets = regexp.MustCompile(`there are ball, .*\)`)

// readSpec parses and resolves a file that is called sweep.yaml.
func readSpec(text string) (*File, *Base, error) {
	f, err := Parse("sweep.yaml", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	b, err := f.Resolve(Sources{
		Kinds: config.Builtin().Kinds(),
		Read: func(path string) ([]byte, error) {
			if path == "my.yaml" {
				return []byte("preset: fhn/smoke\ntrain:\n  steps: 90\n"), nil
			}
			return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
		},
	})
	return f, b, err
}

// TestMalformed: each file of testdata/malformed.txt has the errors that stand below it. A file begins after a line
// "--- title", its errors after a line "=>".
func TestMalformed(t *testing.T) {
	const path = "testdata/malformed.txt"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cases := strings.Split("\n"+string(data), "\n--- ")[1:]
	if len(cases) < 40 {
		t.Errorf("got %d files, want 40", len(cases))
	}
	seen := map[string]string{}
	for _, c := range cases {
		title, rest, _ := strings.Cut(c, "\n")
		text, want, _ := strings.Cut(rest, "=>")
		_, _, err := readSpec(text)
		got := ""
		var all *config.Error
		switch {
		case err == nil:
			t.Errorf("%s: no error", title)
		case !errors.As(err, &all):
			t.Errorf("%s: an error without a position: %v", title, err)
		default:
			for _, p := range all.Problems {
				line, _, _ := strings.Cut(p.String(), "\n")
				got += presets.ReplaceAllString(line, "there are …)") + "\n"
				if p.Origin.Line == 0 {
					t.Errorf("%s: no line: %s", title, line)
				}
			}
			got = strings.TrimSpace(got)
			if other := seen[got]; other != "" {
				t.Errorf("%s and %s have the same errors", title, other)
			}
			seen[got] = title
		}
		fmt.Fprintf(&out, "--- %s\n%s=>\n%s\n", title, text, got)
		if got != strings.TrimSpace(want) && !*update {
			t.Errorf("%s: got\n%s\nwant\n%s", title, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestParse_SweepOfWandB: a file of W&B, with its nested parameters and names, is understood, and what is different is
// said.
func TestParse_SweepOfWandB(t *testing.T) {
	f, b, err := readSpec(`program: train.py
project: slds
method: bayes
preset: fhn/smoke
metric:
  name: val/elbo
  goal: maximize
parameters:
  optim:
    parameters:
      rate: {distribution: log_uniform_values, min: 1e-4, max: 1e-2}
      clip: {value: 10}
  model.switches: {values: [2, 4, 8]}
  train.batch: {distribution: q_uniform, min: 8, max: 32, q: 8}
  seed: {values: [1, 2], aggregate: median}
early_terminate: {type: hyperband, min_iter: 3, eta: 3}
run_cap: 20
`)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Spec
	if s.Method != sweep.TPE || len(s.Parameters) != 3 || s.Trials != 20 || s.Metrics[0] != (sweep.Metric{Name: "validation_elbo", Goal: sweep.Maximize}) {
		t.Errorf("got %+v", s)
	}
	if s.Stop.Type != sweep.Hyperband || !slices.Equal(s.Stop.Rungs, []uint64{3, 10, 30}) {
		t.Errorf("got %+v", s.Stop)
	}
	if !slices.Equal(s.Replicates.Seeds, []uint64{1, 2}) || s.Replicates.Aggregate != sweep.Median {
		t.Errorf("got %+v", s.Replicates)
	}
	if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, "bayes of W&B is tpe") || !strings.Contains(notes, "val/elbo is called") || !strings.Contains(notes, "program is not used") {
		t.Errorf("got %s", notes)
	}
	if b.Config.Optim.Clip != 10 {
		t.Errorf("clip is %g", b.Config.Optim.Clip)
	}
	c, err := b.Of(sweep.Settings{{Key: "model.switches", Value: "8"}, {Key: "seed", Value: "2"}})
	if err != nil || c.Seed != 2 {
		t.Errorf("got %v, %v", c.Seed, err)
	}
	if got := b.Rungs(s.Stop, c); !slices.Equal(got, []uint64{3, 10, 30}) {
		t.Errorf("rungs are %v", got)
	}
	// A validation of its own would count for train.patience: the trial would end at another update than by itself.
	c.Train.ValidateEvery, c.Train.Patience = 7, 1
	if got := b.Rungs(s.Stop, c); !slices.Equal(got, []uint64{7, 14, 30}) {
		t.Errorf("with train.patience rungs are %v", got)
	}
}

// TestParse_KeysWithoutEffect: what early stopping does not use is said, and only that.
func TestParse_KeysWithoutEffect(t *testing.T) {
	for text, want := range map[string]string{
		"{type: halving, min_iter: 3, eta: 2, cohort: 4}":          "",
		"{type: hyperband, s: 1, eta: 3, max_iter: 30}":            "",
		"{type: median, min_iter: 3, eta: 2, min_trials: 3}":       "",
		"{type: hyperband, min_iter: 3, cohort: 4, min_trials: 7}": "cohort min_trials",
		"{type: asha, rungs: [3, 10], min_iter: 3, eta: 2}":        "min_iter",
		"{type: median, rungs: [3, 10], eta: 2}":                   "eta",
		"{type: halving, s: 1, grace_period: 3}":                   "grace_period",
		"{type: none, rungs: [3], reduction_factor: 2, cohort: 4}": "rungs reduction_factor",
	} {
		f, _, err := readSpec("preset: fhn/smoke\nmetric: validation_elbo\nrun_cap: 20\nparameters: {optim.rate: {min: 1e-3, max: 1e-2}}\nearly_terminate: " + text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []string
		for _, note := range f.Notes {
			key, _, _ := strings.Cut(strings.TrimPrefix(note, "early_terminate."), " is not used")
			got = append(got, key)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: notes %q, want of %q", text, f.Notes, want)
		}
	}
}

// TestParse_StoppingOfRay: the names of Ray mean those of W&B.
func TestParse_StoppingOfRay(t *testing.T) {
	f, _, err := readSpec("preset: fhn/smoke\nrun_cap: 20\nparameters: {optim.rate: {min: 1e-3, max: 1e-2}}\n" +
		"early_terminate: {type: asha, grace_period: 7, reduction_factor: 2, max_t: 30}\n")
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Spec.Stop; s.Type != sweep.ASHA || s.Eta != 2 || !slices.Equal(s.Rungs, []uint64{7, 15, 30}) {
		t.Errorf("got %+v", s)
	}
}

// TestResolve_Defaults: a grid runs each combination to the end; other methods halve in cohorts that leave one trial.
func TestResolve_Defaults(t *testing.T) {
	f, _, err := readSpec("preset: fhn/smoke\nmethod: grid\nparameters:\n  optim.rate: [1e-3, 1e-2]\n  model.hidden: [8, 16, 32]\n")
	if err != nil {
		t.Fatal(err)
	}
	if f.Spec.Trials != 6 || f.Spec.Stop.Type != sweep.NoStop || !slices.Equal(f.Spec.Stop.Rungs, []uint64{30}) {
		t.Errorf("got %+v", f.Spec)
	}
	f, _, err = readSpec("config: my.yaml\nrun_cap: 40\nparameters:\n  optim.rate: {min: 1e-3, max: 1e-2}\n")
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Spec.Stop; s.Type != sweep.Halving || s.Cohort != 9 || !slices.Equal(s.Rungs, []uint64{10, 30, 90}) {
		t.Errorf("got %+v", s)
	}
	f, _, err = readSpec("preset: fhn/smoke\nrun_cap: 4\nearly_terminate: {rungs: [5, 10]}\n" +
		"parameters:\n  optim.rate: {min: 1e-3, max: 1e-2}\n")
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Spec.Stop; !slices.Equal(s.Rungs, []uint64{5, 10, 30}) { // the last one is the end of the training
		t.Errorf("got %+v", s)
	}
}

// TestResolve_DependentKeys: values that are valid only together with values of other parameters are accepted.
func TestResolve_DependentKeys(t *testing.T) {
	_, b, err := readSpec("preset: fhn/smoke\nrun_cap: 40\nparameters:\n  train.batch: [2, 32]\n  train.shards: [2, 32]\n" +
		"  train.validation_episodes: 32\n  model.kind: [slds, lstm]\n  model.switches: {values: [2, 8], when: {model.kind: slds}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Of(sweep.Settings{{Key: "train.batch", Value: "2"}, {Key: "train.shards", Value: "32"}}); err == nil {
		t.Error("two sequences in 32 shards are valid")
	}
}

// TestResolve_ConditionsOnNumbers: a condition holds for a number however that is written, and one that never holds is
// an error.
func TestResolve_ConditionsOnNumbers(t *testing.T) {
	const head = "preset: fhn/smoke\nmethod: grid\nparameters:\n  optim.rate: [1e-3, 1e-2]\n" +
		"  optim.decay: {values: [0.5, 0.9], when: "
	for text, want := range map[string]int{ // configurations; 0: an error
		"{optim.rate: 0.001}}":                     3,
		"{optim.rate: [1e-3, 0.010]}}":             4,
		"{optim.rate: 0.002}}":                     0,
		"{optim.rate: []}}":                        0,
		"{seed: 1.0e0, optim.rate: [.001, 1e-2]}}": 4,
	} {
		f, _, err := readSpec(head + text + "\n")
		switch {
		case want == 0 && err == nil:
			t.Errorf("%s is accepted", text)
		case want > 0 && (err != nil || len(f.Spec.Combinations(10)) != want):
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestResolve_MetricsOfProtocols: a metric is accepted that some configuration of the sweep has.
func TestResolve_MetricsOfProtocols(t *testing.T) {
	const head = "preset: maze/smoke\nmethod: grid\nmetric: {name: eval/"
	for text, ok := range map[string]bool{
		"table1/ratio_to_static/10}\nparameters: {env.episodes: [20, 30]}":                                    true,
		"table1/ratio_to_static/9}\nparameters: {env.episodes: [20, 30]}":                                     false,
		"velocity/r2_z/mean}\nparameters: {env.episodes: [20, 30]}":                                           true,
		"velocity/r2_z/mean}\nparameters: {model.kind: [lstm, static]}":                                       false, // of the base alone
		"velocity/r2_z/mean}\nparameters: {model.kind: {value: lstm}, env.episodes: [20, 30]}":                false,
		"ahead/r2/3}\nparameters: {eval.horizon: [2, 3]}":                                                     true,
		"ahead/r2/99}\nparameters: {eval.horizon: [2, 99]}":                                                   true,
		"ahead/r2/99}\nparameters: {eval.horizon: [2, 98]}":                                                   false,
		"ahead/step}\nparameters: {env.episodes: [20, 30]}":                                                   true,
		"ahead}\nparameters: {env.episodes: [20, 30]}":                                                        false,
		"ahead/r2_final}\nparameters: {model.kind: {value: rslds}, env.episodes: [20, 30]}":                   true,
		"ahead/rhat_density}\nparameters: {model.kind: {value: rslds}, env.episodes: [20, 30]}":               true,
		"ahead/rhat_densities}\nparameters: {model.kind: {value: rslds}, env.episodes: [20, 30]}":             false,
		"switches/perplexity}\nparameters: {model.kind: {value: rslds}, env.episodes: [20, 30]}":              true, // not known yet
		"switches/correlation_ratio_vertical}\nparameters: {env.kind: {value: maze}, env.episodes: [20, 30]}": true,
	} {
		if _, _, err := readSpec(head + text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestResolve_MetricsOfTheTrials: a metric is known if a configuration of the sweep has it, whatever the base has.
func TestResolve_MetricsOfTheTrials(t *testing.T) {
	const fitted = "{model.kind: arhmm, model.switches: 2, model.chains: 1, model.sweeps: 2, model.exchange: 2}"
	const list = "method: list\nconfigurations: ["
	const kinds = "run_cap: 3\nmethod: random\nparameters: {model.kind: {values: [arhmm, lstm], probabilities: [0.999, 0.001]}}\n"
	choice := "method: grid\nparameters: {model.kind: [arhmm, lstm], eval.samples: [1" // the first 40 have one kind
	for n := 2; n <= 40; n++ {
		choice += fmt.Sprint(", ", n)
	}
	choice += "]}\n"
	for _, c := range []struct{ text, metric, want string }{
		{"preset: modes/smoke\n" + list + fitted + "]", "validation_elbo", "validation_elbo: no configuration of the sweep has it"},
		{"preset: modes/smoke\n" + list + fitted + "]", "", "model.kind=arhmm has no validation_elbo"},
		{"preset: modes/smoke\n" + list + fitted + "]", "validation/reconstruction", "no configuration of the sweep has it"},
		{"preset: modes/smoke\n" + list + fitted + "]", "updates", ""},
		{"preset: modes/smoke\n" + list + fitted + ", {train.steps: 5}]", "validation_elbo", ""},
		{"preset: noise/smoke\nparameters: {model.kind: arhmm}\n" + list + "{model.kind: lstm}]", "validation_elbo", ""},
		{"preset: noise/smoke\nparameters: {model.kind: arhmm}\n" + list + "{model.kind: lstm}]", "", ""},
		{"preset: noise/smoke\n" + kinds, "validation_objective", ""},
		{"preset: noise/smoke\n" + choice, "validation_objective", ""},
	} {
		text := c.text + "\n"
		if c.metric != "" {
			text += "metric: {name: " + c.metric + ", goal: maximize}\n"
		}
		_, _, err := readSpec(text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
	}
}
