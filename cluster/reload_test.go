package cluster_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/wire"
)

// client connects with a key as it is at the moment, and never again.
func client(t *testing.T, url, file string) (*nats.Conn, <-chan struct{}, error) {
	t.Helper()
	seed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.ParseDecoratedNKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	conn, err := nats.Connect(url, nats.Nkey(public, pair.Sign), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err == nil {
		t.Cleanup(conn.Close)
	}
	return conn, closed, err
}

// A key that is revoked or replaced is cut off without a restart; the others notice nothing, and one that was added or
// replaced is let in.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := keyFolder(t)
	b := startEmbedded(t, dir, false)
	file := func(name string) string { return filepath.Join(dir, name+".nk") }
	_, shared, err := client(t, b.URL(), file("worker"))
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := client(t, b.URL(), file("worker-second"))
	if err != nil {
		t.Fatal(err)
	}
	honest, others, err := client(t, b.URL(), file("coordinator"))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := b.Keys(); err != nil || len(list) != 3 || !strings.HasPrefix(list[0], "U") {
		t.Errorf("%d keys are connected: %q, %v", len(list), list, err)
	}
	if err := cluster.Revoke(dir, []string{"second"}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Rotate(dir, []string{"worker"}); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Add(dir, []string{"third"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, closed := range []<-chan struct{}{second, shared} {
		select {
		case <-closed:
		case <-ctx.Done():
			t.Fatal("a key that is not on the list any more stays connected")
		}
	}
	for _, name := range []string{"worker", "worker-third"} {
		if _, _, err := client(t, b.URL(), file(name)); err != nil {
			t.Errorf("%s is not let in: %v", name, err)
		}
	}
	select {
	case <-others:
		t.Error("the coordinator was cut off")
	default:
	}
	if err := honest.FlushTimeout(time.Minute); err != nil {
		t.Error(err)
	}
}

// atFirst is a sink of a log that does something with the first line.
type atFirst struct {
	sync.Once
	do func()
}

func (s *atFirst) Accept(string, hclog.Level, string, ...any) { s.Once.Do(s.do) }

// A key that is revoked while the server starts, after it has read the list, is not let in either.
func TestReload_ChangedWhileItStarts(t *testing.T) {
	t.Parallel()
	dir := keyFolder(t)
	seed, err := os.ReadFile(filepath.Join(dir, "worker-second.nk"))
	kept := filepath.Join(t.TempDir(), "kept.nk") // Revoke deletes the file
	if err = errors.Join(err, os.WriteFile(kept, seed, 0o600)); err != nil {
		t.Fatal(err)
	}
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Trace})
	revoked := make(chan error, 1)
	log.RegisterSink(&atFirst{do: func() { revoked <- cluster.Revoke(dir, []string{"second"}) }})
	b, err := cluster.Start(cluster.Config{Listen: "127.0.0.1:0", Auth: filepath.Join(dir, cluster.Auth), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	select {
	case err := <-revoked:
		if err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatal("the server says nothing when it starts: the test asks nothing")
	}
	for range 600 {
		conn, _, err := client(t, b.URL(), kept)
		if err != nil {
			return
		}
		conn.Close()
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("a minute later the key is still let in")
}

// A list that cannot be used changes nothing.
func TestReload_KeepsWhatWorks(t *testing.T) {
	t.Parallel()
	dir := keyFolder(t)
	log := &logged{}
	b, err := cluster.Start(cluster.Config{
		Listen: "127.0.0.1:0", Auth: filepath.Join(dir, cluster.Auth), Log: hclog.New(&hclog.LoggerOptions{Output: log}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	conn, closed, err := client(t, b.URL(), filepath.Join(dir, cluster.WorkerKey))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, cluster.Auth), []byte("authorization {"), 0o600); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(log.String(), "cannot be used") {
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case <-closed:
		t.Error("it was cut off")
	default:
	}
	if err := conn.FlushTimeout(time.Minute); err != nil {
		t.Error(err)
	}
}

// Who is banned stays out when the list of users is loaded again.
func TestReload_BansStay(t *testing.T) {
	t.Parallel()
	dir := keyFolder(t)
	b, err := cluster.Start(cluster.Config{
		Listen: "127.0.0.1:0", Auth: filepath.Join(dir, cluster.Auth), Bans: wire.BansSubject, Log: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	lead, _, err := client(t, b.URL(), filepath.Join(dir, cluster.CoordinatorKey))
	if err != nil {
		t.Fatal(err)
	}
	_, closed, err := client(t, b.URL(), filepath.Join(dir, cluster.WorkerKey))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := b.Keys(); err != nil || len(list) != 2 {
		t.Errorf("%d keys are connected, %v", len(list), err)
	}
	if err := lead.Publish(wire.BansSubject, []byte(`["`+keyName(t, dir, cluster.WorkerKey)+`"]`)); err != nil {
		t.Fatal(err)
	}
	<-closed
	if err := cluster.Add(dir, []string{"third"}); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err := client(t, b.URL(), filepath.Join(dir, "worker-third.nk")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, _, err := client(t, b.URL(), filepath.Join(dir, cluster.WorkerKey)); err == nil {
		t.Error("a banned key is let in after a reload")
	}
	if err := lead.FlushTimeout(time.Minute); err != nil {
		t.Errorf("the coordinator was cut off: %v", err)
	}
}
