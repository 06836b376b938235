package coordinator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// logged is a short run with checkpoints and a log.
func logged(t *testing.T) coordinator.Config {
	cfg := config(t)
	cfg.Steps, cfg.CheckpointEvery, cfg.ValidateEvery = 12, 3, 4
	top := t.TempDir()
	cfg.Dir, cfg.Log = filepath.Join(top, "checkpoints"), filepath.Join(top, "log.jsonl")
	return cfg
}

// takeUp leads a run on from what is in its folder, with one worker, until it ends or ctx does.
func takeUp(t *testing.T, ctx context.Context, cfg coordinator.Config, obs coordinator.Observer, program func() *toy) error {
	t.Helper()
	from, _, err := checkpoint.Restore(cfg.Dir)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		t.Fatal(err)
	}
	bus := wire.NewMemory(nil)
	c := newCoordinator(t, cfg, bus, obs)
	if from != nil {
		if err := c.Resume(from); err != nil {
			t.Fatal(err)
		}
	}
	if program == nil {
		program = func() *toy { return &toy{size: toySize, delay: 50 * time.Millisecond} }
	}
	defer startWorker(t, context.WithoutCancel(ctx), bus, worker.Config{ID: "w"}, program)()
	return c.Run(ctx)
}

// A checkpoint is on disk no earlier than the line of its step in the log, and no earlier than those who keep metrics
// have heard of the step, however long they take: a run that is killed and goes on from it has the metrics up to there.
func TestRun_LogAndReportsAreAheadOfCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, checked := logged(t), 0
		var reported atomic.Uint64
		cfg.Disk = disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
			var step uint64
			if a.Kind != "rename" {
				return 0, nil
			}
			if _, err := fmt.Sscanf(filepath.Base(a.Path), "step-%d.json", &step); err != nil {
				return 0, nil
			}
			checked++
			if _, ok := readLog(t, cfg.Log).Entries[step]; !ok {
				t.Errorf("the checkpoint of step %d is written, its line in the log is not", step)
			}
			if told := reported.Load(); told < step {
				t.Errorf("the checkpoint of step %d is written, reports go to step %d", step, told)
			}
			return 0, nil
		})
		obs := &events{onStep: func(r coordinator.StepReport) {
			synctest.Wait() // until everything is written that is to be written before
			reported.Store(r.Step)
		}}
		if err := takeUp(t, t.Context(), cfg, obs, nil); err != nil {
			t.Fatal(err)
		}
		if checked == 0 {
			t.Error("no checkpoint was looked at")
		}
	})
}

