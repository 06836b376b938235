package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for answers that come at once, on a machine that has other work too.
const patience = 2 * time.Minute

// fakeHost remembers what it was asked for.
type fakeHost struct {
	store *Store

	mu        sync.Mutex
	submitted []Submission
	stopped   []string
	runs      []Run
	bans      []Ban
	delay     time.Duration // of the first submission
}

func (h *fakeHost) Submit(s Submission) (Submitted, error) {
	h.mu.Lock()
	h.submitted = append(h.submitted, s)
	first := len(h.submitted) == 1
	h.mu.Unlock()
	switch {
	case s.Config == "":
		return Submitted{}, &Error{Code: BadRequest, Text: "no configuration:\nline two", Hint: "send one"}
	case s.Config == "broken":
		return Submitted{}, errors.New("the disk is gone")
	case first:
		time.Sleep(h.delay)
	}
	return Submitted{Name: s.Name, State: Started}, nil
}

func (h *fakeHost) Upload(p Piece) (Stored, error) { return h.store.Append(p) }
func (h *fakeHost) Runs() ([]Run, error)           { return h.runs, nil }

func (h *fakeHost) Run(name string) (Run, error) {
	for _, r := range h.runs {
		if r.Name == name {
			return r, nil
		}
	}
	return Run{}, Errorf(NotFound, "there is no run %s", name)
}

func (h *fakeHost) Sweep(r SweepRequest) (SweepAnswer, error) {
	return json.Marshal(string(r.Act) + " " + r.Name)
}

func (h *fakeHost) Stop(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = append(h.stopped, name)
	return nil
}

