package lead

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// A run with workers elsewhere gets advice once if its steps wait for messages, and none if they wait for gradients
// or if workers share memory with it.
func TestWatch_AdvisesWhenMessagesAreTheLimit(t *testing.T) {
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		compute float64
		sharing int
		want    int
	}{{0.1, 0, 1}, {0.9, 0, 0}, {0.1, 1, 0}} {
		var log bytes.Buffer
		w := &Watch{log: hclog.New(&hclog.LoggerOptions{Output: &log}), adviser: newAdviser(resolved.Config)}
		for range 100 {
			w.advise(coordinator.StepReport{Seconds: 1, Compute: c.compute, Work: 2 * c.compute, Workers: 2, Sharing: c.sharing, BytesIn: 2e6, BytesOut: 1e6})
		}
		if n := strings.Count(log.String(), "per step (4 MB, at about "); n != c.want {
			t.Errorf("%g s of 1 s computed: told %d times, want %d\n%s", c.compute, n, c.want, log.String())
		}
	}
}

// TestWatch_AdvisesWhatTheRunCanDo: no advice names a setting that saves nothing, or that the run cannot have.
func TestWatch_AdvisesWhatTheRunCanDo(t *testing.T) {
	settings := []string{"train.gradients=int16", "train.parameters=delta16", "train.method=diloco", "train.gradients=float32"}
	for _, c := range []struct{ set, want []string }{
		{nil, settings[:3]},
		{[]string{"train.gradients=int8", "train.parameters=delta8"}, settings[2:]},
		{[]string{"train.shards=512", "train.batch=512", "train.validation_episodes=512"}, settings[1:3]},
		{[]string{"train.method=diloco", "train.replicas=2", "train.local_steps=1"}, nil},
		{[]string{"model.kind=arhmm", "model.exchange=1"}, nil},
	} {
		resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: c.set})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		w := &Watch{log: hclog.New(&hclog.LoggerOptions{Output: &log}), adviser: newAdviser(resolved.Config)}
		for range 100 {
			w.advise(coordinator.StepReport{Seconds: 1, Compute: .1, Work: .4, Workers: 4, BytesIn: 4e6, BytesOut: 1e6})
		}
		for _, setting := range settings {
			if got := strings.Contains(log.String(), setting); got != slices.Contains(c.want, setting) {
				t.Errorf("%v: advice of %s is %t: %s", c.set, setting, got, log.String())
			}
		}
	}
}

// TestWatch_ObjectiveAndBound: minus the loss is called objective everywhere; a validation has the bound beside it, in
// which the divergence has weight 1.
func TestWatch_ObjectiveAndBound(t *testing.T) {
	w, r := watched(t, []model.Term{{Name: "loss"}, {Name: "reconstruction", Weight: 1, Bound: 1}, {Name: "kl", Weight: 0.1, Bound: 1}}, hclog.NewNullLogger())
	loss := []float32{3, 2, 10}
	w.Step(coordinator.StepReport{Step: 1, Updates: 1, Loss: loss})
	w.Validation(coordinator.ValidationReport{Step: 1, Loss: loss, Best: true})
	w.Validation(coordinator.ValidationReport{Step: 2, Loss: []float32{4, 2, 20}})
	var records []store.Record
	if err := store.ReadMetrics(filepath.Dir(r.Path(".")), r.Name(), func(m store.Record) error { records = append(records, m); return nil }); err != nil || len(records) != 3 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	if _, bounded := records[0].Values["elbo"]; bounded || records[0].Values["objective"] != -3 {
		t.Errorf("a training step has %v", records[0].Values)
	}
	if v := records[1].Values; v["objective"] != -3 || v["elbo"] != -12 {
		t.Errorf("a validation has %v", v)
	}
	if m := w.Info().Metrics; m["validation_objective"] != -4 || m["validation_elbo"] != -22 || m["best_validation_objective"] != -3 || m["best_step"] != 1 {
		t.Errorf("the run has %v", m)
	}
	unbounded, _ := watched(t, []model.Term{{Name: "loss"}, {Name: "error", Weight: 1}}, hclog.NewNullLogger())
	unbounded.Validation(coordinator.ValidationReport{Step: 1, Loss: []float32{3, 3}})
	if v, bounded := unbounded.Info().Metrics["validation_elbo"]; bounded {
		t.Errorf("a model without a bound has %v", v)
	}
}

