package gibbs

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// randomParams are stable dynamics with a leaf each that differs.
func randomParams(s *source, cfg Config, d dims) Params {
	p := newParams(cfg, d)
	for _, part := range p.parts(d) {
		for i := range part.Values {
			part.Values[i] = 0.4 * s.normal()
		}
	}
	for k := range d.K {
		copy(p.noise(k, d), flat(definite(s, d.D)))
	}
	for i := range p.Measuring {
		p.Measuring[i] = 0.1 + 0.2*float64(i)
	}
	return p
}

// With one leaf the model is linear and Gaussian: belief and evidence are those of the dense joint Gaussian, with controls and
// missing values.
func TestBelief_IsTheDenseGaussianOfOneLeaf(t *testing.T) {
	s := testSource(7000)
	cfg := DefaultConfig(false)
	cfg.Leaves, cfg.Latent, cfg.Identity = 1, 2, false
	d := cfg.dims(3, 1)
	theta := randomParams(&s, cfg, d)
	system, err := newSystem(cfg, d, theta)
	if err != nil {
		t.Fatal(err)
	}
	const T = 5
	y, u := randoms(&s, 3*T), randoms(&s, T)
	y[4], y[6], y[7], y[8] = math.NaN(), math.NaN(), math.NaN(), math.NaN()

	b := newBelief(d)
	b.begin(system, y[:3])
	evidence := 0.0
	for step := 1; step < T; step++ {
		evidence += b.next(system, u[step:step+1], y[3*step:3*step+3])
	}

	// The joint Gaussian of x_0 … x_{T−1} and the seen y, by stacking.
	n := 2 * T
	mean, covariance := mat.NewVecDense(n, nil), mat.NewDense(n, n, nil)
	a := mat.NewDense(2, 2, []float64{theta.Dynamics[0], theta.Dynamics[1], theta.Dynamics[d.P], theta.Dynamics[d.P+1]})
	for i := range 2 {
		covariance.Set(i, i, cfg.Prior.Start)
	}
	for step := 1; step < T; step++ {
		at, before := 2*step, 2*step-2
		for i := range 2 {
			w := theta.Dynamics[i*d.P:]
			mean.SetVec(at+i, w[0]*mean.AtVec(before)+w[1]*mean.AtVec(before+1)+w[2]*u[step]+w[3])
		}
		var cross mat.Dense
		cross.Mul(a, covariance.Slice(before, at, 0, at))
		covariance.Slice(at, at+2, 0, at).(*mat.Dense).Copy(&cross)
		covariance.Slice(0, at, at, at+2).(*mat.Dense).Copy(cross.T())
		var own mat.Dense
		own.Product(a, covariance.Slice(before, at, before, at), a.T())
		own.Add(&own, mat.NewDense(2, 2, theta.Noise))
		covariance.Slice(at, at+2, at, at+2).(*mat.Dense).Copy(&own)
	}
	condition := func(from, to int) (m, p []float64, logDensity float64) {
		var rows, seen, noise []float64
		for step := range to {
			for i := range 3 {
				if v := y[3*step+i]; !math.IsNaN(v) {
					row := make([]float64, n)
					copy(row[2*step:], theta.Emission[i*3:i*3+2])
					rows = append(rows, row...)
					seen = append(seen, v-theta.Emission[i*3+2])
					noise = append(noise, theta.Measuring[i])
				}
			}
		}
		c := mat.NewDense(len(seen), n, rows)
		var cp, sigma, gain, post mat.Dense
		cp.Mul(c, covariance)
		sigma.Mul(&cp, c.T())
		for i, v := range noise {
			sigma.Set(i, i, sigma.At(i, i)+v)
		}
		var residual, update, weighted mat.VecDense
		residual.MulVec(c, mean)
		residual.SubVec(mat.NewVecDense(len(seen), seen), &residual)
		if err := gain.Solve(&sigma, &cp); err != nil {
			t.Fatal(err)
		}
		update.MulVec(gain.T(), &residual)
		update.AddVec(mean, &update)
		post.Mul(cp.T(), &gain)
		post.Sub(covariance, &post)
		if err := weighted.SolveVec(&sigma, &residual); err != nil {
			t.Fatal(err)
		}
		logDet, _ := mat.LogDet(&sigma)
		logDensity = -0.5 * (float64(len(seen))*log2Pi + logDet + mat.Dot(&residual, &weighted))
		at := 2*to - 2
		return []float64{update.AtVec(at), update.AtVec(at + 1)}, flat(post.Slice(at, at+2, at, at+2)), logDensity
	}
	wantMean, wantCovariance, all := condition(0, T)
	_, _, first := condition(0, 1)
	near(t, "mean", b.mean, wantMean, 1e-10)
	near(t, "covariance", b.covariance, wantCovariance, 1e-10)
	if math.Abs(evidence-(all-first)) > 1e-9 {
		t.Errorf("ln p(y) = %v, want %v", evidence, all-first)
	}
}

