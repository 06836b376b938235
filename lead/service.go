package lead

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/control"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/web"
	"github.com/switchyard-ml/switchyard/runs"
)

// service answers the requests to a host over NATS.
type service struct{ host *Host }

var _ control.Host = service{}

// Submit implements control.Host.
func (s service) Submit(r control.Submission) (control.Submitted, error) {
	c, err := s.host.cfg.Kinds.Parse("the submitted configuration", []byte(r.Config))
	if err != nil {
		return control.Submitted{}, s.answered(config.Hint(config.Usage(err), "use the same release on both sides"))
	}
	h := s.host
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.life.Err() != nil {
		return control.Submitted{}, &control.Error{Code: control.Unavailable, Text: "the coordinator is being stopped", Hint: "submit the run again when it is back"}
	}
	o := Order{Name: r.Name, Config: c, Overrides: r.Overrides, Command: r.Command, Scale: r.Normalisation}
	if name := h.requests[r.Request]; name != "" {
		o.Name = name
	}
	result, err := h.open(o)
	if err != nil {
		h.log.Warn("submission refused", "run", r.Name, "error", err)
		return control.Submitted{}, s.answered(err)
	}
	if r.Request != "" {
		if len(h.requests) == maxRequests {
			clear(h.requests) // old requests are not sent again
		}
		h.requests[r.Request] = result.Name
	}
	h.log.Info("run submitted", "run", result.Name, "state", result.State)
	return result, nil
}

// Upload implements control.Host.
func (s service) Upload(p control.Piece) (control.Stored, error) {
	stored, err := s.host.store.Append(p)
	if err == nil && stored.Complete && len(p.Data) > 0 {
		s.host.log.Info("data set received", "hash", p.Hash, "bytes", p.Size)
	}
	return stored, err
}

// Runs implements control.Host.
func (s service) Runs() ([]control.Run, error) {
	list, err := source(s).Runs()
	if err != nil {
		return nil, err
	}
	all := make([]control.Run, len(list))
	for i, r := range list {
		if all[i], err = controlled(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Run implements control.Host.
func (s service) Run(name string) (control.Run, error) {
	r, err := source(s).Run(name)
	if err != nil {
		return control.Run{}, s.missing(name, err)
	}
	return controlled(r)
}

// Stop implements control.Host.
func (s service) Stop(name string) error {
	err := source(s).Stop(name)
	if errors.Is(err, web.ErrNotRunning) {
		return &control.Error{Code: control.Conflict, Text: fmt.Sprintf("run %s is not under way here", name), Hint: "`runs ls` shows which are"}
	}
	return s.missing(name, err)
}

// Sweep implements control.Host.
func (s service) Sweep(r control.SweepRequest) (control.SweepAnswer, error) {
	if s.host.cfg.Sweep == nil {
		return control.SweepAnswer{}, &control.Error{Code: control.Conflict, Text: "this process leads one sweep of its own", Hint: "sweep submit needs a coordinator"}
	}
	answer, err := s.host.cfg.Sweep(r)
	return answer, s.answered(err)
}

// Ban implements control.Host.
func (s service) Ban(b control.Ban) (control.Changed, error) {
	reason := b.Reason
	if reason == "" {
		reason = "on request"
	}
	return s.changeBan(b.Key, func(key string) (bool, error) { return s.host.bans.Ban(key, reason) })
}

// Unban implements control.Host.
func (s service) Unban(b control.Ban) (control.Changed, error) {
	return s.changeBan(b.Key, s.host.bans.Unban)
}

func (s service) changeBan(text string, change func(key string) (bool, error)) (control.Changed, error) {
	key, err := cluster.CheckKey(text)
	if err != nil {
		return control.Changed{}, &control.Error{Code: control.BadRequest, Text: err.Error()}
	}
	if key == s.host.bus.Key() {
		return control.Changed{}, &control.Error{Code: control.Conflict, Text: "that is the coordinator's own key", Hint: "make a new one, see docs/security.md"}
	}
	changed, err := change(key)
	return control.Changed{Changed: changed}, s.answered(err)
}

// Bans implements control.Host.
func (s service) Bans() []control.Ban {
	var list []control.Ban
	for _, b := range s.host.bans.Gate.Bans() {
		list = append(list, control.Ban(b))
	}
	return list
}

// missing turns an error about a run into the answer to a client. If there is no such run, the answer has the name and
// the most similar one, but not the folder, which means nothing to the client.
func (s service) missing(name string, err error) error {
	if !errors.Is(err, runs.ErrNotFound) {
		return s.answered(err)
	}
	hint := "`runs ls` shows which there are"
	if list, listErr := runs.List(s.host.cfg.RunsDir); listErr == nil {
		var words []string
		for _, r := range list {
			words = append(words, r.Name)
		}
		if near := setting.Nearest(name, words); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	return s.answered(config.Hint(fmt.Errorf("%w: %s", runs.ErrNotFound, name), "%s", hint))
}

func controlled(r web.Run) (control.Run, error) {
	run := control.Run{Info: r.Info}
	if r.Live == nil {
		return run, nil
	}
	var err error
	if run.Live, err = json.Marshal(r.Live); err != nil {
		return run, fmt.Errorf("encode the state of run %s: %w", r.Name, err)
	}
	return run, nil
}

// answered turns an error into the answer to a client.
func (s service) answered(err error) error {
	if err == nil {
		return nil
	}
	e := &control.Error{Code: control.Failed, Text: err.Error(), Hint: config.HintOf(err)}
	switch {
	case errors.Is(err, runs.ErrNotFound):
		e.Code = control.NotFound
	case errors.Is(err, errOtherConfig), errors.Is(err, runs.ErrOccupied), errors.Is(err, runs.ErrHeld):
		e.Code = control.Conflict
	case s.host.cfg.Mistaken(err):
		e.Code = control.BadRequest
	}
	return e
}
