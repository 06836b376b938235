package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSON_AtACoordinator: what a coordinator is asked has a result for programs, too.
func TestJSON_AtACoordinator(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.coordinator("--sweeps-dir", filepath.Join(t.TempDir(), "sweeps")).says("coordinator ready")
	file := c.write("rates.yaml", remoteSweep)
	for _, line := range []string{
		"submit noise/smoke --name waits", "runs ls", "runs show waits", "runs stop waits",
		"sweep submit " + file, "sweep pause rates", "sweep resume rates", "sweep stop rates", "sweep extend rates --trials 3",
	} {
		r := c.must(append(strings.Fields(line), "--json")...)
		oneJSON(t, line, r.out)
	}
	c.hire(1)
	r := c.must("submit", "noise/smoke", "--name", "followed", "--wait", "--json")
	oneJSON(t, "submit --wait", r.out)
	if !strings.Contains(r.out, `"state": "finished"`) {
		t.Errorf("got\n%s", r.out)
	}
}

// TestSubmit_SaysWhatGoesOn: a run that no worker serves is accepted and waits; whoever ends the command that follows it
// is told that the run goes on.
func TestSubmit_SaysWhatGoesOn(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.coordinator().says("coordinator ready")
	if r := c.must("submit", "noise/smoke", "--name", "a"); !strings.Contains(r.out, "a: it is accepted, and waits for a worker") {
		t.Errorf("got %s", r.out)
	}
	if r := c.must("runs", "ls"); !strings.Contains(r.out, "waiting") {
		t.Errorf("runs ls prints\n%s", r.out)
	}
	p := c.start("submit", "noise/smoke", "--name", "a", "--wait")
	p.says("step 0/10")
	p.signals <- os.Interrupt
	if code := p.wait(); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	p.says("not waiting any more; what the coordinator has accepted continues")
	p.says("not waiting for run a any more; it continues")
	p.says("hint: look after it with: switchyard runs show a")
	if r := c.show("a"); r.State != "running" {
		t.Errorf("the run is %s", r.State)
	}
}