// Without observations the next belief has the mean and covariance of the mixture of all leaves.
func TestBelief_HasTheMomentsOfTheMixture(t *testing.T) {
	s := testSource(7200)
	cfg := DefaultConfig(true)
	cfg.Leaves, cfg.Identity = 3, false
	d := cfg.dims(1, 0)
	theta := randomParams(&s, cfg, d)
	system, err := newSystem(cfg, d, theta)
	if err != nil {
		t.Fatal(err)
	}
	b := newBelief(d)
	b.begin(system, []float64{0.7})
	mean, covariance := mat.NewVecDense(2, append([]float64(nil), b.mean...)), mat.NewDense(2, 2, append([]float64(nil), b.covariance...))
	b.next(system, nil, []float64{math.NaN()})

	logPi, nu := make([]float64, 3), make([]float64, 2)
	system.logProbabilities(logPi, nu, mean.RawVector().Data)
	var total mat.VecDense
	var second mat.Dense // E x xᵀ
	total.ReuseAsVec(2)
	second.ReuseAs(2, 2)
	for k := range 3 {
		w := mat.NewDense(2, 3, theta.leaf(k, d))
		var m mat.VecDense
		var p mat.Dense
		m.MulVec(w.Slice(0, 2, 0, 2), mean)
		m.AddVec(&m, w.ColView(2))
		p.Product(w.Slice(0, 2, 0, 2), covariance, w.Slice(0, 2, 0, 2).T())
		p.Add(&p, mat.NewDense(2, 2, theta.noise(k, d)))
		p.RankOne(&p, 1, &m, &m)
		p.Scale(math.Exp(logPi[k]), &p)
		total.AddScaledVec(&total, math.Exp(logPi[k]), &m)
		second.Add(&second, &p)
	}
	second.RankOne(&second, -1, &total, &total)
	near(t, "mean", b.mean, total.RawVector().Data, 1e-12)
	near(t, "covariance", b.covariance, flat(&second), 1e-12)
}

func testForecaster(t *testing.T, rollout Rollout) (*Forecaster, model.Query) {
	t.Helper()
	cfg := variants()["trslds"]
	f := newFit(t, cfg, 1, 0)
	for !f.Done() {
		steps(t, f, 1)
	}
	forecaster, err := f.Posterior().NewForecaster(rollout)
	if err != nil {
		t.Fatal(err)
	}
	s := testSource(7100)
	q := model.Query{Horizon: 6, Samples: 5, Noise: rng.New(1, rng.Evaluation).At(1, 2, 3)}
	q.Prefix.Resize(9, 4, 3, 2)
	for i := range q.Prefix.Observations {
		q.Prefix.Observations[i] = float32(s.normal())
	}
	for i := range q.Prefix.Controls {
		q.Prefix.Controls[i] = float32(s.normal())
	}
	q.Controls = make([]float32, 6*4*2)
	for i := range q.Controls {
		q.Controls[i] = float32(s.normal())
	}
	return forecaster, q
}

func TestForecast_MeanIsTheAveragedDynamicsOfTheMostLikelyLeaf(t *testing.T) {
	f, q := testForecaster(t, RolloutMode)
	var got model.Forecast
	f.Forecast(&got, q)
	theta := f.mean.theta
	for n := range 4 {
		f.filter(f.mean, q.Prefix, n, nil)
		x := append([]float64(nil), f.belief.mean...)
		for h := range q.Horizon {
			logPi, nu := make([]float64, f.K), make([]float64, f.K-1)
			f.mean.logProbabilities(logPi, nu, x)
			k := f.mean.tree.mostLikely(logPi)
			next := make([]float64, f.D)
			for i := range next {
				w := theta.Dynamics[(k*f.D+i)*f.P:]
				u := q.Controls[(h*4+n)*2:]
				next[i] = w[0]*x[0] + w[1]*x[1] + w[2]*float64(u[0]) + w[3]*float64(u[1]) + w[4]
			}
			x = next
			for i := range 3 {
				want := theta.Emission[i*3]*x[0] + theta.Emission[i*3+1]*x[1] + theta.Emission[i*3+2]
				if v := got.Mean[(h*4+n)*3+i]; math.Abs(float64(v)-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("sequence %d, step %d, dimension %d: %v, want %v", n, h, i, v, want)
				}
			}
		}
	}
}

