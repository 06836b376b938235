package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

func (c *cli) info(name string) store.Info {
	c.t.Helper()
	info, err := store.Load(c.dir, name)
	if err != nil {
		c.t.Fatal(err)
	}
	return info
}

func TestTrain_SmokeEndToEnd(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	r := c.must("train", "fhn/smoke", "--name", "first", "--workers", "2")
	for _, want := range []string{"trained", "params_sha256", "to and from each worker per step", "model, stimulus unknown", "paper: ours", "figures/fhn.png", "next\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("stdout lacks %q:\n%s", want, r.out)
		}
	}
	for _, want := range []string{"(preset fhn/smoke, seed 1)", "parameters in", "embedded NATS", "step 30/30", "objective", "kl_s", "GFLOP/s", " worker", "each per step"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr lacks %q:\n%s", want, r.err)
		}
	}
	info := c.info("first")
	if info.State != store.Finished || info.Step != 30 || info.Checkpoint != 30 || len(info.ParametersSHA256) != 64 || !strings.Contains(r.out, info.ParametersSHA256) {
		t.Errorf("run.json holds %+v", info)
	}
	for _, file := range []string{"config.yaml", "overrides.txt", "figures/fhn.png", "figures/fhn.svg", "tables/fhn.txt", "tables/fhn.csv", "tables/fhn.json"} {
		if stat, err := os.Stat(filepath.Join(c.dir, "first", file)); err != nil || stat.Size() == 0 && file != "overrides.txt" {
			t.Errorf("%s: %v", file, err)
		}
	}
	steps := map[string]int{}
	if err := store.ReadMetrics(c.dir, "first", func(m store.Record) error { steps[m.Split]++; return nil }); err != nil || steps["train"] != 30 || steps["validation"] != 3 {
		t.Errorf("metrics hold %v, %v", steps, err)
	}
	_, next, _ := strings.Cut(r.out, "next\n")
	for line := range strings.Lines(next) {
		line, _, _ = strings.Cut(line, "  # ")
		words := strings.Fields(line)
		if words[1] == "serve" {
			continue // it serves until it is interrupted
		}
		if words[1] == "train" {
			words = append(words, "--dry-run")
		}
		got := c.must(words[1:]...)
		if strings.Contains(line, "--json") && !json.Valid([]byte(got.out)) {
			t.Errorf("%s prints no JSON:\n%s", line, got.out)
		}
	}
}

// TestTrain_SameBits: parameters are a function of the configuration alone.
func TestTrain_SameBits(t *testing.T) {
	t.Cleanup(func() {
		if err := kernel.Use(kernel.Best()); err != nil {
			t.Error(err)
		}
	})
	for _, mode := range []string{"model.switching=concrete", "model.switching=normal", "model.switching=categorical", "train.gradients=int16", "train.gradients=int8", "train.parameters=delta16", "train.parameters=delta8"} {
		digests := map[string]string{}
		train := func(name string, environ []string, flags ...string) {
			c := newCLI(t)
			c.environ = environ
			c.must(append([]string{"train", "noise/smoke", mode, "--quiet", "--name", "a"}, flags...)...)
			digests[name] = c.info("a").ParametersSHA256
		}
		for _, workers := range sameBitsWorkers {
			train(workers+" workers", nil, "--workers", workers)
		}
		train("3 slots", nil, "--workers", "1", "--slots", "3")
		train("small chunks", nil, "cluster.chunk=1024", "cluster.credit=2048")
		for _, isa := range sameBitsISAs() {
			train(isa.String(), []string{"SWITCHYARD_ISA=" + isa.String()})
		}
		for name, digest := range digests {
			if digest == "" || digest != digests["1 workers"] {
				t.Errorf("%s, %s: %s, one worker: %s", mode, name, digest, digests["1 workers"])
			}
		}
	}
}