func readLog(t *testing.T, path string) *coordinator.Log {
	t.Helper()
	l, err := coordinator.ReadLog(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sameSteps reports steps that are missing or have other parameters than in another log.
func sameSteps(t *testing.T, what string, got, want *coordinator.Log, steps uint64) {
	t.Helper()
	for step := uint64(1); step <= steps; step++ {
		if a, b := got.Entries[step], want.Entries[step]; a.Theta == "" || a.Theta != b.Theta || a.Norm != b.Norm || a.Rate != b.Rate || fmt.Sprint(a.Terms) != fmt.Sprint(b.Terms) {
			t.Errorf("%s: step %d is logged as %+v, want %+v", what, step, a, b)
		}
	}
	if got.Damaged > 0 || got.Last != steps {
		t.Errorf("%s: the log ends at step %d, %d lines are damaged", what, got.Last, got.Damaged)
	}
}

// dying is a disk that is lost at the n-th act of a name: that one and all later ones fail, as in a process that is
// killed. Of a write the first half gets through, if torn. Without a name it only notes what is done.
type dying struct {
	mu   sync.Mutex
	name string
	left int
	torn bool
	gone bool
	kill func()
	seen []act
}

// act is one name of an act, and how often there was one like it before.
type act struct {
	name  string
	n     int
	write bool
}

var errKilled = errors.New("killed")

func (d *dying) fault(a disk.Act) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, n := a.Kind+" "+filepath.Base(a.Path), 1
	for _, s := range d.seen {
		if s.name == name {
			n++
		}
	}
	d.seen = append(d.seen, act{name, n, a.Bytes > 0})
	if d.gone {
		return 0, errKilled
	}
	if name != d.name || n != d.left {
		return 0, nil
	}
	d.gone = true
	d.kill()
	if d.torn {
		return a.Bytes / 2, errKilled
	}
	return 0, errKilled
}

// A coordinator that is killed at whatever act on the disk, and started anew with no help, ends with the same
// parameters and a log of every step.
func TestKilled_AtEveryAct(t *testing.T) {
	t.Parallel()
	var reference *coordinator.Log
	all := &dying{}
	synctest.Test(t, func(t *testing.T) {
		cfg := logged(t)
		cfg.Disk = disk.Faulty(disk.System(), all.fault)
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Fatal(err)
		}
		reference = readLog(t, cfg.Log)
	})
	kinds := map[string]int{}
	for _, torn := range []bool{false, true} {
		for i, a := range all.seen {
			if torn && (!a.write || i%coordinator.TornApart > 0) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				cfg := logged(t)
				ctx, kill := context.WithCancel(t.Context())
				what := fmt.Sprintf("%s, for the %d. time", a.name, a.n)
				d := &dying{name: a.name, left: a.n, torn: torn, kill: kill}
				dead := cfg
				dead.Disk = disk.Faulty(disk.System(), d.fault)
				err := takeUp(t, ctx, dead, nil, nil)
				kill()
				if !d.gone { // the log is written in fewer pieces this time
					if err != nil {
						t.Error(err)
					}
					return
				}
				kinds[a.name]++
				before := readLog(t, cfg.Log)
				if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
					t.Errorf("killed at %s: %v", what, err)
				}
				after := readLog(t, cfg.Log)
				sameSteps(t, "killed at "+what, after, reference, cfg.Steps)
				if after.Term <= before.Term {
					t.Errorf("killed at %s: term %d, then %d", what, before.Term, after.Term)
				}
				if cp, skipped, err := checkpoint.Restore(cfg.Dir); err != nil || len(skipped) > 0 || cp.Step != cfg.Steps || coordinator.HashTheta(cp.Theta) != reference.Entries[12].Theta {
					t.Errorf("killed at %s: checkpoint %+v, %v, %v", what, cp, skipped, err)
				}
				if best, err := checkpoint.RestoreBest(cfg.Dir); err != nil || best.Step != best.BestStep {
					t.Errorf("killed at %s: best %+v, %v", what, best, err)
				}
			})
		}
	}
	for _, kind := range []string{
		"mkdir checkpoints", "create term.tmp", "write term.tmp", "sync term.tmp", "rename term", "append log.jsonl", "write log.jsonl", "sync log.jsonl",
		"write step-0000000004.safetensors.tmp", "rename step-0000000004.safetensors", "write step-0000000009.json.tmp", "rename step-0000000009.json",
		"rename best.json", "sync folder checkpoints", "remove step-0000000003.json",
	} {
		if kinds[kind] == 0 {
			t.Errorf("it was never killed at %q: %v", kind, kinds)
		}
	}
}

// The steps after the checkpoint are in the log, are compared, and are not logged twice.
func TestReplay_ComparesAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := logged(t)
		ctx, cancel := context.WithCancel(t.Context())
		obs := &events{onStep: func(r coordinator.StepReport) {
			if r.Step == 10 {
				cancel()
			}
		}}
		if err := takeUp(t, ctx, cfg, obs, nil); !errors.Is(err, coordinator.ErrInterrupted) {
			t.Fatal(err)
		}
		first := readLog(t, cfg.Log)
		removeCheckpoints(t, cfg.Dir, first.Last)
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(cfg.Log)
		if err != nil {
			t.Fatal(err)
		}
		for step := 1; step <= 12; step++ {
			if n := strings.Count(string(text), fmt.Sprintf(`{"step":%d,`, step)); n != 1 {
				t.Errorf("step %d has %d lines", step, n)
			}
		}
		second := readLog(t, cfg.Log)
		if e := second.Entries[first.Last]; e.Term != 1 || second.Entries[12].Term != 2 || second.Term != 2 {
			t.Errorf("terms %d and %d", e.Term, second.Entries[12].Term)
		}
		var kinds []string
		for _, e := range second.Events {
			kinds = append(kinds, fmt.Sprint(e.Kind, " ", e.Step))
		}
		want := "[open 0 contributor 0 checkpoint 3 checkpoint 4 checkpoint 6 checkpoint 9 checkpoint 11 end 11 open 9 contributor 9 checkpoint 12 end 12]"
		if got := fmt.Sprint(kinds); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
		if e := second.Entries[12]; len(e.Blocks) == 0 || e.Blocks[0].Worker != "w" || second.Chunk(2) != 256 {
			t.Errorf("entry %+v, %d parameters per chunk", e, second.Chunk(2))
		}
	})
}

