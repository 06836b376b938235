package lead

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
)

// Page is the source from which the page reads the runs of the host.
func (h *Host) Page() web.Source { return source{h} }

// source implements web.Source for a host. What the host leads it reads from memory, all other runs from their
// folders. Its methods may be called from any goroutine.
type source struct{ host *Host }

var (
	_ web.Source       = source{}
	_ web.Checkpointer = source{}
	_ web.Resumer      = source{}
	_ web.Editor       = source{}
)

// Ready implements web.Source.
func (s source) Ready() error {
	if trouble := s.host.bus.Trouble(); trouble != "" {
		return errors.New(trouble)
	}
	return nil
}

// folder has the runs that the host does not lead at the moment, and the last written state of all runs.
func (s source) folder() web.Folder { return web.Folder(s.host.cfg.RunsDir) }

// Rename implements web.Editor. The folder of a run that the host leads is locked: store.ErrHeld is returned for it,
// by Remove, too.
func (s source) Rename(from, to string) error { return s.folder().Rename(from, to) }

// Remove implements web.Editor.
func (s source) Remove(name string) error { return s.folder().Remove(name) }

// Label implements web.Editor.
func (s source) Label(name string, l store.Labels) error { return s.folder().Label(name, l) }

// Runs implements web.Source. Runs that the host leads are in the place of what their folders say of them.
func (s source) Runs() ([]web.Run, error) {
	all, err := s.folder().Runs()
	for i := range all {
		if r := s.host.hosted(all[i].Name); r != nil {
			all[i] = r.pageRun()
		}
	}
	return all, err
}

// Run implements web.Source.
func (s source) Run(name string) (web.Run, error) {
	if r := s.host.hosted(name); r != nil {
		return r.pageRun(), nil
	}
	return s.folder().Run(name)
}

// Keys implements web.Keyed: first the banned keys, then those of which messages were dropped. A host that does not
// serve has none.
func (s source) Keys() []web.Key {
	if s.host.bans == nil {
		return nil
	}
	gate := s.host.bans.Gate
	byName := map[string]*web.Key{}
	var list []*web.Key
	of := func(name string) *web.Key {
		if byName[name] == nil {
			byName[name] = &web.Key{Key: name}
			list = append(list, byName[name])
		}
		return byName[name]
	}
	for _, b := range gate.Bans() {
		k := of(b.Key)
		k.Banned, k.Since, k.Reason = true, b.Since, b.Reason
	}
	for _, o := range gate.Offenders() {
		of(o.Key).Dropped = o.Dropped
	}
	keys := make([]web.Key, 0, len(list))
	for _, k := range list {
		keys = append(keys, *k)
	}
	return keys
}

// Stop implements web.Source. The run ends in its own goroutine, after a checkpoint; stopping it again changes
// nothing.
func (s source) Stop(name string) error {
	r, err := s.under(name)
	if err != nil {
		return err
	}
	if r.stopping.CompareAndSwap(false, true) {
		s.host.log.Info("run is stopped on request", "run", name)
		r.stop(errStop)
	}
	return nil
}

// under returns a run that the host leads, or why it does not.
func (s source) under(name string) (*hosted, error) {
	if r := s.host.hosted(name); r != nil {
		return r, nil
	}
	if _, err := store.Load(s.host.cfg.RunsDir, name); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w: %s", web.ErrNotRunning, name)
}

// Checkpoint implements web.Checkpointer. The checkpoint is written after the step under way.
func (s source) Checkpoint(name string) error {
	r, err := s.under(name)
	if err != nil {
		return err
	}
	s.host.log.Info("a checkpoint is asked for", "run", name)
	r.lead.Checkpoint()
	return nil
}

// Resume implements web.Resumer. It returns web.ErrReadOnly if the host is being stopped, web.ErrRunning for a run
// that is under way, and web.ErrNotRunning for one that has finished or that a sweep continues.
func (s source) Resume(name string) error {
	h := s.host
	h.opening.Lock()
	defer h.opening.Unlock()
	if h.life.Err() != nil {
		return web.ErrReadOnly
	}
	if r := h.hosted(name); r != nil {
		if !r.stopping.Load() {
			return fmt.Errorf("%w: %s", web.ErrRunning, name)
		}
		<-r.done // it has to write its last checkpoint before it can continue
	}
	info, err := store.Load(h.cfg.RunsDir, name)
	if err != nil {
		return err
	}
	if info.State == store.Finished || info.Sweep != "" {
		return fmt.Errorf("%w: %s", web.ErrNotRunning, name)
	}
	if _, err := h.resume(name, 0); err != nil {
		return err
	}
	h.log.Info("run continued on request", "run", name)
	return nil
}

// pageRun is the run in the form that the page shows. Its state is newer than run.json, which is written every few
// seconds.
func (r *hosted) pageRun() web.Run {
	live := Live(r.lead)
	r.watch.notes.Lock()
	live.WaitingSince, live.Checkpointed = r.watch.waitingSince, r.watch.checkpointed
	r.watch.notes.Unlock()
	return web.Run{Info: r.watch.Info(), Live: live}
}

// Live is what a coordinator knows of its run, as the page shows it. It may be called at any time, from any
// goroutine.
func Live(lead *coordinator.Coordinator) *web.Live {
	s := lead.Stats()
	live := &web.Live{
		Term: s.Term, Waiting: s.Waiting, Exchange: s.Exchange, Workers: []web.Worker{},
		ShardsIssued: int64(s.Issued), ShardsUseful: int64(s.Useful), ShardsUndone: int64(s.Undone),
		Speculations: int64(s.Speculated), Reissued: int64(s.Reissued), Summed: int64(s.Summed), Repeated: int64(s.Repeated),
		Audits: int64(s.Audits), Disputes: int64(s.Disputes), Rollbacks: int64(s.Rollbacks),
		CutOff: int64(s.CutOff), Quarantined: s.Quarantined, Rejections: map[string]int64{},
	}
	for _, m := range s.Members {
		live.Workers = append(live.Workers, web.Worker{
			ID: m.ID, Slots: m.Slots, Busy: m.Busy, Speed: m.Speed,
			LastSeen: m.LastSeen, State: m.State, Shares: m.Shares, Cores: m.Cores, Memory: m.Memory,
		})
	}
	slices.SortFunc(live.Workers, func(a, b web.Worker) int { return strings.Compare(a.ID, b.ID) })
	for _, j := range lead.Rejections() {
		live.Rejections[string(j.Reason)] += j.Count
	}
	return live
}
