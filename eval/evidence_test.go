package eval_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/regimes"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/rng"
)

// recordedOf has episodes of an environment as recordings.
func recordedOf(env envs.Env, seed uint64, episodes, length int) *files.Dataset {
	set := &files.Dataset{Spec: env.Spec()}
	set.Episodes = make([]files.Episode, episodes)
	for i := range set.Episodes {
		env.Simulate(&set.Episodes[i].Episode, rng.New(seed, rng.Episode), uint32(i), length)
	}
	return set
}

// weighed is the evidence of recordings.
func weighed(t *testing.T, d *files.Dataset) eval.Evidence {
	t.Helper()
	e, err := eval.Weigh(d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestWeigh_FindsTheNumber of regimes and dimensions that there are. Two dimensions that ten channels with noise show
// are two.
func TestWeigh_FindsTheNumber(t *testing.T) {
	for _, c := range []struct {
		name                      string
		set                       *files.Dataset
		regimes, components, lags int
	}{
		{"sticky", recordedOf(regimes.NewSticky(), 3, 30, 100), 3, 2, 1},
		{"bounce", recordedOf(regimes.NewBounce(), 3, 30, 100), 2, 1, 1},
		{"nascar", recordedOf(regimes.NewNASCAR(10), 3, 20, 240), 4, 2, 1},
	} {
		e := weighed(t, c.set)
		if e.Regimes != c.regimes || e.Components != c.components || e.Lags != c.lags || !e.Settled() || e.Sure < 0.9 {
			t.Errorf("%s: %d regimes, %d components, %d lags, %s", c.name, e.Regimes, e.Components, e.Lags, e.Text())
		}
		if e.Latent() != c.components || !strings.Contains(e.Text(), "regimes, in") {
			t.Errorf("%s: a state of %d; %s", c.name, e.Latent(), e.Text())
		}
	}
}

// swing is a damped oscillation that noise keeps going, of which the place is seen.
func swing() *files.Dataset {
	draws := rng.New(4, rng.Episode).At(0, 0, 0)
	set := &files.Dataset{Spec: envs.Spec{Observation: 1}}
	for range 20 {
		e := files.Episode{Episode: envs.Episode{T: 100, Observations: make([]float32, 100), Controls: []float32{}}}
		before, now := 0.0, 0.0
		for t := range e.T {
			before, now = now, 1.9*now-0.97*before+0.1*draws.Normal()
			e.Observations[t] = float32(now)
		}
		set.Episodes = append(set.Episodes, e)
	}
	return set
}

// TestWeigh_OneSystem: a linear system has one regime; where a place alone does not say how it goes on, a state holds
// two.
func TestWeigh_OneSystem(t *testing.T) {
	e := weighed(t, swing())
	if e.Regimes != 1 || e.Lags != 2 || e.Latent() != 2 || e.Settled() || !strings.Contains(e.Text(), "one regime: more are worth less than 0.05 nats per step and dimension, in") {
		t.Errorf("%d regimes, %d lags: %s", e.Regimes, e.Lags, e.Text())
	}
}

// late follows a control that changes now and then, and acts six steps later.
func late() *files.Dataset {
	draws := rng.New(4, rng.Episode).At(0, 0, 0)
	set := &files.Dataset{Spec: envs.Spec{Observation: 1, Control: 1}}
	for range 20 {
		e := files.Episode{Episode: envs.Episode{T: 100, Observations: make([]float32, 100), Controls: make([]float32, 100)}}
		x, u := 0.0, 0.0
		for t := range e.T {
			if draws.Float64() < 0.1 {
				u = draws.Normal()
			}
			e.Controls[t] = float32(u)
			x = 0.7*x + 1.5*float64(e.Controls[max(t-6, 0)]) + 0.1*draws.Normal()
			e.Observations[t] = float32(x)
		}
		set.Episodes = append(set.Episodes, e)
	}
	return set
}

// TestWeigh_DoubtsRegimes that stand for what is longer ago, and none that are there.
func TestWeigh_DoubtsRegimes(t *testing.T) {
	e := weighed(t, late())
	if e.Regimes < 2 || !e.Doubtful() || !strings.HasSuffix(e.Text(), "; but one regime of 12 lags predicts better") {
		t.Errorf("a late control: %s", e.Text())
	}
	if e := weighed(t, recordedOf(regimes.NewModes(), 3, 30, 100)); e.Regimes != 3 || e.Doubtful() {
		t.Errorf("three rotations: %s", e.Text())
	}
}

// TestWeigh_Missing values change neither the number nor the dimensions.
func TestWeigh_Missing(t *testing.T) {
	set := recordedOf(regimes.NewSticky(), 5, 30, 100)
	draws := rng.New(6, rng.Episode).At(0, 0, 0)
	for i := range set.Episodes {
		e := &set.Episodes[i]
		e.Mask = make([]float32, len(e.Observations))
		for j := range e.Mask {
			if e.Mask[j] = 1; draws.Float64() < 0.02 {
				e.Mask[j], e.Observations[j] = 0, float32(math.Inf(1))
			}
		}
	}
	if e := weighed(t, set); e.Regimes != 3 || e.Latent() != 2 {
		t.Errorf("%d regimes, a state of %d", e.Regimes, e.Latent())
	}
}

func TestWeigh_TooFew(t *testing.T) {
	_, err := eval.Weigh(recordedOf(regimes.NewSticky(), 5, 3, 100))
	if fault := new(files.Error); !errors.As(err, &fault) || !strings.Contains(err.Error(), "300 steps") {
		t.Errorf("300 steps: %v", err)
	}
	// Many steps, of recordings that are too short each.
	_, err = eval.Weigh(recordedOf(regimes.NewSticky(), 5, 100, 10))
	if err == nil || !strings.Contains(err.Error(), "1000 steps in 100 episodes, which have 0 pieces of 16 steps in a row") {
		t.Errorf("100 recordings of 10 steps: %v", err)
	}
}
