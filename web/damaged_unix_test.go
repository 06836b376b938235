//go:build unix

package web

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard-ml/switchyard/store"
)

// A run whose files are pipes is shown with what is damaged and what to do; no answer waits for a pipe.
func TestShow_DamagedRun(t *testing.T) {
	b := newBench(t, "")
	b.run("whole", 2)
	r := b.run("a", 2)
	for _, file := range []string{"run.json", "config.yaml", "log.jsonl", "metrics.jsonl"} {
		if err := errors.Join(os.RemoveAll(r.Path(file)), syscall.Mkfifo(r.Path(file), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	b.server.config.Source = Folder(b.dir)
	d := get[Detail](b, "/api/runs/a")
	if d.State != store.Damaged || len(d.Damage) != 4 || d.Damage[0].File != "run.json" || !strings.Contains(d.Damage[0].Remedy, "from a copy") {
		t.Errorf("got %+v", d)
	}
	if all := get[overview](b, "/api/runs").Runs; len(all) != 2 {
		t.Errorf("listed %+v", all)
	}
	for path, want := range map[string]int{
		"log": http.StatusInternalServerError, "metrics": http.StatusInternalServerError, "files/run.json": http.StatusNotFound,
		"files/metrics.csv": http.StatusInternalServerError, "model": 0,
	} {
		if status, _, body := b.ask("GET", "/api/runs/a/"+path); want != 0 && status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
