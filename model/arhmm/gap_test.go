package arhmm

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// dense is ln p(seen x | path), and the means of all values given it, from one normal distribution of all values.
func dense(s *system, r recording, path []int) (float64, []float64) {
	D, N := s.D, r.T*s.D
	mean, cov := make([]float64, N), make([]float64, N*N)
	var seen []int
	for a := range N {
		t, i := a/D, a%D
		missing := math.IsNaN(r.x[a])
		switch {
		case t < s.L && missing:
			mean[a], cov[a*N+a] = s.start[i], s.start[D+i]
			continue
		case t < s.L:
			mean[a] = r.x[a]
			continue
		case !missing:
			seen = append(seen, a)
		}
		k := path[t-s.L]
		w := s.w[(k*D+i)*s.P : (k*D+i+1)*s.P]
		mean[a] = w[s.P-1] + matrix.Dot(r.u[t*s.Du:(t+1)*s.Du], w[s.L*D:])
		for c := range s.C {
			mean[a] += matrix.Dot(r.u[(t-1-c)*s.Du:(t-c)*s.Du], w[s.L*D+(c+1)*s.Du:])
		}
		for l := range s.L * D {
			from := (t-1-l/D)*D + l%D
			mean[a] += w[l] * mean[from]
			for b := range t * D {
				cov[a*N+b] += w[l] * cov[from*N+b]
			}
		}
		for b := range t * D {
			cov[b*N+a] = cov[a*N+b]
		}
		for j := range i + 1 {
			b := t*D + j
			v := s.q[(k*D+i)*D+j]
			for l := range s.L * D {
				v += s.w[(k*D+j)*s.P+l] * cov[a*N+(t-1-l/D)*D+l%D]
			}
			cov[a*N+b], cov[b*N+a] = v, v
		}
	}
	n := len(seen)
	l, v := make([]float64, n*n), make([]float64, n)
	for i, a := range seen {
		v[i] = r.x[a] - mean[a]
		for j, b := range seen {
			l[i*n+j] = cov[a*N+b]
		}
	}
	matrix.Cholesky(l, n)
	matrix.SolveLower(l, v)
	log := -0.5*matrix.Dot(v, v) - matrix.LogDiagonal(l, n) - 0.5*log2Pi*float64(n)
	matrix.SolveUpper(l, v)
	for a := range N {
		for i, b := range seen {
			mean[a] += cov[a*N+b] * v[i]
		}
	}
	return log, mean
}

// TestGaps_AreSumsOverAllPaths: the likelihood, the smoothed regimes and the smoothed values with values missing among
// given observations, lags and last ones.
func TestGaps_AreSumsOverAllPaths(t *testing.T) {
	for _, d := range []dims{{K: 2, D: 2, Du: 1, L: 1, P: 4}, {K: 2, D: 2, Du: 1, L: 2, C: 1, P: 7}, {K: 3, D: 1, L: 1, P: 2}, {K: 3, D: 2, L: 0, P: 1}} {
		for _, missing := range [][]int{{4}, {0, 5}, {1, 2, 4}, {3}, {0, 2, 5, 6}} {
			s, r := random(t, d, 7)
			for i := range d.D {
				s.start[i], s.start[d.D+i] = 0.3, 2
			}
			for _, m := range missing {
				for i := range d.D {
					if m%2 == 0 || i == 0 {
						r.x[m*d.D+i], r.full[m] = math.NaN(), false
					}
				}
			}
			n := r.T - d.L
			total, smoothed, means := 0.0, make([]float64, r.T*d.K), make([]float64, r.T*d.D)
			path := make([]int, n)
			for code := range int(math.Pow(float64(d.K), float64(n))) {
				p := 1.0
				for i := range n {
					path[i] = code % d.K
					code /= d.K
					if i == 0 {
						p *= s.first[path[0]]
					} else {
						p *= s.transition[path[i-1]*d.K+path[i]]
					}
				}
				log, mean := dense(s, r, path)
				p *= math.Exp(log)
				total += p
				for i, k := range path {
					smoothed[(d.L+i)*d.K+k] += p
				}
				matrix.AddScaled(means, p, mean)
			}
			p := newPasses(s)
			p.wide = true
			p.forward(r)
			for _, g := range p.gaps {
				if d.K == 2 && !g.exact() {
					t.Errorf("%+v, missing %v: %+v merges", d, missing, g)
				}
			}
			p.backward()
			v := newValues(p)
			p.visit(v)
			if math.Abs(p.logLikelihood-math.Log(total)) > 1e-9 {
				t.Errorf("%+v, missing %v: log likelihood %v, want %v", d, missing, p.logLikelihood, math.Log(total))
			}
			for i := d.L * d.K; i < len(smoothed); i++ {
				if math.Abs(p.smoothed[i]-smoothed[i]/total) > 1e-9 {
					t.Fatalf("%+v, missing %v: regime %d: %v, want %v", d, missing, i, p.smoothed[i], smoothed[i]/total)
				}
			}
			for i, x := range r.x {
				if math.IsNaN(x) && math.Abs(v.mean[i]-means[i]/total) > 1e-9 {
					t.Fatalf("%+v, missing %v: value %d: %v, want %v", d, missing, i, v.mean[i], means[i]/total)
				}
			}
		}
	}
}

