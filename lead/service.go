package lead

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
)

// service answers the requests to a host over NATS. Its methods are called from several goroutines. Most errors
// become an *ops.Error, with the code and the hint that the client gets.
type service struct{ host *Host }

var _ ops.Host = service{}

// Submit implements ops.Host. Submissions are opened one by one. A request that was answered before, as its answer
// was lost, finds its run by the name that was given then, also if the host was started anew meanwhile.
func (s service) Submit(r ops.Submission) (ops.Submitted, error) {
	c, err := s.host.cfg.Kinds.Parse("the submitted configuration", []byte(r.Config))
	if err != nil {
		return ops.Submitted{}, s.answered(config.Hint(config.Usage(err), "use the same release on both sides"))
	}
	h := s.host
	h.opening.Lock()
	defer h.opening.Unlock()
	// No run is opened after the runs were told to end: nobody would wait for it.
	if h.life.Err() != nil {
		return ops.Submitted{}, &ops.Error{
			Code: ops.Unavailable, Text: "the coordinator is being stopped",
			Hint: "submit the run again when it is back",
		}
	}
	o := Order{
		Name: r.Name, Config: c, Overrides: r.Overrides, Command: r.Command, Scale: r.Normalisation, Request: r.Request,
	}
	if name := h.requested(r); name != "" {
		o.Name = name
	}
	result, err := h.open(o)
	if err != nil {
		h.log.Warn("submission refused", "run", r.Name, "error", err)
		return ops.Submitted{}, s.answered(err)
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

// Upload implements ops.Host. The log has one line for a data set, when it is complete.
func (s service) Upload(p ops.Piece) (ops.Stored, error) {
	stored, err := s.host.store.Append(p)
	if err == nil && stored.Complete && len(p.Data) > 0 {
		s.host.log.Info("data set received", "hash", p.Hash, "bytes", p.Size)
	}
	return stored, err
}

// Runs implements ops.Host. Runs that this host does not lead have no live state.
func (s service) Runs() ([]ops.Run, error) {
	list, err := source(s).Runs()
	if err != nil {
		return nil, err
	}
	all := make([]ops.Run, len(list))
	for i, r := range list {
		if all[i], err = controlled(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Run implements ops.Host.
func (s service) Run(name string) (ops.Run, error) {
	r, err := source(s).Run(name)
	if err != nil {
		return ops.Run{}, s.missing(name, err)
	}
	return controlled(r)
}

// Stop implements ops.Host. It does not wait for the end of the run.
func (s service) Stop(name string) error {
	err := source(s).Stop(name)
	if errors.Is(err, web.ErrNotRunning) {
		return &ops.Error{
			Code: ops.Conflict, Text: fmt.Sprintf("run %s is not running here", name),
			Hint: "`runs ls` shows which are",
		}
	}
	return s.missing(name, err)
}

// Sweep implements ops.Host.
func (s service) Sweep(r ops.SweepRequest) (ops.SweepAnswer, error) {
	if s.host.cfg.Sweep == nil {
		return ops.SweepAnswer{}, &ops.Error{
			Code: ops.Conflict, Text: "this process leads its own sweep only",
			Hint: "sweep submit needs a coordinator",
		}
	}
	answer, err := s.host.cfg.Sweep(r)
	return answer, s.answered(err)
}

// Ban implements ops.Host. The ban holds for this and later hosts with the same folder of runs, until Unban.
func (s service) Ban(b ops.Ban) (ops.Changed, error) {
	reason := b.Reason
	if reason == "" {
		reason = "on request"
	}
	return s.changeBan(b.Key, func(key string) (bool, error) { return s.host.bans.Ban(key, reason) })
}

// Unban implements ops.Host.
func (s service) Unban(b ops.Ban) (ops.Changed, error) {
	return s.changeBan(b.Key, s.host.bans.Unban)
}

// changeBan changes the list of banned keys by a key in any form that people have it in. The coordinator's own key
// is refused: it would cut itself off.
func (s service) changeBan(text string, change func(key string) (bool, error)) (ops.Changed, error) {
	key, err := cluster.CheckKey(text)
	if err != nil {
		return ops.Changed{}, &ops.Error{Code: ops.BadRequest, Text: err.Error()}
	}
	if key == s.host.bus.Key() {
		return ops.Changed{}, &ops.Error{
			Code: ops.Conflict, Text: "that is the coordinator's own key",
			Hint: "make a new one, see docs/security.md",
		}
	}
	changed, err := change(key)
	return ops.Changed{Changed: changed}, s.answered(err)
}

// Bans implements ops.Host.
func (s service) Bans() []ops.Ban {
	var list []ops.Ban
	for _, b := range s.host.bans.Gate.Bans() {
		list = append(list, ops.Ban(b))
	}
	return list
}

// missing turns an error about a run into the answer to a client. If there is no such run, the answer has the name and
// the most similar one, but not the folder, which means nothing to the client.
func (s service) missing(name string, err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return s.answered(err)
	}
	hint := "`runs ls` shows which there are"
	if list, listErr := store.List(s.host.cfg.RunsDir); listErr == nil {
		var words []string
		for _, r := range list {
			words = append(words, r.Name)
		}
		if near := setting.Nearest(name, words); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	return s.answered(config.Hint(fmt.Errorf("%w: %s", store.ErrNotFound, name), "%s", hint))
}

// controlled is a run of the page in the form of a message: what is live of it is encoded as the page has it.
func controlled(r web.Run) (ops.Run, error) {
	run := ops.Run{Info: r.Info}
	if r.Live == nil {
		return run, nil
	}
	var err error
	if run.Live, err = json.Marshal(r.Live); err != nil {
		return run, fmt.Errorf("encode the state of run %s: %w", r.Name, err)
	}
	return run, nil
}

// answered turns an error into the answer to a client, with text, hint and the code that tells whose fault it is:
// NotFound, Conflict with what is there, BadRequest for a mistake of the client, and else Failed. A nil error stays
// nil.
func (s service) answered(err error) error {
	if err == nil {
		return nil
	}
	e := &ops.Error{Code: ops.Failed, Text: err.Error(), Hint: config.HintOf(err)}
	switch {
	case errors.Is(err, store.ErrNotFound):
		e.Code = ops.NotFound
	case errors.Is(err, errOtherConfig), errors.Is(err, store.ErrOccupied), errors.Is(err, store.ErrHeld):
		e.Code = ops.Conflict
	case s.host.cfg.Mistaken(err):
		e.Code = ops.BadRequest
	}
	return e
}
