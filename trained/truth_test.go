package trained_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/trained"
)

func arrays(a *trained.Answer) map[string]trained.Array {
	list := map[string]trained.Array{}
	for _, x := range a.Arrays {
		list[x.Name] = x
	}
	return list
}

// Labels are compared with regimes, whatever the numbers of both, and a run that does not switch says so.
func TestSegmentations_AgainstLabels(t *testing.T) {
	of := []trained.Recording{{
		Series: trained.Series{Observations: [][]float64{{1}, {2}, {3}, {4}}}, Truth: []int{7, 7, 3, 3},
	}}
	for _, c := range []struct {
		regime   []int
		accuracy float64
		want     []string
	}{
		{[]int{1, 1, 0, 0}, 1, []string{"2 of 3 regimes are in use; one holds 50 % of the time.", "accuracy 1.000 (the most frequent label alone: 0.500)"}},
		{[]int{2, 2, 2, 2}, 0.5, []string{"1 of 3 regimes is in use; one holds 100 % of the time: this run", "NMI 0.000"}},
	} {
		found := []trained.Segmentation{{Regime: c.regime, Probability: [][]float64{{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}}}}
		answer := trained.Segmentations(of, found, nil, trained.Columns{})
		said := strings.Join(answer.Verdict, "\n")
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%v: %q is missing in %q", c.regime, want, said)
			}
		}
		if got := arrays(answer)["accuracy"].Values[0]; got != c.accuracy {
			t.Errorf("%v: accuracy %v, want %v", c.regime, got, c.accuracy)
		}
		if got := arrays(answer)["truth"].Ints; len(got) != 4 || got[0] != 7 {
			t.Errorf("the file has the labels %v", got)
		}
	}
	of[0].Truth = nil
	found := []trained.Segmentation{{Regime: []int{0, 0, 0, 1}, Probability: [][]float64{{1, 0}, {1, 0}, {1, 0}, {0, 1}}}}
	if _, ok := arrays(trained.Segmentations(of, found, nil, trained.Columns{}))["accuracy"]; ok {
		t.Error("without labels there is an accuracy")
	}
}

// TestSegmentations_SayWhatTheyExplain: regimes that are drawn are said to mean nothing, those of the data are not.
func TestSegmentations_SayWhatTheyExplain(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	var series [][]float64
	var truth, drawn []int
	for step := range 400 {
		k := step / 20 % 2
		series = append(series, []float64{float64(4*k) + 0.1*draw.NormFloat64()})
		truth, drawn = append(truth, k), append(drawn, draw.IntN(2))
	}
	of := []trained.Recording{{Series: trained.Series{Observations: series}}}
	for _, c := range []struct {
		regime  []int
		nothing bool
	}{{truth, false}, {drawn, true}} {
		found := trained.Segmentation{Regime: c.regime, Probability: make([][]float64, len(series))}
		for t := range found.Probability {
			found.Probability[t] = []float64{0.5, 0.5}
		}
		answer := trained.Segmentations(of, []trained.Segmentation{found}, nil, trained.Columns{})
		said := strings.Join(answer.Verdict, "\n")
		if strings.Contains(said, "next to nothing") != c.nothing || !strings.Contains(said, "one step ahead") {
			t.Errorf("%q", said)
		}
		if v := arrays(answer)["explained"].Values[0]; (v < 0.05) != c.nothing {
			t.Errorf("explained is %v", v)
		}
	}
}

// TestSegmentations_SmallRegimesThatExplain: a regime of 4 % of the steps in which the series turns the other way divides
// the data; and so do two oscillations of other periods, which one lag cannot tell apart.
func TestSegmentations_SmallRegimesThatExplain(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	verdict := func(channels int, angle [2]float64, second func(step int) bool) string {
		one, series := trained.Segmentation{}, [][]float64(nil)
		x, y := 1.0, 0.0
		for step := range 2000 {
			k := 0
			if second(step) {
				k = 1
			}
			s, c := math.Sincos(angle[k])
			x, y = .99*(c*x-s*y)+.05*draw.NormFloat64(), .99*(s*x+c*y)+.05*draw.NormFloat64()
			series = append(series, []float64{x, y}[:channels])
			one.Regime, one.Probability = append(one.Regime, k), append(one.Probability, []float64{.5, .5})
		}
		of := []trained.Recording{{Series: trained.Series{Observations: series}}}
		return strings.Join(trained.Segmentations(of, []trained.Segmentation{one}, nil, trained.Columns{}).Verdict, "\n")
	}
	rare := verdict(2, [2]float64{.3, -.9}, func(step int) bool { return step%200 < 8 })
	if !strings.Contains(rare, "one holds 96 % of the time.") || !strings.Contains(rare, "An autoregression for each regime") {
		t.Errorf("a rare regime: %q", rare)
	}
	periods := verdict(1, [2]float64{.2, 1.2}, func(step int) bool { return step/100%2 == 1 })
	if strings.Contains(periods, "next to nothing") {
		t.Errorf("two periods: %q", periods)
	}
}

// TestSegmentations_OfBodiesExplainNothing: regimes of a body are those of its own channels, so that nothing is said of
// how all channels move.
func TestSegmentations_OfBodiesExplainNothing(t *testing.T) {
	var series [][]float64
	one := trained.Segmentation{}
	for step := range 400 {
		k := step / 20 % 2
		series = append(series, []float64{float64(4 * k), float64(step % 7)})
		one.Regime, one.Probability = append(one.Regime, k), append(one.Probability, []float64{0.5, 0.5})
	}
	both := trained.Segmentation{Bodies: []trained.Segmentation{one, one}}
	answer := trained.Segmentations([]trained.Recording{{Series: trained.Series{Observations: series}}},
		[]trained.Segmentation{both}, nil, trained.Columns{})
	if _, ok := arrays(answer)["explained"]; ok || len(answer.Verdict) != 1 {
		t.Errorf("verdict %q", answer.Verdict)
	}
}
