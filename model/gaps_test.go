package model_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/pointwise"
	"github.com/switchyard-ml/switchyard/rng"
)

// system is z_t = F z_{t−1} + N(0, q·I), x_t = z_t + N(0, r·I) in two dimensions, from N(0, I).
type system struct {
	f    [2][2]float64
	q, r float64
}

// belief is N(mean, cov) of z.
type belief struct {
	mean [2]float64
	cov  [2][2]float64
}

func (s system) ahead(b belief) belief {
	var n belief
	for i := range 2 {
		for k := range 2 {
			n.mean[i] += s.f[i][k] * b.mean[k]
			for j := range 2 {
				for l := range 2 {
					n.cov[i][j] += s.f[i][k] * b.cov[k][l] * s.f[j][l]
				}
			}
		}
		n.cov[i][i] += s.q
	}
	return n
}

// see is the Kalman update by the channels that were seen, one after another.
func (s system) see(b belief, x []float32, seen []float32) belief {
	for c := range 2 {
		if seen[c] == 0 {
			continue
		}
		n := b
		for i := range 2 {
			gain := b.cov[i][c] / (b.cov[c][c] + s.r)
			n.mean[i] += gain * (float64(x[c]) - b.mean[c])
			for j := range 2 {
				n.cov[i][j] -= gain * b.cov[c][j]
			}
		}
		b = n
	}
	return b
}

// encoded is a forecaster of the system whose filter reads whole observations alone, as an encoder does.
type encoded struct{ s system }

func (encoded) Dims() model.Dims          { return model.Dims{NX: 2, NZ: 2} }
func (e encoded) Clone() model.Forecaster { return e }

func (e encoded) Forecast(dst *model.Forecast, q model.Query) {
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, 2, 0)
	clear(dst.Mean)
	noise, B := q.Noise, q.Prefix.B
	for i := range B {
		b := belief{cov: [2][2]float64{{1, 0}, {0, 1}}}
		for t := range q.Prefix.T {
			if t > 0 {
				b = e.s.ahead(b)
			}
			at := (t*B + i) * 2
			if q.Prefix.Seen == nil || q.Prefix.Seen[at] != 0 && q.Prefix.Seen[at+1] != 0 {
				b = e.s.see(b, q.Prefix.Observations[at:at+2], []float32{1, 1})
			}
		}
		for path := range q.Samples {
			low := math.Sqrt(b.cov[0][0])
			u, v := noise.Normal(), noise.Normal()
			z := [2]float64{b.mean[0] + low*u, b.mean[1] + b.cov[1][0]/low*u + math.Sqrt(b.cov[1][1]-b.cov[1][0]*b.cov[1][0]/b.cov[0][0])*v}
			for h := range q.Horizon {
				n := [2]float64{e.s.f[0][0]*z[0] + e.s.f[0][1]*z[1], e.s.f[1][0]*z[0] + e.s.f[1][1]*z[1]}
				for c := range 2 {
					z[c] = n[c] + math.Sqrt(e.s.q)*noise.Normal()
					at := ((path*q.Horizon+h)*B + i) * 2
					dst.Paths[at+c], dst.SD[at+c] = float32(z[c]), float32(math.Sqrt(e.s.r))
					dst.Mean[(h*B+i)*2+c] += float32(z[c]) / float32(q.Samples)
					if path == 0 {
						dst.Draw[(h*B+i)*2+c] = float32(z[c] + math.Sqrt(e.s.r)*noise.Normal())
					}
				}
			}
		}
	}
}

