package arhmm

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// random returns parameters and a recording that have nothing to do with each other.
func random(t *testing.T, d dims, steps int) (*system, recording) {
	t.Helper()
	s := rng.New(3, rng.Noise).At(0, 0, 0)
	p := d.view(make([]float64, d.size()))
	for i := range p.w {
		p.w[i] = 0.5 * s.Normal()
	}
	for k := range d.K {
		p.first[k] = float64(k+1) / float64(d.K*(d.K+1)/2)
		for j := range d.K {
			p.transition[k*d.K+j] = float64(1+(k+2*j)%3) / 6
		}
		share(p.transition[k*d.K:(k+1)*d.K], slices.Clone(p.transition[k*d.K:(k+1)*d.K]))
		for i := range d.D {
			p.q[(k*d.D+i)*d.D+i] = 1 + 0.3*float64(k)
			for j := range i {
				p.q[(k*d.D+i)*d.D+j], p.q[(k*d.D+j)*d.D+i] = 0.2, 0.2
			}
		}
	}
	system, err := newSystem(d, p)
	if err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	b.Resize(steps, 1, d.D, d.Du)
	s.Normals(b.Observations)
	s.Normals(b.Controls)
	return system, newRecording(b, 0)
}

// enumerate sums p(x, s) over all paths; it returns ln p(x | first L) and p(s_t=k | x).
func enumerate(s *system, r recording) (logLikelihood float64, smoothed []float64) {
	n := r.T - s.L
	smoothed = make([]float64, r.T*s.K)
	total, path := 0.0, make([]int, n)
	for code := range int(math.Pow(float64(s.K), float64(n))) {
		p := 1.0
		for i := range n {
			path[i] = code % s.K
			code /= s.K
			if i == 0 {
				p *= s.first[path[0]]
			} else {
				p *= s.transition[path[i-1]*s.K+path[i]]
			}
			t := s.L + i
			lags := make([]float64, s.Z())
			for l := range s.L {
				copy(lags[l*s.D:], r.x[(t-1-l)*s.D:(t-l)*s.D])
			}
			for c := range s.C * s.Du {
				lags[s.L*s.D+c] = r.u[(t-1)*s.Du-c]
			}
			s.setFeatures(lags, r.u[t*s.Du:])
			p *= math.Exp(s.density(path[i], r.x[t*s.D:(t+1)*s.D]))
		}
		total += p
		for i, k := range path {
			smoothed[(s.L+i)*s.K+k] += p
		}
	}
	for i := range smoothed {
		smoothed[i] /= total
	}
	return math.Log(total), smoothed
}

// TestPasses_AreSumsOverAllPaths: likelihood and smoothed regimes, with the last value of a channel missing, too. With
// P transposed they are others.
func TestPasses_AreSumsOverAllPaths(t *testing.T) {
	for _, d := range []dims{{K: 2, D: 2, Du: 1, L: 1, P: 4}, {K: 3, D: 1, L: 0, P: 1}, {K: 3, D: 2, L: 2, P: 5}, {K: 2, D: 1, Du: 1, L: 3, C: 2, P: 7}} {
		for _, missing := range []bool{false, true} {
			s, r := random(t, d, 6)
			if missing {
				r.x[5*d.D], r.full[5] = math.NaN(), false
			}
			want, smoothed := enumerate(s, r)
			p := newPasses(s)
			p.forward(r)
			p.backward()
			if math.Abs(p.logLikelihood-want) > 1e-10 {
				t.Errorf("%+v, missing %v: log likelihood %v, want %v", d, missing, p.logLikelihood, want)
			}
			for i := d.L * d.K; i < len(smoothed); i++ {
				if math.Abs(p.smoothed[i]-smoothed[i]) > 1e-12 {
					t.Fatalf("%+v, missing %v: p(s|x) %v, want %v", d, missing, p.smoothed, smoothed)
				}
			}
			if d.K == 3 {
				for i := range d.K {
					for j := range i {
						s.transition[i*d.K+j], s.transition[j*d.K+i] = s.transition[j*d.K+i], s.transition[i*d.K+j]
					}
				}
				if p.forward(r); math.Abs(p.logLikelihood-want) < 1e-4 {
					t.Errorf("%+v: P transposed has the same likelihood", d)
				}
			}
		}
	}
}

