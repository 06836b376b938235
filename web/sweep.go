package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
)

// Sweeps shows sweeps on the page. Its functions are called from many goroutines; what they return is encoded as
// JSON.
type Sweeps struct {
	// List returns a list of what the page shows of each sweep.
	List func() any
	// Show returns the report of a sweep. The error for an unknown name matches fs.ErrNotExist.
	Show func(name string) (any, error)
}

// listSweeps answers with all sweeps; without any source of them with an empty list.
func (s *Server) listSweeps(w http.ResponseWriter, r *http.Request) {
	if s.config.Sweeps == nil {
		writeJSON(w, r, []any{})
		return
	}
	writeJSON(w, r, s.config.Sweeps.List())
}

// showSweep answers with the report of one sweep.
func (s *Server) showSweep(w http.ResponseWriter, r *http.Request) {
	err := fs.ErrNotExist
	var report any
	if s.config.Sweeps != nil {
		report, err = s.config.Sweeps.Show(r.PathValue("name"))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		writeError(w, http.StatusNotFound, "there is no such sweep")
	case err != nil:
		s.log.Error("a request failed", "act", "read the sweep", "sweep", r.PathValue("name"), "err", err)
		writeError(w, http.StatusInternalServerError, "failed to read the sweep; the log says why")
	default:
		writeJSON(w, r, report)
	}
}

// SweepFile is the page of one sweep as a single file that needs no server. Links to runs lead to their folders, in the
// folder runs beside the file. Styles, scripts and the report are in it.
func SweepFile(title string, report any) ([]byte, error) {
	data, err := json.Marshal(report) // <, > and & are escaped: it can stand in a script
	if err != nil {
		return nil, fmt.Errorf("encode the report of the sweep: %w", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "+
		"content=\"light dark\">\n<title>%s · sweep</title>\n<style>\n", html.EscapeString(title))
	for _, part := range []struct{ before, file, after string }{
		{"", "style.css", ""},
		{"", "plots.css", ""},
		{"", "sweep.css", "</style>\n</head>\n<body>\n<main id=\"main\"><div id=\"sweep\"></div></main>\n<script>\n"},
		{"", "sweep-charts.js", ""},
		{
			"", "sweep.js",
			"new SweepView(document.getElementById('sweep'), (run) => `runs/${encodeURIComponent(run)}/`).show(",
		},
	} {
		text, err := fs.ReadFile(page, "page/"+part.file)
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		b.WriteString(part.before)
		b.Write(text)
		b.WriteString(part.after)
	}
	b.Write(data)
	b.WriteString(");\n</script>\n</body>\n</html>\n")
	return b.Bytes(), nil
}