// A system with gaps in random places is forecast as by a Kalman filter that reads what was seen: by a family that reads
// whole observations alone, and by a process that knows no gaps.
func TestAhead_IsTheKalmanFilter(t *testing.T) {
	t.Parallel()
	s := system{f: [2][2]float64{{0.9, 0.3}, {-0.3, 0.8}}, q: 0.3, r: 0.2}
	exact := s
	exact.r = 1e-9
	for name, c := range map[string]struct {
		f model.Forecaster
		s system
	}{"encoder": {encoded{s}, s}, "linear": {linear(s), exact}} {
		for seed := range uint64(6) {
			random := rand.New(rand.NewPCG(seed, 1))
			b := gappy(c.s, random, 30)
			want := belief{cov: [2][2]float64{{1, 0}, {0, 1}}}
			for step := range b.T {
				if step > 0 {
					want = c.s.ahead(want)
				}
				want = c.s.see(want, b.Observations[2*step:], b.Seen[2*step:])
			}
			const paths, horizon = 1500, 2
			var got model.Forecast
			model.Ahead(c.f, &got, model.Query{Prefix: b, Horizon: horizon, Samples: paths, Noise: rng.New(seed, rng.Evaluation).At(0, 0, 0)})
			for h := range horizon {
				want = c.s.ahead(want)
				for k := range 2 {
					sd := math.Sqrt(want.cov[k][k])
					if off := math.Abs(float64(got.Mean[2*h+k]) - want.mean[k]); off > 0.2*sd {
						t.Errorf("%s, seed %d, step %d, channel %d: mean %v, by the Kalman filter %v ± %v", name, seed, h+1, k, got.Mean[2*h+k], want.mean[k], sd)
					}
					spread := 0.0
					for p := range paths {
						spread += math.Pow(float64(got.Paths[(p*horizon+h)*2+k])-want.mean[k], 2) / paths
					}
					if math.Abs(math.Sqrt(spread)/sd-1) > 0.12 {
						t.Errorf("%s, seed %d, step %d, channel %d: deviation %v, by the Kalman filter %v", name, seed, h+1, k, math.Sqrt(spread), sd)
					}
				}
			}
		}
	}
}

// linear is the process x_t = F x_{t−1} + N(0, q·I).
func linear(s system) model.Forecaster {
	m := pointwise.NewLinear(model.Data{NX: 2})
	sd := math.Log(math.Expm1(math.Sqrt(s.q) - 3.1622776601683795e-3))
	set(m.Params(), "transition.A", s.f[0][0]-1, s.f[1][0], s.f[0][1], s.f[1][1]-1)
	set(m.Params(), "noise.sd", sd, sd)
	return m.NewForecaster()
}

func set(p *autodiff.Params, name string, values ...float64) {
	for _, w := range p.Layout() {
		if w.Name == name {
			for i, v := range values {
				p.Values[w.Offset+i] = float32(v)
			}
		}
	}
	p.Pack()
}

// gappy is a path of the system, of which a third of the values are missing, at the end too, but not the first.
func gappy(s system, random *rand.Rand, T int) model.Batch {
	var b model.Batch
	b.Resize(T, 1, 2, 0)
	b.Seen = make([]float32, 2*T)
	z := [2]float64{random.NormFloat64(), random.NormFloat64()}
	for t := range T {
		if t > 0 {
			z = [2]float64{s.f[0][0]*z[0] + s.f[0][1]*z[1] + math.Sqrt(s.q)*random.NormFloat64(), s.f[1][0]*z[0] + s.f[1][1]*z[1] + math.Sqrt(s.q)*random.NormFloat64()}
		}
		for c := range 2 {
			if b.Observations[2*t+c] = 0; t == 0 || random.Float64() > 0.35 {
				b.Observations[2*t+c], b.Seen[2*t+c] = float32(z[c]+math.Sqrt(s.r)*random.NormFloat64()), 1
			}
		}
	}
	return b
}

// Channels that are measured in turn are read as they were last seen; where any observation was seen whole, those alone
// are.
func TestBatch_Measured(t *testing.T) {
	b := model.Batch{T: 3, B: 2, NX: 2, Observations: []float32{
		1, 0, 1, 2,
		0, 4, 3, 0,
		5, 0, 0, 0,
	}, Seen: []float32{
		1, 0, 1, 1,
		0, 1, 1, 0,
		1, 0, 0, 0,
	}}
	x, measured := make([]float32, 12), make([]float32, 6)
	b.Measured(x, measured)
	if got, want := fmt.Sprint(measured, x), fmt.Sprint([]float32{1, 1, 1, 0, 1, 0}, []float32{1, 0, 1, 2, 1, 4, 3, 0, 5, 4, 0, 0}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
