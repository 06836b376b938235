package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
)

func TestKeys_Commands(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := filepath.Join(t.TempDir(), "our secrets")
	first := c.must("init", "--dir", dir, "--workers", "2", "--host", "broker.example.org")
	for _, want := range []string{"worker-1.nk        made", "worker-2.nk        made", "--nkey worker-1.nk", "--keys '" + dir + "'"} {
		if !strings.Contains(first.out, want) {
			t.Errorf("%q is missing in\n%s", want, first.out)
		}
	}
	if strings.Contains(first.out, " worker.nk") {
		t.Errorf("there is a key for all workers:\n%s", first.out)
	}
	again := c.must("init", "--dir", dir)
	if !strings.Contains(again.out, "worker --nats nats://broker.example.org:4222 --nkey worker-1.nk") {
		t.Errorf("init of keys that exist proposes another broker or key:\n%s", again.out)
	}
	list := func() (names []string) {
		var lines []keyLine
		if err := json.Unmarshal([]byte(c.must("keys", "ls", "--dir", dir, "--json").out), &lines); err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			if len(l.Key) != 12 || l.Created.IsZero() || l.Seen != nil {
				t.Errorf("got %+v", l)
			}
			names = append(names, l.Name+" "+l.Role)
		}
		return names
	}
	c.must("keys", "add", "lab", "--dir", dir)
	c.must("keys", "revoke", "1", "--dir", dir)
	rotated := c.must("keys", "rotate", "2", "coordinator", "--dir", dir)
	if want := []string{"coordinator coordinator", "operator operator", "worker-2 worker", "worker-lab worker"}; !slices.Equal(list(), want) {
		t.Errorf("got %q, want %q", list(), want)
	}
	if !strings.Contains(rotated.out, "replaced 2\nreplaced coordinator\n") || !strings.Contains(rotated.out, "--signal reload") {
		t.Errorf("rotate says\n%s", rotated.out)
	}
	if text := c.must("keys", "ls", "--dir", dir).out; !strings.Contains(text, "worker-lab") || !strings.Contains(text, "not known") {
		t.Errorf("ls says\n%s", text)
	}
	for _, secret := range secrets(t, dir) {
		if strings.Contains(rotated.out+first.out, secret) {
			t.Error("a secret is printed")
		}
	}
	for line, want := range map[string]string{
		"keys revoke 1":           "hint: see which there are with: switchyard keys ls --dir '" + dir + "'",
		"keys revoke coordinator": "can be replaced, but not revoked",
		"keys revoke operator":    "hint: replace it with: switchyard keys rotate NAME --dir '" + dir + "'",
		"keys add lab":            "there is such a key already",
		"keys add 2":              "hint: replace it with: switchyard keys rotate NAME --dir '" + dir + "'",
		"keys add a/b":            "only letters, digits",
		"keys rotate":             "NAME",
		"init --workers -1":       "between 0 and 1000",
	} {
		r := c.run(append(strings.Fields(line), "--dir", dir)...)
		if r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d, want %q in\n%s", line, r.code, want, r.err)
		}
	}
}

// A worker takes a key that is free. When that key is replaced, the worker is cut off and goes on with the new one. One
// more worker than there are keys is told so.
func TestWorker_KeyOfItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newCLI(t)
	c.must("init", "--dir", dir, "--workers", "1")
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Auth: filepath.Join(dir, cluster.Auth), Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	p := &process{t: t, signals: make(chan os.Signal, 2), err: &buffer{}, code: make(chan int, 1)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the worker says\n%s", p.err)
		}
	})
	a := &app{kinds: builtin(), out: &buffer{}, err: p.err, signals: p.signals, invoked: "switchyard", cores: 1}
	go func() { p.code <- a.run([]string{"worker", "--nats", b.URL(), "--nkey", dir, "--id", "w"}) }()
	connected := func() string {
		list, err := b.Keys()
		if err != nil || len(list) != 1 {
			return ""
		}
		return list[0]
	}
	await(t, func() bool { return connected() != "" })
	first := connected()
	if r := c.run("worker", "--nats", b.URL(), "--nkey", dir); r.code != exitUsage || !strings.Contains(r.err, "all keys of workers are taken: 1 in "+dir) || !strings.Contains(r.err, "init --workers N") {
		t.Errorf("a second worker: exit code %d\n%s", r.code, r.err)
	}
	c.must("keys", "rotate", "worker-1", "--dir", dir)
	await(t, func() bool { return connected() != "" && connected() != first })
	p.says("the key has changed: connecting with the new one")
	await(t, func() bool { return strings.Count(p.err.String(), "worker: id=w ") == 2 }) // a signal ends what it does then
	if code := p.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestDoctor_KeysOfARole: a folder that was handed out to a role lacks nothing; one that has lost a key does.
func TestDoctor_KeysOfARole(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := t.TempDir()
	all, worker := filepath.Join(dir, "all"), filepath.Join(dir, "worker")
	c.must("init", "--dir", all, "--workers", "2", "--hand-out", "worker="+worker)
	r := c.run("doctor", "--keys", worker)
	// What other checks find decides the width of the columns.
	if !strings.Contains(strings.Join(strings.Fields(r.out), " "), "keys ok 2 keys in "+worker) {
		t.Errorf("doctor says\n%s", r.out)
	}
	if err := os.Remove(filepath.Join(all, cluster.CoordinatorKey)); err != nil {
		t.Fatal(err)
	}
	if r := c.run("doctor", "--keys", all); !strings.Contains(r.out, "restore the folder from a backup") {
		t.Errorf("a folder that has lost a key: doctor says\n%s", r.out)
	}
}

// TestDoctor_Certificate: with a broker's certificate that has ended, nobody connects; one that ends soon still holds.
// What to do names the folder that was looked at.
func TestDoctor_Certificate(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for made, want := range map[time.Time]string{
		time.Now():                    "ok",
		time.Now().AddDate(-2, 0, 10): "warn",
		time.Now().AddDate(-2, 0, -1): "bad",
	} {
		dir := filepath.Join(t.TempDir(), "keys")
		if _, err := cluster.Init(cluster.InitConfig{Dir: dir, Hosts: []string{"broker"}}, made); err != nil {
			t.Fatal(err)
		}
		r := c.run("doctor", "--keys", dir)
		said := strings.Join(strings.Fields(r.out), " ")
		renew := strings.Contains(said, "switchyard init --dir "+dir+" --renew-server-cert")
		if !strings.Contains(said, "keys "+want+" ") || renew != (want != "ok") || want == "bad" && r.code == exitOK {
			t.Errorf("made on %s: want %s, code %d\n%s", made, want, r.code, r.out)
		}
	}
}