// TestWatch_DoubtsANegativeDivergence once, with what to do; noise around zero and an exact value are not doubted.
func TestWatch_DoubtsANegativeDivergence(t *testing.T) {
	var log bytes.Buffer
	w, _ := watched(t, []model.Term{{Name: "loss"}, {Name: "kl", Label: "KL switch", Remedy: "raise model.kl_samples"}, {Name: "exact"}}, hclog.New(&hclog.LoggerOptions{Output: &log}))
	for step, kl := range []float32{-0.9, float32(math.NaN()), -1.5, -3} {
		w.Step(coordinator.StepReport{Step: uint64(step + 1), Updates: 1, Loss: []float32{1, kl, -7}})
		if told := strings.Count(log.String(), "never negative"); told != min(step/2, 1) {
			t.Errorf("after %v: told %d times: %s", kl, told, log.String())
		}
	}
	if text := log.String(); !strings.Contains(text, "KL switch is estimated at -1.5") || !strings.Contains(text, "raise model.kl_samples") {
		t.Errorf("the warning is %s", text)
	}
}

// TestWatch_SaysACollapse once, in the second half of the training, with what to do; a switch that is used is no
// collapse.
func TestWatch_SaysACollapse(t *testing.T) {
	for _, c := range []struct {
		name            string
		choice          bool
		entropy, shares []float32
		want            string
	}{
		{"used", false, []float32{0.1}, []float32{0.5, 0.5}, ""},
		{"one", false, []float32{0}, []float32{0.99, 0.01}, "one of 2 regimes holds 99 % of the validation set"},
		{"the same at every step", false, []float32{0.69}, []float32{0.5, 0.5}, "almost the same at every step"},
		{"a mixture", false, []float32{0.64}, []float32{0.5, 0.5}, ""},
		{"no choice", true, []float32{0.64}, []float32{0.5, 0.5}, "almost the same at every step"},
		{"a choice", true, []float32{0.6}, []float32{0.5, 0.5}, ""},
		{"a rare regime", true, []float32{0.05}, []float32{0.97, 0.03}, ""},
	} {
		var log bytes.Buffer
		terms := append([]model.Term{{Name: "loss"}}, model.UsageTerms(2, c.choice)...)
		w, _ := watched(t, terms, hclog.New(&hclog.LoggerOptions{Output: &log}))
		w.progress.Steps = 1000
		for _, step := range []uint64{100, 400, 500, 600} {
			w.Validation(coordinator.ValidationReport{Step: step, Loss: slices.Concat([]float32{1}, c.entropy, c.shares)})
			want := 0
			if c.want != "" && step >= 500 {
				want = 1
			}
			if warned := strings.Count(log.String(), "[WARN]"); warned != want {
				t.Errorf("%s: %d warnings after step %d: %s", c.name, warned, step, log.String())
			}
		}
		if !strings.Contains(log.String(), c.want) || c.want != "" && !strings.Contains(log.String(), "model.switching=categorical") {
			t.Errorf("%s: the log is %s", c.name, log.String())
		}
		if m := w.Info().Metrics; m["validation_share_1"] != 0 || !(m["validation_regimes_in_use"] >= 1) {
			t.Errorf("%s: the run has %v", c.name, m)
		}
	}
}

// TestWatch_OffersNoSwitchThatThereIs: a run with the discrete switch is not told to compare with it.
func TestWatch_OffersNoSwitchThatThereIs(t *testing.T) {
	var log bytes.Buffer
	terms := append([]model.Term{{Name: "loss"}}, model.UsageTerms(2, true)...)
	w, _ := watched(t, terms, hclog.New(&hclog.LoggerOptions{Output: &log}), "model.switching=categorical")
	w.Validation(coordinator.ValidationReport{Step: 1000, Loss: []float32{1, 0, 1, 0}})
	if text := log.String(); !strings.Contains(text, "model.kind=arhmm") || strings.Contains(text, "categorical") {
		t.Errorf("the log is %s", text)
	}
}

// TestWatch_MagnitudesOfShortSteps: the first and the last are in the file, which is not written for each step; the end of a
// run writes the others.
func TestWatch_MagnitudesOfShortSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r := watched(t, []model.Term{{Name: "loss"}}, hclog.NewNullLogger())
		kept := func() int {
			m, err := store.ReadMagnitudes(filepath.Dir(r.Folder()), filepath.Base(r.Folder()))
			if err != nil {
				t.Fatal(err)
			}
			return len(m.Records)
		}
		var got []int
		for step := range uint64(20) {
			time.Sleep(time.Second)
			w.Step(coordinator.StepReport{Step: step + 1, Updates: 1, Loss: []float32{1}, Magnitudes: &vector.Magnitudes{}})
			got = append(got, kept())
		}
		if want := []int{1, 1, 1, 1, 1, 1, 7, 7, 7, 7, 7, 7, 13, 13, 13, 13, 13, 13, 19, 19}; !slices.Equal(got, want) {
			t.Errorf("the file had %v magnitudes, want %v", got, want)
		}
		if err := w.Finish(t.Context()); err != nil || kept() != 20 {
			t.Errorf("at the end it has %d, %v", kept(), err)
		}
	})
}

