package config_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store/checkpoint"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// families are the values of model.kind.
func families(t *testing.T) []string {
	keys := config.Builtin().Kinds().Keys()
	i := slices.IndexFunc(keys, func(k config.Key) bool { return k.Path == "model.kind" })
	if i < 0 {
		t.Fatal("there is no key model.kind")
	}
	return keys[i].Values
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
	m, err := config.NewModel(c, model.Data{NX: 2})
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
var smokes = []string{"fhn/smoke", "maze/smoke", "reacher/smoke", "ball/smoke", "hopper/smoke", "noise/smoke", "modes/smoke", "bounce/smoke"}

// TestFamilies_WorkWithEveryPreset: a preset holds keys of one family; every other takes those that it has, and
// computes a finite gradient with finite terms.
func TestFamilies_WorkWithEveryPreset(t *testing.T) {
	for _, family := range families(t) {
		for _, preset := range smokes {
			if refuses(t, family, preset) {
				continue
			}
			p := shards(t, resolveKinds(t, preset, "model.kind="+family), 1)
			if p == nil {
				continue
			}
			if err := p.Load(0, p.Model().Params().Values); err != nil {
				t.Fatal(err)
			}
			gradient, terms := make([]float32, p.Size()), make([]float32, len(p.TermNames()))
			if err := p.Gradient(0, 0, 0, gradient, terms); err != nil {
				t.Errorf("%s, %s: %v", family, preset, err)
			}
			if bad := func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }; slices.ContainsFunc(terms, bad) || slices.ContainsFunc(gradient, bad) {
				t.Errorf("%s, %s: terms %v", family, preset, terms)
			}
		}
	}
}

// TestFamilies_SayWhatTheirBoundIs: a family whose terms sum to a bound says what that is, and no other says so. With every
// weight 1 in loss and bound the objective at the end of all schedules is the bound.
func TestFamilies_SayWhatTheirBoundIs(t *testing.T) {
	for _, family := range families(t) {
		c := resolveKinds(t, "maze/smoke", "model.kind="+family)
		plan, err := job.NewPlan(c, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, known := model.ELBO(plan.Terms, make([]float32, len(plan.Terms))); known != (config.Describe(c).Bound != "") {
			t.Errorf("%s: its terms have a bound: %v, it says %q", family, known, config.Describe(c).Bound)
		}
	}
	for family, arguments := range map[string]string{"slds": "anneal.kl_switch=1", "fusion": "seed=1", "dvbf": "anneal.updates=7", "lstm": "seed=1", "static": "seed=1", "linear": "seed=1"} {
		p := shards(t, resolveKinds(t, "maze/smoke", "model.kind="+family, arguments), 1)
		terms := make([]float32, len(p.TermNames()))
		if err := p.Validate(0, 0, 0, terms); err != nil {
			t.Fatal(err)
		}
		if bound, _ := model.ELBO(p.Model().Terms(), terms); math.Abs(bound+float64(terms[0])) > 1e-4*math.Abs(bound) {
			t.Errorf("%s: objective %v, bound %v", family, -terms[0], bound)
		}
	}
}

// goldenRuns are the parameters after ten updates of the maze's smallest preset.
var goldenRuns = map[string]string{
	"slds":   "fe03e7d8109de76a7e00fc0e044939f0d183a8195310243241fc3e59c3ec4c84",
	"fusion": "2692e5bb7066c80ca5289c091c76a93621511cc969ccd38382d73b5868f53cb3",
	"dvbf":   "5e0db6883e3713276168bee1c4e0c80e5e417c24e950052e77504828b22528da",
	"kvae":   "7c27cc68497c69bac664b7ffd0818bd60d2be0503a0d96f4370555b104e35577",
	"lstm":   "c26beb1cf297318fc1e851cc8e41939133255eea0d11d066cfce41525ecb2794",
	"static": "3b0605517063feccd0b194dd7782738674f73071459a2b3477f92a8d742f9f51",
	"linear": "f15a00cb739b52532a186523a3d4b8d76004b82728c6926e3dff3589183a617a",
}

// TestFamilies_SameBitsForAnyWorkers, and those of the golden run.
func TestFamilies_SameBitsForAnyWorkers(t *testing.T) {
	byChains := fitters(t)
	for _, family := range families(t) {
		if slices.Contains(byChains, family) {
			continue
		}
		c := resolveKinds(t, "maze/smoke", "model.kind="+family, "train.steps=10")
		if shards(t, c, 1) == nil {
			continue
		}
		for _, workers := range []int{1, 3} {
			if got := train(t, c, workers); got != goldenRuns[family] {
				t.Errorf("%s: %d workers end with %q, want %q", family, workers, got, goldenRuns[family])
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
