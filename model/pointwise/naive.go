package pointwise

import (
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Naive is the simple rule as a value of model.kind.
func Naive() model.Family {
	return model.Family{
		Name: "naive", Doc: "the last value, or the value one season earlier: the simple rule, as a model",
		Settings: func() model.Settings { return &NaiveSettings{Season: 1} },
	}
}

// NaiveSettings are the keys of the family.
type NaiveSettings struct {
	// Season is m, in time steps.
	Season int `yaml:"season" want:"[1,100000]" doc:"time steps of the season to repeat; 1: repeat the last value"`
}

var (
	_ model.Sweeping = (*NaiveSettings)(nil)
	_ model.Ignoring = (*NaiveSettings)(nil)
)

// Ignored returns the common setting without effect: the rule reads the last season, and needs all of it.
func (*NaiveSettings) Ignored(model.Setup) []model.Fault {
	return []model.Fault{model.Faultf([]string{"eval.filter_window", "model.kind"}, "leave it out",
		"the rule repeats the last season, whatever was before it")}
}

// SweepPlan is one chain with one sweep, which measures the noise.
func (*NaiveSettings) SweepPlan() model.Sweeps { return model.Sweeps{Chains: 1, Total: 1, Exchange: 1} }

// Describe says what the rule is.
func (s *NaiveSettings) Describe() model.Description {
	text := "the last value stays"
	if s.Season > 1 {
		text = fmt.Sprintf("the value of %d steps before comes again", s.Season)
	}
	return model.Description{Text: text, Variant: "naive"}
}

// New returns the rule before its noise is measured.
func (s *NaiveSettings) New(d model.Data, _ rng.Key) (model.Model, error) {
	return &NaiveModel{season: s.Season, data: d}, nil
}

// ErrNaive is returned for a state that is not one of the model's, and before the noise was measured.
var ErrNaive = errors.New("naive: invalid state")

// NaiveModel repeats the last season of m steps:
//
//	x_t = x_{t−m} + N(0, diag σ²),  σ² = mean (x_t − x_{t−m})² where both were seen
//
// It is fitted by one sweep over the recordings, in float64.
type NaiveModel struct {
	season   int
	data     model.Data
	variance []float64 // [nx]; nil before Install
}

var (
	_ model.Fitter      = (*NaiveModel)(nil)
	_ model.Forecasting = (*NaiveModel)(nil)
)

// Params are none.
func (*NaiveModel) Params() *autodiff.Params { return autodiff.NewParams() }

// Terms are what a sweep reports.
func (*NaiveModel) Terms() []model.Term {
	return []model.Term{{
		Name: "loss", Label: "squared error of the rule", Short: "error", Unit: "per channel, a season ahead",
	}}
}

// Layout is the variance of each channel.
func (m *NaiveModel) Layout([]model.Batch) []model.Part {
	return []model.Part{{Name: "variance", Shape: []int{m.data.NX}}}
}

// NewChain returns a chain that measures the noise, or has done so.
func (m *NaiveModel) NewChain(recordings []model.Batch, _ int, state []float64) (model.Chain, error) {
	if state != nil && len(state) != m.data.NX {
		return nil, fmt.Errorf("%w: %d values, want %d", ErrNaive, len(state), m.data.NX)
	}
	c := &naiveChain{model: m, recordings: recordings, variance: make([]float64, m.data.NX)}
	copy(c.variance, state)
	return c, nil
}

// Install takes the variance of the chain.
func (m *NaiveModel) Install(states [][]float64) error {
	if len(states) == 0 || len(states[0]) != m.data.NX {
		return fmt.Errorf("%w: the noise was not measured", ErrNaive)
	}
	m.variance = append([]float64(nil), states[0]...)
	return nil
}

// NewForecaster returns a forecaster of the rule; nil before Install.
func (m *NaiveModel) NewForecaster() model.Forecaster {
	if m.variance == nil {
		return nil
	}
	return &NaiveForecaster{model: m}
}

// naiveChain measures the noise of the rule.
type naiveChain struct {
	model      *NaiveModel
	recordings []model.Batch
	variance   []float64
}

// Sweep measures the variance of each channel anew; the loss is their mean. Without a pair of values a variance is
// that of the scaled data, 1. Recordings are single sequences, so the value one season earlier stands lag numbers
// before.
func (c *naiveChain) Sweep(terms []float64) error {
	nx, lag := c.model.data.NX, c.model.season*c.model.data.NX
	total := 0.0
	for i := range nx {
		n, square := 0.0, 0.0
		for _, b := range c.recordings {
			// Value j is of channel i, at a step that has one a season before.
			for j := lag + i; j < len(b.Observations); j += nx {
				if b.Seen == nil || b.Seen[j] != 0 && b.Seen[j-lag] != 0 {
					change := float64(b.Observations[j]) - float64(b.Observations[j-lag])
					n, square = n+1, square+float64(change*change)
				}
			}
		}
		if c.variance[i] = 1; n > 0 {
			c.variance[i] = square / n
		}
		total += c.variance[i]
	}
	terms[0] = total / float64(max(nx, 1))
	return nil
}

// State writes the variances.
func (c *naiveChain) State(dst []float64) { copy(dst, c.variance) }

// NaiveForecaster predicts by the rule. It serves one goroutine.
type NaiveForecaster struct{ model *NaiveModel }

var (
	_ model.Forecaster = (*NaiveForecaster)(nil)
	_ model.Lagged     = (*NaiveForecaster)(nil)
)

// Dims are the sizes of the rule, which has no latent state.
func (f *NaiveForecaster) Dims() model.Dims {
	return model.Dims{NX: f.model.data.NX, NU: f.model.data.NU}
}

// Lags is the season.
func (f *NaiveForecaster) Lags() int { return f.model.season }

// Clone returns a forecaster for another goroutine.
func (f *NaiveForecaster) Clone() model.Forecaster { return &NaiveForecaster{model: f.model} }

// Forecast repeats the last season of the prefix, a missing value as it was last seen, or 0. The mean is exact;
// paths are draws of x_t = x_{t−m} + N(0, σ²) that are fed back, so that the variance grows by σ² each season.
// With a prefix that is shorter than a season, the first value stands for what was before it.
func (f *NaiveForecaster) Forecast(dst *model.Forecast, q model.Query) {
	nx, B := f.model.data.NX, q.Prefix.B
	dst.Resize(q.Horizon, B, q.Samples, nx, 0)
	noise, T := q.Noise, q.Prefix.T
	path := make([]float64, T+q.Horizon)
	for n := range B {
		for c := range nx {
			// path holds the prefix and, behind it, first the expectation and then one rollout after the other.
			f.held(path, q.Prefix, n, c)
			for h := range q.Horizon {
				path[T+h] = path[max(T+h-f.model.season, 0)]
				dst.Mean[(h*B+n)*nx+c] = float32(path[T+h])
			}
			sd := math.Sqrt(f.model.variance[c])
			for s := range q.Samples {
				for h := range q.Horizon {
					path[T+h] = path[max(T+h-f.model.season, 0)] + float64(sd*noise.Normal())
					dst.Paths[((s*q.Horizon+h)*B+n)*nx+c] = float32(path[T+h])
					if s == 0 {
						dst.Draw[(h*B+n)*nx+c] = float32(path[T+h])
					}
				}
			}
		}
	}
}

// held writes a channel of sequence n, a missing value as it was last seen, or 0.
func (f *NaiveForecaster) held(dst []float64, b model.Batch, n, channel int) {
	last := 0.0
	for t := range b.T {
		if at := (t*b.B+n)*b.NX + channel; b.Seen == nil || b.Seen[at] != 0 {
			last = float64(b.Observations[at])
		}
		dst[t] = last
	}
}
