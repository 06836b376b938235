package eval_test

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/regimes"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
)

// knower forecasts the environment sticky by its true parameters: nine Kalman filters, one for each pair of regimes,
// merged to three after each step (generalised pseudo-Bayes of second order), then the exact mean over all paths of the
// regimes.
type knower struct {
	a             [3][4]float64 // of each regime
	b, c          [3][2]float64
	stay          float64
	noise, sensor float64 // variances
}

func newKnower() knower {
	k := knower{
		b: [3][2]float64{{0.1, 0}, {0, 0.1}, {-0.1, 0.1}}, c: [3][2]float64{{0.1, 0}, {0, 0.1}, {-0.1, -0.1}},
		stay: 0.95, noise: 0.03 * 0.03, sensor: 0.02 * 0.02,
	}
	for j, turn := range [3][2]float64{{0.3, 0.97}, {-0.4, 0.95}, {0, 0.9}} {
		sin, cos := math.Sincos(turn[0])
		k.a[j] = [4]float64{turn[1] * cos, -turn[1] * sin, turn[1] * sin, turn[1] * cos}
	}
	return k
}

// guess is a normal distribution of the state, with a weight.
type guess struct {
	weight float64
	mean   [2]float64
	cov    [3]float64 // of x and x, x and y, y and y
}

func (k knower) Dims() model.Dims        { return model.Dims{NX: 2, NU: 1, NZ: 2, M: 3} }
func (k knower) Clone() model.Forecaster { return k }

func (k knower) chance(from, to int) float64 {
	if from == to {
		return k.stay
	}
	return (1 - k.stay) / 2
}

// move is a guess after a step of a regime.
func (k knower) move(g guess, j int, u float64) guess {
	a, p := k.a[j], g.cov
	g.mean = [2]float64{
		a[0]*g.mean[0] + a[1]*g.mean[1] + k.b[j][0]*u + k.c[j][0], a[2]*g.mean[0] + a[3]*g.mean[1] + k.b[j][1]*u + k.c[j][1],
	}
	g.cov = [3]float64{
		a[0]*a[0]*p[0] + 2*a[0]*a[1]*p[1] + a[1]*a[1]*p[2] + k.noise,
		a[0]*a[2]*p[0] + (a[0]*a[3]+a[1]*a[2])*p[1] + a[1]*a[3]*p[2],
		a[2]*a[2]*p[0] + 2*a[2]*a[3]*p[1] + a[3]*a[3]*p[2] + k.noise,
	}
	return g
}

// see corrects a guess by an observation, and multiplies its weight by the density of that.
func (k knower) see(g guess, y []float32) guess {
	s := [3]float64{g.cov[0] + k.sensor, g.cov[1], g.cov[2] + k.sensor}
	d := s[0]*s[2] - s[1]*s[1]
	inverse := [3]float64{s[2] / d, -s[1] / d, s[0] / d}
	r := [2]float64{float64(y[0]) - g.mean[0], float64(y[1]) - g.mean[1]}
	w := [2]float64{inverse[0]*r[0] + inverse[1]*r[1], inverse[1]*r[0] + inverse[2]*r[1]}
	p := g.cov
	g.mean[0] += p[0]*w[0] + p[1]*w[1]
	g.mean[1] += p[1]*w[0] + p[2]*w[1]
	g.cov = [3]float64{ // sensor·(1 − sensor·S⁻¹)
		k.sensor * (1 - k.sensor*inverse[0]), -k.sensor * k.sensor * inverse[1], k.sensor * (1 - k.sensor*inverse[2]),
	}
	g.weight = max(g.weight*math.Exp(-0.5*(r[0]*w[0]+r[1]*w[1]))/math.Sqrt(d), 1e-300)
	return g
}

// merge is one guess with the weight, the mean and the covariance of several.
func merge(list []guess) guess {
	var g guess
	for _, o := range list {
		g.weight += o.weight
		for i := range 2 {
			g.mean[i] += o.weight * o.mean[i]
		}
	}
	g.mean[0], g.mean[1] = g.mean[0]/g.weight, g.mean[1]/g.weight
	for _, o := range list {
		w, d := o.weight/g.weight, [2]float64{o.mean[0] - g.mean[0], o.mean[1] - g.mean[1]}
		g.cov[0] += w * (o.cov[0] + d[0]*d[0])
		g.cov[1] += w * (o.cov[1] + d[0]*d[1])
		g.cov[2] += w * (o.cov[2] + d[1]*d[1])
	}
	return g
}

