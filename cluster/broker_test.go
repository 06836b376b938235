package cluster

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestStart_InProcess(t *testing.T) {
	b, err := Start(Config{Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Shutdown()
	if b.URL() != "" {
		t.Errorf("a broker without a port has the URL %q", b.URL())
	}
	conn, err := b.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 5)
	if _, err := conn.Read(buf); err != nil || string(buf) != "INFO " {
		t.Errorf("got %q, %v", buf, err)
	}
}

func TestStart_Port(t *testing.T) {
	b, err := Start(Config{Listen: "127.0.0.1:0", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Shutdown()
	address, ok := strings.CutPrefix(b.URL(), "nats://")
	if !ok {
		t.Fatalf("URL %q", b.URL())
	}
	_, err = Start(Config{Listen: address, Log: hclog.NewNullLogger()})
	if !errors.Is(err, ErrStart) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a taken port: got %v", err)
	}
	for _, listen := range []string{"nowhere", "127.0.0.1:x", "127.0.0.1:70000"} {
		if _, err := Start(Config{Listen: listen, Log: hclog.NewNullLogger()}); !errors.Is(err, ErrStart) {
			t.Errorf("%q: got %v", listen, err)
		}
	}
}

// An address on all interfaces is one that others can be given, also where a guard listens.
func TestStart_AllInterfaces(t *testing.T) {
	dir := t.TempDir()
	initKeys(t, InitConfig{Dir: dir})
	for _, auth := range []string{"", filepath.Join(dir, Auth)} {
		b, err := Start(Config{Listen: ":0", Auth: auth, Log: hclog.NewNullLogger()})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Shutdown()
		if !strings.HasPrefix(b.URL(), "nats://0.0.0.0:") {
			t.Errorf("users %q: URL %q", auth, b.URL())
		}
	}
}

// A server that neither listens nor says why is given up with a reason of ours.
func TestStart_TimeoutHasReason(t *testing.T) {
	never := func(time.Duration) bool { return false }
	reason := await(never, &adapter{log: hclog.NewNullLogger()}, time.Nanosecond)
	for listen, want := range map[string]string{
		"":      "broker: cannot start: it accepts no connections after 1ns",
		"a:123": "broker: cannot start on a:123: it accepts no connections after 1ns",
	} {
		if got := startError(listen, reason).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What clients do wrong is told a few times, and then how often.
func TestAdapter_RationsClients(t *testing.T) {
	var out strings.Builder
	a := &adapter{log: hclog.New(&hclog.LoggerOptions{Output: &out})}
	a.Errorf("while it starts")
	a.ready()
	for range 100 {
		a.Errorf("127.0.0.1:%d - authentication error", 5)
	}
	a.Errorf("of the server")
	a.Warnf("cid:7 - Producer was stalled for a total of %s", "9ms")
	a.clients.from = a.clients.from.Add(-rationTime)
	a.Errorf("cid:9 - Publish Violation")
	text := out.String()
	if n := strings.Count(text, "authentication error"); n != rationLines || strings.Contains(text, "while it starts") || strings.Contains(text, "stalled") {
		t.Errorf("%d lines of one client\n%s", n, text)
	}
	for _, want := range []string{"[ERROR] of the server", "[WARN]  cid:9 - Publish Violation: left_out=97"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