func TestForecast_OfTheSampleIsTheAverageOfItsPaths(t *testing.T) {
	f, q := testForecaster(t, RolloutSample)
	var a, b model.Forecast
	f.Forecast(&a, q)
	f.Clone().Forecast(&b, q)
	for i, v := range a.Mean {
		sum := float32(0)
		for s := range q.Samples {
			sum += a.Paths[s*len(a.Mean)+i] / 5
		}
		if math.Abs(float64(v-sum)) > 1e-5*(1+math.Abs(float64(sum))) {
			t.Fatalf("value %d: %v, its paths have mean %v", i, v, sum)
		}
		if v != b.Mean[i] || a.Draw[i] != b.Draw[i] {
			t.Fatal("a clone forecasts otherwise")
		}
	}
	for i := 0; i < len(a.Switches); i += f.K {
		total := float32(0)
		for _, w := range a.Switches[i : i+f.K] {
			total += w
		}
		if math.Abs(float64(total-1)) > 1e-6 {
			t.Fatalf("the regimes of step %d sum to %v", i/f.K, total)
		}
	}
}

func TestFilter_EndsWhereAForecastBegins(t *testing.T) {
	f, q := testForecaster(t, RolloutMode)
	var got model.Filtering
	f.Filter(&got, q.Prefix, q.Noise)
	for n := range 4 {
		f.filter(f.mean, q.Prefix, n, nil)
		row := 8*4 + n
		for i, v := range f.belief.mean {
			sd := math.Sqrt(f.belief.covariance[i*f.D+i])
			if m := got.Mean[row*f.D+i]; m != float32(v) || got.SD[row*f.D+i] != float32(sd) || sd == 0 {
				t.Errorf("sequence %d: %v ± %v, want %v ± %v", n, m, got.SD[row*f.D+i], v, sd)
			}
		}
		total := float32(0)
		for k := range f.K {
			total += got.Switches[row*f.K+k]
			if got.Switches[n*f.K+k] != 0 {
				t.Error("the first step has a regime")
			}
		}
		if math.Abs(float64(total-1)) > 1e-6 {
			t.Errorf("the regimes sum to %v", total)
		}
	}
}

// A plan per rollout is used by its rollout alone.
func TestForecast_PlansOfRollouts(t *testing.T) {
	f, q := testForecaster(t, RolloutSample)
	var one, many model.Forecast
	f.Forecast(&one, q)
	plan := q.Controls
	q.Controls = nil
	for i := range q.Samples {
		for _, u := range plan {
			q.Controls = append(q.Controls, u+float32(i))
		}
	}
	f.Forecast(&many, q)
	path := len(one.Mean)
	for i := range one.Paths {
		if same := one.Paths[i] == many.Paths[i]; same != (i < path) {
			t.Fatalf("rollout %d, value %d: same is %v", i/path, i%path, same)
		}
	}
}

// TestEnsemble_PathsOverGaps: where gaps are filled in for each path, a path has the chain and the parameters that it has
// without gaps, as the deviations of its observations say.
func TestEnsemble_PathsOverGaps(t *testing.T) {
	for _, rollout := range []Rollout{RolloutMode, RolloutSample} {
		a, q := testForecaster(t, rollout)
		b, _ := testForecaster(t, rollout)
		if len(a.draws) < 2 {
			t.Fatalf("%d draws", len(a.draws))
		}
		for c, f := range []*Forecaster{a, b} {
			for k, s := range f.draws {
				s.theta.Measuring[0] = math.Pow(float64(1+10*c+k), 2)
			}
		}
		e := &Ensemble{chains: []*Forecaster{a, b}, rollout: rollout, given: 2}
		var whole, gappy model.Forecast
		e.Forecast(&whole, q)
		q.Prefix.Seen = slices.Repeat([]float32{1}, len(q.Prefix.Observations))
		q.Prefix.Seen[60], q.Prefix.Observations[60] = 0, 0
		if filled := model.AheadOfAll(e, &gappy, q); filled.B != q.Samples*q.Prefix.B {
			t.Fatalf("%d sequences are filled in", filled.B)
		}
		for i := 0; i < len(whole.SD); i += whole.NX {
			if whole.SD[i] != gappy.SD[i] {
				t.Fatalf("%s: the deviation of value %d is %v, without gaps %v", rollout, i, gappy.SD[i], whole.SD[i])
			}
		}
		far := 0.0
		for i, v := range gappy.Mean {
			far = max(far, math.Abs(float64(v-whole.Mean[i])))
		}
		if far == 0 || far > 2 {
			t.Errorf("%s: the mean is off by %v for one value in a hundred", rollout, far)
		}
	}
}

