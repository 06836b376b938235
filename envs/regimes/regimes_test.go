package regimes_test

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/envs/regimes"
	"github.com/switchyard-ml/switchyard/rng"
)

// all are the environments, with the hash of their episodes.
var all = []struct {
	kind   envs.Kind
	golden string
}{
	{regimes.ModesKind(), "7f3a63a1b8c9d619dcec6873812f7d7ec4a4daec8f4820d66ce77cf28aa4fa89"},
	{regimes.StickyKind(), "832fefe66d26a15657baa6b600da83ac7603ffa5722ac39fcfff37e9f0d7d60c"},
	{regimes.NASCARKind(), "7f7b82a6596efe64f98b067590424d880e2460870b37cd9b4ce14f313db9b84c"},
	{regimes.LorenzKind(), "1a0b0ef1a8cbc3f8f699e70b775f1e4be604ac9e5918b066afdd11e64b0f6f49"},
	{regimes.BounceKind(), "b8089d6937f2c46fa3b092ea29f6493cb5d79be585f5180fca6a76315273194b"},
}

func TestConformance(t *testing.T) {
	for _, c := range all {
		t.Run(c.kind.Name, func(t *testing.T) {
			env, err := c.kind.Settings().New()
			if err != nil {
				t.Fatal(err)
			}
			envtest.Test(t, env)
			envtest.Golden(t, env, c.golden)
			if name := env.Spec().Name; name != c.kind.Name {
				t.Errorf("the environment of %s is called %s", c.kind.Name, name)
			}
		})
	}
}

// episode returns an episode with its regimes.
func episode(env envs.Switching, index uint32, T int) (*envs.Episode, []int) {
	e := new(envs.Episode)
	env.Simulate(e, rng.New(1, rng.Episode), index, T)
	var list []int
	n := len(env.Spec().Labels)
	for t := range T {
		list = append(list, int(e.Labels[t*n+env.Regime()]))
	}
	return e, list
}

// deviations are the standard deviations of the noise of the state and of the observation, from the predictions of
// a step that know the regime.
func deviations(env envs.Switching, step func(k int, x []float32) []float64) (state, sensor float64) {
	nx, n := env.Spec().State, 0.0
	for index := range uint32(50) {
		e, list := episode(env, index, 180)
		for t := 1; t < e.T; t++ {
			for i, mean := range step(list[t], e.States[(t-1)*nx:t*nx]) {
				x := float64(e.States[t*nx+i])
				state += (x - mean) * (x - mean)
				sensor += (float64(e.Observations[t*nx+i]) - x) * (float64(e.Observations[t*nx+i]) - x)
				n++
			}
		}
	}
	return math.Sqrt(state / n), math.Sqrt(sensor / n)
}

// near reports whether a standard deviation of thousands of draws is the one that is wanted.
func near(got, want float64) bool { return math.Abs(got/want-1) < 0.03 }

func TestModes_TakeTurnsForTheirDurations(t *testing.T) {
	seen, followers := map[[2]int]bool{}, map[[2]int]bool{}
	for index := range uint32(50) {
		_, list := episode(regimes.NewModes(), index, 180)
		for from, to := 0, 1; to < len(list); to++ {
			if list[to] != list[from] {
				seen[[2]int{list[from], to - from}] = true
				followers[[2]int{list[from], list[to]}] = true
				from = to
			}
		}
	}
	want := 0
	for k, d := range [][2]int{{4, 6}, {9, 12}, {15, 18}} {
		for n := d[0]; n <= d[1]; n++ {
			if want++; !seen[[2]int{k, n}] {
				t.Errorf("regime %d never lasts %d steps", k, n)
			}
		}
	}
	if len(seen) != want || len(followers) != 6 {
		t.Errorf("durations %v, want %d; followers %v, want 6", seen, want, followers)
	}
}

func TestModes_AreRotationsWithNoise(t *testing.T) {
	constants := [][4]float64{{0.35, 0.99, 0.1, 0}, {-0.2, 0.99, 0, 0.1}, {0.8, 0.95, -0.15, -0.1}}
	state, sensor := deviations(regimes.NewModes(), func(k int, x []float32) []float64 {
		c := constants[k]
		sin, cos := math.Sincos(c[0])
		a, b := float64(x[0]), float64(x[1])
		return []float64{c[1]*(cos*a-sin*b) + c[2], c[1]*(sin*a+cos*b) + c[3]}
	})
	if !near(state, 0.03) || !near(sensor, 0.05) {
		t.Errorf("noise %.4f and %.4f, want .03 and .05", state, sensor)
	}
}

func TestBounce_TurnsAtTheWalls(t *testing.T) {
	for index := range uint32(50) {
		e, list := episode(regimes.NewBounce(), index, 180)
		for i := 1; i < e.T; i++ {
			want := list[i-1]
			switch x := e.States[i-1]; {
			case x > 2:
				want = 0
			case x < -2:
				want = 1
			}
			if list[i] != want {
				t.Fatalf("episode %d, step %d: direction %d after x = %v", index, i, list[i], e.States[i-1])
			}
			if x := e.States[i]; x < -2.25 || x > 2.25 {
				t.Fatalf("episode %d, step %d: x = %v", index, i, x)
			}
		}
	}
	state, sensor := deviations(regimes.NewBounce(), func(k int, x []float32) []float64 {
		return []float64{float64(x[0]) + []float64{-0.16, 0.16}[k]}
	})
	if !near(state, 0.012) || !near(sensor, 0.04) {
		t.Errorf("noise %.4f and %.4f, want .012 and .04", state, sensor)
	}
}
