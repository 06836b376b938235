package paper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

func trial(t *testing.T, name string, settings ...string) Trial {
	t.Helper()
	settings = append([]string{"train.steps=12", "train.checkpoint_every=4", "train.validate_every=6"}, settings...)
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "fhn/smoke", Arguments: settings})
	if err != nil {
		t.Fatal(err)
	}
	return Trial{Name: name, Config: r.Config, Overrides: settings, Protocols: []string{"fhn"}}
}

func studyOf(dir string, trials ...Trial) *Study {
	return &Study{
		Kinds: config.Builtin().Kinds(), RunsDir: dir, Trials: trials, Parallel: 2, Threads: 1,
		Log: hclog.NewNullLogger(), Command: func(words ...string) string { return strings.Join(words, " ") }, Show: func(Progress) {},
	}
}

func digest(t *testing.T, dir, name string) string {
	t.Helper()
	info, err := store.Load(dir, name)
	if err != nil || info.State != store.Finished {
		t.Fatalf("run %s: %+v, %v", name, info, err)
	}
	return info.ParametersSHA256
}

// TestRun_GoesOnToTheSameBits: a study that is stopped in the middle, and started again, ends with the parameters and
// the numbers of one that is left alone, and then has nothing left to do.
func TestRun_GoesOnToTheSameBits(t *testing.T) {
	trials := []Trial{trial(t, "a", "seed=1"), trial(t, "b", "seed=2"), trial(t, "c", "seed=3", "model.kind=lstm")}
	whole, parts := t.TempDir(), t.TempDir()
	costs := []float64{1, 3, 2}
	if err := studyOf(whole, trials...).Run(t.Context(), costs); err != nil {
		t.Fatal(err)
	}
	s := studyOf(parts, trials...)
	ctx, stop := context.WithCancel(t.Context())
	s.Show = func(p Progress) {
		for _, a := range p.Active {
			if a.Step >= 5 {
				stop()
			}
		}
	}
	if err := s.Run(ctx, costs); !errors.Is(err, context.Canceled) {
		t.Fatalf("the interrupted study returned %v", err)
	}
	left := uint64(0)
	for _, one := range trials {
		left += s.Remaining(one)
	}
	if left == 0 || left >= 36 {
		t.Errorf("%d updates are left after the interrupt, want some of 36", left)
	}
	again := studyOf(parts, trials...)
	if err := again.Run(t.Context(), costs); err != nil {
		t.Fatal(err)
	}
	for _, one := range trials {
		if a, b := digest(t, whole, one.Name), digest(t, parts, one.Name); a != b {
			t.Errorf("run %s: %s, want %s", one.Name, b, a)
		}
		if n := again.Remaining(one); n != 0 {
			t.Errorf("run %s: %d updates left", one.Name, n)
		}
		a, err := ReadNumbers(filepath.Join(whole, one.Name), "fhn")
		if err != nil || len(a) == 0 || math.IsNaN(a.Get("r2_unknown/1")) {
			t.Fatalf("numbers %v, %v", a, err)
		}
		b, err := ReadNumbers(filepath.Join(parts, one.Name), "fhn")
		if err != nil || a.Get("r2_unknown/30") != b.Get("r2_unknown/30") {
			t.Errorf("numbers of %s differ: %v", one.Name, err)
		}
		if c, err := ReadCurves(filepath.Join(parts, one.Name), "fhn"); err != nil || len(c["model_unknown"]) != 30 {
			t.Errorf("curves %v, %v", c, err)
		}
	}
}

// TestRun_AFailureStopsNoOther: what cannot be measured is named, the other trial is finished.
func TestRun_AFailureStopsNoOther(t *testing.T) {
	dir := t.TempDir()
	bad, good := trial(t, "bad"), trial(t, "good", "seed=2")
	bad.Protocols = []string{"pixels"}
	err := studyOf(dir, bad, good).Run(t.Context(), []float64{2, 1})
	if !errors.Is(err, ErrFailed) || !errors.Is(err, trained.ErrUnable) || !strings.Contains(err.Error(), "bad") || strings.Contains(err.Error(), "good") {
		t.Errorf("error %v", err)
	}
	digest(t, dir, "good")
}

