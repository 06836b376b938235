package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/control"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/web"
)

// service is what a host answers over NATS.
type service struct{ host *host }

var _ control.Host = service{}

// Submit implements control.Host.
func (s service) Submit(r control.Submission) (control.Submitted, error) {
	c, err := s.host.app.kinds.Parse("the submitted configuration", []byte(r.Config))
	if err != nil {
		return control.Submitted{}, answered(advice.Hint(advice.Usage(err), "use the same release on both sides"))
	}
	h := s.host
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.life.Err() != nil {
		return control.Submitted{}, &control.Error{Code: control.Unavailable, Text: "the coordinator is being stopped", Hint: "submit the run again when it is back"}
	}
	o := order{name: r.Name, config: c, overrides: r.Overrides, command: r.Command, scale: r.Normalisation}
	if name := h.requests[r.Request]; name != "" {
		o.name = name
	}
	result, err := h.open(o)
	if err != nil {
		h.log.Warn("submission refused", "run", r.Name, "error", err)
		return control.Submitted{}, answered(err)
	}
	if r.Request != "" {
		if len(h.requests) == maxRequests {
			clear(h.requests) // those of long ago are not sent again
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

// missing answers with an error; one that says there is no such run names it without the folder, which is not the
// client's, and the nearest.
func (s service) missing(name string, err error) error {
	if !errors.Is(err, runs.ErrNotFound) {
		return answered(err)
	}
	hint := "`runs ls` shows which there are"
	if list, listErr := runs.List(s.host.app.runsDir); listErr == nil {
		var names []string
		for _, r := range list {
			names = append(names, r.Name)
		}
		if near := setting.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
	}
	return answered(advice.Hint(fmt.Errorf("%w: %s", runs.ErrNotFound, name), "%s", hint))
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

// answered makes an error what a client is told.
func answered(err error) error {
	if err == nil {
		return nil
	}
	e := &control.Error{Code: control.Failed, Text: err.Error(), Hint: advice.Of(err)}
	switch {
	case errors.Is(err, runs.ErrNotFound):
		e.Code = control.NotFound
	case errors.Is(err, errOtherConfig), errors.Is(err, runs.ErrOccupied), errors.Is(err, runs.ErrHeld):
		e.Code = control.Conflict
	case exitCode(err) == exitUsage, exitCode(err) == exitData:
		e.Code = control.BadRequest
	}
	return e
}

// source is what the page shows of a host.
type source struct{ host *host }

var _ web.Source = source{}

// folder has the runs that the host does not lead at the moment, and how all others stood when they were last written.
func (s source) folder() web.Folder { return web.Folder(s.host.app.runsDir) }

// Ready implements web.Source.
func (s source) Ready() error {
	if trouble := s.host.bus.Trouble(); trouble != "" {
		return errors.New(trouble)
	}
	return nil
}

// Runs implements web.Source.
func (s source) Runs() ([]web.Run, error) {
	all, err := s.folder().Runs()
	for i := range all {
		if r := s.host.hosted(all[i].Name); r != nil {
			all[i] = r.shown()
		}
	}
	return all, err
}

// Run implements web.Source.
func (s source) Run(name string) (web.Run, error) {
	if r := s.host.hosted(name); r != nil {
		return r.shown(), nil
	}
	return s.folder().Run(name)
}

// Stop implements web.Source.
func (s source) Stop(name string) error {
	r := s.host.hosted(name)
	if r == nil {
		if _, err := runs.Load(s.host.app.runsDir, name); err != nil {
			return err
		}
		return fmt.Errorf("%w: %s", web.ErrNotRunning, name)
	}
	if r.stopping.CompareAndSwap(false, true) {
		s.host.log.Info("run is stopped on request", "run", name)
		r.stop(errStop)
	}
	return nil
}

// shown is the run as the page shows it.
func (r *hosted) shown() web.Run {
	s := r.lead.Stats()
	live := &web.Live{
		Term: s.Term, Waiting: s.Waiting, Workers: []web.Worker{},
		ShardsIssued: int64(s.Issued), ShardsUseful: int64(s.Useful), Speculations: int64(s.Speculated),
		Audits: int64(s.Audits), Disputes: int64(s.Disputes), Rollbacks: int64(s.Rollbacks), Quarantined: s.Quarantined, Rejections: map[string]int64{},
	}
	r.watch.notes.Lock()
	live.WaitingSince, live.Checkpointed = r.watch.waitingSince, r.watch.checkpointed
	r.watch.notes.Unlock()
	for _, m := range s.Members {
		live.Workers = append(live.Workers, web.Worker{ID: m.ID, Slots: m.Slots, Busy: m.Busy, Speed: m.Speed, LastSeen: m.LastSeen, State: m.State})
	}
	slices.SortFunc(live.Workers, func(a, b web.Worker) int { return strings.Compare(a.ID, b.ID) })
	for _, j := range r.lead.Rejections() {
		live.Rejections[string(j.Reason)] += j.Count
	}
	return web.Run{Info: r.watch.Info(), Live: live}
}