// TestEnsemble_FillsOfAllChains: what fills in a gap comes from all chains and draws, not from the first alone: here
// they differ in the deviation of the observations.
func TestEnsemble_FillsOfAllChains(t *testing.T) {
	a, q := testForecaster(t, RolloutMode)
	b, _ := testForecaster(t, RolloutMode)
	for c, f := range []*Forecaster{a, b} {
		for _, s := range f.draws {
			s.theta.Measuring[0] = []float64{1e-12, 1e8}[c]
		}
	}
	e := &Ensemble{chains: []*Forecaster{a, b}, rollout: RolloutMode, given: 2}
	q.Prefix.Seen = slices.Repeat([]float32{1}, len(q.Prefix.Observations))
	for c := range q.Prefix.NX { // a whole step, beside which nothing was seen
		q.Prefix.Seen[60/q.Prefix.NX*q.Prefix.NX+c] = 0
	}
	var dst model.Forecast
	wide := model.AheadOfAll(e, &dst, q)
	wild := 0
	for path := range q.Samples {
		row := 60 / q.Prefix.NX // step and sequence of the gap
		step, sequence := row/q.Prefix.B, row%q.Prefix.B
		if v := wide.Observations[(step*wide.B+path*q.Prefix.B+sequence)*wide.NX]; math.Abs(float64(v)) > 50 {
			wild++
		}
	}
	if wild < q.Samples/4 || wild > q.Samples*3/4 {
		t.Errorf("%d of %d paths are filled in by the second of two chains", wild, q.Samples)
	}
}

// The mean without noise is that over all plans, as it is the same for one after another.
func TestForecast_MeanOverPlans(t *testing.T) {
	f, q := testForecaster(t, RolloutMode)
	plan := q.Controls
	want := make([]float64, q.Horizon*4*3)
	var all []float32
	for i := range q.Samples {
		q.Controls = nil
		for j, u := range plan {
			q.Controls = append(q.Controls, u+float32(i*(j%3)))
		}
		all = append(all, q.Controls...)
		var one model.Forecast
		f.Forecast(&one, q)
		for j, v := range one.Mean {
			want[j] += float64(v) / float64(q.Samples)
		}
	}
	q.Controls = all
	var got model.Forecast
	f.Forecast(&got, q)
	for j, v := range got.Mean {
		if math.Abs(float64(v)-want[j]) > 1e-5*(1+math.Abs(want[j])) {
			t.Fatalf("value %d: %v, the mean over plans is %v", j, v, want[j])
		}
	}
}

// What a prefix hides changes no forecast, and what it shows does.
func TestForecast_SkipsWhatIsMissing(t *testing.T) {
	f, q := testForecaster(t, RolloutMode)
	q.Prefix.Seen = make([]float32, len(q.Prefix.Observations))
	for i := range q.Prefix.Seen {
		q.Prefix.Seen[i] = float32((i + 1) % 2)
	}
	var a, b, c model.Forecast
	f.Forecast(&a, q)
	q.Prefix.Observations[101] += 3 // hidden
	f.Forecast(&b, q)
	q.Prefix.Observations[102] += 3 // seen
	f.Forecast(&c, q)
	if !equal(a.Mean, b.Mean) || !equal(a.Paths, b.Paths) {
		t.Error("a value that is not seen changes the forecast")
	}
	if equal(a.Mean, c.Mean) {
		t.Error("a value that is seen changes nothing")
	}
}

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestPosterior_AveragesWhatIsAdded(t *testing.T) {
	cfg := variants()["rslds"]
	c, err := New(cfg, mixed(3), rng.New(1, rng.Noise), 0)
	if err != nil {
		t.Fatal(err)
	}
	p := NewPosterior(c, 2)
	sum, first := 0.0, 0.0
	for range 5 {
		if err := c.Sweep(); err != nil {
			t.Fatal(err)
		}
		p.Add(c)
		sum += c.theta.Dynamics[3] / 5
		if c.z[0] == 1 {
			first += 1.0 / 5
		}
	}
	if got := p.Mean().Dynamics[3]; math.Abs(got-sum) > 1e-12 {
		t.Errorf("mean of a parameter %v, want %v", got, sum)
	}
	if got := p.Regimes()[1]; math.Abs(got-first) > 1e-12 {
		t.Errorf("probability of leaf 1 at step 0: %v, want %v", got, first)
	}
	for step := range len(c.z) {
		if total := matrix.Dot(p.Regimes()[step*c.K:(step+1)*c.K], []float64{1, 1, 1, 1}); math.Abs(total-1) > 1e-12 {
			t.Errorf("the regimes of step %d sum to %v", step, total)
		}
	}
	if len(p.Draws()) != 2 || p.Sweeps() != 5 {
		t.Errorf("%d draws of %d sweeps, want 2 of 5", len(p.Draws()), p.Sweeps())
	}
}
