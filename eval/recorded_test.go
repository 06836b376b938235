package eval_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
)

// spiral makes recordings of x' = A x + b u, in which u is known.
func spiral(n, steps int) []eval.Recording {
	var list []eval.Recording
	for i := range n {
		e := eval.Recording{T: steps, Observations: make([]float32, 2*steps), Controls: make([]float32, steps)}
		x, y := 1+0.1*float64(i), -0.5*float64(i%3)
		for t := range steps {
			if t > 0 {
				u := math.Cos(float64(3*t + i))
				x, y = 0.9*x-0.2*y+0.1*u, 0.2*x+0.9*y
				e.Controls[t] = float32(u)
			}
			e.Observations[2*t], e.Observations[2*t+1] = float32(x), float32(y)
		}
		list = append(list, e)
	}
	return list
}

// rule is the spiral as a model.
type rule struct {
	lock  *sync.Mutex
	asked *[]model.Query
}

func newRule() rule                    { return rule{new(sync.Mutex), new([]model.Query)} }
func (r rule) Dims() model.Dims        { return model.Dims{NX: 2, NU: 1} }
func (r rule) Clone() model.Forecaster { return r }
func (r rule) Forecast(dst *model.Forecast, q model.Query) {
	r.lock.Lock()
	*r.asked = append(*r.asked, q)
	r.lock.Unlock()
	n := q.Prefix.B
	dst.Resize(q.Horizon, n, q.Samples, 2, 0)
	for i := range n {
		at := ((q.Prefix.T-1)*n + i) * 2
		x, y := float64(q.Prefix.Observations[at]), float64(q.Prefix.Observations[at+1])
		for k := range q.Horizon {
			x, y = 0.9*x-0.2*y+0.1*float64(q.Controls[k*n+i]), 0.2*x+0.9*y
			dst.Mean[(k*n+i)*2], dst.Mean[(k*n+i)*2+1] = float32(x), float32(y)
		}
	}
}