// interrupt trains until some steps are done, presses Ctrl-C once, and returns the
// result.
func (c *cli) interrupt(name string, arguments ...string) result {
	c.t.Helper()
	go func() {
		for {
			n := 0
			_ = store.ReadMetrics(c.dir, name, func(m store.Record) error { // an error: not there yet
				if m.Split == "train" {
					n++
				}
				return nil
			})
			if n >= 13 {
				c.signals <- os.Interrupt
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return c.run(arguments...)
}

// long is a run that lasts long enough to be interrupted.
var long = []string{"train", "noise/smoke", "train.steps=150", "train.checkpoint_every=10", "train.validate_every=50", "--quiet"}

func TestResume_SameBitsAsWithoutTheInterruption(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must(append(long, "--name", "whole")...)
	r := c.interrupt("halves", append(long, "--name", "halves")...)
	if r.code != exitInterrupted {
		t.Fatalf("exit code %d, want %d\n%s", r.code, exitInterrupted, r.err)
	}
	for _, want := range []string{"finishing the step and writing a checkpoint; press again to abort", "is interrupted, with a checkpoint of step", "switchyard resume halves"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr lacks %q:\n%s", want, r.err)
		}
	}
	if info := c.info("halves"); info.State != store.Interrupted || info.Step < 13 || info.Step >= 150 || info.Checkpoint != info.Step {
		t.Fatalf("run.json holds %+v", info)
	}
	c.must("resume", "halves", "--workers", "3")
	if got, want := c.info("halves").ParametersSHA256, c.info("whole").ParametersSHA256; got != want {
		t.Errorf("resumed: %s, in one piece: %s", got, want)
	}
	var last uint64
	if err := store.ReadMetrics(c.dir, "halves", func(m store.Record) error {
		if m.Split == "train" {
			if m.Step != last+1 {
				return fmt.Errorf("step %d follows %d", m.Step, last)
			}
			last = m.Step
		}
		return nil
	}); err != nil || last != 150 {
		t.Errorf("metrics end at step %d: %v", last, err)
	}
	if r := c.must("resume", "halves"); !strings.Contains(r.out, "is finished at step 150") {
		t.Errorf("got %s", r.out)
	}
}

// checkpoints are the data files of a run's checkpoints, the oldest first.
func (c *cli) checkpoints(name string) []string {
	c.t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.dir, name, "checkpoints", "step-*.safetensors"))
	if err != nil || len(paths) == 0 {
		c.t.Fatalf("checkpoints: %v, %v", paths, err)
	}
	return paths
}

