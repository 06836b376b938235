package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// event is one server-sent event.
type event struct{ id, name, data string }

// listener hears events. What does not come within a generous time fails the test.
type listener struct {
	t      *testing.T
	events chan event
	cancel context.CancelFunc
}

// listen opens a stream of events; close ends it.
func (b *bench) listen(path, last string) *listener {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		b.t.Fatalf("%s: %s %v", path, response.Status, response.Header)
	}
	l := &listener{t: b.t, events: make(chan event, 100), cancel: cancel}
	go func() {
		defer close(l.events)
		defer response.Body.Close()
		var e event
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				select {
				case l.events <- e:
				case <-ctx.Done():
					return
				}
				e = event{}
			}
		}
	}()
	b.t.Cleanup(cancel)
	return l
}

// next waits for an event of a name and leaves out others.
func (l *listener) next(name string) event {
	l.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		select {
		case e, open := <-l.events:
			if !open {
				l.t.Fatalf("the stream ended before an event %q", name)
			}
			if e.name == name {
				return e
			}
		case <-limit:
			l.t.Fatalf("no event %q", name)
		}
	}
}

// steps are what the records of an event are of: "3" for training, "3v" for validation.
func steps(t *testing.T, e event) string {
	t.Helper()
	var records []store.Record
	if err := json.Unmarshal([]byte(e.data), &records); err != nil {
		t.Fatalf("%v in %s", err, e.data)
	}
	var list []string
	for _, r := range records {
		mark := ""
		if r.Split == "validation" {
			mark = "v"
		}
		list = append(list, fmt.Sprint(r.Step, mark))
	}
	return strings.Join(list, " ")
}

func TestEvents_OfAllRuns(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 1)
	l := b.listen("/api/events", "")
	if e := l.next("runs"); !strings.Contains(e.data, `"order":["a"]`) || !strings.Contains(e.data, `"step":1,`) {
		t.Errorf("got %s", e.data)
	}
	b.grow(r, 2, 2)
	for !strings.Contains(l.next("runs").data, `"step":2,`) {
	}
	b.run("b", 1)
	e := l.next("runs")
	for !strings.Contains(e.data, `"order":["b","a"]`) {
		e = l.next("runs")
	}
	if err := os.RemoveAll(r.Folder()); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(l.next("runs").data, `"order":["b"]`) {
	}
}

// TestEvents_RenamedThereAndBack: a page forgets a row that is gone, so it has to come again with its run.
func TestEvents_RenamedThereAndBack(t *testing.T) {
	b := newBench(t, "")
	b.made("a", "seed: 1\n", "")
	l := b.listen("/api/events", "")
	l.next("runs")
	for i, name := range []string{"b", "a"} {
		if err := os.Rename(filepath.Join(b.dir, []string{"a", "b"}[i]), filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
		e := l.next("runs")
		for !strings.Contains(e.data, `"order":["`+name+`"]`) { // between two names there may be none
			e = l.next("runs")
		}
		if !strings.Contains(e.data, `"name":"`+name+`"`) {
			t.Errorf("renamed to %s: %s", name, e.data)
		}
	}
}

func TestEvents_OfOneRunResumeWhereTheyEnded(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 9)
	l := b.listen("/api/events?run=a", "")
	if e := l.next("run"); !strings.Contains(e.data, `"step":9,`) || e.id != "" {
		t.Errorf("got %+v", e)
	}
	b.grow(r, 10, 10)
	heard := ""
	var last event
	for heard != "10 10v " {
		last = l.next("records")
		heard += steps(t, last) + " "
		if len(heard) > len("10 10v ") {
			t.Fatalf("heard %q", heard)
		}
	}
	if last.id != "10.2" {
		t.Errorf("got id %q", last.id)
	}
	l.cancel()
	b.grow(r, 11, 12)
	for from, want := range map[string]string{last.id: "11 12", "10.1": "10v 11 12", "9.1": "10 10v 11 12", "0.0": "1 2 3 4 5 6 7 8 9 10 10v 11 12", "12.0": "12"} {
		l := b.listen("/api/events?run=a", from)
		if e := l.next("records"); steps(t, e) != want || e.id != "12.1" {
			t.Errorf("from %s: got %s with id %s, want %s", from, steps(t, e), e.id, want)
		}
		l.cancel()
	}
}

func TestEvents_GoBackWithTheRun(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 12)
	l := b.listen("/api/events?run=a", "12.1")
	l.next("run")
	if err := r.Begin(5); err != nil {
		t.Fatal(err)
	}
	if e := l.next("back"); e.data != `{"step":5}` || e.id != "5.1" {
		t.Errorf("got %+v", e)
	}
	b.grow(r, 6, 6)
	if e := l.next("records"); steps(t, e) != "6" || e.id != "6.1" {
		t.Errorf("got %+v", e)
	}
	if e := b.listen("/api/events?run=a", "12.1").next("back"); e.id != "6.1" {
		t.Errorf("a client that was away: %+v", e)
	}
}

func TestEvents_ReloadWhatIsTooMuch(t *testing.T) {
	b := newBench(t, "")
	b.run("a", maxBacklog+1)
	l := b.listen("/api/events?run=a", "0.0")
	l.next("reload")
	for range l.events { // the stream ends
	}
}

func TestEvents_TellThatARunIsGone(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 1)
	l := b.listen("/api/events?run=a", "")
	l.next("run")
	if err := os.Rename(r.Folder(), filepath.Join(t.TempDir(), "a")); err != nil { // as runs rm does
		t.Fatal(err)
	}
	l.next("gone")
}

func TestEvents_Limits(t *testing.T) {
	b := newBench(t, "")
	b.run("a", 1)
	for path, want := range map[string]int{"/api/events?run=b": http.StatusNotFound, "/api/events?run=..": http.StatusNotFound} {
		if status, _, body := b.ask("GET", path); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, id := range []string{"x", "1", "-1.1", "1.1\t2"} {
		if status, _, body := b.ask("GET", "/api/events?run=a", "Last-Event-ID", id); status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", id, status, body)
		}
	}
	var all []*listener
	for range maxStreams {
		all = append(all, b.listen("/api/events", ""))
	}
	one := b.listen("/api/events", "")
	one.next("runs")
	for range all[0].events { // the oldest has made room, and its events end
	}
	all[1].next("runs")
	for _, l := range append(all[1:], one) {
		l.cancel()
		for range l.events {
		}
	}
}

// A client that opens all streams takes them from itself, and from nobody at another address.
func TestStreams_RoomForOthers(t *testing.T) {
	s := streams{most: 4}
	enter := func(address string) context.Context {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.RemoteAddr = address
		ctx, _ := s.enter(r)
		return ctx
	}
	other := enter("10.0.0.2:1")
	var greedy []context.Context
	for i := range 10 {
		greedy = append(greedy, enter(fmt.Sprint("10.0.0.1:", i+1)))
	}
	third := enter("[::1]:7")
	if other.Err() != nil || third.Err() != nil || len(s.all) != s.most {
		t.Errorf("%d streams; others were ended: %v, %v", len(s.all), other.Err(), third.Err())
	}
	for i, ctx := range greedy {
		if ended := ctx.Err() != nil; ended != (i < 8) {
			t.Errorf("stream %d of the greedy client: ended %v", i, ended)
		}
	}
}
