package web

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
)

// table is the answer of /api/table: all runs by column, which has a value for each run, or null. Settings are the keys
// of the configuration. Training are the latest values of metrics.jsonl as SPLIT/NAME. Results are what was measured as
// PROTOCOL/METRIC, and PROTOCOL/METRIC/KEY where a metric has several values.
type table struct {
	Runs     []string         `json:"runs"`
	Settings map[string][]any `json:"settings"`
	Training map[string][]any `json:"training"`
	Results  map[string][]any `json:"results"`
}

// facts are what the folder of a run says of it beyond run.json. They are read again when its files have changed.
// They are replaced, never changed, so a copy may be read without the lock.
type facts struct {
	settings map[string]any
	results  map[string]any
	written  time.Time // the latest of its files
}

// table answers with all runs by column.
func (s *Server) table(w http.ResponseWriter, r *http.Request) {
	list, err := s.config.Source.Runs()
	if err != nil {
		s.fail(w, "list the runs", "", err)
		return
	}
	s.forget(list)
	t := table{make([]string, len(list)), map[string][]any{}, map[string][]any{}, map[string][]any{}}
	for i, run := range list {
		t.Runs[i] = run.Name
		f := s.factsOf(run.Name)
		enter(t.Settings, i, len(list), f.settings)
		enter(t.Training, i, len(list), s.latestOf(run))
		enter(t.Results, i, len(list), f.results)
	}
	writeJSON(w, r, t)
}

// enter sets row i, of n, of the columns that a run has. A new column is null for all other runs.
func enter(columns map[string][]any, i, n int, values map[string]any) {
	for key, v := range values {
		if columns[key] == nil {
			columns[key] = make([]any, n)
		}
		columns[key][i] = v
	}
}

// latestOf are the latest metrics of a run. Those that are not finite become null.
func (s *Server) latestOf(run Run) map[string]any {
	f, err := s.follow(run)
	if err != nil {
		return nil // its row says why
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]any{}
	for _, r := range []store.Record{f.train, f.check} {
		for name, v := range r.Values {
			all[r.Split+"/"+name] = eval.Number(v)
		}
	}
	return all
}

// factsOf reads the configuration and the measurements of a run unless they are known. What cannot be read is left
// out. A change is noticed by the times of the files, to the resolution of the file system.
func (s *Server) factsOf(name string) facts {
	folder := filepath.Join(s.config.Dir, name)
	tables, _ := fs.Glob(os.DirFS(folder), "tables/*.json") // the pattern is valid
	// The time of the folder tells of files that were removed.
	written := time.Time{}
	for _, path := range append(tables, "config.yaml", "tables") {
		if info, err := os.Stat(filepath.Join(folder, path)); err == nil && info.ModTime().After(written) {
			written = info.ModTime()
		}
	}
	s.mu.Lock()
	f, known := s.facts[name]
	s.mu.Unlock()
	if known && f.written.Equal(written) {
		return f
	}
	f = facts{settings: map[string]any{}, results: map[string]any{}, written: written}
	values, err := store.Settings(s.config.Dir, name)
	for _, v := range values {
		f.settings[v.Key] = typed(v.Text)
	}
	for _, path := range tables {
		if readErr := f.measured(filepath.Join(folder, path)); readErr != nil {
			err = readErr
		}
	}
	if err != nil {
		s.log.Debug("a run is shown without some of its columns", "run", name, "err", err)
	}
	s.mu.Lock()
	s.facts[name] = f
	s.mu.Unlock()
	return f
}

// measured takes the numbers of one protocol in; one that is null has no value. The name of the file is that of the
// protocol.
func (f *facts) measured(path string) error {
	data, err := store.ReadFile(path)
	if err != nil {
		return err
	}
	numbers, err := eval.ReadNumbers(data)
	if err != nil {
		return &fs.PathError{Op: "read", Path: path, Err: err}
	}
	protocol := strings.TrimSuffix(filepath.Base(path), ".json")
	for name, v := range numbers {
		if eval.Finite(v) {
			f.results[protocol+"/"+name] = v
		}
	}
	return nil
}

// typed is a setting as a number if it is one.
func typed(text string) any {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return eval.Number(v)
	}
	return text
}
