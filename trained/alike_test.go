package trained

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/rng"
)

// rotating is a recording of two rotations that take turns, and the true regimes.
func rotating(steps int) (model.Batch, []int) {
	s := rng.New(5, rng.Episode).At(0, 0, 0)
	var b model.Batch
	b.Resize(steps, 1, 2, 0)
	x, z := []float64{1, 0}, make([]int, steps)
	for t := range steps {
		if z[t] = z[max(t-1, 0)]; s.Float64() < 0.05 {
			z[t] = 1 - z[t]
		}
		angle := []float64{0.4, -0.7}[z[t]]
		sin, cos := math.Sincos(angle)
		x = []float64{cos*x[0] - sin*x[1] + 0.1*s.Normal(), sin*x[0] + cos*x[1] + 0.1*s.Normal()}
		b.Observations[2*t], b.Observations[2*t+1] = float32(x[0]), float32(x[1])
	}
	return b, z
}

// TestAlike: an arhmm with twice as many regimes as there are finds them all the same once those that predict alike are
// one, and two that differ stay two.
func TestAlike(t *testing.T) {
	b, truth := rotating(1500)
	accuracy := func(switches int) (float64, []int) {
		settings := arhmm.DefaultSettings()
		settings.Switches = switches
		built, err := settings.New(model.Data{NX: 2}, rng.New(1, rng.Init))
		if err != nil {
			t.Fatal(err)
		}
		m := built.(*arhmm.Model)
		var states [][]float64
		for index := range 3 {
			c, err := m.NewChain([]model.Batch{b}, index, nil)
			for range 40 {
				if err == nil {
					err = c.Sweep(make([]float64, 2))
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			size := 0
			for _, p := range m.Layout(nil) {
				size += p.Size()
			}
			state := make([]float64, size)
			c.State(state)
			states = append(states, state)
		}
		if err := m.Install(states); err != nil {
			t.Fatal(err)
		}
		f := m.NewForecaster().(*arhmm.Forecaster)
		var divided model.Segmentation
		f.Segment(&divided, b, 1, rng.Stream{})
		regimes := make([]int, b.T)
		for i := range regimes {
			for k := range switches {
				if divided.Probability[i*switches+k] > divided.Probability[i*switches+regimes[i]] {
					regimes[i] = k
				}
			}
		}
		var filtered model.Filtering
		f.Filter(&filtered, b, rng.Stream{})
		likeness := eval.NewLikeness(f.Systems(), b.T)
		likeness.Add(&filtered, b, regimes)
		group := likeness.Groups()
		for i, k := range regimes {
			regimes[i] = group[k]
		}
		return eval.Agree([][]int{truth}, [][]int{regimes}, switches).Accuracy, group
	}
	two, kept := accuracy(2)
	four, group := accuracy(4)
	if two < 0.97 || four < two-0.02 || kept[1] == kept[0] {
		t.Errorf("accuracy %.3f with two regimes in groups %v, %.3f with four in groups %v", two, kept, four, group)
	}
}