// newBroker starts a broker without a port and returns a function that connects to it.
func newBroker(t *testing.T) (connect func() *nats.Conn) {
	t.Helper()
	b, err := cluster.Start(cluster.Config{Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shutdown)
	return func() *nats.Conn {
		bus, err := cluster.Connect(cluster.BusConfig{Server: b, Name: t.Name(), Log: hclog.NewNullLogger()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(bus.Close)
		return bus.Conn()
	}
}

func serve(t *testing.T, conn *nats.Conn, h Host) *Server {
	t.Helper()
	s, err := Serve(conn, ServerConfig{Host: h, Version: "v1.2.3", Log: hclog.NewNullLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestClient_AsksForWhatTheHostDoes(t *testing.T) {
	connect := newBroker(t)
	h := &fakeHost{runs: []Run{
		{Info: store.Info{Name: "b", State: store.Running, Step: 7}, Live: json.RawMessage(`{"waiting":"no worker has joined"}`)},
		{Info: store.Info{Name: "a", State: store.Finished}},
	}}
	serve(t, connect(), h)
	c := NewClient(connect())
	want := Submission{Request: "r", Name: "n", Config: "seed: 1", Overrides: []string{"a=b"}, Command: []string{"submit"}, Normalisation: json.RawMessage(`{"x":[1]}`)}
	got, err := c.Submit(t.Context(), want)
	if err != nil || got != (Submitted{"n", Started}) || fmt.Sprint(h.submitted) != fmt.Sprint([]Submission{want}) {
		t.Errorf("got %v, %v; the host was asked for %v", got, err, h.submitted)
	}
	l, err := c.Runs(t.Context())
	if err != nil || len(l.Runs) != 2 || l.Runs[0].Step != 7 || string(l.Runs[0].Live) != `{"waiting":"no worker has joined"}` || l.LeftOut != 0 {
		t.Errorf("got %+v, %v", l, err)
	}
	if r, err := c.Run(t.Context(), "a"); err != nil || r.State != store.Finished || r.Live != nil {
		t.Errorf("got %+v, %v", r, err)
	}
	if err := c.Stop(t.Context(), "b"); err != nil || len(h.stopped) != 1 || h.stopped[0] != "b" {
		t.Errorf("%v; stopped %v", err, h.stopped)
	}
}

func TestClient_ErrorsSayWhatToDo(t *testing.T) {
	connect := newBroker(t)
	serve(t, connect(), &fakeHost{})
	c := NewClient(connect())
	for _, test := range []struct{ config, code, text, hint string }{
		{"", BadRequest, "no configuration:\nline two", "send one"},
		{"broken", Failed, "the disk is gone", ""},
	} {
		_, err := c.Submit(t.Context(), Submission{Config: test.config})
		var e *Error
		if !errors.As(err, &e) || *e != (Error{test.code, test.text, test.hint}) {
			t.Errorf("%q: got %#v", test.config, err)
		}
	}
	_, err := c.Run(t.Context(), "nobody")
	var e *Error
	if !errors.As(err, &e) || e.Code != NotFound {
		t.Errorf("got %v", err)
	}
	msg, err := c.conn.Request(showSubject, []byte("{"), patience)
	if err != nil || msg.Header.Get(micro.ErrorCodeHeader) != BadRequest || !strings.Contains(msg.Header.Get(micro.ErrorHeader), "nats micro info") {
		t.Errorf("a request that is no JSON: %v, %v", msg, err)
	}
	msg, err = c.conn.Request(submitSubject, nil, patience)
	if err != nil || msg.Header.Get(micro.ErrorHeader) != "no configuration: line two; send one" {
		t.Errorf("the header is %q, %v", msg.Header.Get(micro.ErrorHeader), err)
	}
}

// TestClient_LargerThanAMessage: the error says how large the request is, and which setting of the broker to change.
func TestClient_LargerThanAMessage(t *testing.T) {
	connect := newBroker(t)
	serve(t, connect(), &fakeHost{})
	_, err := NewClient(connect()).Submit(t.Context(), Submission{Config: strings.Repeat("x", 1<<20)})
	if err == nil || !strings.Contains(err.Error(), "at most 1048576; set max_payload of the NATS server to at least 10485") {
		t.Errorf("got %v", err)
	}
}

func TestClient_WithoutAHost(t *testing.T) {
	c := NewClient(newBroker(t)())
	if _, err := c.Runs(t.Context()); !errors.Is(err, ErrNoHost) {
		t.Errorf("got %v", err)
	}
}

// TestClient_AsksAgain: an answer that is lost costs time, not a second run.
func TestClient_AsksAgain(t *testing.T) {
	connect := newBroker(t)
	h := &fakeHost{delay: 300 * time.Millisecond}
	serve(t, connect(), h)
	c := NewClient(connect())
	c.attempt = 100 * time.Millisecond
	got, err := c.Submit(t.Context(), Submission{Request: "same", Name: "n", Config: "x"})
	if err != nil || got.Name != "n" {
		t.Fatalf("got %v, %v", got, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.submitted {
		if s.Request != "same" {
			t.Errorf("sent again as %v", s)
		}
	}
}

func TestServer_ListsWhatFits(t *testing.T) {
	connect := newBroker(t)
	h := &fakeHost{}
	for i := range 700 {
		h.runs = append(h.runs, Run{Info: store.Info{Name: fmt.Sprint("run-", i), ExitReason: strings.Repeat("x", 2000)}})
	}
	serve(t, connect(), h)
	l, err := NewClient(connect()).Runs(t.Context())
	if err != nil || len(l.Runs) < 400 || len(l.Runs)+l.LeftOut != 700 || l.Runs[0].Name != "run-0" {
		t.Errorf("%d runs, %d left out, %v", len(l.Runs), l.LeftOut, err)
	}
}

// TestServer_AnswersAlways: what does not fit into a message is an error, not a silence.
func TestServer_AnswersAlways(t *testing.T) {
	connect := newBroker(t)
	serve(t, connect(), &fakeHost{runs: []Run{{Info: store.Info{Name: "big", ExitReason: strings.Repeat("x", 2<<20)}}}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var e *Error
	if _, err := NewClient(connect()).Run(ctx, "big"); !errors.As(err, &e) || e.Code != Failed {
		t.Errorf("got %v", err)
	}
}

// TestServer_IsSeenByStandardTools: what `nats micro info` shows.
func TestServer_IsSeenByStandardTools(t *testing.T) {
	connect := newBroker(t)
	serve(t, connect(), &fakeHost{})
	msg, err := connect().Request("$SRV.INFO."+Service, nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	var info micro.Info
	if err := json.Unmarshal(msg.Data, &info); err != nil {
		t.Fatal(err)
	}
	if info.Name != "switchyard" || info.Version != "1.2.3" || info.Description == "" {
		t.Errorf("got %+v", info)
	}
	var subjects []string
	for _, e := range info.Endpoints {
		subjects = append(subjects, e.Subject)
		for _, key := range []string{"description", "request", "response"} {
			if e.Metadata[key] == "" {
				t.Errorf("%s says nothing of its %s", e.Name, key)
			}
		}
	}
	if got := strings.Join(subjects, " "); got != "switchyard.submit switchyard.upload switchyard.runs.list switchyard.runs.show switchyard.runs.stop switchyard.sweep switchyard.keys.ban switchyard.keys.unban" {
		t.Errorf("the endpoints are %s", got)
	}
}

func TestHosts_FindsWhoLives(t *testing.T) {
	connect := newBroker(t)
	conn := connect()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if found, err := Hosts(ctx, conn, time.Hour); err != nil || len(found) != 0 || ctx.Err() != nil {
		t.Errorf("nobody is there: found %v, %v; %v", found, err, ctx.Err())
	}
	first := serve(t, connect(), &fakeHost{})
	second := connect()
	killed := serve(t, second, &fakeHost{})
	find(t, conn, 2)
	if !first.Identity().Before(killed.Identity()) || killed.Identity().Before(first.Identity()) {
		t.Errorf("the first is not the older: %v, %v", first.Identity(), killed.Identity())
	}
	second.Close() // as the end of its process would
	found := find(t, conn, 1)
	if found[0].ID != first.Identity().ID || !found[0].Started.Equal(first.Identity().Started) || found[0].Version != "v1.2.3" {
		t.Errorf("found %v; alive is %v", found, first.Identity())
	}
}

// find looks for hosts until there are n.
func find(t *testing.T, conn *nats.Conn, n int) []Identity {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		found, err := Hosts(t.Context(), conn, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == n {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %v, want %d", found, n)
		}
	}
}

func TestUpload_GoesOnWhereItStopped(t *testing.T) {
	connect := newBroker(t)
	dir := t.TempDir()
	h := &fakeHost{store: NewStore(dir, 1<<30)}
	serve(t, connect(), h)
	c := NewClient(connect())
	data := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // five pieces
	ctx, cancel := context.WithCancel(t.Context())
	var before int64
	err := c.Upload(ctx, data, func(have int64) {
		if before = have; have > 1<<20 {
			cancel()
		}
	})
	if err == nil || before == 0 || before == int64(len(data)) {
		t.Fatalf("not interrupted: %v at %d", err, before)
	}
	var steps []int64
	if err := c.Upload(t.Context(), data, func(have int64) { steps = append(steps, have) }); err != nil {
		t.Fatal(err)
	}
	if steps[0] < before || steps[len(steps)-1] != int64(len(data)) {
		t.Errorf("after %d it went on at %v", before, steps)
	}
	steps = nil
	if err := c.Upload(t.Context(), data, func(have int64) { steps = append(steps, have) }); err != nil || len(steps) != 1 {
		t.Errorf("the host has it, and was sent %v, %v", steps, err)
	}
}

func TestSemantic(t *testing.T) {
	for version, want := range map[string]string{"dev": "0.0.0-dev", "v1.2.3": "1.2.3", "1.2.3-rc1": "1.2.3-rc1", "1.2": "0.0.0-dev", "": "0.0.0-dev"} {
		if got := semantic(version); got != want {
			t.Errorf("%q: got %s, want %s", version, got, want)
		}
	}
}

func (h *fakeHost) Ban(b Ban) (Changed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bans = append(h.bans, b)
	return Changed{true}, nil
}

func (h *fakeHost) Unban(b Ban) (Changed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.bans)
	h.bans = slices.DeleteFunc(h.bans, func(o Ban) bool { return o.Key == b.Key })
	return Changed{len(h.bans) < before}, nil
}

func (h *fakeHost) Bans() []Ban { return h.bans }

// A key is banned and let in again, and lists of runs name it.
func TestService_Bans(t *testing.T) {
	h := &fakeHost{}
	connect := newBroker(t)
	serve(t, connect(), h)
	client := NewClient(connect())
	if c, err := client.Ban(t.Context(), Ban{Key: "UA", Reason: "stolen"}); err != nil || !c.Changed {
		t.Fatal(c, err)
	}
	if list, err := client.Runs(t.Context()); err != nil || len(list.Bans) != 1 || list.Bans[0].Reason != "stolen" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, want := range []bool{true, false} {
		if c, err := client.Unban(t.Context(), "UA"); err != nil || c.Changed != want {
			t.Error(c, err)
		}
	}
}
