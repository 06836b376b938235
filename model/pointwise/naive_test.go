package pointwise

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestNaive_RepeatsTheSeason: the mean is the last season again, a missing value as it was last seen; the paths spread
// as the changes over a season did.
func TestNaive_RepeatsTheSeason(t *testing.T) {
	m, err := (&NaiveSettings{Season: 3}).New(model.Data{NX: 1}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	rule := m.(*NaiveModel)
	if rule.NewForecaster() != nil || rule.Install(nil) == nil {
		t.Error("it predicts before the noise was measured")
	}
	var b model.Batch
	b.Resize(7, 1, 1, 0)
	copy(b.Observations, []float32{1, 2, 3, 1.5, 2.5, 0, 2})
	b.Seen = []float32{1, 1, 1, 1, 1, 0, 1}
	chain, err := rule.NewChain([]model.Batch{b}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	terms, state := make([]float64, 1), make([]float64, 1)
	if err := chain.Sweep(terms); err != nil {
		t.Fatal(err)
	}
	if chain.State(state); state[0] != 0.25 || terms[0] != 0.25 { // three changes of 0.5 are seen
		t.Errorf("variance %v, error %v", state[0], terms[0])
	}
	if err := rule.Install([][]float64{state}); err != nil {
		t.Fatal(err)
	}
	q := model.Query{Prefix: b, Horizon: 4, Samples: 4000, Noise: modeltest.Noise(1)}
	var f model.Forecast
	rule.NewForecaster().Clone().Forecast(&f, q)
	if want := []float32{2.5, 2.5, 2, 2.5}; !slices.Equal(f.Mean, want) {
		t.Errorf("mean %v, want %v", f.Mean, want)
	}
	for h, want := range []float64{0.25, 0.25, 0.25, 0.5} { // a second season has the noise of two
		square := 0.0
		for s := range q.Samples {
			square += math.Pow(float64(f.Paths[s*4+h]-f.Mean[h]), 2) / float64(q.Samples)
		}
		if math.Abs(square-want) > 0.05*want {
			t.Errorf("step %d: variance %v, want %v", h+1, square, want)
		}
	}
}

// TestNaive_FillsFromTheSeasonBefore: a gap has the value of the season before, however long a season is.
func TestNaive_FillsFromTheSeasonBefore(t *testing.T) {
	const season, gap = 100, 250
	m, err := (&NaiveSettings{Season: season}).New(model.Data{NX: 1}, rng.New(1, rng.Init))
	if err != nil {
		t.Fatal(err)
	}
	rule := m.(*NaiveModel)
	if err := rule.Install([][]float64{{1e-8}}); err != nil {
		t.Fatal(err)
	}
	var b model.Batch
	b.Resize(3*season, 1, 1, 0)
	for i := range b.Observations {
		b.Observations[i] = float32(math.Sin(2 * math.Pi * float64(i) / season))
	}
	want := b.Observations[gap]
	b.Seen = slices.Repeat([]float32{1}, b.T)
	b.Seen[gap], b.Observations[gap] = 0, 0
	var f model.Forecast
	model.Ahead(rule.NewForecaster(), &f, model.Query{Prefix: b, Horizon: season, Samples: 8, Noise: modeltest.Noise(1)})
	if got := f.Mean[gap+season-b.T]; math.Abs(float64(got-want)) > 1e-3 {
		t.Errorf("the season after the gap is %v, want %v", got, want)
	}
}
