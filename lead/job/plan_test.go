package job

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/config"

	"github.com/switchyard-ml/switchyard/wire"
)

// TestPrepare_IsWhatWorkersCompute: the plan has the parameters of the model by itself, which counting a step leaves
// alone, and the golden shard of a program that a worker builds from the job.
func TestPrepare_IsWhatWorkersCompute(t *testing.T) {
	for _, arguments := range [][]string{nil, {"train.gradients=int16"}} {
		resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "noise/smoke", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Prepare(resolved.Config, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := config.Data(resolved.Config)
		if err != nil {
			t.Fatal(err)
		}
		m, err := config.NewModel(resolved.Config, data)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Theta, m.Params().Values) {
			t.Errorf("%v: the plan has other initial parameters than the model", arguments)
		}
		program, err := Build(p.Config.Kinds())(p.Step().Job, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		gradient, terms := make([]float32, program.Size()), make([]float32, len(program.TermNames()))
		if err := program.Load(0, p.Theta); err != nil {
			t.Fatal(err)
		}
		if err := program.Gradient(0, 0, 0, gradient, terms); err != nil {
			t.Fatal(err)
		}
		if got := wire.DigestPartial(gradient, terms); got != p.Golden {
			t.Errorf("%v: got golden shard %s, want %s", arguments, got, p.Golden)
		}
	}
}
