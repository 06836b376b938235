package trials

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/worker"
)

const smallSweep = `preset: fhn/smoke
method: tpe
run_cap: 6
parameters:
  optim.rate: {min: 1e-4, max: 10, distribution: log_uniform_values}
  model.hidden: [4, 8]
  train.steps: {value: 12}
  train.validate_every: {value: 5}
  train.batch: {value: 8}
  seed: [1, 2]
early_terminate: {type: halving, min_iter: 4, cohort: 3}
`

// prepare reads the sweep in a folder.
func prepare(t *testing.T, dir, text string) (*Job, error) {
	t.Helper()
	return Prepare(Request{Folder: Folder{dir, "s"}, Path: "s.yaml", Text: []byte(text), Kinds: config.Builtin().Kinds()})
}

// swept leads a sweep to its end, and returns where it stands then.
func swept(t *testing.T, dir, text string) (Folder, *sweep.State) {
	t.Helper()
	if err := leadSweep(t, dir, text, 2, 1<<30); err != nil {
		t.Fatal(err)
	}
	f := Folder{dir, "s"}
	state, err := f.State()
	if err != nil {
		t.Fatal(err)
	}
	return f, state
}

// leadSweep leads a sweep in this process with so many workers, until its end or until more than records were written, when
// everything is dropped as by a process that is killed: the state of trials under way is lost.
func leadSweep(t *testing.T, dir, text string, workers, records int) error {
	t.Helper()
	j, err := prepare(t, dir, text)
	if err != nil {
		t.Fatal(err)
	}
	transport, ctx, done := embedded(t)
	defer transport.Close()
	defer done()
	h := host(t, j, transport, Leader{Show: func(*sweep.State, []sweep.Record) {
		if records--; records < 0 {
			done()
		}
	}})
	defer h.Close()
	hands, dismiss := context.WithCancel(context.Background())
	ended := make(chan error, workers)
	for n := range workers {
		bus, err := transport.Connect(fmt.Sprintf("w%d", n))
		if err != nil {
			t.Fatal(err)
		}
		agent, err := worker.NewAgent(worker.AgentConfig{ID: fmt.Sprintf("w%d", n), Slots: 1, Numerics: job.Numerics(), Build: job.Build(config.Builtin().Kinds())}, bus, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- agent.Run(hands) }()
	}
	err = h.Lead(ctx, nil)
	dismiss()
	for range workers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return err
}

