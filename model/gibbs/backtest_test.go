package gibbs

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestBacktest_IsAForecast: its errors are those of a Forecaster that is asked from the same start.
func TestBacktest_IsAForecast(t *testing.T) {
	m := fitter(t, func(*Settings) {})
	c, err := m.NewChain(recordings(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		if err := c.Sweep(make([]float64, 4)); err != nil {
			t.Fatal(err)
		}
	}
	fit := c.(*fitted).Fit
	f, err := fit.posterior.NewForecaster(RolloutMode)
	if err != nil {
		t.Fatal(err)
	}
	chain, horizons, compared, skipped := fit.chain, backtestHorizons(), 0, 0
	for i := range backtestStarts {
		at := (2*i + 1) * 48 / (2 * backtestStarts)
		n, from := 0, 0
		if at >= 31 {
			n, from = 1, 31
		}
		b, start := recordings()[n], at-from
		first := max(0, start-backtestPast+1)
		q := model.Query{Horizon: b.T - 1 - start, Samples: 1, Noise: rng.New(5, rng.Noise).At(0, 0, 0)}
		q.Prefix = model.Batch{T: start - first + 1, B: 1, NX: 2, NU: 1, Observations: b.Observations[2*first : 2*start+2], Controls: b.Controls[first : start+1]}
		if b.Seen != nil {
			q.Prefix.Seen = b.Seen[2*first : 2*start+2]
		}
		q.Controls = b.Controls[start+1:]
		var answer model.Forecast
		if q.Horizon > 0 {
			f.Forecast(&answer, q)
		}
		for k, h := range horizons {
			for d := range 2 {
				got := fit.errors[(i*len(horizons)+k)*2+d]
				if h > q.Horizon || b.Seen != nil && b.Seen[2*(start+h)+d] == 0 {
					if skipped++; got != 0 {
						t.Errorf("start %d, %d ahead, dimension %d: error %v of what was not seen", at, h, d, got)
					}
					continue
				}
				compared++
				sd := math.Sqrt(chain.floors[d]) / chain.cfg.Prior.Resolution
				want := (float64(b.Observations[2*(start+h)+d]) - float64(answer.Mean[2*(h-1)+d])) / sd
				if math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Errorf("start %d, %d ahead, dimension %d: error %v, want %v", at, h, d, got, want)
				}
			}
		}
	}
	if compared < 500 || skipped < 100 {
		t.Errorf("%d errors were compared, %d were not there", compared, skipped)
	}
	if limited(math.NaN()) != backtestLimit || limited(math.Inf(-1)) != -backtestLimit || limited(-3) != -3 {
		t.Error("errors are not bounded")
	}
}

