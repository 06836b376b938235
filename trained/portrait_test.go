package trained

import (
	"math"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// TestMainDirections: of states on a line, most of them, and a little beside it, the first axis is the line. It begins
// on the side where the first state grows, whatever the order of the components.
func TestMainDirections(t *testing.T) {
	var states [][]float64
	for i := range 100 {
		along, beside := float64(i-50), 0.1*float64(i%2)
		states = append(states, []float64{0.6*along - 0.8*beside + 7, -1, 0.8*along + 0.6*beside - 2})
	}
	s := mainDirections(states, nil)
	for i, x := range s.X {
		if want := float64(i) - 49.5; math.Abs(x-want) > 0.01 {
			t.Errorf("state %d is at %g along the main direction, want %g", i, x, want)
		}
	}
	spread := 0.0
	for _, y := range s.Y {
		spread = max(spread, math.Abs(y))
	}
	if math.Abs(spread-0.05) > 0.01 || s.Share < 0.9999 {
		t.Errorf("up to %g beside it, want 0.05; share %g, want almost 1", spread, s.Share)
	}
	if mainDirections(states[:1], nil) != nil || mainDirections([][]float64{{1}, {math.NaN()}}, nil) != nil {
		t.Error("one state, or one that is not a number, has a direction")
	}
}

// diverging is a model of two channels whose states are known, and whose forecasts leave all bounds.
type diverging struct{}

func (diverging) Params() *autodiff.Params        { return autodiff.NewParams() }
func (diverging) NewForecaster() model.Forecaster { return diverging{} }
func (diverging) Clone() model.Forecaster         { return diverging{} }
func (diverging) Dims() model.Dims                { return model.Dims{NX: 2, NU: 1, NZ: 1} }
func (diverging) Forecast(f *model.Forecast, q model.Query) {
	f.Resize(q.Horizon, q.Prefix.B, q.Samples, 2, 0)
	for i := range f.Mean {
		f.Mean[i] = float32(math.Inf(1))
	}
}

func (diverging) Filter(f *model.Filtering, b model.Batch, _ rng.Stream) {
	f.Resize(b.T, 1, 1, 0)
	for t := range f.Mean {
		f.Mean[t] = float32(t)
	}
}

// TestPortrait_OfAForecastThatDiverges: it is said, and what else is known of the model is there.
func TestPortrait_OfAForecastThatDiverges(t *testing.T) {
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	_, env, err := config.Data(resolved.Config)
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{
		config: resolved.Config, env: env, model: diverging{}, checkpoint: &checkpoint.Checkpoint{},
		numbering: func() []int { return nil },
	}
	p, err := r.Portrait()
	if err != nil || p.Fan != nil || p.States == nil || !strings.Contains(p.Diverges, "diverges: after 1 of") {
		t.Errorf("got %+v, %v", p, err)
	}
}