// rotations are recordings of two rotations that take turns, and the regime of each step.
func rotations(n, steps int) (batches []model.Batch, regimes [][]int) {
	s := rng.New(1, rng.Episode).At(0, 0, 0)
	for range n {
		var b model.Batch
		b.Resize(steps, 1, 2, 1)
		x, z := []float64{s.Normal(), s.Normal()}, make([]int, steps)
		for t := range steps {
			if z[t] = z[max(t-1, 0)]; s.Float64() < 0.05 {
				z[t] = 1 - z[t]
			}
			angle := []float64{0.4, -0.7}[z[t]]
			u := s.Normal()
			x = []float64{
				math.Cos(angle)*x[0] - math.Sin(angle)*x[1] + 0.3*u + 0.05*s.Normal(),
				math.Sin(angle)*x[0] + math.Cos(angle)*x[1] + 0.05*s.Normal(),
			}
			b.Observations[2*t], b.Observations[2*t+1], b.Controls[t] = float32(x[0]), float32(x[1]), float32(u)
		}
		batches, regimes = append(batches, b), append(regimes, z)
	}
	return batches, regimes
}

// TestSweep_RaisesTheLikelihood at every step of EM, of every start, and finds the regimes.
func TestSweep_RaisesTheLikelihood(t *testing.T) {
	for _, noise := range []Noise{Own, Common} {
		batches, regimes := rotations(10, 100)
		settings := DefaultSettings()
		settings.Switches, settings.Noise = 2, noise
		built, err := settings.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
		if err != nil {
			t.Fatal(err)
		}
		m := built.(*Model)
		var states [][]float64
		for index := range 3 {
			c, err := m.NewChain(batches, index, nil)
			if err != nil {
				t.Fatal(err)
			}
			terms, last := make([]float64, 2), math.Inf(1)
			for sweep := range 40 {
				if err := c.Sweep(terms); err != nil {
					t.Fatal(err)
				}
				if terms[0] > last+1e-9 {
					t.Errorf("%s, start %d, sweep %d: the negative log likelihood rises from %v to %v", noise, index, sweep, last, terms[0])
				}
				last = terms[0]
			}
			state := make([]float64, m.size())
			c.State(state)
			states = append(states, state)
		}
		if err := m.Install(states); err != nil {
			t.Fatal(err)
		}
		right, all := 0, 0
		for i, b := range batches {
			var answer model.Segmentation
			m.NewForecaster().(*Forecaster).Segment(&answer, b, 1, rng.Stream{})
			for s := 1; s < b.T; s++ {
				all++
				if (answer.Probability[2*s] > 0.5) == (regimes[i][s] == 0) {
					right++
				}
			}
		}
		if share := float64(right) / float64(all); max(share, 1-share) < 0.97 {
			t.Errorf("%s: accuracy %.3f", noise, max(share, 1-share))
		}
	}
}

