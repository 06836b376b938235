package switchyard_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// walk is a random walk whose step size is drawn by a chain: a model of a user's that fits itself.
type walk struct {
	Chains   int `yaml:"chains" want:"[1,8]" doc:"chains"`
	Total    int `yaml:"sweeps" want:"[1,1000]" doc:"sweeps"`
	Exchange int `yaml:"exchange" want:"[1,1000]" doc:"sweeps between exchanges"`

	key    rng.Key
	states [][]float64
}

func (w *walk) New(_ model.Data, key rng.Key) (model.Model, error) {
	m := *w
	m.key = key
	return &m, nil
}
func (w *walk) Describe() model.Description { return model.Description{Text: "a walk"} }
func (w *walk) SweepPlan() model.Sweeps {
	return model.Sweeps{Chains: w.Chains, Total: w.Total, Exchange: w.Exchange}
}
func (w *walk) Params() *autodiff.Params { return autodiff.NewParams() }
func (w *walk) Terms() []model.Term      { return []model.Term{{Name: "loss"}} }
func (w *walk) Layout([]model.Batch) []model.Part {
	return []model.Part{{Name: "sweep"}, {Name: "variance"}}
}
func (w *walk) Install(states [][]float64) error { w.states = states; return nil }
func (w *walk) NewChain(recordings []model.Batch, index int, state []float64) (model.Chain, error) {
	c := &walking{walk: w, index: index, variance: 1}
	for _, r := range recordings {
		for i := r.NX; i < r.T*r.NX; i++ {
			d := float64(r.Observations[i] - r.Observations[i-r.NX])
			c.square, c.n = c.square+float64(d*d), c.n+1
		}
	}
	if state != nil {
		c.sweep, c.variance = state[0], state[1]
	}
	return c, nil
}

// walking is a chain: a random-walk Metropolis sampler of the variance of a step.
type walking struct {
	*walk
	index           int
	square, n       float64
	sweep, variance float64
}

func (c *walking) logDensity(v float64) float64 {
	return -0.5 * (float64(c.n*math.Log(v)) + c.square/v)
}

func (c *walking) Sweep(terms []float64) error {
	s := c.key.At(uint64(c.sweep), uint32(c.index), 0)
	c.sweep++
	next := c.variance * math.Exp(0.2*s.Normal())
	if math.Log(s.Float64()) < c.logDensity(next)-c.logDensity(c.variance) {
		c.variance = next
	}
	terms[0] = -c.logDensity(c.variance) / c.n
	return nil
}
func (c *walking) State(dst []float64) { dst[0], dst[1] = c.sweep, c.variance }

// TestTrain_OwnFitter: a model of the user's that fits itself trains to the same bits for any number of workers and
// when it was interrupted, and is given the states of its chains.
func TestTrain_OwnFitter(t *testing.T) {
	registry, err := switchyard.NewRegistry(switchyard.Own{Families: []model.Family{{
		Name: "walk", Doc: "a walk", Settings: func() model.Settings { return &walk{Chains: 3, Total: 400, Exchange: 10} },
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, workers := range []int{1, 3} {
		o := switchyard.Options{Registry: registry, Preset: "fhn/smoke", RunsDir: t.TempDir(), Name: "own", Workers: workers, Settings: []string{"model.kind=walk"}}
		if workers == 3 {
			ctx, stop := context.WithCancel(t.Context())
			o.Progress = func(p switchyard.Progress) {
				if p.Step >= 50 {
					stop()
				}
			}
			if _, err := switchyard.Train(ctx, o); err == nil {
				t.Fatal("the run was not interrupted")
			}
			o.Progress = nil
			if _, err := switchyard.Resume(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		} else {
			train(t, o)
		}
		r, err := switchyard.Open(filepath.Join(o.RunsDir, "own"), registry)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = r.Info().ParametersSHA256
		}
		if got := r.Info().ParametersSHA256; got != want || r.Step() != 400 {
			t.Errorf("%d workers: step %d with %s, want %s", workers, r.Step(), got, want)
		}
		variance := 0.0
		for i, state := range r.Model().(*walk).states {
			if state[0] != 400 {
				t.Errorf("chain %d has done %v sweeps", i, state[0])
			}
			if variance != 0 && state[1] == variance {
				t.Errorf("two chains have the same variance")
			}
			variance = state[1]
		}
		if _, err := r.Forecast(switchyard.Series{}, switchyard.Query{Horizon: 1}); !errors.Is(err, switchyard.ErrUnable) {
			t.Errorf("a model without a forecaster: %v", err)
		}
	}
}

// TestTrain_Chains: an rslds that was fitted to files with a missing value and a control forecasts a series, and
// filters it.
func TestTrain_Chains(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	var series switchyard.Series
	controls := [][]float64{}
	for i := range 10 {
		text := "y_position,y_speed,u_force\n"
		x, v := 100+10*float64(i), 0.0
		for step := range 60 + i {
			u := math.Cos(0.3 * float64(step*i))
			x, v = x+0.1*v, v+0.1*(10*u-x-0.2*v)
			position := fmt.Sprint(x)
			if step == 10 {
				position = ""
			}
			text += fmt.Sprintf("%s,%v,%v\n", position, v, u)
			if i == 9 && step < 40 {
				series.Observations, series.Controls = append(series.Observations, []float64{x, v}), append(series.Controls, []float64{u})
			} else if i == 9 && step < 45 {
				controls = append(controls, []float64{u, x})
			}
		}
		if err := os.WriteFile(filepath.Join(data, fmt.Sprintf("%d.csv", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := train(t, switchyard.Options{
		Preset: "files", RunsDir: t.TempDir(), Workers: 2,
		Settings: []string{"env.files=" + data, "model.kind=rslds", "model.leaves=2", "model.sweeps=100", "model.burn_in=50", "model.draws=10", "model.chains=2"},
	})
	series.Observations[20][0] = math.NaN()
	q := switchyard.Query{Horizon: 5, Samples: 8}
	var truth []float64
	for _, u := range controls {
		q.Controls, truth = append(q.Controls, u[:1]), append(truth, u[1])
	}
	f, err := r.Forecast(series, q)
	if err != nil {
		t.Fatal(err)
	}
	for h, want := range truth {
		if got := f.Mean[h][0]; math.Abs(got-want) > 5 {
			t.Errorf("step %d: forecast %v, want %v", h+1, got, want)
		}
	}
	if filtered, err := r.Filter(series, 1); err != nil || len(filtered.Mean) != 40 {
		t.Errorf("filtering of %d steps, %v", len(filtered.Mean), err)
	}
}