func recorded(t *testing.T, f model.Forecaster, o eval.RecordedOptions) eval.RecordedReport {
	t.Helper()
	r, err := eval.Recorded(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func recordedOptions() eval.RecordedOptions {
	o := eval.RecordedOptions{
		Question: eval.Question{Prefix: 4, Horizon: 7}, Seed: 1, Training: spiral(8, 30), Test: spiral(6, 32), Samples: 2,
		Names: []string{"x", "y"},
	}
	for i := range o.Test {
		o.Test[i].Scale = files.Scale{Mean: make([]float64, 2), SD: []float64{2, 1}}
	}
	return o
}

// TestRecorded_TheRuleMakesNoError, nor does the linear baseline of a linear rule; persistence does.
func TestRecorded_TheRuleMakesNoError(t *testing.T) {
	r := recorded(t, newRule(), recordedOptions())
	if r.Starts != 6*4 || r.Horizon != 7 {
		t.Errorf("%d starts of %d steps, want 24 of 7", r.Starts, r.Horizon)
	}
	for k := range r.Horizon {
		if r.Model[k].Value > 1e-10 || r.Linear[k].Value > 1e-8 || r.Persistence[k].Value < 1e-3 || r.RMSE[k][0] > 1e-5 {
			t.Errorf("at %d: model %v, linear %v, persistence %v", k+1, r.Model[k], r.Linear[k], r.Persistence[k])
		}
	}
	if last := recorded(t, newRule(), func() eval.RecordedOptions { o := recordedOptions(); o.Horizon = 100; return o }()); last.Horizon != 28 {
		t.Errorf("a horizon of %d for recordings of 32 steps, want 28", last.Horizon)
	}
}

// diverging is the rule, whose predictions are not finite from a horizon on.
type diverging struct {
	rule
	from int
	to   float32
}

func (d diverging) Clone() model.Forecaster { return d }
func (d diverging) Forecast(dst *model.Forecast, q model.Query) {
	d.rule.Forecast(dst, q)
	for i := (d.from - 1) * q.Prefix.B * 2; i < len(dst.Mean); i++ {
		dst.Mean[i] = d.to
	}
}

// TestRecorded_DivergedModelsAreBehind: the horizons at which a model predicts nothing finite count, so that its score
// is not that of the others, and the verdict says it.
func TestRecorded_DivergedModelsAreBehind(t *testing.T) {
	for _, to := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		r := recorded(t, diverging{newRule(), 3, to}, recordedOptions())
		if got := r.Report().Numbers(); eval.Finite(got.Get("mase_mean")) || !eval.Finite(got.Get("mase/2")) || eval.Finite(got.Get("mase/3")) {
			t.Errorf("%g: MASE %v, of horizons 2 and 3 %v and %v", to, got.Get("mase_mean"), got.Get("mase/2"), got.Get("mase/3"))
		}
		if got := r.Verdict(); got != "The model is behind every rule: its predictions are not finite from 3 steps ahead on." {
			t.Errorf("%g: %s", to, got)
		}
		if _, standing := r.Beaten(); standing != eval.Behind {
			t.Errorf("%g: %s", to, standing)
		}
		if got := r.Scores[1].MAE[6]; !eval.Finite(got) {
			t.Errorf("%g: persistence has an error of %g", to, got)
		}
	}
}

// TestRecorded_ConstantChannels: an interval has its ends, so that a rule that is always right holds all that is
// observed.
func TestRecorded_ConstantChannels(t *testing.T) {
	o := recordedOptions()
	for _, list := range [][]eval.Recording{o.Training, o.Test} {
		for i := range list {
			for j := range list[i].Observations {
				list[i].Observations[j] = 0.5
			}
		}
	}
	for _, share := range recorded(t, newRule(), o).Scores[1].Coverage {
		for k, v := range share {
			if v != 1 {
				t.Errorf("persistence holds %g at %d", v, k+1)
			}
		}
	}
}

// TestRecorded_StandardErrorsAreOverWhatIsPredicted: recordings that are too short for a prediction change no number.
func TestRecorded_StandardErrorsAreOverWhatIsPredicted(t *testing.T) {
	o := recordedOptions()
	without := recorded(t, newRule(), o)
	for _, e := range spiral(3, 5) {
		e.Scale = o.Test[0].Scale
		o.Test = append(o.Test, e)
	}
	with := recorded(t, newRule(), o)
	if !slices.Equal(with.Persistence, without.Persistence) || !slices.Equal(with.OverPersistence, without.OverPersistence) {
		t.Errorf("persistence has %v, without the short ones %v", with.Persistence, without.Persistence)
	}
}

// TestRecorded_Units: errors of data that are not scaled are not said to be in standard deviations.
func TestRecorded_Units(t *testing.T) {
	o := recordedOptions()
	for _, c := range []struct {
		scale files.Scale
		want  string
	}{{o.Test[0].Scale, "in units of a channel's standard deviation."}, {files.Scale{}, "in the units of the data."}} {
		for i := range o.Test {
			o.Test[i].Scale = c.scale
		}
		if notes := strings.Join(recorded(t, newRule(), o).ScoreTable().Notes, "\n"); !strings.Contains(notes, "CRPS "+c.want) {
			t.Errorf("scaled by %+v: %s", c.scale, notes)
		}
	}
}

// TestRecorded_ChannelsAreNoPredictors: each metric has a name of its own, even where a channel is called as a predictor.
func TestRecorded_ChannelsAreNoPredictors(t *testing.T) {
	o := recordedOptions()
	o.Names = []string{"linear", "persistence"}
	r := recorded(t, newRule(), o)
	seen := map[string]bool{}
	for _, m := range r.Report().Metrics {
		if seen[m.Name] {
			t.Errorf("two metrics are called %s", m.Name)
		}
		seen[m.Name] = true
	}
	if !seen["rmse_linear"] || !seen["rmse_channel_linear"] {
		t.Errorf("metrics %v", seen)
	}
}

// TestRecorded_SmallImages have no fan: their pixels are no channels to draw.
func TestRecorded_SmallImages(t *testing.T) {
	o := recordedOptions()
	if r := recorded(t, newRule(), o); r.Fan == nil {
		t.Error("channels with names have no fan")
	}
	o.Names = nil
	if r := recorded(t, newRule(), o); r.Fan != nil {
		t.Errorf("pixels have the fan %+v", r.Fan)
	}
}

// TestRecorded_SaysWhatItTakes before it predicts anything: as many starts as it then has, and at least the bytes of its
// paths. What does not fit is not begun.
func TestRecorded_SaysWhatItTakes(t *testing.T) {
	o := recordedOptions()
	starts, bytes := 0, 0.0
	o.Fits = func(n, horizon, samples int, b float64) error {
		starts, bytes = n, b
		if horizon != 7 || samples != 2 {
			t.Errorf("a horizon of %d with %d paths", horizon, samples)
		}
		return nil
	}
	r := recorded(t, newRule(), o)
	if starts != r.Starts || bytes < float64(8*2*2*7*min(starts, 25)) {
		t.Errorf("%d starts of %d, %g bytes", starts, r.Starts, bytes)
	}
	f, refused := newRule(), errors.New("too much")
	o.Fits = func(int, int, int, float64) error { return refused }
	if _, err := eval.Recorded(f, o); !errors.Is(err, refused) || len(*f.asked) > 0 {
		t.Errorf("%v after %d queries", err, len(*f.asked))
	}
}

// TestRecorded_NeverShowsTheFuture, nor scores what is missing.
func TestRecorded_NeverShowsTheFuture(t *testing.T) {
	o := recordedOptions()
	o.Test, o.Threads = spiral(6, 11), 1 // one start each
	before, after := newRule(), newRule()
	seen := recorded(t, before, o)
	for i := range o.Test {
		e := &o.Test[i]
		e.Seen = make([]float32, len(e.Observations))
		for j := range e.Seen {
			e.Seen[j] = 1
		}
		e.Seen[2*9] = 0
		e.Observations[2*9] = 1e6
	}
	missing := recorded(t, after, o)
	for i := range *before.asked {
		a, b := (*before.asked)[i], (*after.asked)[i]
		a.Prefix.Seen, b.Prefix.Seen = nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Fatal("the questions depend on what they ask for")
		}
	}
	if got := missing.Model[5].Value; got > 1e-10 {
		t.Errorf("error %v where one of two channels is missing", got)
	}
	if missing.Persistence[5].Value == seen.Persistence[5].Value || missing.Persistence[4] != seen.Persistence[4] {
		t.Error("what is missing is scored, or more than that is left out")
	}
}

