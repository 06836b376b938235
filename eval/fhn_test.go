package eval_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

func measure(t *testing.T, f model.Forecaster, o eval.FHNOptions) eval.FHNReport {
	t.Helper()
	r, err := eval.FHN(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func within(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Errorf("%s, horizon %d: R² = %.6f, want %.6f ± %g", what, i+1, got[i], want[i], tolerance)
		}
	}
}

// With the stimulus the true system predicts everything, up to the rounding of its start to
// float32; without it, it is the ceiling. A draw has the noise that was added to it.
func TestFHN_OracleEndToEnd(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		o := eval.DefaultFHNOptions()
		o.AllStarts, o.Fresh = true, fresh
		f := newOracle(t)
		f.noise = 0.5
		r := measure(t, f, o)
		ones := slices.Repeat([]float64{1}, o.Horizon)
		for name, a := range map[string]eval.FHNReading{"at the start": r.AtStart, "all starts": *r.AllStarts} {
			within(t, name+", known", a.Known.Mean, ones, 1e-9)
			within(t, name+", unknown", a.Unknown.Mean, a.Ceiling, 1e-6)
			within(t, name+", drawn", a.Drawn.Mean, a.Ceiling, 0.02) // about as good: the oscillator is nearly linear in u
			for k, v := range a.Known.Draw {
				// The variance of v and w together is about 1.9 to 2.5, that of the noise 2·0.5².
				if v < 0.6 || v > 0.9 {
					t.Errorf("%s: a draw with noise has R² = %.3f at horizon %d", name, v, k+1)
				}
			}
		}
	}
}

// A model without controls can be measured; both modes are then the same.
func TestFHN_ModelWithoutControls(t *testing.T) {
	f := newOracle(t)
	f.nu = 0
	r := measure(t, f, eval.DefaultFHNOptions())
	within(t, "known", r.AtStart.Known.Mean, r.AtStart.Ceiling, 1e-6)
	within(t, "unknown", r.AtStart.Unknown.Mean, r.AtStart.Ceiling, 1e-6)
}

// The model gets the steps up to the start and not a byte more: neither in the batch nor in the
// memory behind it. Withheld controls are zero everywhere, drawn ones are not the true ones.
func TestFHN_QueriesHoldThePrefixOnly(t *testing.T) {
	for _, window := range []int{0, 20} {
		o := eval.DefaultFHNOptions()
		o.AllStarts, o.Window, o.Horizon = true, window, 5
		f := newOracle(t)
		measure(t, f, o)
		var e envs.Episode
		starts := map[int]int{}
		var known, drawn int
		for _, q := range f.seen.all {
			p := q.Prefix
			if cap(p.Observations) != p.T*p.B*2 || cap(p.Controls) != p.T*p.B || cap(q.Controls) != len(q.Controls) {
				t.Fatalf("the query's memory reaches beyond its sequences: %d steps, capacities %d, %d, %d",
					p.T, cap(p.Observations), cap(p.Controls), cap(q.Controls))
			}
			start, first := locate(t, o, p, &e)
			starts[start] += p.B
			if window > 0 && p.T != window {
				t.Fatalf("start %d: %d steps are seen, want %d", start, p.T, window)
			}
			if want := min(o.Horizon, o.Length+o.Horizon-1-start); q.Horizon != want {
				t.Fatalf("start %d: horizon %d, want %d", start, q.Horizon, want)
			}
			switch {
			case len(q.Controls) == q.Samples*q.Horizon*p.B:
				drawn++
				if !zero(p.Controls[:p.B]) || zero(p.Controls[p.B:]) {
					t.Fatalf("start %d: the first control of a sequence is zero, the others are drawn", start)
				}
			case !zero(p.Controls) || !zero(q.Controls):
				known++
				checkControls(t, o, q, start, first)
			}
		}
		if n := len(f.seen.all); 3*known != n || 3*drawn != n {
			t.Errorf("of %d queries %d tell the stimulus and %d draw it, want a third each", n, known, drawn)
		}
		for s := range starts {
			// The first start serves both readings, each in three modes.
			want := 3 * o.Training
			if s == o.Length-1 {
				want *= 2
			}
			if s < o.Length-1 || s > o.Length+o.Horizon-2 || starts[s] != want {
				t.Errorf("start %d: %d forecasts, want %d", s, starts[s], want)
			}
		}
	}
}