// TestSweep_WithGapsRaisesTheLikelihood where no paths are merged.
func TestSweep_WithGapsRaisesTheLikelihood(t *testing.T) {
	batches, _ := rotations(6, 60)
	for n, b := range batches {
		b.Seen = make([]float32, len(b.Observations))
		for i := range b.Seen {
			if b.Seen[i] = 1; (i+n)%17 == 3 {
				b.Seen[i], b.Observations[i] = 0, 0
			}
		}
		batches[n] = b
	}
	chains := DefaultSettings()
	chains.Switches = 2
	c := started(t, chains, batches)
	terms, last := make([]float64, 2), math.Inf(1)
	for sweep := range 40 {
		if err := c.Sweep(terms); err != nil {
			t.Fatal(err)
		}
		if terms[0] > last+1e-9 {
			t.Errorf("sweep %d: the negative log likelihood rises from %v to %v", sweep, last, terms[0])
		}
		last = terms[0]
	}
}

// TestSweep_BeginsWithTheFirstValue: steps before it teach nothing and cost nothing, as where a difference of so many
// steps has nothing to subtract.
func TestSweep_BeginsWithTheFirstValue(t *testing.T) {
	const late = 24
	whole, _ := rotations(2, 60)
	padded := make([]model.Batch, len(whole))
	for i, b := range whole {
		p := &padded[i]
		p.Resize(late+b.T, 1, 2, 1)
		p.Seen = make([]float32, len(p.Observations))
		copy(p.Observations[2*late:], b.Observations)
		copy(p.Controls[late:], b.Controls)
		for j := 2 * late; j < len(p.Seen); j++ {
			p.Seen[j] = 1
		}
	}
	// One without a value teaches nothing either.
	var empty model.Batch
	empty.Resize(late, 1, 2, 1)
	empty.Seen = make([]float32, len(empty.Observations))
	padded = append(padded, empty)
	s := DefaultSettings()
	s.Switches = 2
	var states [2][]float64
	for i, batches := range [][]model.Batch{whole, padded} {
		c, terms := started(t, s, batches), make([]float64, 2)
		for range 3 {
			if err := c.Sweep(terms); err != nil {
				t.Fatal(err)
			}
		}
		states[i] = make([]float64, len(c.(*chain).state))
		c.State(states[i])
	}
	if !slices.Equal(states[0], states[1]) {
		t.Errorf("%v with steps before the first value, %v without", states[1], states[0])
	}
	missing := append(slices.Repeat([]int{2}, late), make([]int, 60)...)
	if w := GapWork([][]int{missing}, 2, 2, 1); w != 0 {
		t.Errorf("%v operations before the first value", w)
	}
}

// TestGapWork is of the edges that a sweep follows: none without gaps, and those that the forward pass keeps.
func TestGapWork(t *testing.T) {
	missing := make([]int, 40)
	if w := GapWork([][]int{missing}, 2, 3, 1); w != 0 {
		t.Errorf("%v without a gap", w)
	}
	missing[7], missing[20], missing[21] = 1, 2, 1
	s, r := random(t, dims{K: 3, D: 2, L: 1, P: 3}, 40)
	for step, n := range missing {
		r.full[step] = n == 0
		for i := range n {
			r.x[step*2+i] = math.NaN()
		}
	}
	p := newPasses(s)
	p.forward(r)
	if w := GapWork([][]int{missing}, 2, 3, 1); w < 200*float64(len(p.edges)) || len(p.edges) == 0 {
		t.Errorf("%v for %d edges", w, len(p.edges))
	}
}