// TestWatch_MagnitudesAreNotVoid: a run that goes back, or that goes on from a checkpoint behind which it was killed, has
// no magnitudes of later steps, also if it is interrupted before it measures the next.
func TestWatch_MagnitudesAreNotVoid(t *testing.T) {
	w, r := watched(t, []model.Term{{Name: "loss"}}, hclog.NewNullLogger())
	last := func() uint64 {
		m, err := store.ReadMagnitudes(filepath.Dir(r.Folder()), filepath.Base(r.Folder()))
		if err != nil {
			t.Fatal(err)
		}
		return m.Records[len(m.Records)-1].Step
	}
	for step := range uint64(4) {
		w.Step(coordinator.StepReport{Step: step + 1, Updates: 1, Loss: []float32{1}, Magnitudes: &vector.Magnitudes{}})
	}
	if err := w.Finish(t.Context()); err != nil || last() != 4 {
		t.Fatalf("the last is of step %d, %v", last(), err)
	}
	w.Rollback(coordinator.RollbackReport{Step: 3, Checkpoint: &checkpoint.Checkpoint{Step: 3}})
	if last() != 3 {
		t.Errorf("after the run went back to step 3, the last is of step %d", last())
	}
	w.goOn(&checkpoint.Checkpoint{Step: 2})
	w.beginMagnitudes(&job.Plan{})
	if err := w.Finish(t.Context()); err != nil || last() != 2 {
		t.Errorf("of a run that goes on after step 2, the last is of step %d, %v", last(), err)
	}
}

// TestWatch_HashAfterARollback: run.json names the checkpoint that the run goes back to with the hash of its parameters;
// no other is written if the run is interrupted there.
func TestWatch_HashAfterARollback(t *testing.T) {
	w, r := watched(t, []model.Term{{Name: "loss"}}, hclog.NewNullLogger())
	w.Checkpoint(coordinator.CheckpointReport{Step: 5, ParamsSHA256: "five"})
	for _, cp := range []*checkpoint.Checkpoint{
		{Step: 3, BestLoss: math.Inf(1), ParamsSHA256: "three"}, {BestLoss: math.Inf(1)},
	} {
		w.Rollback(coordinator.RollbackReport{Step: cp.Step, Checkpoint: cp})
		if i := r.Info(); i.Checkpoint != cp.Step || i.ParametersSHA256 != cp.ParamsSHA256 {
			t.Errorf("back at step %d: run.json has the checkpoint of step %d, %q", cp.Step, i.Checkpoint, i.ParametersSHA256)
		}
	}
}

// TestHostWatch_WaitsNoMore: since when a run waits is not said of one that has made a step.
func TestHostWatch_WaitsNoMore(t *testing.T) {
	plain, _ := watched(t, []model.Term{{Name: "loss"}}, hclog.NewNullLogger())
	w := &hostWatch{Watch: plain}
	w.Membership(coordinator.MembershipReport{Workers: 1, Waiting: "a slow worker", Seconds: 60})
	if since := time.Since(w.waitingSince); since < time.Minute {
		t.Errorf("it waits for %v, want a minute", since)
	}
	w.Step(coordinator.StepReport{Step: 1, Updates: 1, Loss: []float32{1}})
	if !w.waitingSince.IsZero() {
		t.Errorf("after a step it waits since %v", w.waitingSince)
	}
}

// TestWatch_RateAfterARollback: the steps that a run makes again are as many a second as they were before.
func TestWatch_RateAfterARollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := watched(t, []model.Term{{Name: "loss"}}, hclog.NewNullLogger())
		for step := range 80 {
			time.Sleep(time.Second)
			if step == 40 {
				w.Rollback(coordinator.RollbackReport{Step: 10, Checkpoint: &checkpoint.Checkpoint{Step: 10, BestLoss: math.Inf(1)}})
			}
			w.Step(coordinator.StepReport{Step: w.progress.Step + 1, Updates: 1, Loss: []float32{1}})
			if rate := w.progress.StepRate; rate < 0 || rate > 1 {
				t.Fatalf("after step %d: %g steps a second, want at most 1", w.progress.Step, rate)
			}
		}
		if rate := w.progress.StepRate; rate != 1 {
			t.Errorf("at the end: %g steps a second, want 1", rate)
		}
	})
}