// locate finds the prefix's first sequence among the run's training episodes by its last
// observation and returns where it stops and which episode it is.
func locate(t *testing.T, o eval.FHNOptions, p model.Batch, e *envs.Episode) (start int, index uint32) {
	t.Helper()
	env := newOracle(t).env
	for index := range uint32(o.Training) {
		env.Simulate(e, rng.New(o.Seed, rng.Episode), index, o.Length+o.Horizon)
		for s := o.Length - 1; s < e.T; s++ {
			row := (p.T - 1) * p.B * 2
			if slices.Equal(p.Observations[row:row+2], e.Observations[2*s:2*s+2]) {
				return s, index
			}
		}
	}
	t.Fatal("the prefix does not end at or after the last training step of any episode")
	return 0, 0
}

func checkControls(t *testing.T, o eval.FHNOptions, q model.Query, start int, index uint32) {
	t.Helper()
	var e envs.Episode
	newOracle(t).env.Simulate(&e, rng.New(o.Seed, rng.Episode), index, o.Length+o.Horizon)
	p, b := q.Prefix, q.Prefix.B
	for s := range p.T {
		want := e.Controls[start+1-p.T+s]
		if s == 0 {
			want = 0
		}
		if p.Controls[s*b] != want {
			t.Fatalf("start %d: control of prefix step %d is %v, want %v", start, s, p.Controls[s*b], want)
		}
	}
	for k := range q.Horizon {
		if q.Controls[k*b] != e.Controls[start+1+k] {
			t.Fatalf("start %d: control of horizon %d is %v, want %v", start, k+1, q.Controls[k*b], e.Controls[start+1+k])
		}
	}
}

func zero(x []float32) bool { return !slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) }

func TestFHN_ResultIndependentOfThreads(t *testing.T) {
	o := eval.DefaultFHNOptions()
	o.Training, o.AllStarts, o.Horizon = 60, true, 6
	f := newOracle(t)
	f.noise = 0.1
	var want eval.FHNReport
	for i, threads := range []int{1, 2, 7} {
		o.Threads = threads
		r := measure(t, f, o)
		r.Options.Threads = 0
		if i == 0 {
			want = r
		} else if !reflect.DeepEqual(r, want) {
			t.Errorf("%d threads give another result than one", threads)
		}
	}
}

func TestFHN_RefusesWhatItCannotMeasure(t *testing.T) {
	f := newOracle(t)
	_, err := eval.FHN(f, eval.FHNOptions{Constants: eval.DefaultFHNOptions().Constants})
	if !errors.Is(err, eval.ErrOptions) || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("err = %v, want four times ErrOptions", err)
	}
	f.nu = 2
	if _, err := eval.FHN(f, eval.DefaultFHNOptions()); !errors.Is(err, eval.ErrDims) {
		t.Errorf("err = %v, want ErrDims", err)
	}
	o := eval.DefaultFHNOptions()
	o.Constants.DT = -1
	if _, err := eval.FHN(newOracle(t), o); err == nil {
		t.Error("a negative step length is accepted")
	}
}

func TestFHNReport_JSON(t *testing.T) {
	o := eval.DefaultFHNOptions()
	o.Training = 10
	raw, err := json.Marshal(measure(t, newOracle(t), o).Report())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Protocol string
		Metrics  map[string]any
		Paper    map[string][]float64
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	curve, ok := got.Metrics["r2_unknown"].([]any)
	if got.Protocol != "fhn" || !ok || len(curve) != 30 || curve[29] != got.Metrics["r2_final"] {
		t.Errorf("unexpected report: %s", raw)
	}
	if p := got.Paper["r2_ours"]; len(p) != len(got.Paper["horizons"]) || p[7] != 0.956 {
		t.Errorf("unexpected published figures: %v", got.Paper)
	}
}