// removeCheckpoints takes the checkpoint of a step away.
func removeCheckpoints(t *testing.T, dir string, step uint64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("step-%010d.*", step)))
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A step that gives other parameters than the log says ends the run before they are sent out or written.
func TestReplay_Difference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := logged(t)
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Fatal(err)
		}
		for _, step := range []uint64{12, 9} {
			removeCheckpoints(t, cfg.Dir, step)
		}
		liar := func() *toy {
			return &toy{size: toySize, delay: time.Millisecond, spoil: func(step uint64, shard int, grad []float32) error {
				if step == 5 && shard == 3 {
					grad[7] = grad[7]*1.5 + 1
				}
				return nil
			}}
		}
		err := takeUp(t, t.Context(), cfg, nil, liar)
		var replay *coordinator.ReplayError
		if !errors.Is(err, coordinator.ErrReplay) || !errors.As(err, &replay) || replay.Step != 6 {
			t.Fatalf("got %v", err)
		}
		for _, part := range []string{"step 6", replay.Logged.Theta, replay.Computed.Theta, "verify", "log.jsonl", "shards"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in %v", part, err)
			}
		}
		if cp, _, err := checkpoint.Restore(cfg.Dir); err != nil || cp.Step != 4 {
			t.Errorf("checkpoint %+v, %v", cp, err)
		}
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Errorf("with an honest worker: %v", err)
		}
	})
}

