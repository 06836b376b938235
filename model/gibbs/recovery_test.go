package gibbs

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// truth is a system with two latent dimensions and a rule for its regimes.
type truth struct {
	a      [][4]float64 // A_k
	b      [][2]float64 // b_k
	regime func(x [2]float64) int
	sd     float64
}

// rotation turns by an angle around a centre and scales the distance from it.
func rotation(angle, scale float64, centre [2]float64) (a [4]float64, b [2]float64) {
	c, s := scale*math.Cos(angle), scale*math.Sin(angle)
	a = [4]float64{c, -s, s, c}
	return a, [2]float64{centre[0] - c*centre[0] + s*centre[1], centre[1] - s*centre[0] - c*centre[1]}
}

// path simulates T steps: states and regimes.
func (m truth) path(s *source, x [2]float64, T int) (states [][2]float64, regimes []int) {
	for range T {
		k := m.regime(x)
		states, regimes = append(states, x), append(regimes, k)
		a, b := m.a[k], m.b[k]
		x = [2]float64{
			a[0]*x[0] + a[1]*x[1] + b[0] + m.sd*s.normal(),
			a[2]*x[0] + a[3]*x[1] + b[1] + m.sd*s.normal(),
		}
	}
	return states, regimes
}

// accuracy is the share of steps with the right regime, under the best renumbering; the last step of a recording, which has
// no transition, is left out.
func accuracy(c *Chain, p *Posterior, want [][]int) float64 {
	best := 0.0
	probability := p.Regimes()
	permutations(c.K, func(order []int) {
		right, steps := 0, 0
		for i, span := range c.spans {
			for t := span.from; t < span.to-1; t++ {
				steps++
				if order[c.tree.mostLikely(probability[t*c.K:(t+1)*c.K])] == want[i][t-span.from] {
					right++
				}
			}
		}
		best = math.Max(best, float64(right)/float64(steps))
	})
	return best
}

func permutations(n int, f func([]int)) {
	order := make([]int, 0, n)
	var next func(used int)
	next = func(used int) {
		if len(order) == n {
			f(order)
			return
		}
		for i := range n {
			if used>>i&1 == 0 {
				order = append(order, i)
				next(used | 1<<i)
				order = order[:len(order)-1]
			}
		}
	}
	next(0)
}

// fitTruth observes the states through a random 4×2 matrix with noise, some values missing, in recordings of unequal length,
// and returns the accuracy of the regimes.
func fitTruth(t *testing.T, cfg Config, m truth, starts [][2]float64, sweeps int) (float64, *Fit) {
	t.Helper()
	s := testSource(4000)
	loading := randoms(&s, 8)
	data := Data{Observed: 4}
	var regimes [][]int
	for i, start := range starts {
		states, z := m.path(&s, start, 300+150*i)
		regimes = append(regimes, z)
		var r Recording
		for _, x := range states {
			for j := range 4 {
				y := loading[2*j]*x[0] + loading[2*j+1]*x[1] + 0.05*s.normal()
				if s.stream.IntN(20) == 0 {
					y = math.NaN()
				}
				r.Y = append(r.Y, y)
			}
		}
		data.Recordings = append(data.Recordings, r)
	}
	fit, err := NewFit(cfg, Schedule{Sweeps: sweeps, BurnIn: sweeps / 2, Draws: 8}, data, rng.New(1, rng.Noise), 0)
	if err != nil {
		t.Fatal(err)
	}
	for !fit.Done() {
		if err := fit.Step(); err != nil {
			t.Fatal(err)
		}
	}
	return accuracy(fit.chain, fit.posterior, regimes), fit
}

// racetrack has two bends, as the NASCAR data of Linderman et al. (2017): right of the middle the state turns around one
// centre, left of it around another.
func racetrack() truth {
	a0, b0 := rotation(0.12, 0.995, [2]float64{1, 0})
	a1, b1 := rotation(0.12, 0.995, [2]float64{-1, 0})
	return truth{
		a: [][4]float64{a0, a1}, b: [][2]float64{b0, b1}, sd: 0.03,
		regime: func(x [2]float64) int {
			if x[0] > 0 {
				return 0
			}
			return 1
		},
	}
}

func TestFit_RecoversARacetrack(t *testing.T) {
	cfg := DefaultConfig(false)
	cfg.Leaves, cfg.Identity = 2, false
	got, _ := fitTruth(t, cfg, racetrack(), [][2]float64{{2, 0}, {-1.5, 0.5}, {0.5, 1}}, 200)
	t.Logf("%.3f of the regimes are right", got)
	if got < 0.95 {
		t.Errorf("%.3f of the regimes are right, want at least 0.95", got)
	}
}

