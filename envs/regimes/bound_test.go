package regimes

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/rng"
)

// path is a history of the regimes of Modes with the belief of x that follows from it and the observations: N(mean, v·I),
// as every regime is a rotation with a factor and noise is the same in all directions.
type path struct {
	regimes []byte // of every step so far
	age     int    // steps since the regime began
	log     float64
	mean    [2]float64
	v       float64
}

// oracle knows Modes but for its regimes and its noise.
type oracle struct {
	env    *Modes
	leaves func(r *rotation, age int) float64 // the probability that a regime ends after so many steps
}

// byDuration is the truth.
func byDuration(r *rotation, age int) float64 {
	if age < r.shortest {
		return 0
	}
	return 1 / float64(max(r.longest-age, 0)+1)
}

// byChance has the mean duration of the truth, and no memory.
func byChance(r *rotation, _ int) float64 { return 2 / float64(r.shortest+r.longest) }

// The size of an oracle: so many paths are kept, and of those with the same regimes over the last steps one.
const (
	oraclePaths = 100
	oracleLag   = 20
)

// posterior is the probability of every regime at each step of an episode, given observations up to oracleLag steps later.
func (o *oracle) posterior(e *envs.Episode) [][3]float64 {
	list := make([][3]float64, e.T)
	paths := []path{{v: 1}}
	for t := range e.T {
		paths = o.kept(o.step(paths, [2]float64{float64(e.Observations[2*t]), float64(e.Observations[2*t+1])}))
		first := max(t-oracleLag, 0)
		if t == e.T-1 {
			for s := first; s <= t; s++ {
				list[s] = shares(paths, s)
			}
		} else if t >= oracleLag {
			list[first] = shares(paths, first)
		}
	}
	return list
}

// step continues every path by every regime and an observation.
func (o *oracle) step(paths []path, y [2]float64) []path {
	var next []path
	for _, p := range paths {
		for k := range o.env.regimes {
			r, q := &o.env.regimes[k], p
			switch n := len(p.regimes); {
			case n == 0:
				q.age = 1
			case int(p.regimes[n-1]) == k:
				q.age++
				q.log += math.Log(1 - o.leaves(r, p.age))
			default:
				q.age = 1
				q.log += math.Log(o.leaves(&o.env.regimes[p.regimes[n-1]], p.age) / 2)
			}
			if math.IsInf(q.log, -1) {
				continue
			}
			q.mean = r.step(p.mean)
			q.v = (r.a[0]*r.a[0]+r.a[1]*r.a[1])*p.v + modesNoise*modesNoise
			s := q.v + modesSensor*modesSensor
			for i := range y {
				e := y[i] - q.mean[i]
				q.log -= 0.5 * (e*e/s + math.Log(s))
				q.mean[i] += q.v / s * e
			}
			q.v *= 1 - q.v/s
			q.regimes = append(slices.Clone(p.regimes), byte(k))
			next = append(next, q)
		}
	}
	return next
}

// kept are the likeliest paths, of those that have had the same regimes of late one, with the weight of all.
func (o *oracle) kept(paths []path) []path {
	slices.SortStableFunc(paths, func(a, b path) int { return cmp.Compare(b.log, a.log) })
	at := map[string]int{}
	var list []path
	for _, p := range paths {
		if p.log < paths[0].log-20 {
			break
		}
		recent := append(slices.Clone(p.regimes[max(0, len(p.regimes)-oracleLag-1):]), byte(p.age))
		if i, is := at[string(recent)]; is {
			list[i].log += math.Log1p(math.Exp(p.log - list[i].log))
		} else if len(list) < oraclePaths {
			at[string(recent)] = len(list)
			list = append(list, p)
		}
	}
	most := list[0].log
	for i := range list {
		list[i].log -= most
	}
	return list
}

// shares are the weights of the regimes at a step.
func shares(paths []path, step int) (y [3]float64) {
	sum := 0.0
	for _, p := range paths {
		w := math.Exp(p.log)
		y[p.regimes[step]] += w
		sum += w
	}
	for k := range y {
		y[k] /= sum
	}
	return y
}

// TestModes_Bound: with all observations of an episode nobody can tell more of its regimes than this, and without
// knowing durations no more than that. docs/results/regimes.md has both of more episodes.
func TestModes_Bound(t *testing.T) {
	const episodes, steps = 40, 180
	env := NewModes()
	for _, test := range []struct {
		name      string
		leaves    func(r *rotation, age int) float64
		from, and float64
	}{{"durations", byDuration, 0.9970, 0.9995}, {"chance", byChance, 0.9915, 0.9950}} {
		o, right := oracle{env, test.leaves}, 0
		var e envs.Episode
		for i := range uint32(episodes) {
			env.Simulate(&e, rng.New(77, rng.Evaluation), i, steps)
			for s, p := range o.posterior(&e) {
				if p[int(e.Labels[s])] == max(p[0], p[1], p[2]) {
					right++
				}
			}
		}
		share := float64(right) / (episodes * steps)
		if t.Logf("%s: %.4f", test.name, share); share < test.from || share > test.and {
			t.Errorf("by %s %.4f of the steps are right, want between %v and %v", test.name, share, test.from, test.and)
		}
	}
}
