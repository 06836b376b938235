package web

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// TestAnswers_AreCompressedAndKept: an answer comes compressed to who takes that, under a tag; who has it is told so, until
// it changes.
func TestAnswers_AreCompressedAndKept(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 300)
	const path = "/api/runs/a/metrics"
	status, header, packed := b.ask("GET", path, "Accept-Encoding", "br, gzip")
	z, err := gzip.NewReader(strings.NewReader(packed))
	if status != http.StatusOK || err != nil || header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%d %v %v", status, header, err)
	}
	text, err := io.ReadAll(z)
	var s Series
	if err != nil || json.Unmarshal(text, &s) != nil || len(s.Splits["train"].Step) != 300 {
		t.Fatalf("%v in %s", err, text)
	}
	if _, header, plain := b.ask("GET", path, "Accept-Encoding", "gzip;q=0"); header.Get("Content-Encoding") != "" || plain != string(text) {
		t.Errorf("who refuses gzip gets %v", header)
	}
	tag := header.Get("ETag")
	if status, _, body := b.ask("GET", path, "If-None-Match", `"other", `+tag); status != http.StatusNotModified || body != "" || tag == "" {
		t.Errorf("what the client has is sent again: %d, %d bytes, tag %s", status, len(body), tag)
	}
	b.grow(r, 301, 301)
	if status, header, _ := b.ask("GET", path, "If-None-Match", tag); status != http.StatusOK || header.Get("ETag") == tag {
		t.Errorf("what has changed: %d %v", status, header)
	}
}

