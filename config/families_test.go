package config_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// switches are the switches of slds beside that of its default.
var switches = []string{"normal", "deterministic", "categorical"}

// citizen is a family, or one of the switches of slds, with the settings that choose it.
type citizen struct{ name, family, settings string }

// citizens are all.
func citizens(t *testing.T) []citizen {
	var list []citizen
	for _, family := range config.Builtin().Kinds().Families() {
		list = append(list, citizen{family, family, "model.kind=" + family})
	}
	for _, s := range switches {
		list = append(list, citizen{"slds " + s, "slds", "model.kind=slds model.switching=" + s})
	}
	list = append(list, citizen{"slds durations", "slds", "model.kind=slds model.switching=categorical model.durations=3"})
	return list
}

func (c citizen) resolve(t *testing.T, preset string, arguments ...string) config.Config {
	t.Helper()
	return resolveKinds(t, preset, append(strings.Fields(c.settings), arguments...)...)
}

func resolveKinds(t *testing.T, preset string, arguments ...string) config.Config {
	t.Helper()
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: preset, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return r.Config
}

// shards is the program of a configuration, or nil if its model is not trained by gradient.
func shards(t *testing.T, c config.Config, slots int) *worker.Shards {
	t.Helper()
	if job.Sweeping(c) {
		return nil // chains_test.go has them
	}
	m, err := config.NewModel(c, model.Data{NX: 6})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.(model.Trainable); !ok {
		return nil
	}
	p, err := job.NewShards(c, nil, slots)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// smokes are the smallest presets of every environment that is simulated.
func smokes() []string {
	var list []string
	for _, p := range config.Presets() {
		if strings.HasSuffix(p.Name, "/smoke") {
			list = append(list, p.Name)
		}
	}
	return list
}

// TestFamilies_WorkWithEveryPreset: a preset holds keys of one family; every other takes those that it has, and
// computes a finite gradient with finite terms.
func TestFamilies_WorkWithEveryPreset(t *testing.T) {
	for _, c := range citizens(t) {
		for _, preset := range smokes() {
			if refuses(t, c.family, preset) {
				continue
			}
			p := shards(t, c.resolve(t, preset), 1)
			if p == nil {
				continue
			}
			if err := p.Load(0, p.Model().Params().Values); err != nil {
				t.Fatal(err)
			}
			gradient, terms := make([]float32, p.Size()), make([]float32, len(p.TermNames()))
			if err := p.Gradient(0, 0, 0, gradient, terms); err != nil {
				t.Errorf("%s, %s: %v", c.name, preset, err)
			}
			if bad := func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }; slices.ContainsFunc(terms, bad) || slices.ContainsFunc(gradient, bad) {
				t.Errorf("%s, %s: terms %v", c.name, preset, terms)
			}
		}
	}
}

// TestFamilies_SayWhatTheirBoundIs: a family whose terms sum to a bound says what that is, and no other says so. With every
// weight 1 in loss and bound the objective at the end of all schedules is the bound.
func TestFamilies_SayWhatTheirBoundIs(t *testing.T) {
	for _, variant := range citizens(t) {
		c := variant.resolve(t, "maze/smoke")
		plan, err := job.NewPlan(c, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, known := model.ELBO(plan.Terms, make([]float32, len(plan.Terms))); known != (config.Describe(c).Bound != "") {
			t.Errorf("%s: its terms have a bound: %v, it says %q", variant.name, known, config.Describe(c).Bound)
		}
	}
	more := map[string]string{"slds": "anneal.kl_switch=1", "slds normal": "anneal.kl_switch=1", "dvbf": "anneal.updates=7"}
	for _, c := range citizens(t) {
		p := shards(t, c.resolve(t, "maze/smoke", strings.Fields(more[c.name])...), 1)
		if p == nil || c.family == "kvae" { // its bound has a term that the objective does not weigh
			continue
		}
		terms := make([]float32, len(p.TermNames()))
		if err := p.Validate(0, 0, 0, terms); err != nil {
			t.Fatal(err)
		}
		if bound, _ := model.ELBO(p.Model().Terms(), terms); math.Abs(bound+float64(terms[0])) > 1e-4*math.Abs(bound) {
			t.Errorf("%s: objective %v, bound %v", c.name, -terms[0], bound)
		}
	}
}

// goldenRuns are the parameters after ten updates of the maze's smallest preset, NAME|HASH in each line of a file. With
// -update the runs that it has not are added; a line is changed by hand, with a decision.
func goldenRuns(t *testing.T) map[string]string {
	t.Helper()
	runs := map[string]string{}
	for line := range strings.Lines(string(readFile(t, goldenFile))) {
		name, hash, _ := strings.Cut(strings.TrimSpace(line), "|")
		runs[name] = hash
	}
	return runs
}

const goldenFile = "testdata/families.txt"

// addLine adds a line to a file of testdata.
func addLine(t *testing.T, file, line string) {
	t.Helper()
	if err := os.WriteFile(file, append(readFile(t, file), line+"\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFamilies_SameBitsForAnyWorkers, and those of the golden run.
func TestFamilies_SameBitsForAnyWorkers(t *testing.T) {
	byChains, golden := fitters(t), goldenRuns(t)
	for _, variant := range citizens(t) {
		if slices.Contains(byChains, variant.family) {
			continue
		}
		c := variant.resolve(t, "maze/smoke", "train.steps=10")
		if shards(t, c, 1) == nil {
			continue
		}
		if _, known := golden[variant.name]; !known && *update {
			golden[variant.name] = train(t, c, 1)
			addLine(t, goldenFile, variant.name+"|"+golden[variant.name])
		}
		for _, workers := range []int{1, 3} {
			if got := train(t, c, workers); got != golden[variant.name] {
				t.Errorf("%s: %d workers end with %q, want %q: -update adds a new one", variant.name, workers, got, golden[variant.name])
			}
		}
	}
}

// train trains with so many workers and returns the hash of the parameters.
func train(t *testing.T, c config.Config, workers int) string {
	t.Helper()
	bus, first := wire.NewMemory(nil), shards(t, c, 1)
	lead, err := coordinator.New(coordinator.Config{
		Run: "run", Seed: c.Seed, Steps: c.Train.Steps, Shards: c.Train.Shards,
		Optimizer: coordinator.Optimizer{
			Rate: c.Optim.Rate, Decay: c.Optim.Decay, DecayEvery: c.Optim.DecayEvery, Clip: c.Optim.Clip,
			Beta1: c.Optim.Beta1, Beta2: c.Optim.Beta2, Epsilon: c.Optim.Epsilon,
		},
		FailureDetection: 5 * time.Second, Chunk: c.Cluster.Chunk, Credit: c.Cluster.Credit, TermNames: first.TermNames(), Dir: t.TempDir(),
	}, first.Model().Params().Values, bus, nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for i := range workers {
		program := shards(t, c, 1)
		build := func([]byte, []byte, int) (worker.Program, error) { return program, nil }
		defer startWorker(t, bus, worker.Config{ID: fmt.Sprintf("w%d", i), Build: build})()
	}
	if err := lead.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, _ := lead.Parameters()
	return checkpoint.Hash(theta)
}

// startWorker starts a worker of the run "run"; stop ends it.
func startWorker(t *testing.T, bus wire.Bus, cfg worker.Config) (stop func()) {
	t.Helper()
	cfg.Run = "run"
	w, err := worker.New(cfg, bus, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