// TestBacktest_OfADimensionThatNeverVaries: it has no scale to measure errors in, and does not decide what chains weigh.
func TestBacktest_OfADimensionThatNeverVaries(t *testing.T) {
	constant := recordings()
	for i := range constant {
		b := &constant[i]
		b.Observations = slices.Clone(b.Observations)
		for at := 1; at < len(b.Observations); at += 2 {
			if b.Seen == nil || b.Seen[at] != 0 {
				b.Observations[at] = 0.25
			}
		}
	}
	c, err := fitter(t, func(*Settings) {}).NewChain(constant, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 12 {
		if err := c.Sweep(make([]float64, 4)); err != nil {
			t.Fatal(err)
		}
	}
	fit, varies := c.(*fitted).Fit, 0.0
	for i, e := range fit.errors {
		if i%2 == 1 && e != 0 {
			t.Fatalf("value %d: an error of %v standard deviations", i, e)
		}
		varies = max(varies, math.Abs(e))
	}
	for i, v := range fit.squares {
		if v > backtestLimit {
			t.Errorf("draw %d: a squared error of %v", i/len(backtestHorizons()), v)
		}
	}
	if varies == 0 {
		t.Error("the other dimension has no errors either")
	}
}

// TestStack_HasTheLeastError: weights by the formula for errors without correlation, none for what only harms, equal
// ones where nothing tells chains apart, and no other weights do better.
func TestStack_HasTheLeastError(t *testing.T) {
	for name, test := range map[string]struct {
		errors [][]float64
		want   []float64
	}{
		"uncorrelated": {[][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 2}}, []float64{2. / 3, 1. / 6, 1. / 6}},
		"one diverged": {[][]float64{{1, 1}, {1000, 1000}, {1, -1}}, []float64{.5, 0, .5}},
		"the same":     {[][]float64{{1, 2}, {1, 2}}, []float64{.5, .5}},
		"all right":    {[][]float64{{0, 0}, {0, 0}}, []float64{.5, .5}},
		"one":          {[][]float64{{3}}, []float64{1}},
	} {
		near(t, name, stack(test.errors), test.want, 1e-6)
	}
	s := testSource(700)
	for range 50 {
		errors := make([][]float64, 4)
		for i := range errors {
			errors[i] = randoms(&s, 20)
			matrix.AddScaled(errors[i], 2*s.normal(), errors[0])
		}
		least, best := stack(errors), 0.0
		squared := func(w []float64) float64 {
			sum := make([]float64, 20)
			for i, v := range w {
				matrix.AddScaled(sum, v, errors[i])
			}
			return matrix.Dot(sum, sum)
		}
		best = squared(least)
		total := 0.0
		for _, w := range least {
			total += w
			if w < 0 {
				t.Errorf("weights %v", least)
			}
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("weights %v are %v together", least, total)
		}
		for range 200 {
			other := slices.Clone(least)
			i, j := s.stream.IntN(4), s.stream.IntN(4)
			move := other[i] * s.uniform()
			other[i] -= move
			other[j] += move
			if squared(other) < best*(1-1e-9) {
				t.Errorf("weights %v have the error %v, %v have %v", least, best, other, squared(other))
			}
		}
	}
}

// TestEnsemble_WeighsChains: a chain of weight 0 says nothing, the one that counts most leads, and all rollouts are used.
func TestEnsemble_WeighsChains(t *testing.T) {
	m := fitter(t, func(*Settings) {})
	var posteriors []*Posterior
	for chain := range 3 {
		c, err := m.NewChain(recordings(), chain, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			if err := c.Sweep(make([]float64, 4)); err != nil {
				t.Fatal(err)
			}
		}
		posteriors = append(posteriors, c.(*fitted).posterior)
	}
	q := model.Query{Prefix: recordings()[0], Horizon: 4, Samples: 8, Controls: make([]float32, 4), Noise: rng.New(5, rng.Noise).At(0, 0, 0)}
	forecast := func(weights []float64, rollout Rollout, of ...*Posterior) (answer model.Forecast) {
		e, err := NewEnsemble(of, rollout)
		if err != nil {
			t.Fatal(err)
		}
		e.weigh(weights)
		e.Clone().Forecast(&answer, q)
		return answer
	}
	var alone []model.Forecast
	for _, p := range posteriors {
		alone = append(alone, forecast(nil, RolloutMode, p))
	}
	if got := forecast([]float64{0, 1, 0}, RolloutMode, posteriors...); !slices.Equal(got.Mean, alone[1].Mean) {
		t.Error("the only chain that counts does not decide")
	}
	got := forecast([]float64{.25, 0, .75}, RolloutMode, posteriors...)
	for j, v := range got.Mean {
		if want := .25*alone[0].Mean[j] + .75*alone[2].Mean[j]; math.Abs(float64(v-want)) > 1e-5 {
			t.Errorf("mean %d is %v, want %v", j, v, want)
		}
	}
	for _, weights := range [][]float64{{.25, 0, .75}, {.1, .45, .45}, {.05, .05, .9}, nil} {
		got := forecast(weights, RolloutSample, posteriors...)
		if slices.Contains(got.Paths, 0) || len(got.Paths) != 8*4*2 {
			t.Errorf("weights %v: paths %v", weights, got.Paths)
		}
		want := make([]float64, len(got.Mean))
		for i, v := range got.Paths {
			want[i%len(want)] += float64(v) / 8
		}
		for j, v := range got.Mean {
			if math.Abs(float64(v)-want[j]) > 1e-5 {
				t.Errorf("weights %v: mean %d is %v, want %v", weights, j, v, want[j])
			}
		}
	}
	e, err := NewEnsemble(posteriors, RolloutMode)
	if err != nil {
		t.Fatal(err)
	}
	e.weigh([]float64{.3, .1, .6})
	used := 0
	for i := range 3 {
		_, from, to := e.share(i, 10)
		used += to - from
	}
	if weight, from, to := e.share(0, 10); weight != .6 || from != 0 || to != 6 || used != 10 {
		t.Errorf("the leading chain has %v and rollouts %d to %d; %d of 10 are used", weight, from, to, used)
	}
}

