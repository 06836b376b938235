package cmd

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A coordinator and two workers in processes of their own share memory in a folder: no vector crosses the broker, and the
// parameters are those that one process computes. With another folder, or none, they go through the broker.
func TestSharedMemory_Processes(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := []string{"fhn/smoke"}
	want := trainedHash(t, run...)
	for _, share := range []bool{true, false} {
		folder, err := os.MkdirTemp("", "sy")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		c := newCluster(t)
		lead := c.coordinator("--shared-memory", folder)
		lead.says("coordinator ready")
		theirs := folder
		if !share {
			theirs = "off"
		}
		var logs []*buffer
		for _, id := range []string{"one", "two"} {
			w := exec.Command(program, "worker", "--id", id, "--slots", "1", "--shared-memory", theirs)
			w.Env = append(append(os.Environ(), asCommand+"=1"), c.environ...)
			said := &buffer{}
			w.Stderr = said
			logs = append(logs, said)
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = w.Process.Signal(os.Interrupt) // it may have ended
				if err := w.Wait(); err != nil {
					t.Errorf("worker: %v\n%s", err, said)
				}
			})
		}
		lead.says("worker found: worker=one")
		lead.says("worker found: worker=two")
		if r := c.must(append([]string{"submit", "--name", "shared", "--wait"}, run...)...); !strings.Contains(r.out, "params_sha256 "+want) {
			t.Errorf("got %s, want %s", r.out, want)
		}
		sharing := slices.ContainsFunc(logs, func(b *buffer) bool {
			return strings.Contains(b.String(), "parameters and gradients go by shared memory")
		})
		if sharing != share { // the run is short: one of them may come too late
			t.Errorf("shared memory %v: the workers say\n%s\n%s", share, logs[0], logs[1])
		}
		info := c.info("shared")
		moved := info.Metrics["bytes_per_worker"]
		t.Logf("shared %v: %.0f bytes for each worker a step", share, moved)
		if share != (moved < 10_000) {
			t.Errorf("shared memory %v: %.0f bytes for each worker a step", share, moved)
		}
	}
}
