package arhmm

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestPastControls: controls of earlier steps are fitted, carried over gaps, and count in forecasts and in the companion
// form, to the same numbers. Without them the residual is the effect that is missing.
func TestPastControls(t *testing.T) {
	s := rng.New(2, rng.Episode).At(0, 0, 0)
	var b model.Batch
	b.Resize(300, 1, 1, 1)
	s.Normals(b.Controls)
	u := func(t int) float64 { return float64(b.Controls[max(t, 0)]) }
	for t := 1; t < b.T; t++ {
		b.Observations[t] = float32(0.5*float64(b.Observations[t-1]) + 0.3*u(t) + 0.8*u(t-1) - 0.6*u(t-2) + 0.01*s.Normal())
	}
	b.Seen = make([]float32, b.T)
	for t := range b.Seen {
		if b.Seen[t] = 1; t%23 == 20 {
			b.Seen[t], b.Observations[t] = 0, 0
		}
	}
	settings := DefaultSettings()
	settings.Switches, settings.Order, settings.Past, settings.Chains = 1, 3, 2, 1
	if settings.Check(model.Setup{}) != nil {
		t.Error("two past controls of three lags are refused")
	}
	built, err := settings.New(model.Data{NX: 1, NU: 1}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	m := built.(*Model)
	c, err := m.NewChain([]model.Batch{b}, 0, nil)
	for range 30 {
		if err == nil {
			err = c.Sweep(make([]float64, 2))
		}
	}
	state := make([]float64, m.size())
	c.State(state)
	if err != nil || m.Install([][]float64{state}) != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.5, 0, 0, 0.3, 0.8, -0.6, 0} {
		if got := m.best.w[i]; math.Abs(got-want) > 0.02 {
			t.Errorf("W: %v, want .5 0 0 .3 .8 −.6 0", m.best.w)
			break
		}
	}
	const horizon, from = 6, 290
	q := model.Query{Horizon: horizon, Samples: 2, Controls: b.Controls[from : from+horizon]}
	q.Prefix.Resize(from, 1, 1, 1)
	copy(q.Prefix.Observations, b.Observations)
	copy(q.Prefix.Controls, b.Controls)
	var forecast model.Forecast
	m.best.Forecast(&forecast, q)
	var filtered model.Filtering
	m.best.Filter(&filtered, q.Prefix, rng.Stream{})
	y, Z := m.best.Systems(), m.best.Z()
	z := filtered.Mean[(from-1)*Z:]
	for h := range horizon {
		next := make([]float32, Z)
		for i := range Z {
			sum := y.Bias[i] + y.B[i]*float64(q.Controls[h])
			for j := range Z {
				sum += y.A[i*Z+j] * float64(z[j])
			}
			next[i] = float32(sum)
		}
		if z = next; math.Abs(float64(z[0]-forecast.Mean[h])) > 1e-5 {
			t.Errorf("horizon %d: forecast %v, companion form %v", h+1, forecast.Mean[h], z[0])
		}
	}
	settings.Past = 3
	if settings.Check(model.Setup{}) == nil {
		t.Error("three past controls of three lags are not refused")
	}
}
