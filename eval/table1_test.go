package eval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

func table1(t *testing.T, f model.Forecaster, env envs.Env, task eval.Task) eval.Table1Report {
	t.Helper()
	r, err := eval.Table1(f, env, task)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// row finds the row of a predictor.
func row(t *testing.T, r eval.Table1Report, key string) eval.Table1Row {
	t.Helper()
	for _, p := range r.Rows {
		if p.Key == key {
			return p
		}
	}
	t.Fatalf("no predictor %q", key)
	return eval.Table1Row{}
}

func TestTable1_TheSimulatorMakesNoError(t *testing.T) {
	for _, env := range []envs.Env{newMaze(t), newReacher(t)} {
		o := task(60)
		r := table1(t, newSimulator(env, o), env, o)
		for k := range eval.Table1Horizon {
			for _, key := range []string{"", "one_rollout"} {
				if got := row(t, r, key).Point[k].Value; got > 1e-12 { // a mean of float32 rounds
					t.Errorf("%s, %q: error %g at step %d", env.Spec().Name, key, got, k+1)
				}
			}
		}
	}
}

// TestTable1_AModelThatLags: one that is a step behind makes the error of Static at k = 1, and less after it.
func TestTable1_AModelThatLags(t *testing.T) {
	env, o := newMaze(t), task(60)
	late := newSimulator(env, o)
	late.late = 1
	r := table1(t, late, env, o)
	if got := row(t, r, "").Ratio[0].Value; math.Abs(got-1) > 1e-6 {
		t.Errorf("ratio %v at 1, want 1", got)
	}
	if got := row(t, r, "").Ratio[9].Value; got < 0.01 || got > 0.9 {
		t.Errorf("ratio %v at 10", got)
	}
}

// TestTable1_WhatPersistsHasTheRatioOne, under every aggregation; what persists from the first step does not.
func TestTable1_WhatPersistsHasTheRatioOne(t *testing.T) {
	env, o := newReacher(t), task(60)
	last, first := newSimulator(env, o), newSimulator(env, o)
	last.reply = func(_ *envs.Episode, _ int, seen []float32) []float32 { return seen }
	first.reply = func(e *envs.Episode, _ int, _ []float32) []float32 { return e.Observations[:7] }
	r, wrong := table1(t, last, env, o), table1(t, first, env, o)
	for k := range eval.Table1Horizon {
		p := row(t, r, "")
		for _, e := range []eval.Estimate{p.Ratio[k], p.RatioCumulative[k]} {
			if math.Abs(e.Value-1) > 1e-6 || e.SE > 1e-6 {
				t.Errorf("ratio %v at %d, want 1", e, k+1)
			}
		}
		if got := row(t, wrong, "").Ratio[k].Value; got < 1.05 {
			t.Errorf("from the first step: ratio %v at %d, want more than 1", got, k+1)
		}
	}
}

// TestTable1_StaticIsAsCalibrated: the rows Static under every aggregation, computed beforehand with independent
// simulators. Targets are rounded to two or three digits; 8,000 episodes leave about 1 %.
func TestTable1_StaticIsAsCalibrated(t *testing.T) {
	for _, c := range []struct {
		env              envs.Env
		point, mean, sum []float64 // at 1, 5, 10; 0: unknown
	}{
		{newMaze(t), []float64{.0137, .224, .564}, []float64{.0137, .546 / 5, .2697}, []float64{.0137, .546, 2.697}},
		{newReacher(t), []float64{.0161, .360, 1.12}, []float64{.0161, .164, .483}, []float64{.016, .82, 4.8}},
	} {
		o := task(8000)
		o.Training = 20
		r := table1(t, silent{c.env.Spec()}, c.env, o)
		static := row(t, r, "static")
		for i, k := range eval.Table1Horizons() {
			for _, v := range []struct {
				name string
				got  eval.Estimate
				want float64
			}{{"point", static.Point[k-1], c.point[i]}, {"mean", static.Mean[k-1], c.mean[i]}, {"sum", static.Sum[k-1], c.sum[i]}} {
				if math.Abs(v.got.Value/v.want-1) > 0.05 {
					t.Errorf("%s, %s at %d: %.4f ± %.4f, want %.4f", c.env.Spec().Name, v.name, k, v.got.Value, v.got.SE, v.want)
				}
				if !(v.got.SE > 0 && v.got.SE < 0.03*v.want) {
					t.Errorf("%s, %s at %d: standard error %.4f of %.4f", c.env.Spec().Name, v.name, k, v.got.SE, v.want)
				}
			}
		}
	}
}

// TestTable1_ACalibratedModel: the truth is a draw from what the model predicts; with a spread that is twice too wide
// the error is a quarter of the predicted variance.
func TestTable1_ACalibratedModel(t *testing.T) {
	env, o := newMaze(t), task(200)
	o.Samples, o.Training = 16, 50
	for _, wide := range []float64{1, 2} {
		s := newSimulator(env, o)
		const sd = 0.3
		centre := map[string]float32{}
		s.paths = func(path, truth []float32, q *model.Query) {
			for j := range path {
				key := fmt.Sprint(truth, j)
				if _, known := centre[key]; !known {
					centre[key] = truth[j] + float32(sd*q.Noise.Normal())
				}
				path[j] = centre[key] + float32(wide*sd*q.Noise.Normal())
			}
		}
		o.Threads = 1 // the map is not shared
		r := table1(t, s, env, o)
		// The mean of S rollouts adds 1/S of the spread to the error: for a spread that is w times too wide,
		// (1 + w²/S) / (w² (1 + 1/S)).
		w, S := wide*wide, float64(o.Samples)
		want := (1 + w/S) / (w * (1 + 1/S))
		for k, e := range r.Calibration {
			if math.Abs(e.Value/want-1) > 0.1 {
				t.Errorf("%g times too wide: %.3f at %d, want %.3f", wide, e.Value, k+1, want)
			}
		}
	}
}

// TestTable1_ADecoderCounts: variance that is in draws alone enters what is predicted.
func TestTable1_ADecoderCounts(t *testing.T) {
	env, o := newMaze(t), task(200)
	s := newSimulator(env, o)
	s.late = 1
	s.draw = func(draw, path []float32, noise *rng.Stream) {
		for j := range draw {
			draw[j] = path[j] + float32(0.1*noise.Normal())
		}
	}
	r := table1(t, s, env, o)
	for k, e := range r.Calibration {
		if want := row(t, r, "").Point[k].Value / (6 * 0.01); math.Abs(e.Value/want-1) > 0.1 {
			t.Errorf("%.3f at %d, want %.3f", e.Value, k+1, want)
		}
	}
}

// TestProtocols_NeverShowTheFuture: whatever comes after the prefix, a model is asked the same.
func TestProtocols_NeverShowTheFuture(t *testing.T) {
	for name, c := range map[string]struct {
		env func(t testing.TB) envs.Env
		run func(f model.Forecaster, env envs.Env, o eval.Task) error
	}{
		"table1": {newMaze, func(f model.Forecaster, env envs.Env, o eval.Task) error {
			_, err := eval.Table1(f, env, o)
			return err
		}},
		"dt": {newReacher, func(f model.Forecaster, env envs.Env, o eval.Task) error { _, err := eval.DT(f, env, o); return err }},
		"trajectories": {newReacher, func(f model.Forecaster, env envs.Env, o eval.Task) error {
			_, err := eval.Trajectories(f, env, o)
			return err
		}},
		"pixels": {newBall, func(f model.Forecaster, env envs.Env, o eval.Task) error {
			_, err := eval.Pixels(f, env, o)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			env, o := c.env(t), task(30)
			o.Training, o.Threads = 30, 1
			var asked [2][]model.Query
			for i, e := range []envs.Env{env, upTo{env, o.Prefix}} {
				if _, images := env.(envs.Pictured); images && i == 1 {
					e = picturedUpTo{upTo{env, o.Prefix}}
				}
				s := newSimulator(env, o)
				if err := c.run(s, e, o); err != nil {
					t.Fatal(err)
				}
				asked[i] = s.seen.all
			}
			if len(asked[0]) == 0 || !reflect.DeepEqual(asked[0], asked[1]) {
				t.Fatal("the questions depend on what they ask for")
			}
			for _, q := range asked[0] {
				if q.Prefix.T != o.Prefix {
					t.Errorf("%d steps were shown, want %d", q.Prefix.T, o.Prefix)
				}
			}
		})
	}
}

// TestPixels_AGapIsEmpty: what is to be smoothed is not in the batch.
func TestPixels_AGapIsEmpty(t *testing.T) {
	env, o := newBall(t), task(4)
	s := gapKeeper{newSimulator(env, o), t, o.Prefix, new(atomic.Int64)}
	r, err := eval.Pixels(s, env, o)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, p := range r.Rows {
		if p.Key == "smoothed" || p.Key == "smoothed_all" || p.Key == "all_seen" {
			rows++
			if len(p.Frames) != 4 || p.Frames[3].Value != 0 {
				t.Errorf("%s: %v, want no error", p.Key, p.Frames)
			}
		}
	}
	// Behind gaps of 1, 5, 10 and 15 stand 1 image each, or 15, 11, 6 and 1; without a gap 16.
	if want := int64(4 + 15 + 11 + 6 + 1 + 4*16); rows != 3 || s.behind.Load() != want {
		t.Errorf("%d rows are smoothed, with %d images behind gaps in all, want 3 and %d", rows, s.behind.Load(), want)
	}
}

// gapKeeper sees that the images of a gap behind the prefix are missing, and no others. It counts those behind gaps.
type gapKeeper struct {
	*simulator
	t      *testing.T
	prefix int
	behind *atomic.Int64
}

func (g gapKeeper) Clone() model.Forecaster { return g }

func (g gapKeeper) Smooth(dst *model.Smoothing, b model.Batch) {
	size := b.B * b.NX
	gap := slices.Index(b.Seen[g.prefix*size:], 1) / size
	g.behind.Add(int64(b.T - g.prefix - gap))
	for step := range b.T {
		seen := step < g.prefix || step >= g.prefix+gap
		x, marks := b.Observations[step*size:(step+1)*size], b.Seen[step*size:(step+1)*size]
		if slices.Contains(x, 1) != seen || slices.Contains(marks, 1) != seen || seen && slices.Contains(marks, 0) {
			g.t.Errorf("step %d of %d: seen %v", step, b.T, !seen)
		}
	}
	g.simulator.Smooth(dst, b)
}

// TestPixels_BaselinesAreAsCalibrated: computed beforehand for the last image seen, and a blank one.
func TestPixels_BaselinesAreAsCalibrated(t *testing.T) {
	env, o := newBall(t), task(500)
	o.Training = 1
	r, err := eval.Pixels(silent{env.Spec()}, env, o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{"": {.036, .036, .036, .036}, "static": {.032, .069, .070, .068}, "blank": {.036, .036, .036, .036}}
	for _, p := range r.Rows {
		for i, w := range want[p.Key] {
			if got := p.Last[i].Value; math.Abs(got-w) > 0.04*w {
				t.Errorf("%q at %d: %.4f, want %.4f", p.Key, eval.PixelHorizons()[i], got, w)
			}
		}
	}
	if len(r.Notes) != 1 {
		t.Errorf("notes %q, want that the family does not smooth", r.Notes)
	}
}

// TestTable1_JSONIsByHorizon is the form that scripts rely on.
func TestTable1_JSONIsByHorizon(t *testing.T) {
	env, o := newReacher(t), task(30)
	data, err := json.Marshal(table1(t, newSimulator(env, o), env, o).Report())
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Protocol string
		Metrics  map[string]any
		Paper    map[string]map[string]float64
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"error", "error_static", "ratio_to_static", "standard_error"} {
		m, ok := out.Metrics[name].(map[string]any)
		if !ok || len(m) != 3 || m["1"] == nil || m["5"] == nil || m["10"] == nil {
			t.Errorf("%s is %v, want an object of 1, 5 and 10", name, out.Metrics[name])
		}
	}
	if got := out.Paper["ratio_to_static_normal"]["10"]; math.Abs(got-.040) > .0005 {
		t.Errorf("published ratio %v, want .040", got)
	}
	if out.Metrics["episodes"] != 30.0 || out.Protocol != "table1" {
		t.Errorf("got %s with %v episodes", out.Protocol, out.Metrics["episodes"])
	}
}

func TestTask_IsRefusedWithReasons(t *testing.T) {
	env, o := newMaze(t), task(10)
	s := newSimulator(env, o)
	o.Prefix, o.Samples = 0, 0
	if _, err := eval.Table1(s, env, o); err == nil {
		t.Error("no error for a prefix of 0")
	}
	if _, err := eval.Table1(s, newReacher(t), task(10)); err == nil {
		t.Error("no error for a model of another environment")
	}
}

// TestTable1_WhereTheErrorIs: a model that errs on bodies that meet a wall alone has all of its error there.
func TestTable1_WhereTheErrorIs(t *testing.T) {
	env, o := newMaze(t), task(100)
	o.Training = 50
	s := newSimulator(env, o)
	s.reply = func(e *envs.Episode, at int, seen []float32) []float32 {
		x := slices.Clone(e.Observations[6*at : 6*at+6])
		for body := range 3 {
			for step := o.Prefix; step <= at; step++ {
				if e.Labels[12*step+body] == 1 {
					copy(x[2*body:2*body+2], seen[2*body:])
				}
			}
		}
		return x
	}
	c := table1(t, s, env, o).Contact
	for k := range eval.Table1Horizon {
		if e := c.ErrorShare[k].Value; math.Abs(e-1) > 1e-9 || math.Abs(c.Met[k].Value-1) > 1e-6 || c.Free[k].Value > 1e-9 {
			t.Errorf("at %d: share %v, ratios %v and %v", k+1, e, c.Met[k], c.Free[k])
		}
		if k > 0 && c.Share[k].Value < c.Share[k-1].Value || c.Share[k].Value < 0.05 || c.Share[k].Value > 0.8 {
			t.Errorf("at %d: %v of the bodies met a wall", k+1, c.Share[k])
		}
	}
	if table1(t, silent{newReacher(t).Spec()}, newReacher(t), o).Contact != nil {
		t.Error("an arm has no bodies in the plane")
	}
}

// TestTable1_Runaway: the rollouts of one of 60 episodes leave the range of the data at the fifth step. All of the error
// is theirs.
func TestTable1_Runaway(t *testing.T) {
	env, o := newReacher(t), task(60)
	var lost envs.Episode
	env.Simulate(&lost, rng.New(o.Seed, rng.Episode), firstFresh+7, o.Length)
	for _, away := range []bool{false, true} {
		s := newSimulator(env, o)
		s.reply = func(e *envs.Episode, at int, _ []float32) []float32 {
			nx := env.Spec().Observation
			answer := slices.Clone(e.Observations[at*nx : (at+1)*nx])
			if away && slices.Equal(e.Observations[:nx], lost.Observations[:nx]) && at == o.Prefix+4 {
				answer[2] = 1000
			}
			return answer
		}
		r := table1(t, s, env, o)
		for k, share := range r.Runaway.Share {
			want := 0.0
			if away && k >= 4 {
				want = 1.0 / 60
			}
			if math.Abs(share.Value-want) > 1e-12 {
				t.Errorf("share %g at step %d, want %g", share.Value, k+1, want)
			}
		}
		if got := r.Runaway.ErrorShare[4].Value; away && math.Abs(got-1) > 1e-9 {
			t.Errorf("%g of the error is theirs, want 1", got)
		}
		if got := r.Runaway.Free[4].Value; got > 1e-9 {
			t.Errorf("ratio %g without them, want 0", got)
		}
		var shown strings.Builder
		if err := r.Table().WriteText(&shown); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(shown.String(), "runaway rollout"); got != away {
			t.Errorf("runaway: %t; the table says so: %t", away, got)
		}
	}
}