// TestGaps_ARegimeThatNeverComes changes nothing where paths are merged.
func TestGaps_ARegimeThatNeverComes(t *testing.T) {
	const steps = 60
	s, r := random(t, dims{K: 3, D: 2, L: 1, P: 3}, steps)
	for i := 4; i < 2*steps-6; i += 2 {
		r.x[i], r.full[i/2] = math.NaN(), false
	}
	for k := range 3 {
		s.transition[k*3+2] = 0
	}
	s.first[2] = 0
	two := dims{K: 2, D: 2, L: 1, P: 3}
	p := two.view(make([]float64, two.size()))
	copy(p.w, s.w)
	copy(p.q, s.q)
	copy(p.start, s.start)
	copy(p.first, s.first)
	for k := range 2 {
		copy(p.transition[k*2:(k+1)*2], s.transition[k*3:])
	}
	without, err := newSystem(two, p)
	if err != nil {
		t.Fatal(err)
	}
	var got [2]float64
	for i, of := range []*system{s, without} {
		passes := newPasses(of)
		passes.between = 1
		passes.forward(r)
		if got[i] = passes.logLikelihood; len(passes.gaps) != 1 || passes.gaps[0].depth != 1 {
			t.Fatalf("gaps %+v", passes.gaps)
		}
	}
	if !(math.Abs(got[0]-got[1]) < 1e-9) {
		t.Errorf("log likelihood %v with the regime, %v without", got[0], got[1])
	}
}

// TestThinned: what Best reads of long gaps takes no longer than it may, and everything is read where there are none.
func TestThinned(t *testing.T) {
	recordings := make([]model.Batch, 400)
	for i := range recordings {
		recordings[i].Resize(256, 1, 2, 0)
	}
	if n := len(Thinned(recordings, 4, 1, 1)); n != 400 {
		t.Errorf("%d recordings are read, and none has gaps", n)
	}
	for i := range recordings {
		recordings[i].Seen = make([]float32, 512)
		for j := range recordings[i].Seen {
			recordings[i].Seen[j] = float32(j % 2)
		}
	}
	some := Thinned(recordings, 4, 1, 1)
	if len(some) > 200 {
		t.Fatalf("%d recordings are read", len(some))
	}
	if again := Thinned(some, 4, 1, 1); len(again) < len(some)/2 {
		t.Errorf("%d recordings are read, and of those %d could be", len(some), len(again))
	}
	if n := len(Thinned(recordings, 4, 1, 300)); n < 300 {
		t.Errorf("%d recordings are read", n)
	}
}

func started(t *testing.T, s *Settings, batches []model.Batch) model.Chain {
	t.Helper()
	built, err := s.New(model.Data{NX: 2, NU: 1}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	c, err := built.(*Model).NewChain(batches, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestForecast_DrawsWhatIsGivenAndMissing: a prefix of no more steps than lags leaves missing values open, too. Of one
// regime the variance one step ahead is a²v + q.
func TestForecast_DrawsWhatIsGivenAndMissing(t *testing.T) {
	const paths = 20000
	d := dims{K: 1, D: 1, L: 2, P: 3}
	s, _ := random(t, d, 3)
	s.start[1] = 4
	f := &Forecaster{newPasses(s)}
	for _, c := range []struct {
		seen []float32
		want float64
	}{
		{[]float32{1, 0}, s.w[0]*s.w[0]*4 + s.q[0]},
		{[]float32{0, 1}, s.w[1]*s.w[1]*4 + s.q[0]},
		{[]float32{0}, (s.w[0]+s.w[1])*(s.w[0]+s.w[1])*4 + s.q[0]}, // the first step stands for the one before, too
		{[]float32{1, 1}, s.q[0]},
	} {
		n := len(c.seen)
		prefix := model.Batch{T: n, B: 1, NX: 1, Observations: make([]float32, n), Seen: c.seen}
		var answer model.Forecast
		f.Forecast(&answer, model.Query{Prefix: prefix, Horizon: 1, Samples: paths, Noise: rng.New(8, rng.Noise).At(0, 0, 0)})
		variance := 0.0
		for _, v := range answer.Paths {
			variance += float64(v-answer.Mean[0]) * float64(v-answer.Mean[0]) / paths
		}
		if math.Abs(variance-c.want) > 0.05*c.want {
			t.Errorf("seen %v: variance %.3f, want %.3f", c.seen, variance, c.want)
		}
	}
}
