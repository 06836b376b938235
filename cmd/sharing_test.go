package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/web"
)

// A coordinator and two workers in processes of their own share memory in a folder: no vector crosses the broker, and the
// parameters are those that one process computes. With another folder, or none, they go through the broker.
func TestSharedMemory_Processes(t *testing.T) {
	t.Parallel()
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
			w := asProcess(t, "worker", "--id", id, "--slots", "1", "--shared-memory", theirs)
			w.Env = append(w.Env, c.environ...)
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
			return strings.Contains(b.String(), "parameters and gradients use shared memory")
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

// A run that is under way says which of its workers share memory with the coordinator.
func TestRunsShow_WhoSharesMemory(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "sy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	c := newCluster(t)
	c.coordinator("--shared-memory", folder).says("coordinator ready")
	c.must("submit", "--name", "long", "noise/smoke", "train.steps=1000000", "--json")
	shown := func(want string) {
		t.Helper()
		if out := c.must("runs", "show", "long").out; !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if out := c.must("runs", "show", "long").out; strings.Contains(out, "shared memory") {
		t.Errorf("shared memory without a worker:\n%s", out)
	}
	are := func(want string) func() bool {
		return func() bool {
			var list []string
			for _, w := range c.show("long").Live.Workers {
				list = append(list, fmt.Sprint(w.ID, " ", w.Shares))
			}
			return strings.Join(list, ", ") == want
		}
	}
	c.worker("--id", "there", "--slots", "1", "--shared-memory", "off")
	await(t, are("there false"))
	shown("shared memory  with none of the workers")
	c.worker("--id", "here", "--slots", "1", "--shared-memory", folder)
	await(t, are("here true, there false"))
	shown("shared memory  with here")
	c.must("runs", "stop", "long")
}

func TestSharersOf(t *testing.T) {
	t.Parallel()
	for want, shares := range map[string][]bool{
		"with none of the workers": {false, false}, "with all workers": {true, true}, "with w0, w2": {true, false, true},
	} {
		var live web.Live
		for i, s := range shares {
			live.Workers = append(live.Workers, web.Worker{ID: fmt.Sprint("w", i), Shares: s})
		}
		if got := sharersOf(live); got != want {
			t.Errorf("%v: got %q, want %q", shares, got, want)
		}
	}
}
