package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/web"
)

// Page is the source from which the page reads the runs of the host.
func (h *Host) Page() web.Source { return source{h} }

// source implements web.Source for a host.
type source struct{ host *Host }

var _ web.Source = source{}

// Ready implements web.Source.
func (s source) Ready() error {
	if trouble := s.host.bus.Trouble(); trouble != "" {
		return errors.New(trouble)
	}
	return nil
}

// folder has the runs that the host does not lead at the moment, and the last written state of all runs.
func (s source) folder() web.Folder { return web.Folder(s.host.cfg.RunsDir) }

// Runs implements web.Source.
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

// Keys implements web.Keyed.
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

// Stop implements web.Source.
func (s source) Stop(name string) error {
	r := s.host.hosted(name)
	if r == nil {
		if _, err := runs.Load(s.host.cfg.RunsDir, name); err != nil {
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

// pageRun is the run in the form that the page shows.
func (r *hosted) pageRun() web.Run {
	s := r.lead.Stats()
	live := &web.Live{
		Term: s.Term, Waiting: s.Waiting, Workers: []web.Worker{},
		ShardsIssued: int64(s.Issued), ShardsUseful: int64(s.Useful), Speculations: int64(s.Speculated),
		Reissued: int64(s.Reissued), Repeated: int64(s.Repeated),
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
