package switchyard_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// Counter counts up or down by a control of ±1, between two walls at ±Limit.
type Counter struct {
	Limit float64 `yaml:"limit" want:"(0,10]" doc:"where the walls are"`
}

// New builds the environment of the settings.
func (c *Counter) New() (envs.Env, error) { return c, nil }

// Spec says that an episode has one observation and one control a step.
func (c *Counter) Spec() envs.Spec { return envs.Spec{Name: "counter", Observation: 1, Control: 1} }

// Simulate fills an episode, which is a function of key and index alone.
func (c *Counter) Simulate(dst *envs.Episode, key rng.Key, index uint32, T int) {
	dst.Resize(c.Spec(), T)
	draws := key.At(0, 0, index)
	x := 0.0
	for t := range T {
		u := float64(2*draws.IntN(2) - 1)
		if t == 0 {
			u = 0 // the first control leads to the episode from outside
		}
		x = max(-c.Limit, min(c.Limit, x+0.3*u))
		dst.Observations[t], dst.Controls[t] = float32(x), float32(u)
	}
}

// An environment of one's own is registered, trained by two workers and evaluated like any other.
func Example_environment() {
	registry, err := switchyard.NewRegistry(switchyard.Own{Environments: []envs.Kind{{
		Name: "counter", Doc: "steps between two walls", Settings: func() envs.Settings { return &Counter{Limit: 1} },
	}}})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	run, err := switchyard.Train(context.Background(), switchyard.Options{
		Registry: registry, Preset: "fhn/smoke", RunsDir: dir, Name: "counted", Workers: 2,
		Settings: []string{"env.kind=counter", "env.limit=2", "train.steps=40"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Info().State, "after", run.Info().Step, "updates")
	if _, err := run.Evaluate(switchyard.Question{}); err != nil {
		log.Fatal(err)
	}
	future, err := run.Forecast(switchyard.Series{Observations: [][]float64{{0}, {0.3}, {0.6}, {0.9}}}, switchyard.Query{Horizon: 5})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("a forecast of", len(future.Mean), "steps on", len(future.Paths), "paths")
	// Output:
	// finished after 40 updates
	// a forecast of 5 steps on 4 paths
}
