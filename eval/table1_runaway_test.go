package eval_test

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/hopper"
	"github.com/switchyard-ml/switchyard/eval"
)

// TestTable1_RunawayOfAChannelThatNeverChanges: noise in the sine of the heading, which is always 0 of a robot that
// moves in its plane, is no rollout that runs away; what is no number is one there, too.
func TestTable1_RunawayOfAChannelThatNeverChanges(t *testing.T) {
	env, o := built[*hopper.Env](t)(hopper.New(hopper.DefaultConfig())), task(20)
	nx := env.Spec().Observation
	for noise, want := range map[float32]float64{0.01: 0, float32(math.NaN()): 1} {
		s := newSimulator(env, o)
		s.reply = func(e *envs.Episode, at int, _ []float32) []float32 {
			answer := slices.Clone(e.Observations[at*nx : (at+1)*nx])
			answer[1] += noise
			return answer
		}
		r := table1(t, s, env, o)
		if got := r.Runaway.Share[eval.Table1Horizon-1].Value; got != want {
			t.Errorf("noise of %v: %v of the episodes run away, want %v", noise, got, want)
		}
	}
}
