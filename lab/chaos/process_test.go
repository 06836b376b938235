//go:build unix

package chaos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/store"
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
func sleepers(t *testing.T, what string) *fleet {
	t.Helper()
	return sleepersOf(t, what, false)
}

// sleepersOf are sleepers of which workers may carry servers.
func sleepersOf(t *testing.T, what string, servers bool) *fleet {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newFleet(Config{
		Program: program, Environ: []string{mode + "=" + what}, Folder: t.TempDir(), Workers: 2, Servers: servers, Log: hclog.NewNullLogger(),
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
		now := c.broker.process.began // however long they lived on a busy machine
		err := c.tend(now)            // it hears that they have ended
		if err == nil {
			err = c.tend(now.Add(again)) // and starts them
		}
		if err != nil {
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
	if line := strings.Join(c.coordinator.process.command.Args, " "); !strings.Contains(line, "--sweeps-dir "+c.cfg.Folder) {
		t.Errorf("the coordinator goes on with sweeps of the user: %s", line)
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

// Where workers carry servers, these join the broker, with the certificate of routes and nothing else that is secret; no
// memory is shared, and no port is asked for that another process may have.
func TestCluster_Servers(t *testing.T) {
	c := sleepersOf(t, "sleep", true)
	line := func(x *child) string { return strings.Join(x.process.command.Args, " ") }
	_, routes, _ := strings.Cut(line(c.broker), "--cluster ")
	if routes == "" {
		t.Fatalf("the broker takes no routes: %s", line(c.broker))
	}
	for _, w := range c.workers {
		if !strings.Contains(line(w), "--cluster 127.0.0.1:0 --cluster-seed "+routes+" --keys "+filepath.Join(c.cfg.Folder, "route")) {
			t.Errorf("%s has no server that joins %s: %s", w.name, routes, line(w))
		}
	}
	for _, x := range append([]*child{c.coordinator}, c.workers...) {
		if !strings.Contains(line(x), "--shared-memory off") {
			t.Errorf("%s shares memory: %s", x.name, line(x))
		}
	}
	list, err := filepath.Glob(filepath.Join(c.cfg.Folder, "route", "*.nk"))
	if err != nil || len(list) != 0 {
		t.Errorf("servers of workers have the keys %v, %v", list, err)
	}
	if x := sleepers(t, "sleep"); strings.Contains(line(x.broker)+line(x.workers[0])+line(x.coordinator), "--cluster") || strings.Contains(line(x.coordinator), "--shared-memory") {
		t.Error("servers that nobody has asked for")
	}
}

// A server has joined when its latest incarnation says so.
func TestCluster_Joined(t *testing.T) {
	c := sleepers(t, "sleep")
	w := c.workers[0]
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(c.log(w), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want bool) {
		t.Helper()
		if got, err := c.joined(w); err != nil || got != want {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	check(false)
	write("[INFO]  broker: servers of the cluster: reached=0")
	check(false)
	write("[INFO]  broker: servers of the cluster: reached=12")
	check(true)
	write("[INFO]  broker: servers of the cluster: reached=0")
	check(true)
	if err := c.kill(w, 0); err != nil {
		t.Fatal(err)
	}
	check(true)
	if err := c.tend(time.Now().Add(time.Hour)); err != nil || w.generation != 2 {
		t.Fatalf("generation %d, %v", w.generation, err)
	}
	check(false)
}

// A run that has no steps left to be measured is told from one that a fault has stopped.
func TestWatcher_TheRunIsOver(t *testing.T) {
	for state, want := range map[store.State]error{
		store.Finished: ErrOver, store.Failed: ErrFailed, store.Running: context.DeadlineExceeded,
	} {
		c := sleepers(t, "sleep")
		c.cfg.Name = "a"
		dir := filepath.Join(c.cfg.Folder, "runs")
		run, err := store.Create(dir, store.Draft{Name: c.cfg.Name})
		if err != nil {
			t.Fatal(err)
		}
		for s := range uint64(30) {
			err = errors.Join(err, run.Append(store.Record{Step: s + 1, Split: "train"}))
		}
		if err = errors.Join(err, run.End(state, "why"), run.Close()); err != nil {
			t.Fatal(err)
		}
		w := &watcher{fleet: c, file: tail{dir: dir, name: c.cfg.Name}}
		patience := 2 * time.Minute
		if state == store.Running {
			patience = 2 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := w.flow(ctx, time.Hour); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", state, err, want)
		}
		cancel()
	}
}
