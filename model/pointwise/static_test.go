package pointwise

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
)

// goldenStatic are the bits of every variant.
var goldenStatic = map[string]string{
	"controls":    "1ae4ec41c485b5d1",
	"no controls": "1ae4ec41c485b5d1",
	"images":      "75acf38c1c5c6f06",
}

func TestStatic_KeepsTheContract(t *testing.T) {
	for name, c := range map[string]modeltest.Case{
		"controls": {NX: 3, NU: 2}, "no controls": {NX: 3}, "images": {NX: 3, Binary: true},
	} {
		c.New = func(testing.TB) modeltest.Model { return NewStatic(model.Data{NX: c.NX, NU: c.NU}) }
		c.IgnoresControls, c.Golden, c.Real = true, goldenStatic[name], true
		t.Run(name, c.Run)
	}
}

// TestLoss_IsThatOfARandomWalk recomputes it in float64, with a value missing.
func TestLoss_IsThatOfARandomWalk(t *testing.T) {
	m := NewStatic(model.Data{NX: 2})
	b := modeltest.Case{NX: 2}.Batch(4, 3)
	b.Seen = make([]float32, len(b.Observations))
	for i := range b.Seen {
		b.Seen[i] = 1
	}
	b.Seen[2*3*2+1], b.Observations[2*3*2+1] = 0, 0 // of the third step: neither what leads to it counts nor what follows
	modeltest.Set(m, "noise.sd", 0.3, -0.4)
	sd := []float64{math.Log1p(math.Exp(0.3)) + math.Sqrt(1e-5), math.Log1p(math.Exp(-0.4)) + math.Sqrt(1e-5)}
	var want float64
	for i := 3 * 2; i < len(b.Observations); i++ {
		if b.Seen[i] == 0 || b.Seen[i-6] == 0 {
			continue
		}
		e := (float64(b.Observations[i]) - float64(b.Observations[i-6])) / sd[i%2]
		want += (0.5*e*e + math.Log(sd[i%2]) + 0.5*math.Log(2*math.Pi)) / 9
	}
	terms := make([]float32, 2)
	m.Loss(autodiff.NewInferenceTape(m.Params()), b, modeltest.Noise(0), 0, terms)
	if got := float64(terms[0]); math.Abs(got-want) > 1e-5*want {
		t.Errorf("loss %v, want %v", got, want)
	}
}

// TestForecast_IsTheLastObservation, as it was last seen, at every horizon; the paths spread with the root of it.
func TestForecast_IsTheLastObservation(t *testing.T) {
	m := NewStatic(model.Data{NX: 2})
	b := modeltest.Case{NX: 2}.Batch(3, 1)
	b.Seen = []float32{1, 1, 1, 1, 1, 0}
	b.Observations[5] = 0
	q := model.Query{Prefix: b, Horizon: 4, Samples: 20000, Noise: modeltest.Noise(1)}
	var f model.Forecast
	m.NewForecaster().Forecast(&f, q)
	sd := math.Log(2) + math.Sqrt(1e-5)
	for h := range 4 {
		for i, want := range []float32{b.Observations[4], b.Observations[3]} {
			if got := f.Mean[h*2+i]; math.Abs(float64(got-want)) > 1e-3 { // a sum of many equal numbers rounds
				t.Errorf("step %d, dimension %d: %v, want %v", h+1, i, got, want)
			}
			var variance float64
			for s := range q.Samples {
				d := float64(f.Paths[(s*4+h)*2+i] - want)
				variance += d * d / float64(q.Samples)
			}
			if want := float64(h+1) * sd * sd; math.Abs(variance-want) > 0.05*want {
				t.Errorf("step %d, dimension %d: variance %v, want %v", h+1, i, variance, want)
			}
		}
	}
}
