package eval_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/maze"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/rng"
)

// simulated are episodes of a maze, with the channels turned by order.
func simulated(t *testing.T, balls, episodes int, order []int) *files.Dataset {
	t.Helper()
	c := maze.A()
	c.Balls = balls
	env, err := maze.New(c)
	if err != nil {
		t.Fatal(err)
	}
	d := &files.Dataset{Spec: env.Spec()}
	for i := range episodes {
		var e envs.Episode
		env.Simulate(&e, rng.New(3, rng.Episode), uint32(i), 20)
		turned := e
		turned.Observations = make([]float32, len(e.Observations))
		for at := 0; at < len(turned.Observations); at += len(order) {
			for to, from := range order {
				turned.Observations[at+to] = e.Observations[at+from]
			}
		}
		d.Episodes = append(d.Episodes, files.Episode{Episode: turned})
	}
	return d
}

// TestDivide_FindsTheAgents of the maze, wherever their channels lie, and says of one agent that it is one.
func TestDivide_FindsTheAgents(t *testing.T) {
	for _, test := range []struct {
		balls int
		order []int
		want  string
	}{
		{2, []int{0, 1, 2, 3}, "1,2:1,2/3,4:3,4"},
		{2, []int{2, 0, 3, 1}, "1,3:3,4/2,4:1,2"},
		{1, []int{0, 1}, ""},
	} {
		d, err := eval.Divide(simulated(t, test.balls, 500, test.order))
		if err != nil || d.Setting != test.want || len(d.Bodies) != test.balls || d.Sure < 0.9 {
			t.Errorf("%d agents as %v: %+v, sure %v, setting %q, want %q (%v)", test.balls, test.order, d.Bodies, d.Sure,
				d.Setting, test.want, err)
		}
		if test.balls > 1 {
			continue
		}
		if again, _ := eval.Divide(simulated(t, 1, 500, test.order)); !reflect.DeepEqual(d, again) {
			t.Error("a second answer differs")
		}
	}
}

// TestDivide_InAnyUnit: the division does not depend on the unit of a channel, nor on its zero.
func TestDivide_InAnyUnit(t *testing.T) {
	for _, unit := range []struct{ factor, offset float32 }{{1e-8, 0}, {1e6, 0}, {1, 3e4}} {
		d := simulated(t, 2, 500, []int{0, 1, 2, 3})
		for _, e := range d.Episodes {
			for i := range e.Observations {
				e.Observations[i] = unit.offset + unit.factor*e.Observations[i]
			}
		}
		if found, err := eval.Divide(d); err != nil || found.Setting != "1,2:1,2/3,4:3,4" {
			t.Errorf("in %+v: setting %q (%v)", unit, found.Setting, err)
		}
	}
}

// TestDivide_LeavesOutWhatNeverChanges: what rounding leaves of the error of a channel that is constant, or a trend,
// links it to no other.
func TestDivide_LeavesOutWhatNeverChanges(t *testing.T) {
	for _, of := range []func(t int) float32{
		func(int) float32 { return 20.1 },
		func(t int) float32 { return float32(t) },
	} {
		d := simulated(t, 2, 300, []int{0, 1, 2, 3})
		d.Spec.Observation = 5
		for k := range d.Episodes {
			e := &d.Episodes[k]
			var wide []float32
			for t := range e.T {
				wide = append(append(wide, e.Observations[t*4:(t+1)*4]...), of(k*e.T+t))
			}
			e.Observations = wide
		}
		found, err := eval.Divide(d)
		if err != nil || len(found.Bodies) != 3 || len(found.Bodies[2].Channels) != 1 || found.Sure < 0.9 {
			t.Errorf("bodies %+v, sure %v (%v)", found.Bodies, found.Sure, err)
		}
	}
}

// TestDivide_ByNoTime: a channel that never changes, or is one of two values, helps to predict no other, also where the
// mean of that one drifts: a channel's place is no clock.
func TestDivide_ByNoTime(t *testing.T) {
	for _, second := range []func(t int, draws *rng.Stream) float32{
		func(int, *rng.Stream) float32 { return 1.5 },
		func(t int, _ *rng.Stream) float32 { return float32(t / 2 % 2) },
	} {
		draws := rng.New(7, rng.Noise).At(0, 0, 0)
		d := &files.Dataset{Spec: envs.Spec{Observation: 2}}
		for i := range 12 {
			var e envs.Episode
			e.T = 300
			for t := range e.T {
				drift := 0.8 - 1.6*float64(i/3%2)
				e.Observations = append(e.Observations, float32(drift+draws.Normal()), second(t, &draws))
			}
			d.Episodes = append(d.Episodes, files.Episode{Episode: e})
		}
		found, err := eval.Divide(d)
		if err != nil || len(found.Bodies) != 2 || found.Sure != 1 {
			t.Errorf("bodies %+v by %d links, sure %v (%v)", found.Bodies, len(found.Links), found.Sure, err)
		}
	}
}

func TestDivide_SaysWhatIsMissing(t *testing.T) {
	for _, d := range []*files.Dataset{simulated(t, 1, 3, []int{0, 1}), {Spec: envs.Spec{Observation: 1}}} {
		var fault *files.Error
		if _, err := eval.Divide(d); !errors.As(err, &fault) {
			t.Errorf("error %v", err)
		}
	}
}
