package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/runs"
)

// TestResume_Killed: a training whose process is killed, before its first checkpoint and after, goes on with no more than
// resume, to the same bits.
func TestResume_Killed(t *testing.T) {
	c := newCLI(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.must(append(long, "--name", "whole")...)
	start := func(arguments ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(program, append(arguments, "--runs-dir", c.dir)...)
		cmd.Env = append(os.Environ(), asCommand+"=1")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	log := filepath.Join(c.dir, "a", runs.Log)
	for i, until := range []uint64{5, 33, 76} {
		arguments := append(long, "--name", "a")
		if i > 0 {
			arguments = []string{"resume", "a", "--quiet"}
		}
		cmd := start(arguments...)
		for {
			if l, err := coordinator.ReadLog(log, 0); err != nil {
				t.Fatal(err)
			} else if l.Last >= until {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if info := c.info("a"); info.State != runs.Lost {
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
	if err := runs.ReadMetrics(c.dir, "a", func(m runs.Record) error {
		if m.Split == "train" {
			steps = append(steps, m.Step)
		}
		return nil
	}); err != nil || len(steps) != 150 {
		t.Errorf("metrics of %d steps, %v", len(steps), err)
	}
}
