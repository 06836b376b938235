package web

import (
	"context"
	"errors"
	"net/http"
)

// Checkpointer is a Source that can ask a run for a checkpoint at once.
type Checkpointer interface {
	// Checkpoint returns without waiting for the checkpoint. It returns ErrNotRunning for a run that is not under way.
	Checkpoint(name string) error
}

// Resumer is a Source that can go on with a run that has ended before its last step. Resume returns ErrRunning for a
// run that is under way, and ErrNotRunning for one that cannot go on.
type Resumer interface {
	Resume(name string) error
}

// ModelFunc computes what the page shows of the model of a run, from its best checkpoint. The error for a run that has
// none yet matches fs.ErrNotExist. The result is encoded as JSON. Calls follow each other.
type ModelFunc func(ctx context.Context, name string) (any, error)

// ErrRunning is returned by Resumer.Resume for a run that is under way.
var ErrRunning = errors.New("web: run is running")

// about is the answer of /api/about: what the server can do. The page shows no button for the rest.
type about struct {
	Version       string `json:"version"`
	CanStop       bool   `json:"can_stop"`
	CanCheckpoint bool   `json:"can_checkpoint"`
	CanResume     bool   `json:"can_resume"`
	CanModel      bool   `json:"can_model"`
	CanEdit       bool   `json:"can_edit"`
}

// about answers with the abilities. What changes runs needs a source that can do it, and a token.
func (s *Server) about(w http.ResponseWriter, r *http.Request) {
	_, checkpoints := s.config.Source.(Checkpointer)
	_, resumes := s.config.Source.(Resumer)
	_, editable := s.config.Source.(Editor)
	closed := !s.guard.Open()
	writeJSON(w, r, about{
		Version: s.config.Version, CanStop: s.canStop(), CanCheckpoint: checkpoints && closed, CanResume: resumes && closed,
		CanModel: s.config.Model != nil, CanEdit: editable && closed,
	})
}

// acts asks a run for something, and answers 202: the run does it later. It needs a token; without one, any program
// on this machine could.
func (s *Server) acts(what string, do func(name string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.mayChange(w) {
			return
		}
		name := r.PathValue("name")
		if err := do(name); err != nil {
			s.fail(w, what+" the run", name, err)
			return
		}
		s.log.Info("asked from the page", "run", name, "act", what)
		writeStatus(w, http.StatusAccepted, map[string]string{"run": name, "act": what})
	}
}

// mayChange reports whether runs can be changed. If they cannot, it sends the answer. Whoever has come so far has
// the token, if there is one.
func (s *Server) mayChange(w http.ResponseWriter) bool {
	if s.guard.Open() {
		writeError(w, http.StatusForbidden, "runs can be changed from the page only where a token is set (--web-token-file)")
		return false
	}
	return true
}

// checkpointRun asks for a checkpoint; ErrReadOnly if the source cannot.
func (s *Server) checkpointRun(name string) error {
	if source, ok := s.config.Source.(Checkpointer); ok {
		return source.Checkpoint(name)
	}
	return ErrReadOnly
}

// resumeRun lets a run go on; ErrReadOnly if the source cannot.
func (s *Server) resumeRun(name string) error {
	if source, ok := s.config.Source.(Resumer); ok {
		return source.Resume(name)
	}
	return ErrReadOnly
}

// model answers with what the page shows of a model. One is computed at a time: whoever leads runs has other work.
// The others wait until it is their turn or their client has gone.
func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	run, ok := s.find(w, r)
	if !ok {
		return
	}
	if s.config.Model == nil {
		writeError(w, http.StatusNotFound, "models are not shown here")
		return
	}
	select {
	case s.models <- struct{}{}:
		defer func() { <-s.models }()
	case <-r.Context().Done():
		return
	}
	view, err := s.config.Model(r.Context(), run.Name)
	if err != nil {
		s.log.Debug("a model cannot be shown", "run", run.Name, "err", err)
		writeError(w, http.StatusConflict, "the model of the run cannot be read yet")
		return
	}
	writeJSON(w, r, view)
}
