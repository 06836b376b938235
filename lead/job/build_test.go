package job

import (
	"testing"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/maze"
)

func TestNewEnv_FollowsTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		preset     string
		arguments  []string
		nx, nu, ns int
		dt         float64
	}{
		{"fhn", nil, 2, 1, 2, 0.1},
		{"maze", nil, 6, 6, 12, 0.05},
		{"maze/quick", []string{"env.variant=b", "env.balls=1", "env.dt=0.002"}, 2, 2, 4, 0.002},
		{"reacher", nil, 7, 2, 9, 0.0165},
		{"hopper/quick", nil, 8, 3, 15, 0.0165},
		{"ball", nil, 1024, 0, 4, 0.2},
		{"ball/quick", []string{"env.walls=true", "env.dt=0.1"}, 1024, 0, 4, 0.1},
	} {
		resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: c.preset, Arguments: c.arguments})
		if err != nil {
			t.Fatal(err)
		}
		env, err := config.Environment(resolved.Config)
		if err != nil {
			t.Fatal(err)
		}
		if s := env.Spec(); s.Observation != c.nx || s.Control != c.nu || s.State != c.ns || s.DT != c.dt {
			t.Errorf("%s %v: %+v", c.preset, c.arguments, s)
		}
		if m, ok := env.(*maze.Env); ok && (m.Walls()[0] == maze.B().Walls[0]) != (resolved.Config.Env.Settings.(*maze.Settings).Variant == "b") {
			t.Errorf("%s %v has the wrong layout", c.preset, c.arguments)
		}
	}
}