// The first cut is between left and right, the second one between above and below, on the left alone.
func TestFit_RecoversATreeOfThreeLeaves(t *testing.T) {
	a0, b0 := rotation(0.25, 0.99, [2]float64{-0.5, 0})
	a1, b1 := rotation(0.08, 1.02, [2]float64{0, 0.5})
	a2, b2 := rotation(0.12, 0.97, [2]float64{0.3, -0.6})
	m := truth{
		a: [][4]float64{a0, a1, a2}, b: [][2]float64{b0, b1, b2}, sd: 0.03,
		regime: func(x [2]float64) int {
			switch {
			case x[0] > 0:
				return 0
			case x[1] > 0:
				return 1
			}
			return 2
		},
	}
	for name, hierarchical := range map[string]bool{"rslds": false, "trslds": true} {
		cfg := DefaultConfig(hierarchical)
		cfg.Leaves, cfg.Identity = 3, false
		got, _ := fitTruth(t, cfg, m, [][2]float64{{1, 0}, {-1, 1}, {0, -1}}, 300)
		t.Logf("%s: %.3f of the regimes are right", name, got)
		if got < 0.95 {
			t.Errorf("%s: %.3f of the regimes are right, want at least 0.95", name, got)
		}
	}
}

// pushed simulates a racetrack whose control u pushes the state by push[k]·u in regime k, in recordings of unequal length,
// of which a fifth of the values is missing. states are those of all recordings, one after the other.
func pushed(s *source, push [2][2]float64) (data Data, regimes [][]int, states []float64) {
	m := racetrack()
	data = Data{Observed: 2, Controls: 1}
	for i, x := range [][2]float64{{2, 0}, {-1.5, 0.5}, {0.5, 1}, {-2, 0}} {
		var r Recording
		var z []int
		u := 0.0 // that led to x
		for range 150 + 100*i {
			for _, v := range x {
				states = append(states, v)
				v += 0.02 * s.normal()
				if s.stream.IntN(5) == 0 {
					v = math.NaN()
				}
				r.Y = append(r.Y, v)
			}
			r.U = append(r.U, u)
			k := m.regime(x)
			z = append(z, k)
			u = s.normal()
			a, b := m.a[k], m.b[k]
			x = [2]float64{
				a[0]*x[0] + a[1]*x[1] + b[0] + push[k][0]*u + m.sd*s.normal(),
				a[2]*x[0] + a[3]*x[1] + b[1] + push[k][1]*u + m.sd*s.normal(),
			}
		}
		regimes, data.Recordings = append(regimes, z), append(data.Recordings, r)
	}
	return data, regimes, states
}

// TestFit_RecoversControlsAndMissingValues: what the control does in each regime is found, and hidden values are known
// much better than from their neighbours in time.
func TestFit_RecoversControlsAndMissingValues(t *testing.T) {
	push := [2][2]float64{{0.3, 0}, {0, -0.2}}
	for name, hierarchical := range map[string]bool{"rslds": false, "trslds": true} {
		s := testSource(4100)
		data, regimes, states := pushed(&s, push)
		cfg := DefaultConfig(hierarchical)
		cfg.Leaves = 2
		fit, err := NewFit(cfg, Schedule{Sweeps: 200, BurnIn: 100, Draws: 8}, data, rng.New(1, rng.Noise), 0)
		if err != nil {
			t.Fatal(err)
		}
		filled := fit.chain.filled()
		for !fit.Done() {
			if err := fit.Step(); err != nil {
				t.Fatal(err)
			}
		}
		if got := accuracy(fit.chain, fit.posterior, regimes); got < 0.95 {
			t.Errorf("%s: %.3f of the regimes are right, want at least 0.95", name, got)
		}
		mean, apart := fit.posterior.Mean(), math.Inf(1)
		for _, order := range [][2]int{{0, 1}, {1, 0}} {
			worst := 0.0
			for k, to := range order {
				w := mean.leaf(k, fit.chain.dims)
				worst = math.Max(worst, math.Hypot(w[2]-push[to][0], w[fit.chain.P+2]-push[to][1]))
			}
			apart = math.Min(apart, worst)
		}
		if apart > 0.02 {
			t.Errorf("%s: B is %.3f from the truth", name, apart)
		}
		found, between, missing := 0.0, 0.0, 0
		for j, x := range fit.posterior.States() {
			if math.IsNaN(fit.chain.y[j]) {
				missing++
				found += (x - states[j]) * (x - states[j])
				between += (filled[j] - states[j]) * (filled[j] - states[j])
			}
		}
		t.Logf("%s: B is %.4f apart; of %d hidden values the squared error is %.5f, that of interpolation %.5f", name, apart, missing, found/float64(missing), between/float64(missing))
		if missing < 300 || found > between/4 {
			t.Errorf("%s: %d hidden values have the squared error %v, interpolation %v", name, missing, found, between)
		}
	}
}