func corrupt(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestResume_CorruptCheckpoints(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must(append(long, "--name", "whole")...)
	if r := c.interrupt("a", append(long, "--name", "a")...); r.code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	paths := c.checkpoints("a")
	corrupt(t, paths[len(paths)-1])
	r := c.must("resume", "a")
	if !strings.Contains(r.err, "warning: skipped: checkpoint") || !strings.Contains(r.err, "SHA-256") {
		t.Errorf("the corrupt checkpoint is not named:\n%s", r.err)
	}
	if got, want := c.info("a").ParametersSHA256, c.info("whole").ParametersSHA256; got != want {
		t.Errorf("resumed from an older checkpoint: %s, in one piece: %s", got, want)
	}

	if r := c.interrupt("b", append(long, "--name", "b")...); r.code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	for _, path := range c.checkpoints("b") {
		corrupt(t, path)
	}
	r = c.run("resume", "b")
	if r.code != exitData || !strings.Contains(r.err, "no valid checkpoint") || strings.Count(r.err, "error: ") != 1 {
		t.Errorf("exit code %d, want %d\n%s", r.code, exitData, r.err)
	}
}

// TestResume_MissingCheckpoints: a run that had a checkpoint does not begin again in silence.
func TestResume_MissingCheckpoints(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if r := c.interrupt("gone", append(long, "--name", "gone")...); r.code != exitInterrupted {
		t.Fatalf("exit code %d: %s", r.code, r.err)
	}
	if err := os.RemoveAll(filepath.Join(c.dir, "gone", "checkpoints")); err != nil {
		t.Fatal(err)
	}
	if r := c.run("resume", "gone", "--quiet"); r.code != exitData || !strings.Contains(r.err, "run.json names one of step") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

func TestResume_DamagedConfiguration(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "a", "--quiet")
	if err := os.WriteFile(filepath.Join(c.dir, "a", "config.yaml"), []byte("seed: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := c.run("resume", "a"); r.code != exitData || !strings.Contains(r.err, "config.yaml") {
		t.Errorf("exit code %d, want %d\n%s", r.code, exitData, r.err)
	}
}

func TestResume_RunInUse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	run, err := store.Create(c.dir, store.Draft{Name: "a", Config: []byte("seed: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	r := c.run("resume", "a")
	if r.code != exitUsage || !strings.Contains(r.err, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("exit code %d, want %d\n%s", r.code, exitUsage, r.err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTrain_FullDisk: training continues while metrics and log cannot be written, and reports that. When there is space
// again, both are complete.
func TestTrain_FullDisk(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is a device of Linux")
	}
	c := newCLI(t)
	c.must(append(long, "--name", "whole")...)
	if r := c.interrupt("a", append(long, "--name", "a")...); r.code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	metrics, log := filepath.Join(c.dir, "a", "metrics.jsonl"), filepath.Join(c.dir, "a", "log.jsonl")
	for _, path := range []string{metrics, log} {
		if err := errors.Join(os.Rename(path, path+".kept"), os.Symlink("/dev/full", path)); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for c.info("a").Step < 150 { // run.json can be written
			time.Sleep(time.Millisecond)
		}
		if err := errors.Join(os.Remove(metrics), os.Remove(log)); err != nil {
			t.Error(err)
		}
	}()
	r := c.must("resume", "a")
	for _, want := range []string{"metrics.jsonl: no space left on device", "log not written", "checkpoint not written", "free space on the disk", "records are written again", "checkpoints are written again"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr lacks %q:\n%s", want, r.err)
		}
	}
	if got, want := c.info("a").ParametersSHA256, c.info("whole").ParametersSHA256; got != want {
		t.Errorf("with a full disk: %s, without: %s", got, want)
	}
	steps := map[uint64]int{}
	err := store.ReadMetrics(c.dir, "a", func(m store.Record) error {
		if m.Split == "train" {
			steps[m.Step]++
		}
		return nil
	})
	from := int(150 - len(steps) + 1)
	for s := from; s <= 150; s++ {
		if steps[uint64(s)] != 1 {
			t.Errorf("step %d has %d records", s, steps[uint64(s)])
		}
	}
	if l, logErr := coordinator.ReadLog(log, 0); err != nil || logErr != nil || len(l.Entries) != len(steps) || l.Damaged != 0 {
		t.Errorf("%d steps in the metrics, log %+v; %v, %v", len(steps), l, err, logErr)
	}
}

// TestTrain_FullDiskAtTheEnd: a user who does not wait for space gets an error that says what is left of the run.
func TestTrain_FullDiskAtTheEnd(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("/dev/full is a device of Linux")
	}
	c := newCLI(t)
	if r := c.interrupt("a", append(long, "--name", "a")...); r.code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	log := filepath.Join(c.dir, "a", "log.jsonl")
	if err := errors.Join(os.Remove(log), os.Symlink("/dev/full", log)); err != nil {
		t.Fatal(err)
	}
	go func() {
		for c.info("a").Step < 150 {
			time.Sleep(time.Millisecond)
		}
		c.signals <- os.Interrupt
	}()
	r := c.run("resume", "a")
	if r.code != exitFailed || strings.Count(r.err, "error: ") != 1 {
		t.Errorf("exit code %d, want %d\n%s", r.code, exitFailed, r.err)
	}
	for _, want := range []string{"no space left on device", "the disk is full; the checkpoint of step", "switchyard resume a"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr lacks %q:\n%s", want, r.err)
		}
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	c.must("resume", "a", "--quiet") // with space again
}

// TestTrain_WorkerFromOutside trains without workers of its own: the one that seeks a run finds this one.
func TestTrain_WorkerFromOutside(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--name", "here", "--quiet")
	lead := c.party("train", "noise/smoke", "--name", "away", "--workers", "0", "--listen", "127.0.0.1:0")
	address := regexp.MustCompile(`nats://127\.0\.0\.1:\d+`)
	await(t, func() bool { return address.MatchString(lead.err.String()) })
	outside := c.party("worker", "--nats", address.FindString(lead.err.String()))
	code := -1
	await(t, func() bool {
		select {
		case code = <-lead.done:
		default:
		}
		return code >= 0
	})
	if code != exitOK {
		t.Fatalf("exit code %d\n%s", code, lead.err.String())
	}
	if text := outside.end(); !strings.Contains(text, "serving run") {
		t.Errorf("the worker says:\n%s", text)
	}
	if here, away := c.info("here"), c.info("away"); away.State != store.Finished || away.ParametersSHA256 != here.ParametersSHA256 {
		t.Errorf("%s with %s, want %s", away.State, away.ParametersSHA256, here.ParametersSHA256)
	}
}

// TestTrain_BusyPort: an address that is taken leaves no run behind.
func TestTrain_BusyPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := newCLI(t)
	r := c.run("train", "noise/smoke", "--name", "a", "--listen", taken.Addr().String())
	if r.code == exitOK || !strings.Contains(r.err, taken.Addr().String()) {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run folder is there: %v", err)
	}
	c.must("train", "noise/smoke", "--name", "a", "--quiet")
}

func TestTrain_JSONLogIsJSON(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	r := c.must("train", "noise/smoke", "--log-format", "json")
	r.err += c.run("train", "fnh", "--log-format", "json").err
	for line := range strings.Lines(r.err) {
		var record struct {
			Time time.Time `json:"@timestamp"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil || time.Since(record.Time) > time.Hour {
			t.Errorf("not a JSON record of this hour: %s: %v", line, err)
		}
	}
	for _, want := range []string{`"plan"`, `"validation"`, "unknown preset"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr lacks %s:\n%s", want, r.err)
		}
	}
}

// TestJSONLog_HasRecordsAlone: whatever a command says before its result is a record, if the log has records.
func TestJSONLog_HasRecordsAlone(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := t.TempDir()
	table := "y,u\n"
	for i := range 100 {
		table += fmt.Sprintf("%d,%d\n", i*i%17*(i%5), i*i%7)
	}
	own := c.write("own.csv", table)
	dated := c.write("dated.csv", "t,y,name\n2024-01-01,1,a\n2024-01-02,3,a\n2024-01-03,2,b\n")
	sweeps := []string{"--sweeps-dir", filepath.Join(dir, "sweeps"), "--workers", "1"}
	c.must("train", "files", "env.files="+own, "model.kind=arhmm", "--name", "own", "--quiet")
	for _, test := range []struct {
		args []string
		want string
	}{
		{append([]string{"sweep", "-m", "noise/smoke", "optim.rate=1e-3,1e-2", "--web", "127.0.0.1:0"}, sweeps...), `"page"`},
		{append([]string{"fit", own, "--name", "fitted", "--budget", "1s", "--families", "naive"}, sweeps...), `"candidate ended"`},
		{[]string{"paper", "--only", "table1/reacher/static", "--seeds", "1", "-o", filepath.Join(dir, "paper"), "--dry-run"}, `"to_train":1`},
		{[]string{"forecast", "own", "--horizon", "2"}, "without --controls"},
		{[]string{"data", "convert", dated, filepath.Join(dir, "dated.npz")}, "column name is not used"},
	} {
		r := c.must(append(test.args, "--log-format", "json")...)
		if !strings.Contains(r.err, test.want) {
			t.Errorf("%q: %s is missing in\n%s", test.args[0], test.want, r.err)
		}
		for line := range strings.Lines(r.err) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%q: no record: %s", test.args[0], line)
			}
		}
	}
}

func TestUntilSaved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		a := &app{signals: signals}
		var said buffer
		started, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		go func() {
			<-started
			signals <- os.Interrupt
			signals <- os.Interrupt // the same, to the group of the process
			time.Sleep(2 * sameSignal)
			signals <- os.Interrupt
		}()
		until := func(work func(context.Context) error) error {
			return a.endable(func() error { return a.untilSaved(&said, "finishing", work) })
		}
		err := until(func(context.Context) error {
			close(started)
			<-release // deaf to its context
			return nil
		})
		if !errors.Is(err, errAborted) || exitCode(err) != exitFailed || said.String() != "finishing; press again to abort\n" {
			t.Errorf("got %v, said %q", err, said.String())
		}

		err = until(func(ctx context.Context) error {
			signals <- os.Interrupt
			signals <- os.Interrupt
			<-ctx.Done()
			return coordinator.ErrInterrupted
		})
		if exitCode(err) != exitInterrupted {
			t.Errorf("got %v", err)
		}
	})
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("any"), exitFailed},
		{config.Hint(config.Usagef("x"), "y"), exitUsage},
		{fmt.Errorf("a: %w", store.ErrOccupied), exitUsage},
		{fmt.Errorf("a: %w", coordinator.ErrInterrupted), exitInterrupted},
		{fmt.Errorf("a: %w", checkpoint.ErrCorrupt), exitData},
		{fmt.Errorf("a: %w", coordinator.ErrMismatch), exitData},
		{fmt.Errorf("a: %w", coordinator.ErrDiverged), exitFailed},
		{errors.Join(coordinator.ErrInterrupted, syscall.ENOSPC), exitFailed},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// TestTrain_TooManySlots: more than a worker may have are a usage error, before there is a run.
func TestTrain_TooManySlots(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	r := c.run("train", "fhn/smoke", "--slots", "1025", "--name", "many")
	if r.code != exitUsage || !strings.Contains(r.err, "--slots 1025: at most 1024") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "many")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a run: %v", err)
	}
}
