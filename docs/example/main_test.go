package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/envs/envtest"

	"example.org/own/pendulum"
)

func TestPendulum_IsAnEnvironment(t *testing.T) {
	env, err := pendulum.Kind().Settings().New()
	if err != nil {
		t.Fatal(err)
	}
	envtest.Test(t, env)
}

// options train our model on our environment.
func options(t *testing.T, workers int) switchyard.Options {
	t.Helper()
	registry, err := kinds()
	if err != nil {
		t.Fatal(err)
	}
	return switchyard.Options{
		Registry: registry, Preset: "fhn/smoke", RunsDir: t.TempDir(), Name: "own", Workers: workers,
		Settings: []string{"env.kind=pendulum", "model.kind=regimes", "train.steps=300", "optim.rate=0.01"},
	}
}

// TestTrain_SameBitsForAnyNumberOfWorkers trains with one worker, and with two workers, an interruption and a
// resumption. Workers meet at the embedded broker. What was learned is evaluated, and asked for a forecast.
func TestTrain_SameBitsForAnyNumberOfWorkers(t *testing.T) {
	one, err := switchyard.Train(t.Context(), options(t, 1))
	if err != nil {
		t.Fatal(err)
	}

	o := options(t, 2)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Progress = func(p switchyard.Progress) {
		if p.Step >= 100 {
			stop()
		}
	}
	if _, err := switchyard.Train(ctx, o); !errors.Is(err, switchyard.ErrInterrupted) {
		t.Fatalf("got %v, want an interruption", err)
	}
	o.Progress = nil
	two, err := switchyard.Resume(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := two.Info().ParametersSHA256, one.Info().ParametersSHA256; got != want {
		t.Errorf("two workers, interrupted: %s, one worker: %s", got, want)
	}

	if likelihood, validated := two.Info().Metrics["validation_elbo"]; !validated || likelihood < -2 {
		t.Errorf("the model has not learned: its log-likelihood is %g nats per step", likelihood)
	}
	if _, err := two.Evaluate(switchyard.Question{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.RunsDir, "own", "tables", "ahead.csv")); err != nil {
		t.Error(err)
	}
	past := switchyard.Series{Observations: [][]float64{{-0.5, 0}, {-0.5, 0}}}
	f, err := two.Forecast(past, switchyard.Query{Horizon: 10})
	if err != nil {
		t.Fatal(err)
	}
	if speed := f.Mean[0][1]; speed <= 0 {
		t.Errorf("released on the left, the pendulum moves on at %g rad/s", speed)
	}
}