// TestChain_GoesOnFromItsState with the same bits.
func TestChain_GoesOnFromItsState(t *testing.T) {
	batches, _ := rotations(3, 40)
	built, _ := DefaultSettings().New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
	m := built.(*Model)
	terms, states := make([]float64, 2), [2][]float64{}
	for i := range states {
		c, err := m.NewChain(batches, 4, nil)
		for range 6 {
			if err == nil {
				err = c.Sweep(terms)
			}
			if states[i] = make([]float64, m.size()); err == nil {
				c.State(states[i])
			}
			if i == 1 && err == nil {
				c, err = m.NewChain(batches, 4, states[i])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(states[0], states[1]) {
		t.Error("a chain that is restored after every sweep has other bits")
	}
}

// TestFit_NoiseBelowTheResolution: the noise of data that are nearly without noise is found, although it is far below the
// resolution, with one regime and with two.
func TestFit_NoiseBelowTheResolution(t *testing.T) {
	const noise = 1e-5
	var b model.Batch
	b.Resize(400, 1, 1, 0)
	s, before, x := rng.New(7, rng.Noise).At(0, 0, 0), 1.0, 1.0
	for i := range b.T {
		before, x = x, 1.98*x-0.9999*before+noise*s.Normal()
		b.Observations[i] = float32(x)
	}
	for K := 1; K <= 2; K++ {
		set := DefaultSettings()
		set.Switches, set.Order = K, 2
		made, err := set.New(model.Data{NX: 1}, rng.New(3, rng.Init))
		if err != nil {
			t.Fatal(err)
		}
		c, err := newChain(made.(*Model), []model.Batch{b}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if err := c.Sweep(make([]float64, 2)); err != nil {
				t.Fatal(err)
			}
		}
		if sd := math.Sqrt(slices.Min(c.q[:K])); sd < 0.5*noise || sd > 1.5*noise { // of two regimes one is enough
			t.Errorf("%d regimes: noise %g, want %g", K, sd, noise)
		}
	}
}

// TestWindows_OfShortRecordings: recordings that are too short for a window of their own make windows together, so that
// the systems of a start differ. Of one window all would be the same, and EM could not tell them apart.
func TestWindows_OfShortRecordings(t *testing.T) {
	var list []model.Batch
	draws := rng.New(4, rng.Noise).At(0, 0, 0)
	for i := range 40 {
		var b model.Batch
		b.Resize(6, 1, 1, 0)
		x, a := draws.Normal(), []float64{0.9, -0.9}[i%2]
		for t := range b.T {
			x = a*x + 0.1*draws.Normal()
			b.Observations[t] = float32(x)
		}
		list = append(list, b)
	}
	s := DefaultSettings()
	s.Switches, s.Order = 2, 3 // a window has 8 steps, a recording has 3
	f, err := Best(s, model.Data{NX: 1}, rng.New(1, rng.Init), list, func() bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if a, b := f.w[0], f.w[f.P]; math.Abs(a-b) < 1 {
		t.Errorf("both regimes have the first lag with about %.2f: %.2f", a, b)
	}
}

// TestSolve_DependentLags: lags that depend on each other are factored, whatever the unit of the data, as those of a
// channel that never varies or of two that are equal.
func TestSolve_DependentLags(t *testing.T) {
	for _, equal := range []bool{false, true} {
		var b model.Batch
		b.Resize(300, 1, 2, 0)
		draws := rng.New(6, rng.Noise).At(0, 0, 0)
		x := 0.0
		for t := range b.T {
			x = 0.9*x + 0.4*draws.Normal()
			b.Observations[2*t], b.Observations[2*t+1] = float32(1e5+x), 1e5
			if equal {
				b.Observations[2*t+1] = b.Observations[2*t]
			}
		}
		s := DefaultSettings()
		s.Switches, s.Order = 2, 2
		f, err := Best(s, model.Data{NX: 2}, rng.New(1, rng.Init), []model.Batch{b}, func() bool { return true })
		if err != nil {
			t.Errorf("equal channels %v: %v", equal, err)
			continue
		}
		var answer model.Forecast
		f.Forecast(&answer, model.Query{Prefix: b, Horizon: 1, Samples: 100, Noise: rng.New(8, rng.Noise).At(0, 0, 0)})
		if last := b.Observations[2*b.T-2]; math.Abs(float64(answer.Mean[0]-last)) > 2 {
			t.Errorf("equal channels %v: %v follows %v", equal, answer.Mean[0], last)
		}
	}
}
