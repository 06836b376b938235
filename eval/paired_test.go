package eval

import (
	"math"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// TestPairedRatio: without overlap the standard error is that of a ratio of means; too few starts have none.
func TestPairedRatio(t *testing.T) {
	starts := make([]recordedStart, 6)
	for i := range starts {
		starts[i] = recordedStart{0, i}
	}
	a, b := []float64{1, 2, 1, 2, 1, 2}, []float64{2, 2, 2, 2, 2, 2}
	e := pairedRatio(a, b, starts, 0)
	// d = a − 0.75·b = ∓0.5; the root of 6·0.25·6/5 over Σb = 12
	if want := math.Sqrt(1.8) / 12; e.Value != 0.75 || math.Abs(e.SE-want) > 1e-12 {
		t.Errorf("%+v, want 0.75 ± %v", e, want)
	}
	if e := pairedRatio(a, b, starts, 3); !math.IsNaN(e.SE) {
		t.Errorf("six starts of which four overlap: %+v", e)
	}
	// Each in a recording of its own, none of them overlap.
	for i := range starts {
		starts[i].recording = i
	}
	if apart := pairedRatio(a, b, starts, 3); apart != e {
		t.Errorf("six recordings: %+v, want %+v", apart, e)
	}
}

// TestPairedRatio_OfMovingSums: the standard error is right, in the mean of many data sets, where errors are sums over
// steps that overlap.
func TestPairedRatio_OfMovingSums(t *testing.T) {
	const sets, overlap = 3000, 4
	for _, recordings := range [][]int{{20}, {60}, {12, 8, 20}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}} {
		noise := rng.New(7, rng.Episode).At(0, 0, 0)
		var of, squared float64 // the standard error, and the ratio around 1
		for range sets {
			var starts []recordedStart
			var a, b []float64
			for r, n := range recordings {
				steps := make([]float64, n+overlap)
				for i := range steps {
					steps[i] = 0.01 * noise.Normal()
				}
				for i := range n {
					starts = append(starts, recordedStart{r, i})
					a, b = append(a, 1+sum(steps[i:i+overlap+1])), append(b, 1)
				}
			}
			e := pairedRatio(a, b, starts, overlap)
			of, squared = of+float64(e.SE*e.SE), squared+float64((e.Value-1)*(e.Value-1))
		}
		if ratio := math.Sqrt(of / squared); !(math.Abs(ratio-1) < 0.04) {
			t.Errorf("recordings of %v starts: the standard error is %.3f of what the ratio varies by", recordings, ratio)
		}
	}
}

// TestPaired: two models are compared from the starts that both have.
func TestPaired(t *testing.T) {
	report := func(first int, errors ...float64) RecordedReport {
		r := RecordedReport{Horizon: 1, Options: RecordedOptions{Question: Question{Stride: 1}}}
		for i, e := range errors {
			r.Errors = append(r.Errors, StartError{0, 10 - first - i, []float64{e}})
		}
		return r
	}
	a, b := report(0, 100, 1, 2, 1, 2), report(1, 2, 2, 2, 2, 300)
	want := pairedRatio([]float64{1, 2, 1, 2}, []float64{2, 2, 2, 2}, make([]recordedStart, 4), 0)
	if got := Paired(a, b); got != want || got.Value != 0.75 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Paired(a, report(6, 1)); !math.IsNaN(got.Value) {
		t.Errorf("without a common start: %+v", got)
	}
}

// TestVerdict: what it says of models that are better, the rule itself, or unclear.
func TestVerdict(t *testing.T) {
	at := func(v, se float64, n int) []Estimate {
		list := make([]Estimate, n)
		for i := range list {
			list[i] = Estimate{v, se}
		}
		return list
	}
	persistence := Comparison{"persistence", Estimate{0.4, 0.05}, at(0.4, 0.05, 3)}
	season := Comparison{"seasonal naive", Estimate{0.8, 0.05}, at(0.8, 0.15, 3)}
	season.ByHorizon[0], season.ByHorizon[2] = Estimate{0.5, 0.1}, Estimate{1.6, 0.2}
	order := Comparison{"ARX(4)", Estimate{1.01, 0.02}, at(1, 0.1, 3)}
	r := RecordedReport{Horizon: 3, Against: []Comparison{persistence, season, order}}
	want := "Predicts 3 steps ahead with .80 ± .05 of the error of the best simple rule (seasonal naive): better; better at " +
		"horizon 1, behind at horizon 3. Its error is 1.01 ± .02 of that of the autoregression ARX(4): no difference."
	if got := r.Verdict(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c, s := r.Beaten(); c.Name != "ARX(4)" || s != Level {
		t.Errorf("%s %s", c.Name, s)
	}
	r.Against[0].Ratio = Estimate{1.5, 0.1}
	if c, s := r.Beaten(); c.Name != "persistence" || s != Behind {
		t.Errorf("%s %s", c.Name, s)
	}
	r = RecordedReport{Horizon: 1, Against: []Comparison{{"persistence", Estimate{1, 0}, at(1, 0, 1)}}}
	if got, want := r.Verdict(), "Predicts 1 step ahead as the best simple rule does, persistence."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for share, word := range map[float64]string{0.62: "too narrow", 0.85: "about right", 1: "too wide", math.NaN(): ""} {
		r.Scores = []Score{{Coverage: [][]float64{{0}, {share}, {1}}}}
		if got := r.Calibration(); !strings.Contains(got, word) || (got == "") != math.IsNaN(share) || !strings.HasSuffix(r.Verdict(), got) {
			t.Errorf("%g: %q in %q", share, got, r.Verdict())
		}
	}
	none := RecordedReport{Horizon: 2, Against: []Comparison{
		{Name: "persistence", Ratio: Estimate{math.Inf(1), math.NaN()}}, {Name: "ARX(2)", Ratio: Estimate{math.Inf(1), math.NaN()}},
	}}
	if got, want := none.Verdict(), "The best simple rule (persistence) makes no error 2 steps ahead, and the model does. The autoregression ARX(2) makes no error."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (RecordedReport{}).Verdict(); got != "No errors can be compared: nothing was measured in what is predicted, or nothing changes in training." {
		t.Error(got)
	}
}
