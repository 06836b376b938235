package web

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/switchyard-ml/switchyard/store"
)

// Editor is a Source whose runs can be renamed, removed and labelled, as the commands of runs do it.
type Editor interface {
	// Rename gives a run another name. It returns store.ErrHeld while a process works on the run, and store.ErrOccupied
	// if the name is taken.
	Rename(from, to string) error
	// Remove removes a run with all its files. It returns store.ErrHeld while a process works on it.
	Remove(name string) error
	// Label gives a run labels in the place of those that it had.
	Label(name string, l store.Labels) error
}

var _ Editor = Folder("")

// Rename implements Editor.
func (f Folder) Rename(from, to string) error { return store.Rename(string(f), from, to) }

// Remove implements Editor.
func (f Folder) Remove(name string) error { return store.Remove(string(f), name) }

// Label implements Editor.
func (f Folder) Label(name string, l store.Labels) error { return store.SetLabels(string(f), name, l) }

// maxEdit is the most bytes of a request that changes a run.
const maxEdit = 64 << 10

// edits changes a run by what the body of the request says, a value of type B in JSON. It needs a token. It answers
// 200 when the change is on the disk.
func edits[B any](s *Server, what string, do func(e Editor, name string, body B) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		editor, able := s.config.Source.(Editor)
		if !s.mayChange(w) {
			return
		}
		name := r.PathValue("name")
		var body B
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxEdit))
		d.DisallowUnknownFields() // labels replace others: one that is misspelt would remove them
		if err := d.Decode(&body); err != nil {
			writeError(w, http.StatusBadRequest, "the body is not what "+what+" takes: "+err.Error())
			return
		}
		err := ErrReadOnly
		if able {
			err = do(editor, name, body)
		}
		if err != nil {
			s.refused(w, what, name, err)
			return
		}
		s.log.Info("asked from the page", "run", name, "act", what)
		writeStatus(w, http.StatusOK, map[string]string{"run": name, "act": what})
	}
}

// refused answers with why a run was not changed. 409 asks the client to do something about the run first, 400 about
// the request.
func (s *Server) refused(w http.ResponseWriter, what, name string, err error) {
	switch {
	case errors.Is(err, store.ErrHeld):
		writeError(w, http.StatusConflict, "a process works on the run: stop it first")
	case errors.Is(err, store.ErrOccupied):
		writeError(w, http.StatusConflict, "the name is taken")
	case errors.Is(err, store.ErrLabels), errors.Is(err, store.ErrName) && what == "rename":
		writeError(w, http.StatusBadRequest, err.Error())
	default:
		s.fail(w, what+" the run", name, err)
	}
}

// target is the body of a request to rename a run.
type target struct {
	To string `json:"to"`
}

// renameRun, removeRun and labelRun are the changes that edits makes.
func renameRun(e Editor, name string, t target) error { return e.Rename(name, t.To) }

func removeRun(e Editor, name string, _ struct{}) error { return e.Remove(name) }

func labelRun(e Editor, name string, l store.Labels) error { return e.Label(name, l) }
