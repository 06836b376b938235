package config_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// refuses reports whether a family does not take the data of a preset as it is by default: as many latent dimensions as
// an image has pixels are no model. The refusal says what to set.
func refuses(t *testing.T, family, preset string) bool {
	t.Helper()
	if preset != "ball/smoke" || family != "rslds" && family != "trslds" {
		return false
	}
	_, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: preset, Arguments: []string{"model.kind=" + family}})
	if err == nil || !strings.Contains(err.Error(), "set model.observation=linear") {
		t.Errorf("%s, %s: got %v", family, preset, err)
	}
	return true
}

// fitters are the families whose models fit themselves.
func fitters(t *testing.T) []string {
	return slices.DeleteFunc(config.Builtin().Kinds().Families(), func(family string) bool { return !job.Sweeping(resolveKinds(t, "fhn/smoke", "model.kind="+family)) })
}

// tiny is a run of three chains in two rounds.
var tiny = []string{"env.episodes=6", "env.length=20", "model.leaves=3", "model.chains=3", "model.sweeps=6", "model.burn_in=2", "model.draws=2", "model.exchange=3", "model.controls=given", "model.keep=parameters", "model.combine=equal"}

// tinyOf are the arguments of tiny that a family has. Images get one regime: their regression has 257 features.
func tinyOf(family, preset string) []string {
	switch family {
	case "naive": // it has one chain of one sweep
		return []string{"env.episodes=6", "env.length=20"}
	case "arhmm":
	default:
		return tiny
	}
	arguments := []string{"env.episodes=6", "env.length=20", "model.chains=3", "model.sweeps=6", "model.exchange=3"}
	if preset == "ball/smoke" {
		arguments = append(arguments, "model.switches=1", "model.chains=1")
	}
	return arguments
}

// TestFitters_WorkWithEveryPreset: a chain starts and makes a sweep with finite terms.
func TestFitters_WorkWithEveryPreset(t *testing.T) {
	for _, family := range fitters(t) {
		for _, preset := range smokes() {
			if refuses(t, family, preset) || family == "arhmm" && preset == "ball/smoke" && !pixelByPixel {
				continue
			}
			program, err := job.NewProgram(resolveKinds(t, preset, append([]string{"model.kind=" + family}, tinyOf(family, preset)...)...), nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			p := program.(*worker.Chains)
			gradient, terms := make([]float32, p.Size()), make([]float32, len(p.TermNames()))
			if err := p.Golden(gradient, terms); err != nil {
				t.Errorf("%s, %s: %v", family, preset, err)
			}
			if slices.ContainsFunc(terms, func(v float32) bool { return math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) }) || terms[0] == 0 {
				t.Errorf("%s, %s: terms %v", family, preset, terms)
			}
		}
	}
}

// goldenChains are the states after two rounds of three chains on the smallest oscillator.
var goldenChains = map[string]string{
	"rslds":  "f34e810dfff390536bcb5501b27f483d4f558e37ac20cea0d8b30d66897db1f9",
	"trslds": "cf70192f707c8f15ae92bf793024fcbd8d094c234f829ba236438035c4a021b7",
	"arhmm":  "1f973ffce4394e280464ad20b93f224c7e5fca8a406673cad529529def7286d4",
	"naive":  "dcf29a7d4c5dbc74b384b7b9f20cd7d88db4db5b610d20b9e8f8223b640f6b86",
}

// TestFitters_SameBitsForAnyWorkers: those of the golden run, which are those that a chain has that makes all its
// sweeps in one piece.
func TestFitters_SameBitsForAnyWorkers(t *testing.T) {
	for _, family := range fitters(t) {
		c := resolveKinds(t, "fhn/smoke", append([]string{"model.kind=" + family}, tinyOf(family, "fhn/smoke")...)...)
		for _, workers := range []int{1, 3} {
			theta := sweep(t, c, workers)
			if got := checkpoint.Hash(theta); got != goldenChains[family] {
				t.Errorf("%s: %d workers end with %q, want %q", family, workers, got, goldenChains[family])
			}
			if want := alone(t, c); !slices.Equal(theta, want) {
				t.Errorf("%s: %d workers end with other states than chains alone", family, workers)
			}
		}
	}
}

// sweep trains with so many workers and returns the states.
func sweep(t *testing.T, c config.Config, workers int) []float32 {
	t.Helper()
	plan, err := job.Prepare(c, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	bus, lead := wire.NewMemory(nil), plan.Lead("run", t.TempDir())
	lead.Log = ""
	leader, err := coordinator.New(lead, plan.Theta, bus, nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	for i := range workers {
		defer startWorker(t, bus, worker.Config{ID: fmt.Sprintf("w%d", i), Build: job.Build(c.Kinds()), Numerics: lead.Numerics})()
	}
	if err := leader.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	theta, _ := leader.Parameters()
	return slices.Clone(theta)
}

// alone lets each chain make all its sweeps in one round.
func alone(t *testing.T, c config.Config) []float32 {
	t.Helper()
	s, _ := config.Sweeps(c)
	arguments := append([]string{"model.kind=" + c.Model.Kind}, tinyOf(c.Model.Kind, "fhn/smoke")...)
	if s.Total > s.Exchange {
		arguments = append(arguments, fmt.Sprintf("model.exchange=%d", s.Total))
	}
	program, err := job.NewProgram(resolveKinds(t, "fhn/smoke", arguments...), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	theta, gone, terms := make([]float32, program.Size()), make([]float32, program.Size()), make([]float32, len(program.TermNames()))
	if err := program.Load(0, theta); err != nil {
		t.Fatal(err)
	}
	for shard := range job.RoundShards(c) {
		if err := program.Gradient(0, 0, shard, gone, terms); err != nil {
			t.Fatal(err)
		}
		for i, v := range gone {
			theta[i] -= v
		}
	}
	return theta
}