// TestRecorded_TableIsOfTheErrors: where one channel is measured less than another, every row of the table is the error
// that the standard errors, the ratio and the JSON are of.
func TestRecorded_TableIsOfTheErrors(t *testing.T) {
	o := recordedOptions()
	for i := range o.Test {
		e := &o.Test[i]
		e.Seen = slices.Repeat([]float32{1}, 2*e.T)
		for step := range e.T {
			if step%5 > 0 {
				e.Seen[2*step] = 0
			}
		}
	}
	r := recorded(t, silent{envs.Spec{Observation: 2, Control: 1}}, o)
	rows, numbers := map[string][]float64{}, r.Report().Numbers()
	for _, row := range r.Table().Rows {
		rows[row.Name] = row.Values
	}
	for k := range r.Horizon {
		model, base := rows["model"][k], rows["persistence"][k]
		if model != numbers[eval.Name("error", k+1)] || base != numbers[eval.Name("error_persistence", k+1)] ||
			rows["linear least squares"][k] != numbers[eval.Name("error_linear", k+1)] {
			t.Errorf("%d ahead the table has %v and %v, the JSON %v and %v", k+1, model, base,
				numbers[eval.Name("error", k+1)], numbers[eval.Name("error_persistence", k+1)])
		}
		if got := rows["model / persistence"][k]; math.Abs(got-model/base) > 1e-12 {
			t.Errorf("%d ahead model / persistence is %v of %v and %v", k+1, got, model, base)
		}
	}
}

// TestRecorded_EachInItsUnit: a recording whose training part is no longer than a season has the unit of all of them, as
// one without such a part.
func TestRecorded_EachInItsUnit(t *testing.T) {
	o := recordedOptions()
	o.Season, o.Training, o.Test = 12, spiral(2, 40), spiral(2, 32)
	o.Training[1].T = 10
	for i := range o.Test {
		o.Training[i].Of, o.Test[i].Of = []string{"long", "short"}[i], []string{"long", "short"}[i]
	}
	short := recorded(t, silent{envs.Spec{Observation: 2, Control: 1}}, o).Each
	o.Training[1].Of = "another"
	other := recorded(t, silent{envs.Spec{Observation: 2, Control: 1}}, o).Each
	for i := range o.Test {
		if a, b := short[i], other[i]; !(a.MASE > 0) || a.MASE != b.MASE || a.Persistence != b.Persistence {
			t.Errorf("%s: MASE %v, persistence %v; want %v and %v", a.Recording, a.MASE, a.Persistence, b.MASE, b.Persistence)
		}
	}
}

