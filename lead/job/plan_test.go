package job

import (
	"context"
	"errors"
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

// TestInitial_IsFittedOnce: a started run begins with other parameters than those that workers compute the golden shard
// at; they are the same for every plan and a start that is stopped gives none.
func TestInitial_IsFittedOnce(t *testing.T) {
	plan := func(arguments ...string) *Plan {
		t.Helper()
		resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "modes/smoke", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(resolved.Config, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	random, p := plan("model.start=random"), plan("model.start=arhmm")
	if theta, err := random.Initial(t.Context()); err != nil || random.Starts() || !slices.Equal(theta, random.Theta) {
		t.Errorf("without a start: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.Initial(stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that is stopped: %v", err)
	}
	theta, err := p.Initial(t.Context())
	if err != nil || slices.Equal(theta, p.Theta) || !slices.Equal(p.Theta, random.Theta) || p.Golden != random.Golden {
		t.Errorf("the start is not that of the plan: %v", err)
	}
	if again, err := p.copy().Initial(stopped); err != nil || &again[0] != &theta[0] {
		t.Errorf("a copy of the plan fits again: %v", err)
	}
	if other, err := plan("model.start=arhmm").Initial(t.Context()); err != nil || !slices.Equal(other, theta) {
		t.Errorf("another plan begins with other parameters: %v", err)
	}
}
