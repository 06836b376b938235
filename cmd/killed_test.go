package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store"
)

// TestResume_Killed: a training whose process is killed, before its first checkpoint and after, continues with a single
// resume, to the same bits.
func TestResume_Killed(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must(append(long, "--name", "whole")...)
	start := func(arguments ...string) *exec.Cmd {
		t.Helper()
		cmd := asProcess(t, append(arguments, "--runs-dir", c.dir)...)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	log := filepath.Join(c.dir, "a", store.Log)
	for i, until := range []uint64{5, 33, 76} {
		arguments := append(long, "--name", "a")
		if i > 0 {
			arguments = []string{"resume", "a", "--quiet"}
		}
		cmd := start(arguments...)
		for {
			if l, err := coordinator.ReadLog(log, 0); err != nil {
				t.Fatal(err)
			} else if l.Last >= until && l.Term > uint64(i) { // a slow machine may have gone further before
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if info := c.info("a"); info.State != store.Lost {
			t.Fatalf("run.json holds %+v", info)
		}
	}
	c.must("resume", "a", "--quiet")
	if got, want := c.info("a").ParametersSHA256, c.info("whole").ParametersSHA256; got != want {
		t.Errorf("killed three times: %s, in one piece: %s", got, want)
	}
	c.must("diff", "a", "whole")
	l, err := coordinator.ReadLog(log, 0)
	if err != nil || l.Last != 150 || len(l.Entries) != 150 || l.Term != 4 {
		t.Errorf("log of %d steps, term %d, %v", len(l.Entries), l.Term, err)
	}
	var steps []uint64
	if err := store.ReadMetrics(c.dir, "a", func(m store.Record) error {
		if m.Split == "train" {
			steps = append(steps, m.Step)
		}
		return nil
	}); err != nil || len(steps) != 150 {
		t.Errorf("metrics of %d steps, %v", len(steps), err)
	}
}

// TestResume_OtherBits: a run whose bits would change does not continue; the error says what to do.
func TestResume_OtherBits(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if r := c.interrupt("a", append(long, "--name", "a")...); r.code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", r.code, r.err)
	}
	path := filepath.Join(c.dir, "a", "config.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(from, to string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit("beta1: 0.9", "beta1: 0.8")
	if r := c.run("resume", "a"); r.code != exitData || !strings.Contains(r.err, "a configuration that gives other parameters") || !strings.Contains(r.err, "restore "+path) {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if got := c.info("a"); got.State != store.Interrupted || !strings.Contains(got.ExitReason, "a configuration that gives other parameters") {
		t.Errorf("state %s, reason %q: the run can go on when its configuration is put back", got.State, got.ExitReason)
	}
	edit("chunk: 61440", "chunk: 4096") // decides nothing
	for _, path := range c.checkpoints("a")[1:] {
		if err := os.Remove(strings.TrimSuffix(path, ".safetensors") + ".json"); err != nil {
			t.Fatal(err)
		}
	}
	step := c.info("a").Step
	c.lie("a", step, true)
	if r := c.run("resume", "a"); r.code != exitFailed || !strings.Contains(r.err, "a step cannot be repeated") || !strings.Contains(r.err, "switchyard verify a") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	if err := os.Remove(filepath.Join(c.dir, "a", store.Log)); err != nil {
		t.Fatal(err)
	}
	c.must("resume", "a", "--quiet")
}
