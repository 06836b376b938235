//go:build !race

// The race detector allocates on its own, so the test of allocations is built without it.

package job_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lab/bench"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// tiny makes any preset cheap without another path through the code.
var tiny = []string{
	"model.hidden=16", "model.encoder_hidden=16", "model.latent=4", "model.switches=4",
	"train.batch=16", "train.shards=4", "train.validation_episodes=4",
}

// TestStep_AllocatesNothing: a step in steady state, with the simulation of its episodes, allocates nothing in any
// preset with any kind of switches that is drawn or summed out.
func TestStep_AllocatesNothing(t *testing.T) {
	for _, p := range config.Presets() {
		if strings.HasPrefix(p.Name, "files") || strings.HasSuffix(p.Name, "/quick") || !faithful && strings.HasSuffix(p.Name, "/faithful") {
			continue
		}
		for _, switching := range []string{"model.switching=concrete model.kl_samples=2", "model.switching=normal", "model.switching=categorical model.rows=true model.preview=true"} {
			t.Run(p.Name+" "+switching, func(t *testing.T) {
				resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: p.Name, Arguments: append(tiny, strings.Fields(switching)...)})
				if err != nil {
					t.Fatal(err)
				}
				program, err := job.NewShards(resolved.Config, nil, 1)
				if err != nil {
					t.Fatal(err)
				}
				theta := slices.Clone(program.Model().Params().Values)
				s, err := bench.MeasureStep(program, theta, resolved.Config.Train.Shards, 1, program.Flops, bench.Budget{Steps: 10})
				if err != nil {
					t.Fatal(err)
				}
				if s.AllocsPerStep >= 0.5 {
					t.Errorf("%v allocations, %v bytes a step", s.AllocsPerStep, s.BytesPerStep)
				}
			})
		}
	}
}
