package web

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/switchyard-ml/switchyard/store"
)

// Detail is a run with everything that the page shows except metrics. It is the answer of /api/runs/NAME.
type Detail struct {
	Summary
	Config  string   `json:"config"`  // YAML
	Figures []string `json:"figures"` // file names
	Files   []File   `json:"files"`   // that can be downloaded
}

// overview is the answer of /api/runs.
type overview struct {
	Runs    []Summary `json:"runs"`
	Version string    `json:"version"`
	Stop    bool      `json:"can_stop"` // the page can stop runs
	Keys    []Key     `json:"keys,omitempty"`
}

// find returns the run of a request. If there is none, it sends the answer.
func (s *Server) find(w http.ResponseWriter, r *http.Request) (Run, bool) {
	name := r.PathValue("name")
	run, err := s.config.Source.Run(name)
	if err != nil {
		s.fail(w, "look for the run", name, err)
		return Run{}, false
	}
	return run, true
}

// fail answers with the part of an error that the client may know; the log has all of it. Only errors that the
// client cannot have caused are logged.
func (s *Server) fail(w http.ResponseWriter, what, run string, err error) {
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrName), errors.Is(err, fs.ErrNotExist):
		writeError(w, http.StatusNotFound, "there is no such run")
	case errors.Is(err, ErrNotRunning):
		writeError(w, http.StatusConflict, "the run is not running")
	case errors.Is(err, ErrRunning):
		writeError(w, http.StatusConflict, "the run is running")
	case errors.Is(err, ErrReadOnly):
		writeError(w, http.StatusForbidden, "runs can only be looked at here: ask the process that leads the run")
	default:
		s.log.Error("a request failed", "act", what, "run", run, "err", err)
		writeError(w, http.StatusInternalServerError, "failed to "+what+"; the log says why")
	}
}

// list answers with all runs, the last started first.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	all, err := s.overview()
	if err != nil {
		s.fail(w, "list the runs", "", err)
		return
	}
	writeJSON(w, r, all)
}

// overview reads all runs, with their latest metrics. What is remembered of runs that are gone is forgotten.
func (s *Server) overview() (overview, error) {
	list, err := s.config.Source.Runs()
	if err != nil {
		return overview{}, err
	}
	s.forget(list)
	all := overview{Runs: make([]Summary, 0, len(list)), Version: s.config.Version, Stop: s.canStop()}
	if source, ok := s.config.Source.(Keyed); ok {
		all.Keys = source.Keys()
	}
	for _, run := range list {
		all.Runs = append(all.Runs, s.summarize(run))
	}
	return all, nil
}

// canStop reports whether the page can stop runs: there is a token, and somebody here leads runs.
func (s *Server) canStop() bool {
	_, only := s.config.Source.(Folder)
	return !s.guard.Open() && !only
}

// show answers with one run, also with one that is damaged.
func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	text, _, err := store.Config(s.config.Dir, run.Name)
	if err != nil && len(run.Damage) == 0 { // else the page says what is damaged
		s.fail(w, "read the run", run.Name, err)
		return
	}
	d := Detail{Summary: s.summarize(run), Config: string(text), Figures: []string{}, Files: s.filesOf(run.Name)}
	folder := filepath.Join(s.config.Dir, run.Name)
	if entries, err := os.ReadDir(filepath.Join(folder, "figures")); err == nil {
		for _, e := range entries {
			if e.Type().IsRegular() && pictureType(e.Name()) != "" {
				d.Figures = append(d.Figures, e.Name())
			}
		}
	}
	slices.Sort(d.Figures)
	writeJSON(w, r, d)
}

// pictureType is the media type of a file that is served as a figure. It is empty for a file that is not served.
func pictureType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return "image/png"
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}

// figure serves a file of the figures of a run. os.Root keeps every path, and every link in it, below that folder. A
// figure may hold no script: the policy lets an SVG style itself and load nothing.
func (s *Server) figure(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	name := r.PathValue("file")
	media := pictureType(name)
	file, info, err := openBelow(filepath.Join(s.config.Dir, run.Name, "figures"), name)
	if err == nil && (media == "" || !info.Mode().IsRegular()) {
		err = errors.Join(fs.ErrNotExist, file.Close())
	}
	if err != nil {
		s.log.Debug("no figure", "run", run.Name, "err", err)
		writeError(w, http.StatusNotFound, "there is no such figure")
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	http.ServeContent(w, r, "", info.ModTime(), file)
	if err := file.Close(); err != nil {
		s.log.Debug("close a figure", "err", err)
	}
}

// openBelow opens a file below a folder. The caller closes it. No link leads out of the folder, and the file may be
// no regular one.
func openBelow(folder, name string) (*os.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is not waited for
	if err := errors.Join(err, root.Close()); err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
