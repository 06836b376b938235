package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/store"
)

// made makes a run with a configuration and, unless it is empty, a measurement by the protocol ahead.
func (b *bench) made(name, config, report string) {
	b.t.Helper()
	r, err := store.Create(b.dir, store.Draft{Name: name, Config: []byte(config), Info: store.Info{Steps: 100, Preset: "toy"}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.grow(r, 1, 20)
	if err := r.End(store.Finished, ""); err != nil {
		b.t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.measure(name, report)
}

func (b *bench) measure(name, report string) {
	b.t.Helper()
	if report == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(b.dir, name, "tables", "ahead.json"), []byte(report), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) table() table {
	b.t.Helper()
	status, _, body := b.ask("GET", "/api/table")
	var t table
	if err := json.Unmarshal([]byte(body), &t); err != nil || status != http.StatusOK {
		b.t.Fatalf("%d %v: %s", status, err, body)
	}
	return t
}

func TestTable_HasAColumnForEverything(t *testing.T) {
	b := newBench(t, "")
	b.made("first", "seed: 1\nmodel:\n  kind: slds\n  latent: 4\noptim:\n  rate: 1e-05\n",
		`{"protocol":"ahead","metrics":{"rmse":[0.5,null,2],"ratio":{"1":0.9,"10":0.7},"episodes":3}}`)
	b.made("second", "seed: 2\nmodel:\n  kind: lstm\noptim:\n  rate: 0.001\n", "")
	got := b.table()
	at := map[string]int{}
	for i, name := range got.Runs {
		at[name] = i
	}
	first, second := at["first"], at["second"]
	for key, want := range map[string][2]any{
		"model.kind": {"slds", "lstm"}, "optim.rate": {1e-05, 0.001}, "model.latent": {4.0, nil}, "seed": {1.0, 2.0},
	} {
		if c := got.Settings[key]; len(c) != 2 || c[first] != want[0] || c[second] != want[1] {
			t.Errorf("%s: %v, want %v", key, c, want)
		}
	}
	for key, want := range map[string]any{
		"ahead/rmse/1": 0.5, "ahead/rmse/2": nil, "ahead/rmse/3": 2.0, "ahead/ratio/10": 0.7, "ahead/episodes": 3.0,
	} {
		if c := got.Results[key]; want == nil && c != nil || want != nil && (len(c) != 2 || c[first] != want || c[second] != nil) {
			t.Errorf("%s: %v, want %v", key, c, want)
		}
	}
	if c := got.Training["train/objective"]; len(c) != 2 || c[0] != 20.0 {
		t.Errorf("train/objective: %v", c)
	}
	if c := got.Training["validation/elbo"]; len(c) != 2 || c[0] != 9.0 {
		t.Errorf("validation/elbo: %v", c)
	}
	b.measure("second", `{"metrics":{"rmse":[4]}}`)
	if c := b.table().Results["ahead/rmse/1"]; len(c) != 2 || c[second] != 4.0 {
		t.Errorf("what was measured later is missing: %v", c)
	}
	b.measure("second", `{"metrics":`)
	if c := b.table().Settings["model.kind"]; len(c) != 2 || c[second] != "lstm" {
		t.Errorf("a damaged measurement takes the settings along: %v", c)
	}
}

func TestCurves_OfSeveralRuns(t *testing.T) {
	b := newBench(t, "")
	b.made("first", "seed: 1\n", "")
	b.made("second", "seed: 2\n", "")
	status, _, body := b.ask("GET", "/api/curves?run=first&run=second&run=nowhere&metric=train/objective&metric=validation/elbo&points=1000")
	var got struct{ Runs map[string]Series }
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v: %s", status, err, body)
	}
	if len(got.Runs) != 2 {
		t.Fatalf("%d runs", len(got.Runs))
	}
	for name, s := range got.Runs {
		train, check := s.Splits["train"], s.Splits["validation"]
		if train == nil || check == nil || len(train.Values) != 1 || len(check.Values) != 1 {
			t.Fatalf("%s: %s", name, body)
		}
		c := train.Values["objective"].Mean
		if len(c) != 20 || *c[19] != 20 || *check.Values["elbo"].Mean[1] != 9 {
			t.Errorf("%s: %s", name, body)
		}
	}
	for query, want := range map[string]int{
		"run=first":                                                 http.StatusBadRequest,
		"run=first&metric=train/loss&points=x":                      http.StatusBadRequest,
		"metric=train/loss":                                         http.StatusOK,
		"run=first&metric=train/loss&from=5&to=9":                   http.StatusOK,
		strings.Repeat("run=a&", maxCurves+1) + "metric=train/loss": http.StatusBadRequest,
	} {
		if status, _, body := b.ask("GET", "/api/curves?"+query); status != want {
			t.Errorf("%.60s: %d %s", query, status, body)
		}
	}
}

// TestShelf_LeavesThoseOfNobody: digests that nobody asks for make room.
func TestShelf_LeavesThoseOfNobody(t *testing.T) {
	s := newShelf(t.TempDir(), 8, 3)
	for i := range 5 {
		s.digest(Run{Info: store.Info{Name: fmt.Sprint("run-", i)}})
		s.digest(Run{Info: store.Info{Name: "run-0"}})
	}
	if s.digests["run-0"] == nil || s.digests["run-4"] == nil || len(s.digests) != 3 {
		t.Errorf("kept %d: %v", len(s.digests), s.digests)
	}
	s.keep(map[string]bool{"run-4": true})
	if s.digests["run-4"] == nil || len(s.digests) != 1 {
		t.Errorf("kept %v", s.digests)
	}
}

// TestNames_UsedAgain: nothing of a removed run is shown for a later one of its name, though nobody has listed the runs
// in between and the later one has more records.
func TestNames_UsedAgain(t *testing.T) {
	b := newBench(t, "")
	b.made("a", "seed: 1\n", "")
	l := b.listen("/api/events?run=a", "20.2")
	l.next("run")
	charts := []string{"/api/runs/a/metrics", "/api/curves?run=a&metric=train/objective"}
	for _, path := range append(charts, "/api/runs/a") {
		b.ask("GET", path)
	}
	b.source.mu.Lock() // the stream does not look in between, either
	err := store.Remove(b.dir, "a")
	r, made := store.Create(b.dir, store.Draft{Name: "a", Overrides: []string{"seed=4"}, Info: store.Info{Steps: 100}})
	b.source.mu.Unlock()
	if err := errors.Join(err, made); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for s := uint64(1); s <= 90; s++ {
		record := store.Record{Step: s, Split: "train", Time: start, Values: store.Values{"objective": -1000}}
		if err := r.Append(record); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range charts {
		_, _, body := b.ask("GET", path)
		if n := strings.Count(body, "-1000"); n != 90 {
			t.Errorf("%s: %d of 90 values of the later run: %s", path, n, body)
		}
	}
	if d := get[Detail](b, "/api/runs/a"); len(d.Overrides) != 1 || *d.Objective != -1000 {
		t.Errorf("the overrides %v, the objective %v", d.Overrides, *d.Objective)
	}
	l.next("reload")
}