// TestWatch_WritesWhileItWaits: what the disk has refused is written once it has room, also if no step follows.
func TestWatch_WritesWhileItWaits(t *testing.T) {
	for _, hosted := range []bool{false, true} {
		w, r := watched(t, []model.Term{{Name: "loss"}}, hclog.NewNullLogger())
		full := true
		r.Use(disk.Faulty(disk.System(), func(disk.Act) (int, error) {
			if full {
				return 0, syscall.ENOSPC
			}
			return 0, nil
		}))
		var o coordinator.Observer = w
		if hosted {
			o = &hostWatch{Watch: w}
		}
		o.Step(coordinator.StepReport{Step: 1, Updates: 1, Loss: []float32{1}})
		full = false
		o.Membership(coordinator.MembershipReport{Waiting: "no worker has joined"})
		n := 0
		count := func(store.Record) error { n++; return nil }
		if err := store.ReadMetrics(filepath.Dir(r.Folder()), r.Name(), count); err != nil || n != 1 {
			t.Errorf("of a host: %v: %d records, %v", hosted, n, err)
		}
	}
}

// TestWatch_GoesOnFromACheckpoint: after a kill and after a rollback the counts and the best values are those of the
// checkpoint, and those of the last validation are of the one before it, whatever was reported of later steps. What
// one of an earlier release does not say stays.
func TestWatch_GoesOnFromACheckpoint(t *testing.T) {
	at := func(step, best, leftOut, retreats uint64) *checkpoint.Checkpoint {
		return &checkpoint.Checkpoint{
			Step: step, BestStep: best, BestLoss: float64(best), LeftOut: &leftOut,
			Moments: []checkpoint.Moment{{Name: checkpoint.Retreat, Values: []float32{1, float32(retreats)}}},
		}
	}
	w, r := watched(t, []model.Term{{Name: "loss"}}, hclog.NewNullLogger())
	until := func(last uint64) {
		for step := w.progress.Step + 1; step <= last; step++ {
			w.Step(coordinator.StepReport{Step: step, Updates: 1, Loss: []float32{1}, LeftOut: true, Retreated: step%2 == 0})
			w.Validation(coordinator.ValidationReport{Step: step, Loss: []float32{-float32(step)}, Best: true})
		}
	}
	says := func(when string, want store.Values) {
		t.Helper()
		m := w.Info().Metrics
		for _, name := range []string{"left_out", "retreats", "best_step", "best_validation_objective", "validation_objective"} {
			if v, ok := m[name]; v != want[name] || ok != (v != 0) {
				t.Errorf("%s: %s is %v, want %v", when, name, v, want[name])
			}
		}
		if w.progress.BestStep != uint64(want["best_step"]) || w.progress.BestStep > 0 && w.progress.Best != want["best_validation_objective"] {
			t.Errorf("%s: the best is %v at %d", when, w.progress.Best, w.progress.BestStep)
		}
	}
	until(5)
	w.save(func(*store.Info) {})
	says("at first", store.Values{"left_out": 5, "retreats": 2, "best_step": 5, "best_validation_objective": 5, "validation_objective": 5})
	cfg := WatchConfig{
		Plan: &job.Plan{Terms: w.terms}, Run: r, From: at(3, 2, 3, 1), Show: func(terminal.Progress) {}, Log: hclog.NewNullLogger(),
	}
	w = NewWatch(cfg)
	says("killed", store.Values{"left_out": 3, "retreats": 1, "best_step": 2, "best_validation_objective": -2, "validation_objective": 3})
	until(8)
	w.Rollback(coordinator.RollbackReport{Step: 1, Checkpoint: at(1, 0, 1, 0)})
	says("rolled back", store.Values{"left_out": 1, "validation_objective": 1})
	until(4)
	says("again", store.Values{"left_out": 4, "retreats": 2, "best_step": 4, "best_validation_objective": 4, "validation_objective": 4})
	cfg.From = at(2, 1, 0, 1)
	cfg.From.LeftOut = nil
	w = NewWatch(cfg)
	says("of an earlier release", store.Values{"left_out": 4, "retreats": 1, "best_step": 1, "best_validation_objective": -1, "validation_objective": 2})
	cfg.From = nil
	w = NewWatch(cfg)
	says("from the beginning", store.Values{})
}

// watched is the watch of a run with these terms.
func watched(t *testing.T, terms []model.Term, log hclog.Logger, set ...string) (*Watch, *store.Run) {
	t.Helper()
	resolved, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: set})
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Create(t.TempDir(), store.Draft{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	plan := &job.Plan{Config: resolved.Config, Terms: terms}
	return NewWatch(WatchConfig{Plan: plan, Run: r, Show: func(terminal.Progress) {}, Log: log}), r
}
