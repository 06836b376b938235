package config_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
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

// switches are the switches of slds beside that of its default.
var switches = []string{"normal", "deterministic", "categorical"}

// citizen is a family, or one of the switches of slds, with the settings that choose it.
type citizen struct{ name, family, settings string }

// citizens are all.
func citizens(t *testing.T) []citizen {
	var list []citizen
	for _, family := range families(t) {
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
var smokes = []string{"fhn/smoke", "maze/smoke", "maze/bodies/smoke", "reacher/smoke", "ball/smoke", "hopper/smoke", "noise/smoke", "modes/smoke", "bounce/smoke", "sticky/smoke", "nascar/smoke", "lorenz/smoke"}

// TestFamilies_WorkWithEveryPreset: a preset holds keys of one family; every other takes those that it has, and
// computes a finite gradient with finite terms.
func TestFamilies_WorkWithEveryPreset(t *testing.T) {
	for _, c := range citizens(t) {
		for _, preset := range smokes {
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

// goldenRuns are the parameters after ten updates of the maze's smallest preset.
var goldenRuns = map[string]string{
	"slds":               "fe03e7d8109de76a7e00fc0e044939f0d183a8195310243241fc3e59c3ec4c84",
	"fusion":             "2692e5bb7066c80ca5289c091c76a93621511cc969ccd38382d73b5868f53cb3",
	"dvbf":               "5e0db6883e3713276168bee1c4e0c80e5e417c24e950052e77504828b22528da",
	"kvae":               "7c27cc68497c69bac664b7ffd0818bd60d2be0503a0d96f4370555b104e35577",
	"lstm":               "c26beb1cf297318fc1e851cc8e41939133255eea0d11d066cfce41525ecb2794",
	"static":             "3b0605517063feccd0b194dd7782738674f73071459a2b3477f92a8d742f9f51",
	"slds normal":        "ddd1589abe1279cc077b91fa0b4648ae9142d9147ac22e98d5b38e3e271909c9",
	"slds deterministic": "cf6d3910bb6b7a5a9841ce965754188ce3d0ad7a267dc523b2ac903684209d74",
	"slds durations":     "46d61a1cfaefcac344cb70e4be17f76ee682f5ae6ac0d0e7556c9939eecf030b",
	"slds categorical":   "6260b3d6b7705168ddbb5f37a5e24f54fc03273dfc62013356ca63bd50839a03",
	"linear":             "f15a00cb739b52532a186523a3d4b8d76004b82728c6926e3dff3589183a617a",
}

// TestFamilies_SameBitsForAnyWorkers, and those of the golden run.
func TestFamilies_SameBitsForAnyWorkers(t *testing.T) {
	byChains := fitters(t)
	for _, variant := range citizens(t) {
		if slices.Contains(byChains, variant.family) {
			continue
		}
		c := variant.resolve(t, "maze/smoke", "train.steps=10")
		if shards(t, c, 1) == nil {
			continue
		}
		for _, workers := range []int{1, 3} {
			if got := train(t, c, workers); got != goldenRuns[variant.name] {
				t.Errorf("%s: %d workers end with %q, want %q", variant.name, workers, got, goldenRuns[variant.name])
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