func TestFHNReport_TableNamesEveryPredictor(t *testing.T) {
	o := eval.DefaultFHNOptions()
	o.Training, o.AllStarts = 10, true
	var b bytes.Buffer
	if err := measure(t, newOracle(t), o).Table().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"model, stimulus unknown ", "model, stimulus known, all starts", "true system", "linear least squares",
		"persistence", "paper: ours", "0.999  0.999  0.999  0.996  0.992   0.981   0.969   0.956",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &b)
		}
	}
}

func TestFHNFigure_Data(t *testing.T) {
	o := eval.DefaultFHNOptions()
	f := newOracle(t)
	p, err := eval.FHNFigure(f, o)
	if err != nil {
		t.Fatal(err)
	}
	covered, n := 0, 0
	for k := range o.Horizon {
		truth := p.Fan.Truth[p.Fan.Start+1+k-p.Fan.First]
		for i := range 2 {
			for q := 1; q < len(p.Fan.Levels); q++ {
				if p.Fan.Quantiles[q][k][i] < p.Fan.Quantiles[q-1][k][i] {
					t.Fatalf("quantiles cross at horizon %d", k+1)
				}
			}
			n++
			if p.Fan.Quantiles[0][k][i] <= truth[i] && truth[i] <= p.Fan.Quantiles[4][k][i] {
				covered++
			}
		}
	}
	// The true system's 90 % band: neighbouring steps move together, so one trajectory says little.
	if covered < n/2 {
		t.Errorf("the 90 %% band of the true system covers %d of %d values", covered, n)
	}
	if len(p.Portrait.Points) < 3000 || len(p.Portrait.Weights) != len(p.Portrait.Points) {
		t.Errorf("%d points with %d weights", len(p.Portrait.Points), len(p.Portrait.Weights))
	}
	for i, x := range p.Portrait.Points {
		if (x[0] >= 1) != (p.Portrait.Weights[i][2] == 1) {
			t.Fatalf("point %v has weights %v", x, p.Portrait.Weights[i])
		}
	}
	for _, table := range []eval.Table{p.Fan.Table(), p.Portrait.Table()} {
		for _, r := range table.Rows {
			if len(r.Values) != len(table.Columns) {
				t.Fatalf("row %s has %d values, want %d", r.Name, len(r.Values), len(table.Columns))
			}
		}
	}
	for _, q := range f.seen.all {
		if !zero(q.Prefix.Controls) || zero(q.Controls) {
			t.Error("the fan must hide the past stimulus and draw the coming one")
		}
	}
}

// sampling is an oscillator whose rollouts have parameters of their own, as those of a posterior that was sampled.
type sampling struct{ oracle }

func (s sampling) Clone() model.Forecaster { return s }

func (s sampling) Forecast(dst *model.Forecast, q model.Query) {
	s.oracle.Forecast(dst, q)
	for path := range q.Samples {
		for i := range q.Horizon * q.Prefix.B * 2 {
			dst.Paths[path*q.Horizon*q.Prefix.B*2+i] = float32(path) / 100
		}
	}
	copy(dst.Draw, dst.Paths)
}

// TestFHNFigure_FanOfManyParameters: the fan is that of all rollouts of a forecast, not of the first alone.
func TestFHNFigure_FanOfManyParameters(t *testing.T) {
	o := eval.DefaultFHNOptions()
	o.Training = 3
	p, err := eval.FHNFigure(sampling{newOracle(t)}, o)
	if err != nil {
		t.Fatal(err)
	}
	low, high := p.Fan.Quantiles[0][9][0], p.Fan.Quantiles[4][9][0]
	if math.Abs(low-0.1) > 0.02 || math.Abs(high-1.89) > 0.02 {
		t.Errorf("from %v to %v, want about .1 to 1.89", low, high)
	}
}