// TestRecorded_ASeasonLongerThanTraining that is asked for: MASE is in the unit of a step, and errors compare.
func TestRecorded_ASeasonLongerThanTraining(t *testing.T) {
	o := recordedOptions()
	o.Season = 400
	r := recorded(t, newRule(), o)
	o.Season = 1
	step := recorded(t, newRule(), o)
	for i, name := range []string{"model", "persistence"} {
		if r.Scores[i].Name != name || !slices.Equal(r.Scores[i].MASE, step.Scores[i].MASE) {
			t.Errorf("%s: MASE %v, with a season of one step %v", r.Scores[i].Name, r.Scores[i].MASE, step.Scores[i].MASE)
		}
	}
	if text := r.Verdict(); strings.Contains(text, "No errors can be compared") || r.Season != 400 {
		t.Errorf("a season of %d: %q", r.Season, text)
	}
}

func TestRecorded_IsRefusedWithReasons(t *testing.T) {
	o := recordedOptions()
	o.Prefix = 40
	if _, err := eval.Recorded(newRule(), o); err == nil {
		t.Error("no error for a prefix that is longer than every recording")
	}
	o = recordedOptions()
	o.Test = nil
	if _, err := eval.Recorded(newRule(), o); err == nil {
		t.Error("no error for a test without recordings")
	}
}

// TestRecorded_ReportsWhatItDeclares: with and without a season and an autoregression.
func TestRecorded_ReportsWhatItDeclares(t *testing.T) {
	for _, change := range []func(*eval.RecordedOptions){
		func(*eval.RecordedOptions) {},
		func(o *eval.RecordedOptions) { o.Season, o.Horizon = 5, 99 },
		func(o *eval.RecordedOptions) { o.Prefix, o.Names = 1, nil },
	} {
		o := recordedOptions()
		change(&o)
		list, err := o.Metrics(newRule().Dims())
		if err != nil {
			t.Fatal(err)
		}
		found := recorded(t, newRule(), o).Report().Metrics
		same := func(a, b eval.Metric) bool {
			return a.Name == b.Name && a.Axis == b.Axis && a.Unit == b.Unit && slices.Equal(a.Names(), b.Names())
		}
		if !slices.EqualFunc(found, list, same) {
			t.Errorf("reported are\n%v\ndeclared\n%v", found, list)
		}
	}
}

// Where nothing was measured behind the starts, no rule is said to lack data.
func TestRecorded_NothingMeasured(t *testing.T) {
	o := recordedOptions()
	for i := range o.Test {
		o.Test[i].Seen = make([]float32, len(o.Test[i].Observations))
	}
	notes := strings.Join(recorded(t, newRule(), o).Table().Notes, "\n")
	if !strings.Contains(notes, "Nothing was measured") || strings.Contains(notes, "Linear has no data") {
		t.Errorf("%s", notes)
	}
}

// Where no observation was measured whole the model is scored, and the linear baseline is said to have no data.
func TestRecorded_ChannelsMeasuredInTurn(t *testing.T) {
	o := recordedOptions()
	for _, list := range [][]eval.Recording{o.Training, o.Test} {
		for i := range list {
			e := &list[i]
			e.Seen = make([]float32, len(e.Observations))
			for step := range e.T {
				e.Seen[2*step+step%2] = 1
				e.Observations[2*step+1-step%2] = 0
			}
		}
	}
	r := recorded(t, newRule(), o)
	if v := r.Model[0].Value; math.IsNaN(v) || math.IsNaN(r.Persistence[0].Value) || !math.IsNaN(r.Linear[0].Value) {
		t.Errorf("model %v, persistence %v, linear %v", v, r.Persistence[0].Value, r.Linear[0].Value)
	}
	if notes := r.Table().Notes; !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "Linear has no data") }) {
		t.Errorf("%q", notes)
	}
}
