package lead

import (
	"context"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// resumeAll continues the runs that a host has led and that have not ended, in the order of their start. If a run
// cannot continue, the log says why, and the others continue; later are those for which there was no room. It leaves
// alone runs that were stopped on request, and those of sweeps, which continue them.
func (h *Host) resumeAll() (later []string, err error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	if err := store.Clear(h.cfg.RunsDir); err != nil {
		h.log.Warn("what is left of removed runs stays on the disk", "error", err)
	}
	list, err := store.List(h.cfg.RunsDir)
	if err != nil {
		return nil, err
	}
	// The list has the last started run first.
	for _, info := range slices.Backward(list) {
		if info.State == store.Damaged {
			h.log.Error("a run is damaged and cannot continue", "run", info.Name, "reason", info.ExitReason, "next",
				h.cfg.Command("runs", "rm", info.Name))
		}
		if h.goesOn(info) && h.goOn(info.Name, true) {
			later = append(later, info.Name)
		}
	}
	return later, nil
}

// goesOn reports whether a run goes on by itself when a host starts.
func (h *Host) goesOn(i store.Info) bool {
	unfinished := i.State == store.Lost || i.State == store.Interrupted
	return i.Host && !i.Stopped && i.Sweep == "" && unfinished && h.life.Err() == nil
}

// goOn continues a run, or says in the log why it cannot, if that is to be told. later reports whether there is no room
// for it. The lock opening is held.
func (h *Host) goOn(name string, told bool) (later bool) {
	_, err := h.resume(name, 0)
	if later = NoRoom(err); err != nil && (told || !later) {
		h.log.Error("a run cannot continue", "run", name, "error", err, "hint", config.HintOf(err), "tried_again", later)
	}
	return later
}

// resumeLater continues runs for which resumeAll has found no room, when there is some, until all go on or the host
// ends.
func (h *Host) resumeLater(ctx context.Context, names []string) error {
	tried := true // by resumeAll
	AwaitRoom(ctx, func(told bool) bool {
		if !tried {
			names = h.resumeSome(names, told)
		}
		tried = false
		return len(names) > 0
	})
	return nil
}

// resumeSome continues runs that could not before, unless somebody has continued, stopped or removed them meanwhile. It
// returns those for which there still is no room.
func (h *Host) resumeSome(names []string, told bool) (later []string) {
	h.opening.Lock()
	defer h.opening.Unlock()
	for _, name := range names {
		if info, err := store.Load(h.cfg.RunsDir, name); err == nil && h.goesOn(info) && h.goOn(name, told) {
			later = append(later, name)
		}
	}
	return later
}
