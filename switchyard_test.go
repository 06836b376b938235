package switchyard_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/model"
)

// own lists the environment and the model of the examples.
func own(t *testing.T) *switchyard.Registry {
	t.Helper()
	r, err := switchyard.NewRegistry(switchyard.Own{
		Environments: []envs.Kind{{Name: "counter", Doc: "steps between two walls", Settings: func() envs.Settings { return &Counter{Limit: 1} }}},
		Families: []model.Family{{
			Name: "autoregression", Doc: "one step at a time", Settings: func() model.Settings { return &Autoregression{Hidden: 16, Floor: 0.01} },
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func options(t *testing.T, dir string, settings ...string) switchyard.Options {
	t.Helper()
	return switchyard.Options{
		Registry: own(t), Preset: "fhn/smoke", RunsDir: dir, Name: "own", Workers: 2,
		Settings: append([]string{"env.kind=counter", "model.kind=autoregression", "train.steps=60", "train.checkpoint_every=10"}, settings...),
	}
}

func train(t *testing.T, o switchyard.Options) *switchyard.Run {
	t.Helper()
	r, err := switchyard.Train(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCounter_IsAnEnvironment(t *testing.T) { envtest.Test(t, &Counter{Limit: 1}) }

// TestTrain_OwnKinds: an environment and a model of the user's train to the same bits with any number of workers, when
// they were interrupted, and in every method and form of gradients and parameters.
func TestTrain_OwnKinds(t *testing.T) {
	for name, settings := range map[string][]string{
		"plain": nil, "int16": {"train.gradients=int16"}, "delta8": {"train.parameters=delta8"}, "diloco": {"train.method=diloco", "train.replicas=2", "train.local_steps=5"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := append(settings, "train.validate_every=20")
			one := options(t, t.TempDir(), settings...)
			one.Workers = 1
			want := train(t, one).Info().ParametersSHA256
			two := options(t, t.TempDir(), settings...)
			ctx, stop := context.WithCancel(t.Context())
			two.Progress = func(p switchyard.Progress) {
				if p.Step >= 20 {
					stop()
				}
			}
			if _, err := switchyard.Train(ctx, two); !errors.Is(err, switchyard.ErrInterrupted) {
				t.Fatalf("got %v, want an interruption", err)
			}
			two.Progress = nil
			r, err := switchyard.Resume(t.Context(), two)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Info().ParametersSHA256; got != want {
				t.Errorf("two workers, interrupted: %s, one worker: %s", got, want)
			}
			if _, err := switchyard.Resume(t.Context(), two); !errors.Is(err, switchyard.ErrFinished) {
				t.Errorf("resume of a finished run: %v", err)
			}
		})
	}
}

func TestRun_Answers(t *testing.T) {
	o := options(t, t.TempDir(), "train.steps=300", "optim.rate=0.01")
	train(t, o)
	r, err := switchyard.Open(filepath.Join(o.RunsDir, "own"), o.Registry)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(r.Config()), "kind: counter") || r.Step() == 0 || r.Model().Params().Len() == 0 {
		t.Errorf("opened at step %d:\n%s", r.Step(), r.Config())
	}
	e, err := r.Evaluate(switchyard.Question{Protocol: "ahead"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.RunsDir, "own", "tables", "ahead.csv")); err != nil || !strings.Contains(string(e.Table), "persistence") {
		t.Errorf("%v\n%s", err, e.Table)
	}
	past := switchyard.Series{Observations: [][]float64{{0}, {0.3}, {math.NaN()}, {0.3}}}
	up := [][]float64{{1}, {1}, {1}}
	f, err := r.Forecast(past, switchyard.Query{Horizon: 3, Controls: up, Samples: 64})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Paths) != 64 || len(f.Mean) != 3 || f.Mean[2][0] <= f.Mean[0][0] {
		t.Errorf("upwards it goes %v", f.Mean)
	}
	down, err := r.Forecast(past, switchyard.Query{Horizon: 3, Controls: [][]float64{{-1}, {-1}, {-1}}, Samples: 64})
	if err != nil || down.Mean[2][0] >= f.Mean[2][0] {
		t.Errorf("downwards it goes %v, upwards %v: %v", down.Mean, f.Mean, err)
	}
	low, high := f.Quantile(0.1), f.Quantile(0.9)
	if !(low[2][0] < f.Mean[2][0] && f.Mean[2][0] < high[2][0]) {
		t.Errorf("the mean %v does not lie between the quantiles %v and %v", f.Mean, low, high)
	}
	again, err := r.Forecast(past, switchyard.Query{Horizon: 3, Controls: up, Samples: 64})
	if err != nil || again.Mean[2][0] != f.Mean[2][0] {
		t.Errorf("the same question has another answer: %v, %v", again.Mean, err)
	}
	if _, err := r.Filter(past, 1); !errors.Is(err, switchyard.ErrUnable) {
		t.Errorf("an autoregression has a latent state: %v", err)
	}
}

func TestRun_Filters(t *testing.T) {
	r := train(t, switchyard.Options{Preset: "fhn/smoke", RunsDir: t.TempDir(), Settings: []string{"train.steps=5"}})
	past := switchyard.Series{Observations: [][]float64{{1, 0}, {1.1, 0.1}, {1.2, 0.1}, {1.3, 0.2}, {1.4, 0.2}}}
	f, err := r.Filter(past, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Mean) != 5 || len(f.SD[4]) != 4 || len(f.Weights[4]) == 0 {
		t.Errorf("got %+v", f)
	}
	if !math.IsNaN(f.SD[0][0]) || !math.IsNaN(f.Weights[0][0]) || math.IsNaN(f.SD[1][0]+f.Weights[1][0]) {
		t.Errorf("what the first state does not have is not NaN: %v, %v", f.SD[:2], f.Weights[:2])
	}
	sum := 0.0
	for _, w := range f.Weights[4] {
		sum += w
	}
	if math.Abs(sum-1) > 1e-5 {
		t.Errorf("the weights sum to %g", sum)
	}
}

// TestRun_UnitsOfTheData: a run on files answers in the units of the files.
func TestRun_UnitsOfTheData(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.csv")
	var text strings.Builder
	text.WriteString("episode,t,y1,u1\n")
	for e := range 10 {
		for i := range 30 {
			text.WriteString(strings.Join([]string{string(rune('a' + e)), strconv.Itoa(i), strconv.Itoa(100000 + 10*((i+e)%7)), strconv.Itoa(i % 2)}, ",") + "\n")
		}
	}
	if err := os.WriteFile(data, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := train(t, switchyard.Options{
		Preset: "files", RunsDir: t.TempDir(),
		Settings: []string{"env.files=" + data, "env.window=10", "train.steps=3", "train.batch=8", "train.validation_episodes=8", "model.hidden=8", "model.latent=2", "model.switches=2"},
	})
	var past switchyard.Series
	for i := range 8 {
		past.Observations = append(past.Observations, []float64{100000 + 10*float64(i%7)})
	}
	f, err := r.Forecast(past, switchyard.Query{Horizon: 2})
	if err != nil {
		t.Fatal(err)
	}
	if y := f.Mean[0][0]; y < 99900 || y > 100200 {
		t.Errorf("the forecast is %g, not in the units of the file", y)
	}
	e, err := r.Evaluate(switchyard.Question{})
	if err != nil || !bytes.Contains(e.Report, []byte(`"protocol":"recordings"`)) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Evaluate(switchyard.Question{Protocol: "table1"}); !errors.Is(err, switchyard.ErrUnable) {
		t.Errorf("got %v", err)
	}
}

func TestForecast_RefusesWhatDoesNotFit(t *testing.T) {
	o := options(t, t.TempDir())
	r := train(t, o)
	fine := [][]float64{{0}, {0.1}}
	for _, c := range []struct {
		series switchyard.Series
		query  switchyard.Query
		want   string
	}{
		{switchyard.Series{}, switchyard.Query{Horizon: 1}, "no observations"},
		{switchyard.Series{Observations: [][]float64{{0}, {1, 2}}}, switchyard.Query{Horizon: 1}, "row 1 of the observations has 2 values"},
		{switchyard.Series{Observations: [][]float64{{math.Inf(1)}}}, switchyard.Query{Horizon: 1}, "row 0 of the observations holds +Inf"},
		{switchyard.Series{Observations: fine, Controls: fine[:1]}, switchyard.Query{Horizon: 1}, "1 rows of controls for 2 time steps"},
		{switchyard.Series{Observations: fine, Controls: [][]float64{{0}, {math.NaN()}}}, switchyard.Query{Horizon: 1}, "row 1 of the controls holds NaN"},
		{switchyard.Series{Observations: fine}, switchyard.Query{}, "a horizon of 0 steps"},
		{switchyard.Series{Observations: fine}, switchyard.Query{Horizon: 2, Controls: fine[:1]}, "1 rows of controls for 2 time steps"},
	} {
		_, err := r.Forecast(c.series, c.query)
		if !errors.Is(err, switchyard.ErrSeries) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestTrain_Refuses(t *testing.T) {
	o := options(t, t.TempDir(), "env.limit=11")
	if _, err := switchyard.Train(t.Context(), o); err == nil || !strings.Contains(err.Error(), "env.limit: 11 is out of range") {
		t.Errorf("got %v", err)
	}
	o = options(t, t.TempDir(), "model.latent=3")
	if _, err := switchyard.Train(t.Context(), o); err == nil || !strings.Contains(err.Error(), "model.kind=autoregression has no such key") {
		t.Errorf("got %v", err)
	}
	o = options(t, t.TempDir())
	train(t, o)
	if _, err := switchyard.Train(t.Context(), o); err == nil || !strings.Contains(err.Error(), "own") {
		t.Errorf("a taken name: %v", err)
	}
	if _, err := switchyard.Open(filepath.Join(o.RunsDir, "own"), nil); err == nil || !strings.Contains(err.Error(), `unknown value "counter"`) {
		t.Errorf("opened without its registry: %v", err)
	}
	if _, err := switchyard.Open(filepath.Join(o.RunsDir, "none"), nil); err == nil {
		t.Error("a run that is not there was opened")
	}
}

func TestNewRegistry_Refuses(t *testing.T) {
	for want, o := range map[string]switchyard.Own{
		"env.kind=maze: the name must be a word": {Environments: []envs.Kind{{Name: "maze", Doc: "another", Settings: func() envs.Settings { return &Counter{} }}}},
		"model.kind=x: it has no Settings":       {Families: []model.Family{{Name: "x", Doc: "nothing"}}},
	} {
		if _, err := switchyard.NewRegistry(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	f := switchyard.Forecast{Mean: [][]float64{{0}}}
	for _, v := range []float64{3, 1, 2, 5, 4} {
		f.Paths = append(f.Paths, [][]float64{{v}})
	}
	for level, want := range map[float64]float64{0: 1, 0.2: 1, 0.5: 3, 0.8: 4, 1: 5} {
		if got := f.Quantile(level)[0][0]; got != want {
			t.Errorf("quantile %g is %g, want %g", level, got, want)
		}
	}
	if got := slices.IsSorted([]float64{f.Quantile(0.1)[0][0], f.Quantile(0.9)[0][0]}); !got {
		t.Error("quantiles cross")
	}
}
