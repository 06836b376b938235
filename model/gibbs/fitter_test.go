package gibbs

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// recordings are two sequences of different length with a control, one with missing values.
func recordings() []model.Batch {
	s := rng.New(3, rng.Noise).At(0, 0, 0)
	var list []model.Batch
	for i, steps := range []int{31, 17} {
		b := model.Batch{T: steps, B: 1, NX: 2, NU: 1, Observations: make([]float32, 2*steps), Controls: make([]float32, steps)}
		x, v := 1.0, 0.0
		for t := range steps {
			if t > 0 {
				b.Controls[t] = float32(s.Normal())
			}
			x, v = x+0.3*v, v-0.3*x+0.2*float64(b.Controls[t])+0.05*s.Normal()
			b.Observations[2*t], b.Observations[2*t+1] = float32(x), float32(v)
		}
		if i == 1 {
			b.Seen = slices.Repeat([]float32{1}, 2*steps)
			b.Seen[9], b.Observations[9] = 0, 0
		}
		list = append(list, b)
	}
	return list
}

func fitter(t *testing.T, change func(s *Settings)) *Model {
	t.Helper()
	s := DefaultSettings(true)
	s.Leaves, s.Sweeps, s.BurnIn, s.Draws, s.Chains, s.Exchange = 3, 12, 5, 3, 2, 3
	change(s)
	m, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	return m.(*Model)
}

func state(m *Model, c model.Chain) []float64 {
	n := 0
	for _, p := range m.Layout(recordings()) {
		n += p.Size()
	}
	dst := make([]float64, n)
	for i := range dst {
		dst[i] = math.NaN() // all of it is written
	}
	c.State(dst)
	return dst
}

