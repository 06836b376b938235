package web

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/store"
)

// change sends a request that changes a run, and returns the status and the answer.
func (b *bench) change(path, body string, header ...string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequest("POST", b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestEdit_LabelsRenamesRemoves(t *testing.T) {
	b := newBench(t, testToken)
	b.made("a", "seed: 1\n", "")
	b.made("taken", "seed: 2\n", "")
	b.run("held", 3)
	token := []string{"Authorization", "Bearer " + testToken}
	for _, step := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/api/runs/a/labels", `{"tags":["good","best"],"note":"the one"}`, http.StatusOK, ""},
		{"/api/runs/held/labels", `{"archived":true}`, http.StatusOK, ""},
		{"/api/runs/a/labels", `{"tags":["two words"]}`, http.StatusBadRequest, "one word"},
		{"/api/runs/a/labels", `{"tag":["good"]}`, http.StatusBadRequest, `unknown field`},
		{"/api/runs/a/labels", `{"tags":`, http.StatusBadRequest, "not what"},
		{"/api/runs/a/labels", `{"note":"` + strings.Repeat("x", maxEdit) + `"}`, http.StatusBadRequest, "not what"},
		{"/api/runs/nowhere/labels", `{}`, http.StatusNotFound, "no such run"},
		{"/api/runs/a/rename", `{"to":"taken"}`, http.StatusConflict, "taken"},
		{"/api/runs/a/rename", `{"to":"../b"}`, http.StatusBadRequest, "name"},
		{"/api/runs/held/rename", `{"to":"b"}`, http.StatusConflict, "works on the run"},
		{"/api/runs/held/remove", `{}`, http.StatusConflict, "works on the run"},
		{"/api/runs/a/rename", `{"to":"b"}`, http.StatusOK, ""},
		{"/api/runs/a/remove", `{}`, http.StatusNotFound, "no such run"},
		{"/api/runs/taken/remove", `{}`, http.StatusOK, ""},
	} {
		if status, text := b.change(step.path, step.body, token...); status != step.status || !strings.Contains(text, step.says) {
			t.Errorf("%s %.60s: %d %s", step.path, step.body, status, text)
		}
	}
	_, _, body := b.ask("GET", "/api/runs", token...)
	var all struct{ Runs []Summary }
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]store.Labels{}
	for _, r := range all.Runs {
		got[r.Name] = r.Labels
	}
	if want := map[string]store.Labels{"b": {Tags: []string{"best", "good"}, Note: "the one"}, "held": {Archived: true}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEdit_NeedsTheToken: without a token of the server, or with another one, or from another site, nothing changes.
func TestEdit_NeedsTheToken(t *testing.T) {
	for _, token := range []string{"", testToken} {
		b := newBench(t, token)
		b.made("a", "seed: 1\n", "")
		for _, path := range []string{"/api/runs/a/remove", "/api/runs/a/rename", "/api/runs/a/labels"} {
			for _, header := range [][]string{nil, {"Authorization", "Bearer wrong-wrong-wrong-wrong"}, {"Origin", "http://elsewhere.example"}} {
				if status, _ := b.change(path, `{"to":"b","note":"x"}`, header...); status != http.StatusForbidden && status != http.StatusUnauthorized {
					t.Errorf("%s with %v: %d", path, header, status)
				}
			}
		}
		if l, err := store.ReadLabels(b.dir, "a"); err != nil || l.Note != "" {
			t.Errorf("got %v, %v", l, err)
		}
	}
}
