package eval_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// knowing divides sequences as it is told, by what it observes.
type knowing struct {
	model.Forecaster
	dims   model.Dims
	regime func(x []float32, t int) int
}

func (k knowing) Dims() model.Dims        { return k.dims }
func (k knowing) Clone() model.Forecaster { return k }

func (k knowing) Segment(dst *model.Segmentation, b model.Batch, _ int, _ rng.Stream) {
	dst.Resize(b.T, b.B, k.dims.M)
	clear(dst.Probability)
	for t := range b.T {
		dst.Probability[t*k.dims.M+k.regime(b.Observations[t*b.NX:(t+1)*b.NX], t)] = 1
	}
}

func segmentation(t *testing.T) eval.Protocol {
	t.Helper()
	for _, p := range eval.Protocols() {
		if p.Name == "segmentation" {
			return p
		}
	}
	t.Fatal("there is no such protocol")
	return eval.Protocol{}
}

// TestSegmentation_OfTheTruth: the lobe of the attractor is the sign of its first coordinate, of which the noise of an
// observation changes few. Whoever tells it has nearly all steps, whatever the numbers of its regimes.
func TestSegmentation_OfTheTruth(t *testing.T) {
	s := subject(t, "lorenz")
	s.Episodes = 20
	s.Forecaster = knowing{dims: model.Dims{NX: 3, M: 5}, regime: func(x []float32, _ int) int {
		if x[0] >= 0 {
			return 1
		}
		return 4
	}}
	found, err := segmentation(t).Run(s)
	if err != nil {
		t.Fatal(err)
	}
	n := found.Report.Numbers()
	for name, least := range map[string]float64{
		"accuracy": 0.98, "nmi": 0.85, "ari": 0.92, "boundary_f1": 0.9, "recall/0": 0.97, "recall/1": 0.97,
		"regimes_used": 1.8, "standard_error/accuracy": 1e-4, "accuracy_arhmm": 0.6, "accuracy_majority": 0.5,
	} {
		if v := n.Get(name); !(v >= least) || v > 2 {
			t.Errorf("%s is %v, want %v at least", name, v, least)
		}
	}
	for _, strip := range found.Picture.(eval.SegmentationReport).Strips {
		if slices.Max(strip.Found) != 1 || slices.Max(strip.Truth) != 1 { // the two that are used come first
			t.Errorf("regimes %v, true ones %v", strip.Found, strip.Truth)
		}
	}
	if n["regimes"] != 5 || n["labels"] != 2 || n["regimes_arhmm"] != 2 || n["episodes"] != 20 {
		t.Errorf("%v", n)
	}
}

// TestSegmentation_OfNothing: one regime for all steps is as good as the most frequent label, and no better.
func TestSegmentation_OfNothing(t *testing.T) {
	s := subject(t, "modes")
	s.Forecaster = knowing{dims: model.Dims{NX: 2, M: 3}, regime: func([]float32, int) int { return 2 }}
	found, err := segmentation(t).Run(s)
	if err != nil {
		t.Fatal(err)
	}
	n := found.Report.Numbers()
	if n["accuracy"] != n["accuracy_majority"] || n["nmi"] != 0 || n["ari"] != 0 || n["regimes_used"] != 1 ||
		n["boundary_f1"] != 0 {
		t.Errorf("%v", n)
	}
	if n["accuracy_arhmm"] < n["accuracy"]+0.1 {
		t.Errorf("the autoregressive HMM has %v, one regime %v", n["accuracy_arhmm"], n["accuracy"])
	}
}

// bodied has three bodies with two regimes: the first is always in the second one, the others in the first.
type bodied struct{ knowing }

func (b bodied) Clone() model.Forecaster { return b }

func (b bodied) Segment(dst *model.Segmentation, batch model.Batch, _ int, _ rng.Stream) {
	dst.Resize(batch.T, batch.B, 6)
	for at := range batch.T * batch.B {
		copy(dst.Probability[6*at:], []float32{0, 1, 1, 0, 1, 0})
	}
}

// TestSegmentation_OfBodies: regimes of each body are not scored against labels of the whole recording.
func TestSegmentation_OfBodies(t *testing.T) {
	s := subject(t, "lorenz")
	s.Episodes = 20
	s.Forecaster = bodied{knowing{dims: model.Dims{NX: 3, M: 6, Bodies: 3}}}
	found, err := segmentation(t).Run(s)
	if err != nil {
		t.Fatal(err)
	}
	n := found.Report.Numbers()
	if _, scored := n["accuracy"]; scored || n["accuracy_arhmm"] == 0 || found.Picture != nil {
		t.Errorf("one body is scored: %v", n)
	}
	if notes := strings.Join(found.Scores.Notes, " "); !strings.Contains(notes, "each of 3 bodies") {
		t.Errorf("the notes do not say why: %s", notes)
	}
}

// doubled is the truth about bounce, with two regimes of the same system for each direction.
type doubled struct{ knowing }

func (d doubled) Clone() model.Forecaster { return d }

