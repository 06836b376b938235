package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/switchyard-ml/switchyard/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testToken = "0123456789abcdef-test"

// source is a folder of runs of which some are led here.
type source struct {
	Folder
	mu      sync.Mutex
	live    map[string]*Live
	trouble error
	stopped []string
}

func (s *source) dress(r Run) Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Live = s.live[r.Name]
	return r
}

func (s *source) Ready() error { return s.trouble }

func (s *source) Runs() ([]Run, error) {
	list, err := s.Folder.Runs()
	for i := range list {
		list[i] = s.dress(list[i])
	}
	return list, err
}

// Run waits for mu, so that a test may change a run unseen.
func (s *source) Run(name string) (Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.Folder.Run(name)
	r.Live = s.live[r.Name]
	return r, err
}

func (s *source) Stop(name string) error {
	r, err := s.Run(name)
	if err != nil {
		return err
	}
	if r.Live == nil {
		return ErrNotRunning
	}
	s.stopped = append(s.stopped, name)
	return nil
}

// bench is a server over a folder of runs of its own.
type bench struct {
	t      *testing.T
	dir    string
	source *source
	server *Server
	log    *bytes.Buffer
	url    string
	client *http.Client
}

func newBench(t *testing.T, token string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), log: &bytes.Buffer{}}
	b.source = &source{Folder: Folder(b.dir), live: map[string]*Live{}}
	b.server = newServer(Config{
		Source: b.source, Dir: b.dir, Token: token, Version: "1.2.3",
		Log: hclog.New(&hclog.LoggerOptions{Output: b.log, Level: hclog.Trace}),
	})
	b.server.poll = 2 * time.Millisecond
	h := httptest.NewServer(b.server.Handler())
	b.url, b.client = h.URL, h.Client()
	t.Cleanup(h.Close)
	return b
}

// run creates a run of so many steps, validated every ten, and lets it go on in the test.
func (b *bench) run(name string, steps uint64) *store.Run {
	b.t.Helper()
	r, err := store.Create(b.dir, store.Draft{Name: name, Config: []byte("preset: toy\n"), Overrides: []string{"seed=3"}, Info: store.Info{
		Steps: 1000, Preset: "toy", Seed: 3, Command: []string{"train", "toy", "seed=3"},
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			b.t.Error(err)
		}
	})
	b.grow(r, 1, steps)
	return r
}

