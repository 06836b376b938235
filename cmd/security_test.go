package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
)

// secrets are the secrets in a folder of keys.
func secrets(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.nk", "*.key", "page.token"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(data)) {
				if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
					list = append(list, line)
				}
			}
		}
	}
	return list
}

func TestInit_SaysWhatThereIsAndNoSecret(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := filepath.Join(t.TempDir(), "secrets")
	first := c.must("init", "--dir", dir, "--host", "broker.example.org", "--worker", "lab")
	second := c.must("init", "--dir", dir, "--host", "elsewhere", "--verbose")
	third := c.must("init", "--dir", dir, "--host", "elsewhere", "--renew-server-cert")
	for _, test := range []struct{ text, want string }{
		{first.out, "worker-lab.nk      made"},
		{first.out, "broker.example.org, localhost, nats, 127.0.0.1; certificate until "},
		{first.out, "switchyard worker --nats nats://broker.example.org:4222 --nkey worker.nk"},
		{second.out, "coordinator.nk     kept"},
		{second.out, "warning: server.pem does not name elsewhere: make it again with --renew-server-cert"},
		{third.out, "broker.example.org, elsewhere, localhost, nats, 127.0.0.1; certificate until "},
	} {
		if !strings.Contains(test.text, test.want) {
			t.Errorf("%q is missing in\n%s", test.want, test.text)
		}
	}
	for _, secret := range secrets(t, dir) {
		if strings.Contains(first.out+first.err+second.out+second.err+third.out+third.err, secret) {
			t.Errorf("%.8s... is printed", secret)
		}
	}
}

func TestBroker_Refusals(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	empty, dir := t.TempDir(), t.TempDir()
	c.must("init", "--dir", dir)
	if err := os.WriteFile(filepath.Join(dir, "nats-auth.conf"), []byte("# nobody\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		line string
		code int
		want string
	}{
		{"broker --listen 127.0.0.1:0 --tls", exitUsage, "--tls needs --keys"},
		{"broker --listen 127.0.0.1:0 --keys " + empty, exitUsage, "switchyard init --dir " + empty},
		{"broker --listen 127.0.0.1:0 --keys " + dir, exitData, "names no user"},
		{"broker --listen nowhere", exitUsage, "missing port"},
		{"init --dir " + empty + " --host nats://x", exitUsage, "not a host name"},
		{"init --dir " + empty + " --worker a/b", exitUsage, "letters, digits"},
	} {
		r := c.run(strings.Fields(test.line)...)
		if r.code != test.code || !strings.Contains(r.err, test.want) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", test.line, r.code, test.code, test.want, r.err)
		}
	}
}

// A broker runs until a signal ends it. It prints its URL if the port was chosen by the system, and warns if everybody
// may connect.
func TestBroker_RunsUntilSIGTERM(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := t.TempDir()
	c.must("init", "--dir", dir)
	for _, test := range []struct {
		line, ready string
		open        bool
	}{
		{"broker --listen 127.0.0.1:0", "nats://127.0.0.1:", false},
		{"broker --listen 0.0.0.0:0", "nats://0.0.0.0:", true},
		{"broker --listen 0.0.0.0:0 --keys " + dir, "nats://0.0.0.0:", false},
		{"broker --listen 127.0.0.1:0 --tls --keys " + dir, "tls://127.0.0.1:", false},
	} {
		var out, errs buffer
		a := &app{kinds: builtin(), out: &out, err: &errs, signals: c.signals, invoked: "switchyard"}
		done := make(chan int, 1)
		go func() { done <- a.run(strings.Fields(test.line)) }()
		for !strings.HasPrefix(out.String(), test.ready) && len(done) == 0 {
			time.Sleep(time.Millisecond)
		}
		c.signals <- syscall.SIGTERM
		if code := <-done; code != exitOK {
			t.Errorf("%s: exit code %d\n%s", test.line, code, errs.String())
		}
		for want, is := range map[string]bool{"broker ready: url=" + test.ready: true, "broker ended": true, "the broker is open": test.open} {
			if strings.Contains(errs.String(), want) != is {
				t.Errorf("%s: %q is told: %v, want %v\n%s", test.line, want, !is, is, errs.String())
			}
		}
	}
}

// A training with keys has the same result and refuses strangers. A training that is open on the network warns.
func TestTrain_Keys(t *testing.T) {
	t.Parallel()
	c, dir := newCLI(t), t.TempDir()
	c.must("init", "--dir", dir)
	sha := func(r result) string {
		_, after, _ := strings.Cut(r.out, "params_sha256 ")
		return strings.TrimSpace(after)[:64]
	}
	want := sha(c.must("train", "noise/smoke", "--name", "alone"))
	guarded := c.must("train", "noise/smoke", "--name", "guarded", "--listen", "0.0.0.0:0", "--keys", dir)
	open := c.must("train", "noise/smoke", "--name", "open", "--listen", "0.0.0.0:0")
	if sha(guarded) != want || sha(open) != want {
		t.Errorf("%s with keys, %s without, want %s", sha(guarded), sha(open), want)
	}
	for text, warned := range map[string]bool{guarded.err: false, open.err: true} {
		if strings.Contains(text, "the broker is open") != warned {
			t.Errorf("warned: %v, want %v\n%s", !warned, warned, text)
		}
	}
	for line, want := range map[string]string{
		"train noise/smoke --keys " + dir:                              "without --listen",
		"train noise/smoke --listen 127.0.0.1:0 --keys " + t.TempDir(): "make the keys with: switchyard init --dir",
	} {
		if r := c.run(strings.Fields(line)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit code %d\n%s", line, r.code, r.err)
		}
	}
}

// guarded starts a broker that asks for keys, until the end of the test, and returns the flags that reach it with the key
// of a file of init.
func (c *cli) guarded() (at func(key string) []string) {
	c.t.Helper()
	dir := c.t.TempDir()
	c.must("init", "--dir", dir)
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Auth: filepath.Join(dir, "nats-auth.conf"), Log: hclog.NewNullLogger()})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(b.Shutdown)
	return func(key string) []string { return []string{"--nats", b.URL(), "--nkey", filepath.Join(dir, key)} }
}

// A key of another role ends a command with what is wrong and which key it takes, before anything is waited for.
func TestKeys_OfAnotherRole(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	at := c.guarded()
	for _, test := range []struct{ line, key, want string }{
		{"submit noise/smoke", "worker.nk", "operator.nk"},
		{"runs ls", "coordinator.nk", "operator.nk"},
		{"coordinator --web none", "worker.nk", "coordinator.nk"},
		{"coordinator --web none", "operator.nk", "coordinator.nk"},
	} {
		r := c.run(append(strings.Fields(test.line), at(test.key)...)...)
		if r.code != exitUsage || !strings.Contains(r.err, "does not let this key do what is needed") || !strings.Contains(r.err, "switchyard init calls "+test.want) {
			t.Errorf("%s with %s: exit code %d\n%s", test.line, test.key, r.code, r.err)
		}
		if n := strings.Count(r.err, "the broker does not allow it"); n > 1 {
			t.Errorf("%s with %s: the refusal is told %d times\n%s", test.line, test.key, n, r.err)
		}
	}
}
