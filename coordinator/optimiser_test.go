package coordinator

import (
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/wire"
)

// A run that goes back to its initial parameters, which have no checkpoint, begins with them as their average, and as the
// exact ones.
func TestOptimiser_BackToTheBeginning(t *testing.T) {
	for _, parameters := range []wire.Coding{wire.Float32, wire.Int8} {
		backToTheBeginning(t, parameters)
	}
}

func backToTheBeginning(t *testing.T, parameters wire.Coding) {
	t.Helper()
	cfg := Config{Parameters: parameters, Average: 0.9, Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1, ClipFactor: 3}}
	initial := []float32{1, -2, 3}
	o := newOptimiser(&cfg, slices.Clone(initial))
	step := func() {
		t.Helper()
		if _, _, err := o.update([]float32{3, 1, -4}, 1); err != nil {
			t.Fatal(err)
		}
	}
	step()
	first, theta := slices.Clone(o.average.Values), slices.Clone(o.theta)
	step()
	o.restore(&Checkpoint{Theta: initial})
	if o.step != 0 || !slices.Equal(o.theta, initial) || !slices.Equal(o.average.Values, initial) {
		t.Fatalf("step %d, parameters %v, average %v", o.step, o.theta, o.average.Values)
	}
	step()
	if !slices.Equal(o.theta, theta) {
		t.Errorf("the first update again gives %v, want %v", o.theta, theta)
	}
	if !slices.Equal(o.average.Values, first) {
		t.Errorf("the first update again gives the average %v, want %v", o.average.Values, first)
	}
}

// A run that continues from a checkpoint retreats at the same update as one that was not interrupted, with the same bits;
// a checkpoint of a release that knew no retreat fits, too. Without an average of the run there is one for retreats alone,
// which is not evaluated.
func TestOptimiser_RetreatsAfterARestart(t *testing.T) {
	for _, average := range []float64{0.9, 0} {
		cfg := Config{Average: average, Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1, Outlier: 100}}
		o := newOptimiser(&cfg, []float32{1, -2, 3})
		update := func(o *optimiser, gradient float32, times int) (retreats int) {
			t.Helper()
			for range times {
				if _, _, err := o.update([]float32{gradient, gradient, -gradient}, 1); err != nil {
					t.Fatal(err)
				}
				if o.retreated {
					retreats++
				}
			}
			return retreats
		}
		update(o, 1, 150)
		update(o, 1e9, 12)
		var cp Checkpoint
		o.save(&cp)
		if cp.LeftOut == nil || *cp.LeftOut != 12 || cp.Retreats() != 0 {
			t.Errorf("average %g: the checkpoint says that %v updates were left out, and %d retreats", average, cp.LeftOut, cp.Retreats())
		}
		if evaluated := cp.Evaluated(); slices.Equal(evaluated, cp.Theta) != (average == 0) {
			t.Errorf("average %g: %v is evaluated, the parameters are %v", average, evaluated, cp.Theta)
		}
		again := newOptimiser(&cfg, []float32{0, 0, 0})
		if err := again.fits(&cp); err != nil {
			t.Fatal(err)
		}
		again.restore(&cp)
		before := slices.Clone(o.theta)
		if a, b := update(o, 1e9, 8), update(again, 1e9, 8); a != 1 || b != 1 || slices.Equal(o.theta, before) || !slices.Equal(o.theta, again.theta) {
			t.Errorf("average %g: %d and %d retreats, from %v to %v and %v", average, a, b, before, o.theta, again.theta)
		}
		var later Checkpoint
		if again.save(&later); *later.LeftOut != 20 || later.Retreats() != 1 || *cp.LeftOut != 12 {
			t.Errorf("average %g: %d updates were left out, and %d retreats, after %d", average, *later.LeftOut, later.Retreats(), *cp.LeftOut)
		}
		update(o, 1, 3)
		if update(again, 1, 3); !slices.Equal(o.theta, again.theta) {
			t.Errorf("average %g: afterwards %v and %v", average, o.theta, again.theta)
		}
		cp.Moments = cp.Moments[:len(cp.Moments)-1]
		if average == 0 {
			cp.Moments = cp.Moments[:len(cp.Moments)-1]
		}
		if err := again.fits(&cp); err != nil {
			t.Error(err)
		}
		cp.LeftOut = nil
		again.restore(&cp)
		if update(again, 1e9, 1); again.leftOut != nil {
			t.Errorf("%d updates were left out, but those before the checkpoint are not known", *again.leftOut)
		}
		if again.restore(&cp); average == 0 && !slices.Equal(again.refuge.Values, cp.Theta) {
			t.Errorf("it would go back to %v, the parameters are %v", again.refuge.Values, cp.Theta)
		}
	}
}
