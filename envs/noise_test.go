package envs_test

import (
	"errors"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/envtest"
	"github.com/switchyard-ml/switchyard/rng"
)

func TestConformance(t *testing.T) {
	for _, size := range [][2]int{{6, 6}, {1, 0}, {3, 5}} {
		env, err := envs.NewNoise(size[0], size[1])
		if err != nil {
			t.Fatal(err)
		}
		envtest.Test(t, env)
	}
}

func TestEpisodes_Golden(t *testing.T) {
	env, err := envs.NewNoise(3, 5)
	if err != nil {
		t.Fatal(err)
	}
	envtest.Golden(t, env, "c6efdbca28a7e412200bd05a940b32faf38628b78a21bcd99398d1bde0142683")
}

func TestSimulate_IsWhite(t *testing.T) {
	env, err := envs.NewNoise(4, 2)
	if err != nil {
		t.Fatal(err)
	}
	var e envs.Episode
	env.Simulate(&e, rng.New(1, rng.Episode), 0, 5000)
	for name, x := range map[string][]float32{"observations": e.Observations, "controls": e.Controls[2:]} {
		var mean, variance, lag float64
		n := float64(len(x))
		for i, v := range x {
			mean += float64(v) / n
			variance += float64(v) * float64(v) / n
			if i > 0 {
				lag += float64(v) * float64(x[i-1]) / n
			}
		}
		// Five standard errors of a mean of n independent values.
		if s := 5 / math.Sqrt(n); math.Abs(mean) > s || math.Abs(variance-1) > s*math.Sqrt2 || math.Abs(lag) > s {
			t.Errorf("%s: mean %.4f, variance %.4f, neighbours' covariance %.4f, want 0, 1, 0", name, mean, variance, lag)
		}
	}
}

func TestNew_RefusesImpossibleSizes(t *testing.T) {
	for _, size := range [][2]int{{0, 1}, {1, -1}} {
		if _, err := envs.NewNoise(size[0], size[1]); !errors.Is(err, envs.ErrNoise) {
			t.Errorf("New(%d, %d): err = %v, want ErrSize", size[0], size[1], err)
		}
	}
}