// TestFitter_GoesOnFromAState: a chain that is restored after each sweep has the same states as one in one piece,
// before the burn-in is over and after, for settings with all kinds of parameters.
func TestFitter_GoesOnFromAState(t *testing.T) {
	for name, change := range map[string]func(s *Settings){
		"balanced":  func(*Settings) {},
		"linear":    func(s *Settings) { s.Emission, s.Latent, s.hierarchical = Linear, 3, false },
		"one leaf":  func(s *Settings) { s.Leaves = 1 },
		"no draws":  func(s *Settings) { s.Draws = 0 },
		"all draws": func(s *Settings) { s.Draws = 7 },
	} {
		m, terms := fitter(t, change), make([]float64, 4)
		whole, err := m.NewChain(recordings(), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		pieces := whole
		var kept []float64
		for sweep := range 12 {
			if sweep > 0 {
				if pieces, err = m.NewChain(recordings(), 1, kept); err != nil {
					t.Fatalf("%s, after sweep %d: %v", name, sweep, err)
				}
				if err := pieces.Sweep(terms); err != nil {
					t.Fatal(err)
				}
			}
			want := make([]float64, 4)
			if err := whole.Sweep(want); err != nil {
				t.Fatal(err)
			}
			if sweep > 0 && !slices.Equal(terms, want) {
				t.Errorf("%s, sweep %d: terms %v, want %v", name, sweep, terms, want)
			}
			kept = state(m, pieces)
			if !slices.Equal(kept, state(m, whole)) {
				t.Fatalf("%s: the states part at sweep %d", name, sweep)
			}
			loss := -(terms[1] + 2*terms[2])
			if sweep > 0 && math.Abs(terms[0]-loss) > 1e-12 {
				t.Errorf("%s: loss %v, of its terms %v", name, terms[0], loss)
			}
		}
		if _, err := m.NewChain(recordings(), 1, kept[1:]); !errors.Is(err, ErrState) {
			t.Errorf("%s: a short state gives %v", name, err)
		}
	}
}

// TestFitter_ForecastsWithoutRecordings: what is installed is what the fits have: the beginning of a state is enough.
func TestFitter_ForecastsWithoutRecordings(t *testing.T) {
	for _, sweeps := range []int{1, 12} { // before and after the burn-in
		m, terms := fitter(t, func(*Settings) {}), make([]float64, 4)
		if err := m.Install([][]float64{nil, nil}); !errors.Is(err, ErrNotBegun) {
			t.Errorf("no chain: %v", err)
		}
		var states [][]float64
		var fits []*Fit
		for chain := range 2 {
			c, err := m.NewChain(recordings(), chain, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range sweeps {
				if err := c.Sweep(terms); err != nil {
					t.Fatal(err)
				}
			}
			states, fits = append(states, state(m, c)[:size(m.array().head())]), append(fits, c.(*fitted).Fit)
		}
		if err := m.Install(states); err != nil {
			t.Fatal(err)
		}
		for i, p := range m.Posteriors() {
			want := fits[i].posterior
			mean := fits[i].chain.theta
			if sweeps == 12 {
				mean = want.Mean()
			}
			if !slices.Equal(p.Mean().Dynamics, mean.Dynamics) || !slices.Equal(p.Mean().Measuring, mean.Measuring) || len(p.Draws()) != len(want.Draws()) {
				t.Errorf("chain %d after %d sweeps has another posterior than its fit", i, sweeps)
			}
			for j, draw := range p.Draws() {
				if !slices.Equal(draw.Planes, want.draws[j].Planes) || !slices.Equal(draw.Noise, want.draws[j].Noise) {
					t.Errorf("chain %d: draw %d differs", i, j)
				}
			}
		}
		d := map[string]model.Diagnosis{}
		for _, v := range m.Diagnose() {
			d[v.Name] = v
		}
		if want := max(0, sweeps-5); len(d) != 5+2*(sweeps/12) || d["transition"].Size != want || want > 0 && d["transition"].RHat != Converge([][]float64{fits[0].Trace(0), fits[1].Trace(0)}).RHat {
			t.Errorf("after %d sweeps: %+v", sweeps, d)
		}
		if sweeps < 12 {
			continue
		}
		var density [][]float64
		for _, f := range fits {
			sum := f.Trace(0)
			matrix.AddScaled(sum, 2, f.Trace(1))
			density = append(density, sum)
		}
		if got, want := d["density"].RHat, Converge(density).RHat; math.Abs(got-want) > 1e-12 || d["spectral_radius"].Size != 2 || d["r2_1"].Size != 2 {
			t.Errorf("density: R̂ %v, want %v; %+v", got, want, d)
		}
	}
}

// testMeanOfEveryChain: the mean of a forecast without noise has the paths of all chains, also of those that have none of
// the rollouts.
func testMeanOfEveryChain(t *testing.T, m *Model, state []float64) {
	t.Helper()
	if err := m.Install([][]float64{state, state, state}); err != nil {
		t.Fatal(err)
	}
	var means [2][]float32
	for i, rollouts := range []int{1, 6} {
		q := model.Query{Prefix: recordings()[0], Horizon: 4, Samples: rollouts, Controls: make([]float32, 4), Noise: rng.New(5, rng.Noise).At(0, 0, 0)}
		var answer model.Forecast
		m.NewForecaster().Forecast(&answer, q)
		means[i] = answer.Mean
	}
	if !slices.Equal(means[0], means[1]) {
		t.Errorf("the mean beside one rollout is %v, beside six %v", means[0], means[1])
	}
}

// TestFitter_ControlsWithheld: the chains are those of data without controls, forecasts take plans of controls and
// ignore them, their mean is that of all chains, and states and regimes given all observations are those of a model
// without controls.
func TestFitter_ControlsWithheld(t *testing.T) {
	withheld := fitter(t, func(s *Settings) { s.Controls = Withheld })
	s := DefaultSettings(true)
	s.Leaves, s.Sweeps, s.BurnIn, s.Draws = withheld.cfg.Leaves, withheld.schedule.Sweeps, withheld.schedule.BurnIn, withheld.schedule.Draws
	built, err := s.New(model.Data{NX: 2}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	without := built.(*Model)
	blind := recordings()
	for i := range blind {
		blind[i].NU, blind[i].Controls = 0, nil
	}
	states := [2][]float64{}
	for i, of := range []struct {
		m          *Model
		recordings []model.Batch
	}{{withheld, recordings()}, {without, blind}} {
		c, err := of.m.NewChain(of.recordings, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			if err := c.Sweep(make([]float64, 4)); err != nil {
				t.Fatal(err)
			}
		}
		states[i] = state(of.m, c)
		if err := of.m.Install([][]float64{states[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(states[0], states[1]) {
		t.Error("a chain of withheld controls has other states than one without")
	}
	f := withheld.NewForecaster()
	if d := f.Dims(); d.NU != 1 {
		t.Errorf("a forecast takes %d controls, the data have 1", d.NU)
	}
	gappy := recordings()[1]
	if whole := model.Whole(f, gappy, rng.New(5, rng.Noise).At(0, 0, 0)); !slices.Equal(whole.Seen, gappy.Seen) {
		t.Error("a value is filled in, though the filter reads the one beside it")
	}
	var means [2][]float32
	for i, u := range []float32{0, 7} {
		q := model.Query{Prefix: recordings()[0], Horizon: 4, Samples: 2, Controls: slices.Repeat([]float32{u}, 4), Noise: rng.New(5, rng.Noise).At(0, 0, 0)}
		var answer model.Forecast
		f.Forecast(&answer, q)
		means[i] = append(slices.Clone(answer.Mean), answer.Paths...)
	}
	if !slices.Equal(means[0], means[1]) {
		t.Error("withheld controls change a forecast")
	}
	testMeanOfEveryChain(t, withheld, states[0])
	var smoothings [2]model.Smoothing
	var segmentations [2]model.Segmentation
	for i, b := range []model.Batch{recordings()[0], blind[0]} {
		f := []model.Forecaster{withheld.NewForecaster(), without.NewForecaster()}[i]
		f.(model.Smoother).Smooth(&smoothings[i], b)
		f.(model.Segmenter).Segment(&segmentations[i], b, 8, rng.New(6, rng.Evaluation).At(0, 0, 0))
	}
	if !slices.Equal(smoothings[0].Mean, smoothings[1].Mean) {
		t.Error("withheld controls change what is smoothed")
	}
	if !slices.Equal(segmentations[0].Probability, segmentations[1].Probability) {
		t.Error("withheld controls change regimes")
	}
	own := []Recording{{Y: slices.Repeat([]float64{1, 2, 3}, 8), U: make([]float64, 12)}}
	if _, err := withheld.NewFit(own, 0); err != nil || len(own[0].U) != 12 {
		t.Errorf("%v; the caller's recording has %d controls left of 12", err, len(own[0].U))
	}
}

// TestEnsemble_AveragesChains: means over chains, rollouts in equal parts, plans of controls with the rollouts that
// they are of, and nothing else for one chain.
func TestEnsemble_AveragesChains(t *testing.T) {
	m, terms := fitter(t, func(*Settings) {}), make([]float64, 4)
	var posteriors []*Posterior
	for chain := range 3 {
		c, err := m.NewChain(recordings(), chain, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			if err := c.Sweep(terms); err != nil {
				t.Fatal(err)
			}
		}
		posteriors = append(posteriors, c.(*fitted).posterior)
	}
	prefix := recordings()[0]
	for _, samples := range []int{1, 2, 3, 8} {
		q := model.Query{Prefix: prefix, Horizon: 4, Samples: samples, Noise: rng.New(5, rng.Noise).At(0, 0, 0)}
		for i := range samples * q.Horizon {
			q.Controls = append(q.Controls, float32(i/q.Horizon))
		}
		for _, rollout := range []Rollout{RolloutMode, RolloutSample} {
			e, err := NewEnsemble(posteriors, rollout)
			if err != nil {
				t.Fatal(err)
			}
			var got, again model.Forecast
			e.Forecast(&got, q)
			e.Clone().Forecast(&again, q)
			if !slices.Equal(got.Mean, again.Mean) || !slices.Equal(got.Paths, again.Paths) {
				t.Errorf("%s, %d rollouts: a clone forecasts otherwise", rollout, samples)
			}
			if n := len(got.Paths); n != samples*q.Horizon*2 || slices.Contains(got.Paths, 0) {
				t.Errorf("%s: %d rollouts have %d values, %v", rollout, samples, n, got.Paths)
			}
			want := make([]float64, len(got.Mean))
			for i, p := range posteriors {
				if rollout == RolloutSample {
					break
				}
				f, err := p.NewForecaster(rollout)
				if err != nil {
					t.Fatal(err)
				}
				// A chain without a rollout has the first plan.
				_, from, to := e.share(i, samples)
				if from == to {
					from, to = 0, 1
				}
				for plan := from; plan < to; plan++ {
					var one model.Forecast
					alone := q
					alone.Samples, alone.Controls = 1, q.Controls[plan*q.Horizon:][:q.Horizon]
					f.Forecast(&one, alone)
					for j, v := range one.Mean {
						want[j] += float64(v) / float64(3*(to-from))
					}
				}
			}
			if rollout == RolloutSample {
				for i := range samples {
					for j := range want {
						want[j] += float64(got.Paths[i*len(want)+j]) / float64(samples)
					}
				}
			}
			for j, v := range got.Mean {
				if math.Abs(float64(v)-want[j]) > 1e-4 {
					t.Errorf("%s, %d rollouts: mean %d is %v, want %v", rollout, samples, j, v, want[j])
				}
			}
		}
	}
	e, err := NewEnsemble(posteriors[:1], RolloutSample)
	if err != nil {
		t.Fatal(err)
	}
	f, err := posteriors[0].NewForecaster(RolloutSample)
	if err != nil {
		t.Fatal(err)
	}
	q := model.Query{Prefix: prefix, Horizon: 2, Samples: 3, Controls: make([]float32, 2), Noise: rng.New(5, rng.Noise).At(0, 0, 0)}
	var got, want model.Forecast
	e.Forecast(&got, q)
	f.Forecast(&want, q)
	if !slices.Equal(got.Paths, want.Paths) {
		t.Error("one chain forecasts otherwise than its posterior")
	}
}