// TestRead_AFailedRun is told from one that is not run.
func TestRead_AFailedRun(t *testing.T) {
	dir := t.TempDir()
	s := studyOf(dir, trial(t, "failed"), trial(t, "missing", "seed=2"))
	r, err := store.Create(dir, store.Draft{Name: "failed"})
	if err == nil {
		err = errors.Join(r.End(store.Failed, "the gradient is no number"), r.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := Read(&Plan{Trials: s.Trials}, s)
	if err != nil || !found.failed[0] || len(found.failed) != 1 {
		t.Errorf("failed are %v, %v", found.failed, err)
	}
}

// TestRun_KeptNumbersCountInPlaceOfARun that is gone, unless the configuration, the arithmetic, the test or a protocol is
// another; and what is kept is what was measured.
func TestRun_KeptNumbersCountInPlaceOfARun(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	one := trial(t, "a")
	s := studyOf(dir, one)
	s.KeepDir = kept
	if err := s.Run(t.Context(), []float64{1}); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "a")
	measured, err := ReadNumbers(folder, "fhn")
	if err != nil {
		t.Fatal(err)
	}
	curves, err := ReadCurves(folder, "fhn")
	if err != nil {
		t.Fatal(err)
	}
	sum := digest(t, dir, "a")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}

	k, err := s.ReadKept(one)
	if err != nil || k == nil || k.Parameters != sum || k.Updates != 12 {
		t.Fatalf("kept %+v, %v", k, err)
	}
	// Printed, as a NaN does not equal itself.
	if got, want := fmt.Sprint(k.Protocols["fhn"].Numbers, k.Protocols["fhn"].Curves), fmt.Sprint(measured, curves); got != want {
		t.Errorf("kept\n%s\nmeasured\n%s", got, want)
	}
	if err := s.Run(t.Context(), []float64{1}); err != nil || s.Remaining(one) != 0 {
		t.Errorf("%d updates are left, %v", s.Remaining(one), err)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("trained again, although the numbers were kept")
	}

	for name, change := range map[string]func(*Study, *Trial){
		"configuration": func(_ *Study, o *Trial) { *o = trial(t, "a", "optim.rate=0.25") },
		"test":          func(s *Study, _ *Trial) { s.Episodes = 7 },
		"protocol":      func(_ *Study, o *Trial) { o.Protocols = []string{"fhn", "ahead"} },
	} {
		changed, other := *s, one
		change(&changed, &other)
		if changed.Remaining(other) == 0 {
			t.Errorf("another %s: the kept numbers count", name)
		}
	}
	path := filepath.Join(kept, "a.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(data, []byte(k.Arithmetic), []byte(strings.Repeat("0", 64)), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if s.Remaining(one) == 0 {
		t.Error("another arithmetic: the kept numbers count")
	}
	if err := os.WriteFile(path, data[:100], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadKept(one); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestCheck_RefusesAnotherConfiguration under the name of a trial, before anything is trained.
func TestCheck_RefusesAnotherConfiguration(t *testing.T) {
	dir := t.TempDir()
	if err := studyOf(dir, trial(t, "a")).Run(t.Context(), []float64{1}); err != nil {
		t.Fatal(err)
	}
	err := studyOf(dir, trial(t, "a", "optim.rate=0.25")).Check()
	if !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "optim.rate") {
		t.Errorf("error %v", err)
	}
	if err := studyOf(dir, trial(t, "a")).Check(); err != nil {
		t.Errorf("the same configuration is refused: %v", err)
	}
}

// TestCosts_OfSomeAreMeasured: what no time is left for counts as the mean of its environment, or of all.
func TestCosts_OfSomeAreMeasured(t *testing.T) {
	s := studyOf(t.TempDir(), trial(t, "a", "train.steps=1000"), trial(t, "b", "train.steps=1000", "seed=2"),
		trial(t, "c", "train.steps=3000", "model.hidden=8"))
	got, err := s.Costs(0)
	if err != nil || got.Measured != 1 || got.Configurations != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !(got.Seconds[0] > 0) || got.Seconds[1] != got.Seconds[0] || math.Abs(got.Seconds[2]/got.Seconds[0]-3) > 1e-9 {
		t.Errorf("the trials take %v s", got.Seconds)
	}
	if all, err := s.Costs(time.Hour); err != nil || all.Measured != 2 || !(all.Seconds[2] > 0) {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestCheck_KeepsNumbersOfAnotherStudy, which the folder has without runs: of another configuration or another test.
func TestCheck_KeepsNumbersOfAnotherStudy(t *testing.T) {
	dir := t.TempDir()
	s := studyOf(dir, trial(t, "a"))
	s.KeepDir = t.TempDir()
	if err := s.Run(t.Context(), []float64{1}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Check(), os.RemoveAll(filepath.Join(dir, "a")), s.Check()); err != nil {
		t.Fatalf("its own numbers: %v", err)
	}
	longer := *s
	longer.Trials = []Trial{trial(t, "a", "train.steps=24")}
	if err := longer.Check(); !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "train.steps") {
		t.Errorf("another configuration: %v", err)
	}
	tested := *s
	tested.Episodes = 7
	if err := tested.Check(); !errors.Is(err, ErrDiffers) || !strings.Contains(err.Error(), "7 episodes") {
		t.Errorf("another test: %v", err)
	}
}

// TestRun_MeasuresAnew what someone has measured on another number of episodes or at another checkpoint since, and
// nothing else.
func TestRun_MeasuresAnew(t *testing.T) {
	one := trial(t, "a")
	one.Protocols = []string{"ahead"}
	s := studyOf(t.TempDir(), one)
	s.Episodes = 7
	folder := filepath.Join(s.RunsDir, "a")
	measured := func() (eval.Numbers, time.Time) {
		t.Helper()
		if err := s.Run(t.Context(), []float64{1}); err != nil {
			t.Fatal(err)
		}
		n, err := ReadNumbers(folder, "ahead")
		info, fault := os.Stat(filepath.Join(folder, "tables", "ahead.json"))
		if err = errors.Join(err, fault); err != nil {
			t.Fatal(err)
		}
		return n, info.ModTime()
	}
	first, at := measured()
	if n := first.Get("episodes"); n != 7 {
		t.Fatalf("measured on %v episodes", n)
	}
	if _, again := measured(); !again.Equal(at) {
		t.Error("measured again, although nothing has changed")
	}
	// The steps of validation and of checkpoints differ, so there is a checkpoint besides the best.
	earlier, err := filepath.Glob(filepath.Join(folder, "checkpoints", "step-*[0-9].safetensors"))
	if err != nil || len(earlier) < 2 {
		t.Fatalf("checkpoints %v, %v", earlier, err)
	}
	step := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(earlier[0]), "step-"), ".safetensors")
	for _, other := range []struct {
		checkpoint string
		episodes   int
	}{{trained.Best, 3}, {strings.TrimLeft(step, "0"), 7}} {
		r, err := trained.OpenAt(folder, other.checkpoint, nil)
		if err == nil {
			_, err = r.Evaluate(eval.Question{Protocol: "ahead", Episodes: other.episodes, Threads: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := measured(); fmt.Sprint(got) != fmt.Sprint(first) {
			t.Errorf("after %d episodes at %s: %v, want %v", other.episodes, other.checkpoint, got, first)
		}
	}
}

// TestRun_AMeasurementThatCannotBeWritten is made again.
func TestRun_AMeasurementThatCannotBeWritten(t *testing.T) {
	s := studyOf(t.TempDir(), trial(t, "a"))
	tables := filepath.Join(s.RunsDir, "a", "tables")
	if err := s.Run(t.Context(), []float64{1}); err != nil {
		t.Fatal(err)
	}
	curves, err := ReadCurves(filepath.Join(s.RunsDir, "a"), "fhn")
	if err != nil {
		t.Fatal(err)
	}
	// A folder is in the way of the curves.
	if err := errors.Join(os.RemoveAll(tables), os.MkdirAll(filepath.Join(tables, "fhn.csv"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), []float64{1}); !errors.Is(err, ErrFailed) {
		t.Fatalf("error %v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(tables, "fhn.csv")), s.Run(t.Context(), []float64{1})); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadCurves(filepath.Join(s.RunsDir, "a"), "fhn"); fmt.Sprint(again) != fmt.Sprint(curves) {
		t.Errorf("curves %v, %v, want %v", again, err, curves)
	}
}

// TestRead_KeptNumbersOfProtocolsThatARunLacks count if they are of the same parameters.
func TestRead_KeptNumbersOfProtocolsThatARunLacks(t *testing.T) {
	one := trial(t, "a")
	s := studyOf(t.TempDir(), one)
	s.KeepDir = t.TempDir()
	if err := s.Run(t.Context(), []float64{1}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.RunsDir, "a", "tables", "fhn.json")); err != nil {
		t.Fatal(err)
	}
	found, err := Read(&Plan{Trials: s.Trials}, s)
	if err != nil || found.measured() != 1 || found.countKept() != 0 {
		t.Errorf("%d runs are measured, %v", found.measured(), err)
	}
}

// TestRun_OneAtATime in a folder.
func TestRun_OneAtATime(t *testing.T) {
	s := studyOf(t.TempDir(), trial(t, "a"))
	inside := make(chan error, 1)
	s.Show = func(Progress) {
		select {
		case inside <- studyOf(s.RunsDir, s.Trials...).Run(t.Context(), []float64{1}):
		default:
		}
	}
	if err := s.Run(t.Context(), []float64{1}); err != nil {
		t.Fatal(err)
	}
	if err := <-inside; !errors.Is(err, store.ErrHeld) {
		t.Errorf("a second study in the folder: %v", err)
	}
}

func TestReadNumbers_FlattensObjects(t *testing.T) {
	dir := t.TempDir()
	text := `{"protocol":"p","metrics":{"a":1.5,"b":{"5":2,"x":null},"c":[3,4]},"paper":{}}`
	if err := os.MkdirAll(filepath.Join(dir, "tables"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tables", "p.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	n, err := ReadNumbers(dir, "p")
	if err != nil || n.Get("a") != 1.5 || n.Get("b/5") != 2 || n.Get("c/2") != 4 || !math.IsNaN(n.Get("b/x")) || !math.IsNaN(n.Get("none")) {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := ReadNumbers(dir, "none"); n != nil || err != nil {
		t.Errorf("%v, %v", n, err)
	}
}

// TestUpgraded: numbers that an older release kept have their present names; those of today stay.
func TestUpgraded(t *testing.T) {
	old := eval.Numbers{"step": 7, "r2.0": 0.9, "r2.1": 0.8, "ratio.1": 0.1, "ratio.10": 0.2, "over.θ (rad)": 0.3}
	want := eval.Numbers{"step": 7, "r2/1": 0.9, "r2/2": 0.8, "ratio/1": 0.1, "ratio/10": 0.2, "over/θ (rad)": 0.3}
	if got := upgraded(old); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := upgraded(want); !maps.Equal(got, want) {
		t.Errorf("the names of today became %v", got)
	}
	if upgraded(nil) != nil {
		t.Error("a protocol that was not measured has numbers")
	}
}
