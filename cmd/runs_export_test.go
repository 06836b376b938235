package cmd

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunsExport: the metrics of a run become a table, event files of TensorBoard in its folder, and a run of an MLflow
// server; what is missing is named.
func TestRunsExport(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--quiet", "--name", "a", "train.steps=3")
	table := filepath.Join(c.dir, "a.csv")
	if r := c.must("runs", "export", "a", "-o", table); !strings.Contains(r.out, table) {
		t.Errorf("got %s", r.out)
	}
	if text, err := os.ReadFile(table); err != nil || !strings.HasPrefix(string(text), "step,split,time,seconds,") {
		t.Errorf("the table is %.100q, %v", text, err)
	}
	if files, err := filepath.Glob(filepath.Join(c.dir, "a", "tb", "*", "events.out.tfevents.*")); err != nil || len(files) != 2 {
		t.Errorf("training has written the event files %v, %v", files, err)
	}
	if r := c.must("runs", "export", "a", "--to", "tensorboard"); !strings.Contains(r.out, "tensorboard --logdir "+filepath.Join(c.dir, "a", "tb")) {
		t.Errorf("got %s", r.out)
	}
	if files, err := filepath.Glob(filepath.Join(c.dir, "a", "tb", "train", "events.out.tfevents.*")); err != nil || len(files) != 1 {
		t.Errorf("event files %v, %v", files, err)
	}
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")]++
		answer := map[string]any{"experiment_id": "1", "run": map[string]any{"info": map[string]string{"run_id": "r9"}}}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	if r := c.must("runs", "export", "a", "--to", "mlflow", "--url", strings.Replace(server.URL, "//", "//me:secret@", 1), "--experiment", "mine"); !strings.Contains(r.out, "as run r9") || strings.Contains(r.out, "secret") {
		t.Errorf("got %s", r.out)
	}
	if asked["runs/create"] != 1 || asked["runs/log-batch"] < 2 || asked["runs/update"] != 1 {
		t.Errorf("the server was asked for %v", asked)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "runs/log-batch") {
			w.WriteHeader(http.StatusInsufficientStorage)
			return
		}
		answer := map[string]any{"experiment_id": "1", "run": map[string]any{"info": map[string]string{"run_id": "r7"}}}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer refusing.Close()
	if r := c.run("runs", "export", "a", "--to", "mlflow", "--url", refusing.URL); r.code != exitFailed || !strings.Contains(r.err, "delete run r7 there") {
		t.Errorf("a run that is half sent: code %d, %s", r.code, r.err)
	}
	shared := t.TempDir()
	others := filepath.Join(shared, "train", "events.out.tfevents.1.switchyard")
	if err := errors.Join(os.Mkdir(filepath.Dir(others), 0o755), os.WriteFile(others, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	c.environ = []string{"MLFLOW_TRACKING_URI="}
	for line, want := range map[string]string{
		"runs export a --to excel":                    "csv, tensorboard, mlflow",
		"runs export a --to mlflow":                   "--url http://127.0.0.1:5000",
		"runs export none":                            "none",
		"runs export a --to tensorboard -o " + shared: "give each run a folder: -o " + filepath.Join(shared, "a"),
	} {
		if r := c.run(strings.Fields(line)...); r.code == exitOK || !strings.Contains(r.err, want) {
			t.Errorf("%s: code %d, %s", line, r.code, r.err)
		}
	}
}

// A run without records has no event files: that is said, and not that nothing was written.
func TestRunsExport_OfARunWithoutRecords(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("train", "noise/smoke", "--quiet", "--name", "a", "train.steps=1", "--tensorboard=false")
	if err := os.WriteFile(filepath.Join(c.dir, "a", "metrics.jsonl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"--json=false", "--json"} {
		r := c.run("runs", "export", "a", "--to", "tensorboard", form)
		if r.code != exitUsage || r.out != "" || !strings.Contains(r.err, "run a has no records") {
			t.Errorf("%s: %+v", form, r)
		}
	}
}
