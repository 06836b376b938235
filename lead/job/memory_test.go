package job_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// TestMemory_OfEveryPreset: a program of the preset's full size, after gradients and validations, has in use what it
// says that it needs, within a tenth and a MiB. What the worker holds beside it is left out on both sides.
func TestMemory_OfEveryPreset(t *testing.T) {
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, preset := range config.Presets() {
		if strings.HasPrefix(preset.Name, "files") || strings.HasSuffix(preset.Name, "/quick") || !faithful && strings.HasSuffix(preset.Name, "/faithful") {
			continue
		}
		t.Run(preset.Name, func(t *testing.T) {
			resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: preset.Name})
			if err != nil {
				t.Fatal(err)
			}
			before := heap()
			program, err := job.NewShards(resolved.Config, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			gradient, terms := make([]float32, program.Size()), make([]float32, len(program.TermNames()))
			for shard := range resolved.Config.Train.Shards {
				for program.Prepare(0, 1, shard) {
				}
			}
			for range 2 { // the second time in memory of the size that the first has shown
				if err := errors.Join(program.Gradient(0, 0, 0, gradient, terms), program.Validate(0, 0, 0, terms)); err != nil {
					t.Fatal(err)
				}
			}
			got, said := heap()-before, program.Memory(1)
			// Of the sums of blocks there is one here, and θ has not arrived.
			want := said.Total() - said.Gradients - said.Parameters/4 + 4*program.Size()
			t.Logf("%.1f MiB are in use, %.1f are right; a worker needs %.1f: %+v", mebibytes(got), mebibytes(want), mebibytes(said.Total()), said)
			if difference := got - want; max(difference, -difference) > want/10+1<<20 {
				t.Errorf("%d bytes are in use, %d are right: %+v", got, want, said)
			}
			runtime.KeepAlive(gradient)
			runtime.KeepAlive(program)
		})
	}
}

func mebibytes(n int) float64 { return float64(n) / (1 << 20) }