// filter are the guesses of the three regimes at the end of sequence n.
func (k knower) filter(b model.Batch, n int) (now [3]guess) {
	for j := range now {
		now[j] = guess{1.0 / 3, [2]float64{}, [3]float64{1, 0, 1}}
	}
	for t := range b.T {
		row, total := t*b.B+n, 0.0
		var next [3]guess
		for j := range next {
			var list []guess
			for i, g := range now {
				if t > 0 {
					g.weight *= k.chance(i, j)
				} else if i != j {
					continue
				}
				list = append(list, k.see(k.move(g, j, float64(b.Controls[row])), b.Observations[2*row:2*row+2]))
			}
			next[j] = merge(list)
			total += next[j].weight
		}
		for j := range next {
			next[j].weight = max(next[j].weight/total, 1e-300)
		}
		now = next
	}
	return now
}

// Forecast writes the mean also as each path and each draw.
func (k knower) Forecast(dst *model.Forecast, q model.Query) {
	B := q.Prefix.B
	dst.Resize(q.Horizon, B, q.Samples, 2, 3)
	for n := range B {
		now := k.filter(q.Prefix, n)
		var p [3]float64    // chance of each regime
		var x [3][2]float64 // E[x; regime]
		for j, g := range now {
			p[j], x[j] = g.weight, [2]float64{g.weight * g.mean[0], g.weight * g.mean[1]}
		}
		for h := range q.Horizon {
			var nextP [3]float64
			var nextX [3][2]float64
			at := h*B + n
			u, mean := float64(q.Controls[at]), [2]float64{}
			for j := range 3 {
				var from [2]float64
				for i := range 3 {
					c := k.chance(i, j)
					nextP[j] += c * p[i]
					from[0], from[1] = from[0]+c*x[i][0], from[1]+c*x[i][1]
				}
				for r := range 2 {
					nextX[j][r] = k.a[j][2*r]*from[0] + k.a[j][2*r+1]*from[1] + nextP[j]*(k.b[j][r]*u+k.c[j][r])
					mean[r] += nextX[j][r]
				}
			}
			p, x = nextP, nextX
			for r, v := range mean {
				dst.Mean[2*at+r], dst.Draw[2*at+r] = float32(v), float32(v)
				for i := range q.Samples {
					dst.Paths[((i*q.Horizon+h)*B+n)*2+r] = float32(v)
				}
			}
		}
	}
}

// TestAhead_OfStickyByItsTrueParameters prints what docs/results/regimes.md compares errors with. The error of a step is
// little more than the noise that nobody can predict: that of the step, that of the observation, that of the filtered
// state, and the regimes that end.
func TestAhead_OfStickyByItsTrueParameters(t *testing.T) {
	env := regimes.NewSticky()
	o := eval.AheadOptions{Length: 200, Samples: 1}
	o.Episodes, o.Horizon = 400, 60
	var mean []float64
	for seed := range uint64(5) {
		o.Seed = 5 - seed
		r, err := eval.Ahead(newKnower(), env, o)
		if err != nil {
			t.Fatal(err)
		}
		mean = r.Model.Mean
		t.Logf("seed %d, 1 − R²: %.5f at 1 step, %.5f at 5, %.5f at 20, %.5f at 60", o.Seed, 1-mean[0], 1-mean[4],
			1-mean[19], 1-mean[59])
		if !(mean[0] > 0.98 && mean[0] > r.Persistence[0] && mean[0] > r.Linear[0] && mean[59] > r.Linear[59]) {
			t.Errorf("R² after a step is %.4f, that of persistence %.4f, linear %.4f; after 60 %.4f, linear %.4f", mean[0],
				r.Persistence[0], r.Linear[0], mean[59], r.Linear[59])
		}
	}
	wrong := newKnower()
	wrong.b[0], wrong.b[1] = wrong.b[1], wrong.b[0]
	if other, err := eval.Ahead(wrong, env, o); err != nil || !(other.Model.Mean[0] < mean[0]) {
		t.Errorf("with controls that push elsewhere %.4f, not less than %.4f (%v)", other.Model.Mean[0], mean[0], err)
	}
}