// embedded starts a broker in this process, which the caller closes, and a context that ends before it.
func embedded(t *testing.T) (transport *lead.Transport, ctx context.Context, done context.CancelFunc) {
	t.Helper()
	transport, err := lead.Embed(lead.Direct, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ctx, done = context.WithCancel(context.Background())
	return transport, ctx, done
}

// host is the host of a sweep that a command leads. The caller closes it.
func host(t *testing.T, j *Job, transport *lead.Transport, l Leader) *Host {
	t.Helper()
	l.Program, l.Log = "switchyard", hclog.NewNullLogger()
	l.Page = func(string, any) ([]byte, error) { return []byte("page"), nil }
	h, err := j.Host(lead.Config{
		Command: func(words ...string) string { return strings.Join(words, " ") }, Mistaken: func(error) bool { return false },
	}, transport, l, 0)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestLead_SameTable: a sweep that is interrupted again and again, on other numbers of workers, ends with the table of
// an undisturbed one. A trial that paused at rungs has the parameters of a run that never did.
func TestLead_SameTable(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	if err := leadSweep(t, whole, smallSweep, 3, 1<<30); err != nil {
		t.Fatal(err)
	}
	want := read(t, whole, "s", TableFile)
	for _, word := range []string{"complete", "pruned"} {
		if !strings.Contains(want, word) {
			t.Errorf("no trial is %s:\n%s", word, want)
		}
	}
	broken := t.TempDir()
	interrupted := 0
	for workers := 1; ; workers = workers%2 + 1 {
		err := leadSweep(t, broken, smallSweep, workers, 8)
		if err == nil {
			break
		}
		if !errors.Is(err, sweep.ErrInterrupted) {
			t.Fatal(err)
		}
		interrupted++
	}
	if interrupted < 3 {
		t.Errorf("interrupted %d times", interrupted)
	}
	if got := read(t, broken, "s", TableFile); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	unpaused(t, Folder{whole, "s"})
	discarded(t, Folder{whole, "s"})
}

// unpaused trains the best trial in one go and compares its parameters.
func unpaused(t *testing.T, f Folder) {
	t.Helper()
	state, err := f.State()
	if err != nil {
		t.Fatal(err)
	}
	best, _ := state.Best()
	if len(best) != 1 {
		t.Fatalf("%d best trials", len(best))
	}
	b := best[0]
	if len(b.Runs[0].Results) != 2 {
		t.Fatalf("the best trial has results at %d rungs", len(b.Runs[0].Results))
	}
	c, err := config.Builtin().Kinds().Parse("config.yaml", []byte(read(t, f.Path(BestFolder, "config.yaml"))))
	if err != nil {
		t.Fatal(err)
	}
	r, err := lead.Make(c, t.TempDir(), job.Origin{Name: "again"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Train(t.Context(), 1, 1, hclog.NewNullLogger(), ignore); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Run.Info().ParametersSHA256, b.Runs[0].Results[1].Hash; got != want || got == "" {
		t.Errorf("trained in one go: %s, with a pause: %s", got, want)
	}
}

// discarded checks that trials that were pruned have no checkpoints left, and complete ones do.
func discarded(t *testing.T, f Folder) {
	t.Helper()
	state, err := f.State()
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range state.Trials {
		_, err := os.Stat(filepath.Join(f.Runs(), RunName(f.Name, trial.ID, 1, 2), store.Checkpoints))
		if kept := err == nil; kept != (trial.Status == sweep.StatusComplete) {
			t.Errorf("trial %d is %s, and has checkpoints: %t", trial.ID, trial.Status, kept)
		}
	}
}

// TestFolder_OneLeader: a second process does not lead the same sweep.
func TestFolder_OneLeader(t *testing.T) {
	f := Folder{t.TempDir(), "s"}
	lock, err := f.Lead()
	if err != nil {
		t.Fatal(err)
	}
	if !f.Led() {
		t.Error("nobody leads")
	}
	if _, err := f.Lead(); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); f.Led(); {
		if time.Since(began) > 2*time.Minute {
			t.Fatal("somebody leads")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestShown_KilledLeader: a trial of a sweep that nobody leads does not run, also where a killed process has left it so.
func TestShown_KilledLeader(t *testing.T) {
	f := Folder{t.TempDir(), "s"}
	spec := &sweep.Spec{Trials: 1, Metrics: []sweep.Metric{{Name: "loss", Goal: sweep.Minimize}}, Stop: sweep.Stop{Rungs: []uint64{9}}}
	s, err := sweep.NewState([]sweep.Record{
		{Kind: sweep.KindOpen, Spec: spec}, {Kind: sweep.KindTrial, Trial: 1, Cohort: 1, Seeds: []uint64{1}, Steps: []uint64{9}}, {Kind: sweep.KindStart, Trial: 1, Replicate: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	is := func(want sweep.Status) {
		t.Helper()
		v := f.Shown(s)
		if v.Trials[0].State != want || v.Summary.Counts[want] != 1 {
			t.Errorf("the trial is %s, and counts are %v; want %s", v.Trials[0].State, v.Summary.Counts, want)
		}
	}
	is(sweep.StatusInterrupted)
	lock, err := f.Lead()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	is(sweep.StatusRunning)
}

// TestEnding: the ends of runs are told apart; an error that is none of them is a failure.
func TestEnding(t *testing.T) {
	for err, want := range map[error]error{
		lead.ErrPartInterrupted: sweep.ErrInterrupted, lead.ErrPartStopped: sweep.ErrPreempted, coordinator.ErrDiverged: sweep.ErrDiverged, os.ErrPermission: os.ErrPermission,
	} {
		got := ending(fmt.Errorf("lead the run: %w", err), "s-0001")
		for _, fate := range []error{sweep.ErrInterrupted, sweep.ErrPreempted, sweep.ErrDiverged, os.ErrPermission} {
			if errors.Is(got, fate) != (fate == want) {
				t.Errorf("%v: got %v", err, got)
			}
		}
	}
}

// TestRunner_WaitsForTheDisk: a trial for whose run there is no room has not failed: it begins when there is some, or
// is interrupted. What else goes wrong is not tried again.
func TestRunner_WaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		r := runner{log: hclog.New(&hclog.LoggerOptions{Output: &b})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		calls, began := 0, time.Now()
		info, err := r.patient(ctx, "s-0001", func() (store.Info, error) {
			if calls++; calls < 60 {
				return store.Info{}, config.Hint(fmt.Errorf("create the run folder: %w", syscall.ENOSPC), "free some space")
			}
			return store.Info{Step: 4}, nil
		})
		if err != nil || info.Step != 4 || time.Since(began) != 59*lead.RoomWait || strings.Count(b.String(), "waits for its disk") != 2 {
			t.Errorf("after %v: %+v, %v; the log says\n%s", time.Since(began), info, err, b.String())
		}
		_, err = r.patient(ctx, "s-0001", func() (store.Info, error) { return store.Info{}, syscall.EMFILE })
		if err := ending(err, "s-0001"); !errors.Is(err, sweep.ErrInterrupted) {
			t.Errorf("the sweep ended meanwhile: %v", err)
		}
		if _, err = r.patient(ctx, "s-0001", func() (store.Info, error) { return store.Info{}, os.ErrPermission }); err != os.ErrPermission {
			t.Errorf("another error: %v", err)
		}
	})
}

// TestReaching_NoBound: a level below zero is not reached by a model that has no bound.
func TestReaching_NoBound(t *testing.T) {
	c := reaching{Cost: Cost{Metric: "elbo", Level: -5}, best: math.Inf(-1)}
	c.validated(1, store.Values{"objective": 1})
	if c.reached || !math.IsInf(c.best, -1) {
		t.Errorf("reached: %t, the best value is %g", c.reached, c.best)
	}
}

func ignore(terminal.Progress) {}

// TestRunner_Drop: a run that goes no further loses its checkpoints, unless all are kept. A run that only has the name of
// a trial keeps them.
func TestRunner_Drop(t *testing.T) {
	for _, c := range []struct {
		keep  Keep
		sweep string // of the run
		stays bool
	}{{KeepComplete, "s", false}, {KeepBest, "s", false}, {KeepAll, "s", true}, {KeepComplete, "", true}, {KeepBest, "other", true}} {
		r := &runner{name: "s", keep: c.keep, runsDir: t.TempDir(), log: hclog.NewNullLogger()}
		r.Drop(4, 2, 2) // it has not begun
		name := RunName("s", 4, 2, 2)
		made{name: name, sweep: c.sweep, state: store.Finished, steps: []uint64{5}}.make(t, r.runsDir)
		r.Drop(4, 2, 2)
		if _, err := os.Stat(filepath.Join(r.runsDir, name, store.Checkpoints)); (err == nil) != c.stays {
			t.Errorf("keep: %s leaves the checkpoints of a run of sweep %q: %t", c.keep, c.sweep, err == nil)
		}
	}
}

// TestLead_KeepBest: with keep: best one complete trial has checkpoints at the end, and it is the best.
func TestLead_KeepBest(t *testing.T) {
	dir := t.TempDir()
	text := "preset: fhn/smoke\nkeep: best\nmethod: grid\nparameters:\n  optim.rate: [0.001, 0.01, 0.1]\n  train.steps: 4\n  train.validate_every: 2\n  model.hidden: 4\n"
	f, state := swept(t, dir, text)
	best, _ := state.Best()
	for _, trial := range state.Trials {
		_, err := os.Stat(filepath.Join(f.Runs(), RunName("s", trial.ID, 1, 1), store.Checkpoints))
		if (err == nil) != (trial.ID == best[0].ID) || trial.Status != sweep.StatusComplete {
			t.Errorf("trial %d is %s, the best is %d, and it has checkpoints: %t", trial.ID, trial.Status, best[0].ID, err == nil)
		}
	}
	run := RunName("s", best[0].ID, 1, 1)
	if err := os.RemoveAll(filepath.Join(f.Runs(), run)); err != nil {
		t.Fatal(err)
	}
	if err := f.KeepBest(state, Leader{RunsDir: f.Runs(), Program: "switchyard"}); !strings.Contains(fmt.Sprint(err), run) || !strings.Contains(config.HintOf(err), "switchyard sweep best s") {
		t.Errorf("the best run was removed: %v; %s", err, config.HintOf(err))
	}
}

// TestLead_MetricsThatAreNotFinite: a trial whose metric is not finite has diverged. It has not failed, as one that
// lacks the metric would have. A sweep of such trials has no result.
func TestLead_MetricsThatAreNotFinite(t *testing.T) {
	t.Parallel()
	const text = `preset: fhn/smoke
method: grid
metric: {name: eval/table1/calibration/1, goal: minimize}
parameters:
  optim.rate: [1e-3, 1e-2]
  train.steps: {value: 4}
  eval.samples: {value: 1}
`
	dir := t.TempDir()
	_, state := swept(t, dir, text)
	for _, trial := range state.Trials {
		if trial.Status != sweep.StatusDiverged || !strings.Contains(trial.Reason, "calibration/1 is NaN") {
			t.Errorf("trial %d: %s (%s)", trial.ID, trial.Status, trial.Reason)
		}
	}
	if err := state.Fruitless(); !errors.Is(err, sweep.ErrFruitless) || !strings.Contains(err.Error(), "0 failed and 2 diverged") {
		t.Errorf("got %v", err)
	}
}

// TestMiss: of a run that is to go on and is not there the log says so, and not of one that begins, or is there.
func TestMiss(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := runner{runsDir: t.TempDir(), log: hclog.New(&hclog.LoggerOptions{Output: &b})}
	there, err := store.Create(r.runsDir, store.Draft{Name: "s-0002", Config: []byte("seed: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	r.miss("s-0001", 0)
	if r.miss("s-0002", 4); b.Len() > 0 {
		t.Error(b.String())
	}
	if r.miss("s-0001", 4); !strings.Contains(b.String(), "s-0001") || !strings.Contains(b.String(), "another folder of runs") {
		t.Errorf("the log says %q", b.String())
	}
}

// TestLead_EndsBeforeItsRung: a trial that ends by train.patience is finished, and counts the updates that it has made.
func TestLead_EndsBeforeItsRung(t *testing.T) {
	t.Parallel()
	const text = `preset: fhn/smoke
method: grid
parameters:
  optim.rate: [0.5, 1]
  train.steps: {value: 80}
  train.validate_every: {value: 2}
  train.patience: {value: 1}
early_terminate: {type: halving, min_iter: 40, eta: 2, cohort: 2}
`
	dir := t.TempDir()
	f, state := swept(t, dir, text)
	pruned := 0
	for _, trial := range state.Trials {
		info, err := store.Load(f.Runs(), RunName("s", trial.ID, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		if info.State != store.Finished || info.Step >= 40 || !strings.Contains(info.ExitReason, "stopped early") {
			t.Errorf("trial %d: run.json says %s at step %d: %s", trial.ID, info.State, info.Step, info.ExitReason)
		}
		last := trial.Runs[0].Results[len(trial.Runs[0].Results)-1]
		if trial.Step() != info.Step || last.Values[Updates] != float64(info.Step) {
			t.Errorf("trial %d has %d updates, its run %d: %+v", trial.ID, trial.Step(), info.Step, last)
		}
		if trial.Status == sweep.StatusPruned {
			pruned++
		}
	}
	if pruned != 1 {
		t.Errorf("%d trials are pruned", pruned)
	}
}
