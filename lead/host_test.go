package lead

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
	"github.com/switchyard-ml/switchyard/wire"
)

// TestHost_EndsWhileAStartIsFitted: a run that has not made a step when the host ends is interrupted, not failed, and
// goes on with the next host.
func TestHost_EndsWhileAStartIsFitted(t *testing.T) {
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "modes/smoke", Arguments: []string{"model.start=arhmm"}})
	if err != nil {
		t.Fatal(err)
	}
	h := connectedHost(t, startBroker(t), func(h *Host, party string) {
		if strings.HasPrefix(party, "run ") {
			h.end(errShutdown)
		}
	})
	if h.bans, err = cluster.NewBanList(h.cfg.RunsDir, h.bus, h.log); err != nil {
		t.Fatal(err)
	}
	info, err := h.Advance(t.Context(), Order{Name: "new", Config: r.Config}, 0)
	if !errors.Is(err, ErrPartInterrupted) {
		t.Errorf("got %v", err)
	}
	if info.State != store.Interrupted || info.Stopped || !info.Host || info.ExitReason != errShutdown.Error() {
		t.Errorf("run.json says %+v", info)
	}
}

// TestHost_SaysThatThePageFailed: when it does, and not when the host ends, which can be weeks later.
func TestHost_SaysThatThePageFailed(t *testing.T) {
	h := connectedHost(t, startBroker(t), func(*Host, string) {})
	h.cfg.Command = func(words ...string) string { return strings.Join(words, " ") }
	page, err := web.Listen("127.0.0.1:0", web.Config{Source: web.Folder(h.cfg.RunsDir), Dir: h.cfg.RunsDir, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h.log = hclog.New(&hclog.LoggerOptions{Output: t.Output(), Exclude: func(_ hclog.Level, message string, _ ...any) bool {
		if strings.HasPrefix(message, "the page has failed") {
			cancel()
		}
		return false
	}})
	if err := h.Serve(ctx, page, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("within a minute the log says nothing of it")
	}
}

// TestHost_ThePageHasTheKeysAtOnce: it is asked while the host still waits for its broker.
func TestHost_ThePageHasTheKeysAtOnce(t *testing.T) {
	b := startBroker(t)
	h := connectedHost(t, b, func(*Host, string) {})
	key := wire.KeyName("UBANNEDKEYOFATHIEF")
	if err := cluster.Save(h.cfg.RunsDir, []wire.Ban{{Key: key}}); err != nil {
		t.Fatal(err)
	}
	b.Shutdown()
	for h.bus.Trouble() == "" {
		time.Sleep(time.Millisecond)
	}
	page, err := web.Listen("127.0.0.1:0", web.Config{Source: h.Page(), Dir: h.cfg.RunsDir, Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx, page, nil) }()
	answer, err := http.Get(page.URL() + "/api/runs")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil || !strings.Contains(string(text), key) {
		t.Errorf("got %s, %v, want the banned key", text, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestHost_TrialsBelongToTheirSweep: the trial of a sweep that pauses is not continued, to its last step, by who submits
// its configuration under its name.
func TestHost_TrialsBelongToTheirSweep(t *testing.T) {
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "noise/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	h := connectedHost(t, startBroker(t), func(*Host, string) {})
	if h.bans, err = cluster.NewBanList(h.cfg.RunsDir, h.bus, h.log); err != nil {
		t.Fatal(err)
	}
	h.cfg.Mistaken, h.cfg.Command = func(error) bool { return false }, func(words ...string) string { return strings.Join(words, " ") }
	h.pool = NewDispatcher(PoolConfig{View: h.view, Log: h.log}, h.bus)
	pause, now := context.WithCancel(t.Context())
	now()
	info, err := h.Advance(pause, Order{Name: "s-0001", Config: r.Config, Sweep: "s"}, 2)
	if !errors.Is(err, ErrPartInterrupted) || info.Sweep != "s" || info.ExitReason != errSweep.Error() {
		t.Fatalf("got %v, %+v", err, info)
	}
	_, err = service{h}.Submit(ops.Submission{Name: "s-0001", Config: string(r.Config.YAML())})
	if refusal := new(ops.Error); !errors.As(err, &refusal) || refusal.Code != ops.Conflict {
		t.Errorf("got %v", err)
	}
	if r := h.hosted("s-0001"); r != nil {
		t.Errorf("the trial is led until update %d", r.until)
	}
	h.shutdown()
}

// TestHost_SubmissionSentAgain: a submission without a name, whose answer was lost because the host ended, opens no second
// run at the next host.
func TestHost_SubmissionSentAgain(t *testing.T) {
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "noise/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	b, dir := startBroker(t), t.TempDir()
	submit := func(request string) string {
		h := connectedHost(t, b, func(*Host, string) {})
		h.cfg.RunsDir = dir
		if h.bans, err = cluster.NewBanList(dir, h.bus, h.log); err != nil {
			t.Fatal(err)
		}
		h.cfg.Mistaken, h.cfg.Command = func(error) bool { return false }, func(words ...string) string { return strings.Join(words, " ") }
		h.pool = NewDispatcher(PoolConfig{View: h.view, Log: h.log}, h.bus)
		defer h.shutdown()
		result, err := service{h}.Submit(ops.Submission{Request: request, Config: string(r.Config.YAML())})
		if err != nil {
			t.Fatal(err)
		}
		return result.Name
	}
	first := submit("one")
	if again, other := submit("one"), submit("two"); again != first || other == first {
		t.Errorf("the first is %s, sent again it is %s; another one is %s", first, again, other)
	}
}

// TestHost_ResumesWhenThereIsRoom: a run that could not continue when its host started, as there was no room, goes on
// when there is some.
func TestHost_ResumesWhenThereIsRoom(t *testing.T) {
	r, err := config.Builtin().Kinds().Resolve(config.Sources{Preset: "noise/smoke"})
	if err != nil {
		t.Fatal(err)
	}
	b, dir := startBroker(t), t.TempDir()
	host := func() *Host {
		h := connectedHost(t, b, func(*Host, string) {})
		h.cfg.RunsDir = dir
		if h.bans, err = cluster.NewBanList(dir, h.bus, h.log); err != nil {
			t.Fatal(err)
		}
		h.cfg.Command = func(words ...string) string { return strings.Join(words, " ") }
		h.pool = NewDispatcher(PoolConfig{View: h.view, Log: h.log}, h.bus)
		return h
	}
	h := host()
	if _, err := (service{h}).Submit(ops.Submission{Name: "a", Config: string(r.Config.YAML())}); err != nil {
		t.Fatal(err)
	}
	h.shutdown()
	h = host()
	defer h.shutdown()
	full, connect := 2, h.cfg.Connect
	h.cfg.Connect = func(party string) (*cluster.Bus, error) {
		if full--; full >= 0 {
			return nil, fmt.Errorf("connect: %w", syscall.EMFILE)
		}
		return connect(party)
	}
	later, err := h.resumeAll()
	if err != nil || len(later) != 1 || later[0] != "a" {
		t.Fatalf("%q are to be tried again, %v", later, err)
	}
	if left := h.resumeSome(later, true); len(left) != 1 || h.hosted("a") != nil {
		t.Errorf("%q are left while there is no room", left)
	}
	if left := h.resumeSome(later, true); left != nil || h.hosted("a") == nil {
		t.Errorf("%q are left when there is room", left)
	}
	if left := h.resumeSome(later, true); left != nil {
		t.Errorf("%q is to go on a second time", left)
	}
}