func (d doubled) Systems() model.Systems {
	y := model.NewSystems(4, 1, 0)
	for k := range 4 {
		y.A[k], y.Bias[k], y.Q[k] = 1, []float64{-0.16, 0.16}[k%2], 0.003
	}
	return y
}

func (d doubled) Filter(dst *model.Filtering, b model.Batch, _ rng.Stream) {
	dst.Resize(b.T, b.B, 1, 4)
	copy(dst.Mean, b.Observations)
}

// TestSegmentation_MergesWhatIsAlike: of twice the true number of regimes, those that predict alike are one in a row of
// their own.
func TestSegmentation_MergesWhatIsAlike(t *testing.T) {
	s := subject(t, "bounce")
	s.Episodes, s.Threads = 20, 1
	last := float32(0)
	s.Forecaster = doubled{knowing{dims: model.Dims{NX: 1, NZ: 1, M: 4}, regime: func(x []float32, step int) int {
		up := x[0] > last
		if last = x[0]; up {
			return 1 + 2*(step/10%2)
		}
		return 2 * (step / 10 % 2)
	}}}
	found, err := segmentation(t).Run(s)
	if err != nil {
		t.Fatal(err)
	}
	n := found.Report.Numbers()
	if n["accuracy"] > 0.65 || !(n["accuracy_merged"] > 0.95) || n["regimes_used_merged"] > 2.01 {
		t.Errorf("accuracy %v, %v if those that are alike are one, of which %v are in use", n["accuracy"],
			n["accuracy_merged"], n["regimes_used_merged"])
	}
}

// told is the truth about bounce, with a system for each direction.
type told struct{ doubled }

func (d told) Clone() model.Forecaster { return d }

func (d told) Systems() model.Systems {
	y := model.NewSystems(2, 1, 0)
	for k := range 2 {
		y.A[k], y.Bias[k], y.Q[k] = 1, []float64{-0.16, 0.16}[k], 0.003
	}
	return y
}

// TestSegmentation_OfOneRecording: without a standard error, too, regimes of which no two are alike have one row.
func TestSegmentation_OfOneRecording(t *testing.T) {
	s := subject(t, "bounce")
	last := float32(0)
	s.Forecaster = told{doubled{knowing{dims: model.Dims{NX: 1, NZ: 1, M: 2}, regime: func(x []float32, _ int) int {
		up := x[0] > last
		if last = x[0]; up {
			return 1
		}
		return 0
	}}}}
	s.Threads = 1
	for _, episodes := range []int{1, 20} {
		s.Episodes = episodes
		found, err := segmentation(t).Run(s)
		if err != nil {
			t.Fatal(err)
		}
		if rows := found.Scores.Rows; len(rows) != 3 {
			t.Errorf("%d recordings: the rows are %v", episodes, rows)
		}
	}
}

// TestSegmentation_StandardError is that of a mean over recordings of the same length: half of the steps of each
// recording agree where every regime is drawn.
func TestSegmentation_StandardError(t *testing.T) {
	s := subject(t, "bounce")
	s.Episodes = 40
	draws := rng.New(1, rng.Noise).At(0, 0, 0)
	s.Threads = 1
	s.Forecaster = knowing{dims: model.Dims{NX: 1, M: 2}, regime: func([]float32, int) int { return draws.IntN(2) }}
	found, err := segmentation(t).Run(s)
	if err != nil {
		t.Fatal(err)
	}
	n := found.Report.Numbers()
	want := math.Sqrt(0.25 / (40 * float64(s.Length)))
	if math.Abs(n["accuracy"]-0.5) > 5*want || n["standard_error/accuracy"] < want/2 ||
		n["standard_error/accuracy"] > 2*want {
		t.Errorf("accuracy %v ± %v, want 0.5 ± %v", n["accuracy"], n["standard_error/accuracy"], want)
	}
}

// TestNumbering_IsThatOfTheTrainingData: the regime with most of it is the first, whatever is asked.
func TestNumbering_IsThatOfTheTrainingData(t *testing.T) {
	s := subject(t, "sticky")
	s.Forecaster = knowing{dims: model.Dims{NX: 2, NU: 1, M: 4}, regime: func(_ []float32, step int) int {
		return map[bool]int{true: 3, false: 1}[step%3 == 0]
	}}
	for _, episodes := range []int{2, 30} {
		s.Episodes = episodes
		if got := s.Numbering(); !slices.Equal(got, []int{1, 3, 0, 2}) {
			t.Errorf("the order is %v", got)
		}
	}
	// The first of three bodies is alone in its regime.
	s.Forecaster = bodied{knowing{dims: model.Dims{NX: 2, NU: 1, M: 6, Bodies: 3}}}
	if got := s.Numbering(); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("of bodies, the order is %v", got)
	}
	s.Forecaster = only{s.Forecaster}
	if got := s.Numbering(); got != nil {
		t.Errorf("a family without regimes numbers them %v", got)
	}
	if got := eval.Renumbered([][]int{{1, 3, 0}}, []int{1, 3, 0, 2}); !slices.Equal(got[0], []int{0, 1, 2}) {
		t.Errorf("renumbered: %v", got)
	}
}