// TestRegimes_AreThoseOfTheSweeps: what a state keeps of the regimes is what the chains have counted, under one
// numbering, and no more than was kept is read.
func TestRegimes_AreThoseOfTheSweeps(t *testing.T) {
	for _, leaves := range []int{1, 2, 3, 6} {
		m := fitter(t, func(s *Settings) { s.Leaves, s.Combine = leaves, CombineEqual })
		var states, want [][]float64
		for chain := range 2 {
			c, err := m.NewChain(recordings(), chain, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 12 {
				if err := c.Sweep(make([]float64, 4)); err != nil {
					t.Fatal(err)
				}
			}
			states, want = append(states, state(m, c)), append(want, c.(*fitted).posterior.Regimes())
		}
		if err := m.Install(states); err != nil {
			t.Fatal(err)
		}
		got, err := m.Regimes([]int{31, 17})
		if err != nil || got.K != leaves || len(got.Probability) != 48*leaves {
			t.Fatalf("%d leaves: %d regimes, %d values, %v", leaves, got.K, len(got.Probability), err)
		}
		other := renumbered(want[1], want[0], leaves)
		for j := range want[0] {
			// The chains count the regime of the transition from a step; what is asked for is that of the one to it.
			from := j - leaves
			if step := j / leaves; step == 0 || step == 31 {
				from = j
			}
			mean, sd := (want[0][from]+other[from])/2, math.Abs(want[0][from]-other[from])/2
			if math.Abs(float64(got.Probability[j])-mean) > 1e-6 || math.Abs(float64(got.Spread[j])-sd) > 1e-4 {
				t.Errorf("%d leaves, value %d: %v ± %v, want %v ± %v", leaves, j, got.Probability[j], got.Spread[j], mean, sd)
			}
		}
		if _, err := m.Regimes([]int{48, 17}); err == nil {
			t.Errorf("%d leaves: recordings of other lengths are taken", leaves)
		}
	}
	p := []float64{.1, .9, 0, .8, .1, .1, 0, .2, .8}
	if got := renumbered(p, []float64{0, 0, 1, 1, 0, 0, 0, 1, 0}, 3); !slices.Equal(got, []float64{.1, 0, .9, .8, .1, .1, 0, .8, .2}) {
		t.Errorf("got %v", got)
	}
	m := fitter(t, func(s *Settings) { s.Keep = KeepParameters })
	c, err := m.NewChain(recordings(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Install([][]float64{state(m, c)}); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Regimes([]int{31, 17}); err != nil || got.K != 0 {
		t.Errorf("regimes that were not kept: %+v, %v", got, err)
	}
}

// TestModulus_IsThatOfGonum: of matrices with real and complex eigenvalues, and of one whose powers vanish.
func TestModulus_IsThatOfGonum(t *testing.T) {
	s := testSource(900)
	for n := 1; n < 6; n++ {
		for range 20 {
			a := randoms(&s, n*n)
			var e mat.Eigen
			if !e.Factorize(mat.NewDense(n, n, slices.Clone(a)), mat.EigenNone) {
				t.Fatal("gonum finds no eigenvalues")
			}
			want := 0.0
			for _, v := range e.Values(nil) {
				want = max(want, cmplx.Abs(v))
			}
			if got := modulus(slices.Clone(a), n); math.Abs(got-want) > 1e-6*want {
				t.Errorf("%v: %v, want %v", a, got, want)
			}
		}
	}
	if got := modulus([]float64{0, 1, 0, 0}, 2); got != 0 {
		t.Errorf("a nilpotent matrix has %v", got)
	}
}