// TestMetrics_OfALongRun: the digest of a run with more steps than it has points keeps every outlier, follows the run back
// and on, and a range has all its steps.
func TestMetrics_OfALongRun(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 0)
	const steps = 4*digestPoints + 77
	add := func(from, to uint64) {
		t.Helper()
		for s := from; s <= to; s++ {
			v := 1.0
			if s == 9999 {
				v = -500
			}
			if err := r.Append(store.Record{Step: s, Split: "train", Values: store.Values{"objective": v}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(1, steps)
	check := func(last uint64) {
		t.Helper()
		s := get[Series](b, "/api/runs/a/metrics?points=500")
		train := s.Splits["train"]
		low, sum := 1.0, 0.0
		for i, v := range train.Values["objective"].Low {
			low = min(low, *v)
			sum += *train.Values["objective"].Mean[i]
		}
		if n := len(train.Step); n > 501 || n < 250 || low != -500 || train.Step[n-1] != last || s.Width < 2 || s.Position != fmt.Sprintf("%d.1", last) {
			t.Errorf("%d points of %d steps, the least %v, the last %d at %s", n, s.Width, low, train.Step[n-1], s.Position)
		}
	}
	check(steps)
	zoom := get[Series](b, "/api/runs/a/metrics?from=9990&to=10010&points=500").Splits["train"]
	if len(zoom.Step) != 21 || *zoom.Values["objective"].Mean[9] != -500 {
		t.Errorf("a range has %d steps", len(zoom.Step))
	}
	if err := r.Cut(12000); err != nil {
		t.Fatal(err)
	}
	check(12000)
	add(12001, 12100)
	check(12100)
}

// TestMetrics_OfARunThatIsAheadAgain: values that a run has computed anew since the last look replace those that are void.
func TestMetrics_OfARunThatIsAheadAgain(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 0)
	add := func(value float64, from, to uint64) {
		t.Helper()
		for s := from; s <= to; s++ {
			if err := r.Append(store.Record{Step: s, Split: "train", Values: store.Values{"objective": value}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(1, 1, 120)
	if s := get[Series](b, "/api/runs/a/metrics").Splits["train"]; len(s.Step) != 120 {
		t.Fatalf("%d steps", len(s.Step))
	}
	if err := r.Cut(60); err != nil {
		t.Fatal(err)
	}
	add(2, 61, 150)
	s := get[Series](b, "/api/runs/a/metrics").Splits["train"]
	if len(s.Step) != 150 {
		t.Fatalf("%d steps", len(s.Step))
	}
	for i, v := range s.Values["objective"].Mean {
		if want := 1 + float64(i/60); *v != min(want, 2) {
			t.Errorf("step %d has %v", s.Step[i], *v)
			break
		}
	}
}

// TestFiles_OnlyThoseOfTheRun: tables, figures and records can be downloaded, nothing else.
func TestFiles_OnlyThoseOfTheRun(t *testing.T) {
	b := newBench(t, testToken)
	r := b.run("a", 12)
	secret := "do not show"
	for name, text := range map[string]string{"tables/fhn.txt": "a table", "checkpoints/best.json": secret, "lock": secret, store.Log: "one\ntwo\nthree\n"} {
		if err := os.WriteFile(r.Path(filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../checkpoints/best.json", r.Path("tables", "link.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "secret"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../secret", r.Path("tables", "outside.txt")); err != nil {
		t.Fatal(err)
	}
	auth := []string{"Authorization", "Bearer " + testToken}
	for name, want := range map[string]string{"tables/fhn.txt": "a table", "metrics.csv": "step,split,time,seconds,", "config.yaml": "preset: toy"} {
		status, header, body := b.ask("GET", "/api/runs/a/files/"+name, auth...)
		if status != http.StatusOK || !strings.HasPrefix(body, want) || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %d %v %q", name, status, header, body)
		}
	}
	for _, name := range []string{"lock", "checkpoints/best.json", "tables/outside.txt", "tables/..%2flock", "..%2f..%2fsecret", "tables", ""} {
		if status, _, body := b.ask("GET", "/api/runs/a/files/"+name, auth...); status == http.StatusOK || strings.Contains(body, secret) {
			t.Errorf("%s: %d %q", name, status, body)
		}
	}
	if status, _, _ := b.ask("GET", "/api/runs/a/files/tables/fhn.txt"); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	if got := get[map[string][]string](b, "/api/runs/a/log?lines=2")["lines"]; len(got) != 2 || got[1] != "three" {
		t.Errorf("the end of the log is %q", got)
	}
	d := get[Detail](b, "/api/runs/a")
	if d.Disk < 1000 || len(d.Overrides) != 1 || d.Overrides[0] != "seed=3" || len(d.Files) < 5 {
		t.Errorf("got %+v", d)
	}
}

// TestFiles_SlowClients: a download may take longer than other answers.
func TestFiles_SlowClients(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 5000)
	figure := make([]byte, 64<<20)
	if err := os.WriteFile(r.Path("figures", "large.svg"), figure, 0o600); err != nil {
		t.Fatal(err)
	}
	h := httptest.NewUnstartedServer(b.server.Handler())
	h.Config.WriteTimeout = time.Millisecond
	h.Start()
	defer h.Close()
	b.url, b.client = h.URL, h.Client()
	if _, _, body := b.ask("GET", "/api/runs/a/files/figures/large.svg"); len(body) != len(figure) {
		t.Errorf("%d of %d bytes", len(body), len(figure))
	}
	if _, _, body := b.ask("GET", "/api/runs/a/files/metrics.csv"); strings.Count(body, "\n") != 1+5000+500 {
		t.Errorf("%d lines of 5501", strings.Count(body, "\n"))
	}
}

// TestOverrides_WithSpaces: a setting whose value has spaces is one.
func TestOverrides_WithSpaces(t *testing.T) {
	b := newBench(t, "")
	want := []string{"env.files=my data.csv", "seed=3"}
	r, err := store.Create(b.dir, store.Draft{Name: "a", Overrides: want, Info: store.Info{Steps: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := get[Detail](b, "/api/runs/a").Overrides; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// damaging is a client at whose first bytes something happens.
type damaging struct {
	*httptest.ResponseRecorder
	first func()
}

func (d damaging) SetWriteDeadline(time.Time) error { return nil }

func (d damaging) Write(part []byte) (int, error) {
	if d.Body.Len() == 0 {
		d.first()
	}
	return d.ResponseRecorder.Write(part)
}

// TestMetricsCSV_PartLooksLikeNone: a table that cannot be sent to its end breaks the connection.
func TestMetricsCSV_PartLooksLikeNone(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 500)
	w := damaging{httptest.NewRecorder(), func() {
		f, err := os.OpenFile(r.Path("metrics.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("{\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || w.Body.Len() == 0 {
			t.Errorf("it ended with %v after %d bytes", p, w.Body.Len())
		}
	}()
	b.server.metricsCSV(w, httptest.NewRequest("GET", "/", nil), "a")
}

// TestRenamedFolder_SaysSo: a run whose folder was renamed goes under the new name, and says what it was.
func TestRenamedFolder_SaysSo(t *testing.T) {
	b := newBench(t, "")
	r := b.run("old", 3)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(b.dir, "old"), filepath.Join(b.dir, "new")); err != nil {
		t.Fatal(err)
	}
	if d := get[Detail](b, "/api/runs/new"); d.Name != "new" || d.Was != "old" {
		t.Errorf("got %s, was %q", d.Name, d.Was)
	}
	if all := get[overview](b, "/api/runs").Runs; len(all) != 1 || all[0].Name != "new" || all[0].Was != "old" {
		t.Errorf("got %+v", all)
	}
}

// TestActs_NeedATokenAndASourceThatCan.
func TestActs_NeedATokenAndASourceThatCan(t *testing.T) {
	open := newBench(t, "")
	open.run("a", 3)
	closed := newBench(t, testToken)
	closed.run("a", 3)
	for _, act := range []string{"stop", "checkpoint", "resume"} {
		if status, _, body := open.ask("POST", "/api/runs/a/"+act); status != http.StatusForbidden || !strings.Contains(body, "token") {
			t.Errorf("%s without a token: %d %s", act, status, body)
		}
		if status, _, _ := closed.ask("POST", "/api/runs/a/"+act); status != http.StatusUnauthorized {
			t.Errorf("%s with the wrong token: %d", act, status)
		}
	}
	if status, _, _ := closed.ask("POST", "/api/runs/a/checkpoint", "Authorization", "Bearer "+testToken); status != http.StatusForbidden {
		t.Errorf("a source that cannot: %d", status)
	}
	if a := get[about](closed, "/api/about"); !a.CanStop || a.CanCheckpoint || a.CanResume || a.CanModel || a.Version != "1.2.3" {
		t.Errorf("got %+v", a)
	}
}