// A checkpoint that is not of the parameters that the log names is not gone on from.
func TestReplay_OtherCheckpoint(t *testing.T) {
	cfg := logged(t)
	if err := takeUp(t, t.Context(), cfg, nil, func() *toy { return &toy{size: toySize} }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(cfg.Log)
	if err != nil {
		t.Fatal(err)
	}
	theta := readLog(t, cfg.Log).Entries[12].Theta
	if err := os.WriteFile(cfg.Log, []byte(strings.ReplaceAll(string(text), theta, "0123456789abcdef")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := takeUp(t, t.Context(), cfg, nil, nil); !errors.Is(err, coordinator.ErrReplay) {
		t.Errorf("got %v", err)
	}
}

// A run without a checkpoint has a term, too: what began it is not heard by workers of the one that goes on.
func TestTerm_WithoutCheckpoint(t *testing.T) {
	for name, damage := range map[string]func(cfg coordinator.Config) error{
		"kept":         func(coordinator.Config) error { return nil },
		"file missing": func(cfg coordinator.Config) error { return os.Remove(filepath.Join(cfg.Dir, "term")) },
		"file nonsense": func(cfg coordinator.Config) error {
			return os.WriteFile(filepath.Join(cfg.Dir, "term"), []byte("x"), 0o644)
		},
		"log missing": func(cfg coordinator.Config) error { return os.Remove(cfg.Log) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := logged(t)
			for want := uint64(1); want <= 3; want++ {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				var term uint64
				bus := wire.NewMemory(nil)
				subjects, err := wire.SubjectsOf("toy")
				if err != nil {
					t.Fatal(err)
				}
				heard := make(chan uint64, 100)
				sub, err := bus.Subscribe(subjects.All, func(data []byte) {
					if m, err := wire.Decode(data); err == nil {
						heard <- m.Head().Term
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := newCoordinator(t, cfg, bus, nil).Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
					t.Fatal(err)
				}
				term = <-heard
				if err := sub.Unsubscribe(); err != nil {
					t.Fatal(err)
				}
				if term != want {
					t.Errorf("term %d, want %d", term, want)
				}
				removeCheckpoints(t, cfg.Dir, 0)
				if err := damage(cfg); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A coordinator that was believed dead is not heard by the workers of its successor, who say so once.
func TestTerm_OlderCoordinatorIsFencedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := wire.NewMemory(nil)
		old, cfg := logged(t), logged(t)
		old.Steps, old.FailureDetection = 1000, time.Second
		if err := errors.Join(os.Mkdir(cfg.Dir, 0o755), os.WriteFile(filepath.Join(cfg.Dir, "term"), []byte("1\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		w, err := worker.New(worker.Config{Run: "toy", ID: "w", Build: func([]byte, []byte, int) (worker.Program, error) {
			return &toy{size: toySize, delay: 50 * time.Millisecond}, nil
		}}, bus, hclog.New(&hclog.LoggerOptions{Output: &said}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served, zombie := make(chan error, 1), make(chan error, 1)
		go func() { served <- w.Run(ctx) }()
		made := &events{}
		go func() { zombie <- newCoordinator(t, old, bus, made).Run(ctx) }()
		time.Sleep(2 * time.Second)
		c := newCoordinator(t, cfg, bus, nil)
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := <-zombie; !errors.Is(err, coordinator.ErrInterrupted) {
			t.Error(err)
		}
		if n := len(made.steps); n == 0 || n > 12 {
			t.Errorf("the older coordinator made %d steps", n)
		}
		if n := strings.Count(said.String(), "messages of a coordinator of an older term are ignored"); n != 1 {
			t.Errorf("said %d times:\n%s", n, said.String())
		}
	})
}

// While the disk is full the run goes on, tells it, and when there is room again all is on disk.
func TestDiskFull_ForAWhile(t *testing.T) {
	var reference *coordinator.Log
	synctest.Test(t, func(t *testing.T) {
		cfg := logged(t)
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Fatal(err)
		}
		reference = readLog(t, cfg.Log)
	})
	for name, outage := range map[string][2]time.Duration{
		"at the start": {0, 3 * time.Second}, "in between": {time.Second, 2 * time.Second}, "over several checkpoints": {time.Second, 4 * time.Second},
		"at the end": {4 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, obs := logged(t), &events{}
				start := time.Now()
				cfg.Disk = disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
					since := time.Since(start)
					writes := a.Bytes > 0 || a.Kind == "create" || a.Kind == "mkdir" || a.Kind == "sync"
					if writes && since >= outage[0] && since < outage[1] {
						return a.Bytes / 3, syscall.ENOSPC
					}
					return 0, nil
				})
				if err := takeUp(t, t.Context(), cfg, obs, nil); err != nil {
					t.Fatal(err)
				}
				sameSteps(t, "after the outage", readLog(t, cfg.Log), reference, cfg.Steps)
				if cp, _, err := checkpoint.Restore(cfg.Dir); err != nil || cp.Step != cfg.Steps {
					t.Errorf("checkpoint %+v, %v", cp, err)
				}
				best, err := checkpoint.RestoreBest(cfg.Dir)
				if err != nil || best.Step != best.BestStep {
					t.Errorf("best %+v, %v", best, err)
				}
				state := map[string]error{}
				failures := 0
				for _, r := range obs.storage {
					if r.Err != nil {
						failures++
						if !errors.Is(r.Err, syscall.ENOSPC) {
							t.Errorf("reported %v", r.Err)
						}
					}
					state[strings.Fields(r.What)[1]] = r.Err
				}
				for what, err := range state {
					if err != nil && what != "term" {
						t.Errorf("the last report of %s is %v", what, err)
					}
				}
				if failures == 0 {
					t.Error("nothing was reported")
				}
			})
		})
	}
}

// A run whose disk stays full ends with that error when it is told to, and with what was on disk before.
func TestDiskFull_ToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := logged(t)
		start := time.Now()
		cfg.Disk = disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
			if time.Since(start) > 3*time.Second && a.Bytes > 0 {
				return 0, syscall.ENOSPC
			}
			return 0, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := takeUp(t, ctx, cfg, nil, nil)
		if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, coordinator.ErrInterrupted) || time.Since(start) < time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		cfg.Disk = nil
		if cp, _, err := checkpoint.Restore(cfg.Dir); err != nil || cp.Step == 12 || cp.Step == 0 {
			t.Errorf("checkpoint %+v, %v", cp, err)
		}
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// A checkpoint says of which job and data it is, and is not gone on from with others.
func TestResume_OtherJob(t *testing.T) {
	cfg := logged(t)
	cfg.Identity, cfg.Data = "that of the configuration", []byte("some data")
	cfg.Credit = 1 << 16
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newCoordinator(t, cfg, wire.NewMemory(nil), nil).Run(ctx); !errors.Is(err, coordinator.ErrInterrupted) {
		t.Fatal(err)
	}
	cp, _, err := checkpoint.Restore(cfg.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*coordinator.Config)
		want   string
	}{
		"same":      {func(*coordinator.Config) {}, ""},
		"other job": {func(c *coordinator.Config) { c.Identity = "another" }, "configuration"},
		// What the job holds beside, e.g. how messages travel, does not matter.
		"other text": {func(c *coordinator.Config) { c.Job = []byte("chunk: 7") }, ""},
		"other data": {func(c *coordinator.Config) { c.Data = []byte("other") }, "other data"},
		"no data":    {func(c *coordinator.Config) { c.Data = nil }, "other data"},
	} {
		other := cfg
		c.change(&other)
		err := newCoordinator(t, other, wire.NewMemory(nil), nil).Resume(cp)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, coordinator.ErrMismatch) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A coordinator that ended between the decision to go back and its work on the disk: the next one does it, and takes
// neither a void checkpoint nor a void entry of the log for true.
func TestRollback_TakenUp(t *testing.T) {
	var reference *coordinator.Log
	synctest.Test(t, func(t *testing.T) {
		cfg := logged(t)
		liar := func() *toy {
			return &toy{size: toySize, delay: 50 * time.Millisecond, spoil: func(step uint64, _ int, grad []float32) error {
				if step >= 7 {
					grad[7] = grad[7]*1.5 + 1
				}
				return nil
			}}
		}
		if err := takeUp(t, t.Context(), cfg, nil, liar); err != nil {
			t.Fatal(err)
		}
		lied := readLog(t, cfg.Log)
		if err := os.WriteFile(filepath.Join(cfg.Dir, "rollback"), []byte(`{"step":6}`), 0o644); err != nil {
			t.Fatal(err)
		}
		// Of the checkpoints left none counts, and it begins again.
		removeCheckpoints(t, cfg.Dir, 4)
		if _, _, err := checkpoint.Restore(cfg.Dir); !errors.Is(err, checkpoint.ErrNotFound) || !errors.Is(err, checkpoint.ErrVoid) {
			t.Fatal(err)
		}
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Fatal(err)
		}
		honest := logged(t)
		if err := takeUp(t, t.Context(), honest, nil, nil); err != nil {
			t.Fatal(err)
		}
		reference = readLog(t, honest.Log)
		sameSteps(t, "after the rollback", readLog(t, cfg.Log), reference, cfg.Steps)
		if lied.Entries[7].Theta != reference.Entries[7].Theta || lied.Entries[8].Theta == reference.Entries[8].Theta {
			t.Error("the liar did not lie from step 8 on")
		}
		if _, err := os.Stat(filepath.Join(cfg.Dir, "rollback")); err == nil {
			t.Error("the note of the rollback is left")
		}
		cp, _, err := checkpoint.Restore(cfg.Dir)
		if err != nil || cp.Step != 12 || coordinator.HashTheta(cp.Theta) != reference.Entries[12].Theta {
			t.Errorf("checkpoint %+v, %v", cp, err)
		}
	})
}

// No checkpoint is ahead of the log, even if only the log cannot be written for a while.
func TestCheckpoint_LogFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := logged(t)
		start := time.Now()
		cfg.Disk = disk.Faulty(disk.System(), func(a disk.Act) (int, error) {
			if since := time.Since(start); strings.HasPrefix(filepath.Base(a.Path), "step-") && a.Kind == "rename" && strings.HasSuffix(a.Path, ".json") {
				var step uint64
				if _, err := fmt.Sscanf(filepath.Base(a.Path), "step-%d.json", &step); err != nil {
					t.Error(err)
				}
				if l := readLog(t, cfg.Log); l.Last < step {
					t.Errorf("the checkpoint of step %d is written, the log ends at %d", step, l.Last)
				}
			} else if a.Path == cfg.Log && a.Bytes > 0 && since > time.Second && since < 4*time.Second {
				return 0, syscall.EIO
			}
			return 0, nil
		})
		if err := takeUp(t, t.Context(), cfg, nil, nil); err != nil {
			t.Fatal(err)
		}
		if l := readLog(t, cfg.Log); l.Last != cfg.Steps {
			t.Errorf("the log ends at %d", l.Last)
		}
	})
}