// start is when the first step of every run is done; a second passes per step.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (b *bench) grow(r *store.Run, from, to uint64) {
	b.t.Helper()
	for s := from; s <= to; s++ {
		v := float64(s)
		at := start.Add(time.Duration(s) * time.Second)
		values := store.Values{"objective": v, "loss": -v, "kl": 2 * v, "gradient_norm": 3, "learning_rate": 0.1, "step_seconds": 0.02, "workers": 2, "bytes_in": 10, "bytes_out": 20}
		err := r.Append(store.Record{Step: s, Split: "train", Time: at, Seconds: float64(s), Values: values})
		if s%10 == 0 {
			err = errors.Join(err, r.Append(store.Record{Step: s, Split: "validation", Time: at, Seconds: float64(s), Values: store.Values{"objective": v / 2, "elbo": v/2 - 1, "importance_elbo": v/2 - 0.5, "loss": -v / 2}}))
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	if err := r.Update(func(i *store.Info) { i.Step = to }); err != nil {
		b.t.Fatal(err)
	}
}

// ask sends a request; header lines are name, value, name, value, …
func (b *bench) ask(method, path string, header ...string) (int, http.Header, string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := b.client.Do(request)
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

// get decodes the answer to a GET that has to succeed.
func get[T any](b *bench, path string) T {
	b.t.Helper()
	status, header, body := b.ask("GET", path, "Authorization", "Bearer "+b.server.config.Token)
	if status != http.StatusOK || header.Get("Content-Type") != "application/json" {
		b.t.Fatalf("GET %s: %d %s: %s", path, status, header.Get("Content-Type"), body)
	}
	var v T
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		b.t.Fatalf("GET %s: %v in %s", path, err, body)
	}
	return v
}

func TestRuns_LatestFirstWithTheirMetrics(t *testing.T) {
	b := newBench(t, "")
	if all := get[overview](b, "/api/runs"); len(all.Runs) != 0 || all.Version != "1.2.3" || all.Stop {
		t.Errorf("got %+v", all)
	}
	b.run("old", 5)
	b.run("new", 40)
	b.source.live["new"] = &Live{Waiting: "a worker", Workers: nil}
	all := get[overview](b, "/api/runs").Runs
	if len(all) != 2 || all[0].Name != "new" || all[1].Name != "old" {
		t.Fatalf("got %+v", all)
	}
	if r := all[1]; r.Step != 5 || r.Steps != 1000 || r.Objective == nil || *r.Objective != 5 || r.Members != 2 || r.State != store.Running || r.Live != nil {
		t.Errorf("got %+v", r)
	}
	if r := all[0]; r.Members != 0 || r.Live == nil || r.Live.Waiting != "a worker" || r.Live.Workers == nil {
		t.Errorf("got %+v, live %+v", r, r.Live)
	}
	if err := os.RemoveAll(filepath.Join(b.dir, "old")); err != nil {
		t.Fatal(err)
	}
	if all := get[overview](b, "/api/runs").Runs; len(all) != 1 || len(b.server.followers) != 1 {
		t.Errorf("a run that is gone is still there: %+v, %d followers", all, len(b.server.followers))
	}
}

func TestRun_Detail(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 3)
	for _, name := range []string{"b.png", "a.svg", "data.csv"} {
		if err := os.WriteFile(r.Path("figures", name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := get[Detail](b, "/api/runs/a")
	if d.Name != "a" || d.Config != "preset: toy\n" || strings.Join(d.Overrides, " ") != "seed=3" || strings.Join(d.Figures, " ") != "a.svg b.png" {
		t.Errorf("got %+v", d)
	}
	for _, name := range []string{"b", "%2e%2e", "a%2f..", "a%00"} {
		for _, rest := range []string{"", "/metrics", "/figures/a.svg"} {
			if status, _, body := b.ask("GET", "/api/runs/"+name+rest); status != http.StatusNotFound {
				t.Errorf("run %s%s: %d %s", name, rest, status, body)
			}
		}
	}
}

func TestFigures_StayInTheirFolder(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 1)
	secret := filepath.Join(b.dir, "secret.png")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, r.Path("figures", "link.png")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", r.Path("figures", "zero.png")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.png": "picture", "a.svg": "<svg/>", "a.csv": "1,2", "x.html": "<script>"} {
		if err := os.WriteFile(r.Path("figures", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(r.Path("figures", "d.png"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, media := range map[string]string{"a.png": "image/png", "a.svg": "image/svg+xml"} {
		status, header, body := b.ask("GET", "/api/runs/a/figures/"+name)
		if status != http.StatusOK || header.Get("Content-Type") != media || !strings.Contains(header.Get("Content-Security-Policy"), "sandbox") || body == "" {
			t.Errorf("%s: %d %v %s", name, status, header, body)
		}
	}
	for _, name := range []string{
		"..%2f..%2fsecret.png", "../secret.png", "%2e%2e/%2e%2e/secret.png", "..%5c..%5csecret.png", "link.png", "zero.png",
		"%2fetc%2fpasswd", "a.csv", "x.html", "d.png", "", ".", "a.png%00", "missing.png", strings.Repeat("a", 5000) + ".png",
	} {
		status, _, body := b.ask("GET", "/api/runs/a/figures/"+name)
		if status != http.StatusNotFound || strings.Contains(body, "secret") {
			t.Errorf("%.40q: %d %.80s", name, status, body)
		}
	}
}

func TestMetrics_AllRecords(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 25)
	if err := r.Append(store.Record{Step: 26, Split: "train", Time: start, Values: store.Values{"objective": math.NaN(), "extra": 1}}); err != nil {
		t.Fatal(err)
	}
	s := get[Series](b, "/api/runs/a/metrics")
	train, check := s.Splits["train"], s.Splits["validation"]
	if s.From != 1 || s.To != 26 || s.Width != 1 || s.Position != "26.1" || len(train.Step) != 26 || len(check.Step) != 2 {
		t.Fatalf("got %+v, %d and %d points", s, len(train.Step), len(check.Step))
	}
	objective := train.Values["objective"]
	if *objective.Mean[24] != 25 || objective.Mean[25] != nil || objective.Low != nil || train.Time[0] != float64(start.Unix()+1) || check.Step[1] != 20 {
		t.Errorf("got %+v", train)
	}
	if extra := train.Values["extra"]; len(extra.Mean) != 26 || extra.Mean[0] != nil || *extra.Mean[25] != 1 {
		t.Errorf("a metric that came later: %+v", extra)
	}
	if kl := train.Values["kl"]; len(kl.Mean) != 26 || kl.Mean[25] != nil {
		t.Errorf("a metric that went: %+v", kl)
	}
}

func TestMetrics_ThinnedOutAndCut(t *testing.T) {
	b := newBench(t, "")
	b.run("a", 1000)
	s := get[Series](b, "/api/runs/a/metrics?points=10")
	objective := s.Splits["train"].Values["objective"]
	if s.Width != 100 || len(objective.Mean) != 10 || *objective.Mean[0] != 50.5 || *objective.Low[0] != 1 || *objective.High[0] != 100 || s.Splits["train"].Step[9] != 1000 {
		t.Errorf("got width %d, %d points", s.Width, len(objective.Mean))
	}
	s = get[Series](b, "/api/runs/a/metrics?from=500&to=509")
	if train := s.Splits["train"]; s.Width != 1 || len(train.Step) != 10 || train.Step[0] != 500 || train.Step[9] != 509 {
		t.Errorf("got %+v", train)
	}
	if s := get[Series](b, "/api/runs/a/metrics?from=2000"); len(s.Splits) != 0 {
		t.Errorf("got %+v", s)
	}
	for _, query := range []string{"from=-1", "to=x", "from=5&to=4", "points=0", "points=1e3", "to=99999999999999999999"} {
		if status, _, body := b.ask("GET", "/api/runs/a/metrics?"+query); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

func TestMetrics_DamageIsSaidInTheLogOnly(t *testing.T) {
	b := newBench(t, "")
	r := b.run("a", 2)
	if err := os.WriteFile(r.Path("metrics.jsonl"), []byte("nonsense\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	status, _, body := b.ask("GET", "/api/runs/a/metrics")
	if status != http.StatusInternalServerError || strings.Contains(body, b.dir) || !strings.Contains(b.log.String(), "metrics.jsonl") {
		t.Errorf("%d %s\n%s", status, body, b.log)
	}
	if all := get[overview](b, "/api/runs").Runs; len(all) != 1 {
		t.Errorf("a damaged run hides the others: %+v", all)
	}
}

func TestStop(t *testing.T) {
	b := newBench(t, testToken)
	b.run("a", 1)
	b.run("idle", 1)
	b.source.live["a"] = &Live{}
	if !get[overview](b, "/api/runs").Stop {
		t.Error("the page does not offer to stop")
	}
	origin := b.url
	for _, c := range []struct {
		run    string
		header []string
		want   int
	}{
		{"a", nil, http.StatusUnauthorized},
		{"a", []string{"Authorization", "Bearer " + testToken, "Origin", "http://elsewhere.example"}, http.StatusForbidden},
		{"a", []string{"Authorization", "Bearer " + testToken, "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"a", []string{"Authorization", "Bearer " + testToken, "Origin", "null"}, http.StatusForbidden},
		{"missing", []string{"Authorization", "Bearer " + testToken}, http.StatusNotFound},
		{"idle", []string{"Authorization", "Bearer " + testToken}, http.StatusConflict},
		{"a", []string{"Authorization", "Bearer " + testToken, "Origin", origin}, http.StatusAccepted},
	} {
		before := len(b.source.stopped)
		status, _, body := b.ask("POST", "/api/runs/"+c.run+"/stop", c.header...)
		if stopped := len(b.source.stopped) - before; status != c.want || (stopped == 1) != (c.want == http.StatusAccepted) {
			t.Errorf("%s with %q: %d %s, %d stopped, want %d", c.run, c.header, status, body, stopped, c.want)
		}
	}
	if status, _, _ := b.ask("GET", "/api/runs/a/stop", "Authorization", "Bearer "+testToken); status == http.StatusOK || len(b.source.stopped) != 1 {
		t.Errorf("a GET stops: %d", status)
	}
}

func TestStop_NotWithoutToken(t *testing.T) {
	b := newBench(t, "")
	b.run("a", 1)
	b.source.live["a"] = &Live{}
	if status, _, _ := b.ask("POST", "/api/runs/a/stop"); status != http.StatusForbidden || len(b.source.stopped) != 0 {
		t.Errorf("got %d, stopped %v", status, b.source.stopped)
	}
	if err := Folder("").Stop("a"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

func TestHealth(t *testing.T) {
	b := newBench(t, testToken)
	if status, _, body := b.ask("GET", "/healthz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("got %d %q", status, body)
	}
	if status, _, _ := b.ask("GET", "/readyz"); status != http.StatusOK {
		t.Errorf("got %d", status)
	}
	b.source.trouble = errors.New("no servers at nats.internal")
	if status, _, body := b.ask("GET", "/readyz"); status != http.StatusServiceUnavailable || strings.Contains(body, "internal") {
		t.Errorf("got %d %q", status, body)
	}
	if status, _, _ := b.ask("GET", "/healthz"); status != http.StatusOK {
		t.Errorf("the process lives, got %d", status)
	}
}
