package web

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// File is a file of a run that can be downloaded.
type File struct {
	Name string `json:"name"` // with its folder, e.g. tables/fhn.csv
	Size int64  `json:"size"` // 0: it is made when it is asked for
}

// csvFile is the name under which the metrics of a run are downloaded as a table.
const csvFile = "metrics.csv"

// offered are the files in the folder of a run that can be downloaded; those in tables and figures, too.
var offered = []string{"config.yaml", "overrides.txt", "run.json", "metrics.jsonl", "log.jsonl"}

// filesOf lists the files of a run that can be downloaded: tables, figures, the metrics as a table, and those of its
// folder. What is not there, or no regular file, is left out.
func (s *Server) filesOf(run string) []File {
	folder := filepath.Join(s.config.Dir, run)
	files := []File{}
	add := func(name string) {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, File{filepath.ToSlash(name), info.Size()})
		}
	}
	for _, sub := range []string{"tables", "figures"} {
		entries, err := os.ReadDir(filepath.Join(folder, sub))
		if err != nil {
			continue // there is none
		}
		for _, e := range entries {
			add(filepath.Join(sub, e.Name()))
		}
	}
	files = append(files, File{Name: csvFile})
	for _, name := range offered {
		add(name)
	}
	return files
}

// file serves a file of a run as a download, which no browser opens in the place of the page. os.Root keeps every
// path, and every link in it, below the folder of the run.
func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	name := r.PathValue("file")
	if name == csvFile {
		s.metricsCSV(w, r, run.Name)
		return
	}
	folder := path.Dir(name)
	if !slices.Contains(offered, name) && folder != "tables" && folder != "figures" {
		writeError(w, http.StatusNotFound, "there is no such file")
		return
	}
	file, info, err := openBelow(filepath.Join(s.config.Dir, run.Name), name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.Join(fs.ErrNotExist, file.Close())
	}
	if err != nil {
		s.log.Debug("no file", "run", run.Name, "err", err)
		writeError(w, http.StatusNotFound, "there is no such file")
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": run.Name + "-" + strings.ReplaceAll(name, "/", "-")}))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	http.ServeContent(newDownload(w), r, "", info.ModTime(), file)
}

// download writes an answer of any length, to a client of any speed: the time limit holds for each part of it.
type download struct {
	http.ResponseWriter
	control *http.ResponseController
	begun   bool // a part was written
}

// newDownload returns the writer of one answer.
func newDownload(w http.ResponseWriter) *download {
	return &download{ResponseWriter: w, control: http.NewResponseController(w)}
}

// Write implements io.Writer.
func (d *download) Write(part []byte) (int, error) {
	d.begun = true
	if err := d.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return d.ResponseWriter.Write(part)
}

// metricsCSV sends all metrics as one table. It is made while it is sent: an error on the way breaks the connection, so
// that no client takes a part for the whole.
func (s *Server) metricsCSV(w http.ResponseWriter, r *http.Request, name string) {
	if !place(r, s.tables) {
		return
	}
	defer func() { <-s.tables }()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment",
		map[string]string{"filename": name + "-" + csvFile}))
	d := newDownload(w)
	switch err := store.WriteCSV(d, s.config.Dir, name); {
	case err != nil && d.begun:
		s.log.Debug("metrics were not sent to the end", "run", name, "err", err)
		panic(http.ErrAbortHandler) // the server says nothing of it
	case err != nil:
		w.Header().Del("Content-Disposition")
		s.fail(w, "read the metrics", name, err)
	}
}

// Limits of the log that the page shows: lines of an answer, and bytes of the file that are read for them.
const (
	defaultLines = 60
	maxLines     = 1000
	tailBytes    = 256 << 10
)

// logTail answers with the last lines of the log of a run. A run without a log has none.
func (s *Server) logTail(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	lines, err := queryNumber(r, "lines", defaultLines)
	if err != nil || lines < 1 {
		writeError(w, http.StatusBadRequest, "lines is a whole number, at least 1")
		return
	}
	text, err := lastBytes(filepath.Join(s.config.Dir, run.Name, store.Log))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.fail(w, "read the log", run.Name, err)
		return
	}
	list := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(text) == 0 {
		list = []string{}
	}
	writeJSON(w, r, map[string][]string{"lines": list[len(list)-min(len(list), int(min(lines, maxLines))):]})
}

// magnitudes answers with those of a run over its steps.
func (s *Server) magnitudes(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	found, err := store.ReadMagnitudes(s.config.Dir, run.Name)
	if err != nil {
		s.fail(w, "read the magnitudes", run.Name, err)
		return
	}
	writeJSON(w, r, found)
}

// lastBytes reads the complete lines at the end of a file. It reads at most tailBytes; a line that begins before
// them, and one that is not complete, are left out.
func lastBytes(path string) ([]byte, error) {
	f, info, err := store.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(0, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], err
}
