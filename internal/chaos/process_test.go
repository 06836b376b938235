//go:build unix

package chaos

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
)

// mode makes the test binary a process of its own: "sleep" lives until it is told to end, "fail" ends at once.
const mode = "CHAOS_TEST_MODE"

func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "sleep":
		time.Sleep(time.Hour)
	case "fail":
		os.Stderr.WriteString("no use\n")
		os.Exit(7)
	}
	goleak.VerifyTestMain(m)
}

// sleepers is a cluster of processes that do nothing.
func sleepers(t *testing.T, what string) *cluster {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(Config{
		Program: program, Environ: []string{mode + "=" + what}, Folder: t.TempDir(), Workers: 2, Log: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	if err := c.begin(); err != nil {
		t.Fatal(err)
	}
	return c
}

// state is the letter that /proc has for the state of a process.
func state(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest[:1]
}

func TestCluster_KillAndRestart(t *testing.T) {
	c := sleepers(t, "sleep")
	w := c.workers[1]
	first := w.process
	if err := c.kill(w, time.Hour); err != nil || first.running() || w.running() {
		t.Fatalf("it still runs, %v", err)
	}
	if err := c.tend(time.Now()); err != nil || w.running() {
		t.Fatalf("it is started before its time, %v", err)
	}
	if err := c.tend(time.Now().Add(2 * time.Hour)); err != nil || !w.running() || w.generation != 2 || w.process == first {
		t.Fatalf("it is not started again, %v", err)
	}
	if c.exits != 0 {
		t.Error("a kill counts as an end by itself")
	}
	if err := c.end(); err != nil {
		t.Fatal(err)
	}
	for _, x := range c.children() {
		if x.process.running() {
			t.Errorf("%s still runs", x.name)
		}
	}
}

func TestCluster_Pause(t *testing.T) {
	c := sleepers(t, "sleep")
	w := c.workers[0]
	if err := c.pause(w, time.Hour); err != nil {
		t.Fatal(err)
	}
	for state(t, w.process.pid()) != "T" {
		time.Sleep(time.Millisecond)
	}
	if err := c.tend(time.Now().Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	for state(t, w.process.pid()) == "T" {
		time.Sleep(time.Millisecond)
	}
	if err := c.pause(w, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := c.end(); err != nil { // a stopped process ends too
		t.Fatal(err)
	}
}

// A process that cannot work ends chaos, with the end of its log.
func TestCluster_Unstable(t *testing.T) {
	c := sleepers(t, "fail")
	for {
		for _, x := range c.children() {
			<-x.process.ended
		}
		if err := c.tend(time.Now().Add(again)); err != nil {
			if !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "no use") {
				t.Errorf("the error does not say why: %v", err)
			}
			return
		}
		if c.exits > 4*crashes {
			t.Fatal("it is started again for ever")
		}
	}
}

// The processes have keys, but none of them on a command line.
func TestCluster_Arguments(t *testing.T) {
	c := sleepers(t, "sleep")
	for _, x := range c.children() {
		line := strings.Join(x.process.command.Args, " ")
		if x != c.broker && (!strings.Contains(line, "--nkey") || !strings.Contains(line, "tls://")) {
			t.Errorf("%s runs without keys or TLS: %s", x.name, line)
		}
	}
	if got := c.spec(c.workers[0]); got != "" {
		t.Errorf("faults without a plan: %s", got)
	}
	c.cfg.Plan.Faults.Drop = 0.02
	one := c.spec(c.workers[0])
	c.workers[0].generation++
	if two := c.spec(c.workers[0]); one == two || !strings.Contains(two, "drop=0.02") {
		t.Errorf("incarnations have the faults %s and %s", one, two)
	}
}
