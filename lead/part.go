package lead

import (
	"context"
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/wire"
)

// Reasons why a part of a run was not led to its end.
var (
	// ErrPartStopped is returned by Advance for a run that was stopped on request.
	ErrPartStopped = errors.New("host: the run was stopped on request")
	// ErrPartInterrupted is returned by Advance when ctx ended, or the host. A checkpoint is written.
	ErrPartInterrupted = errors.New("host: the run was interrupted")
)

// Advance leads a run of this process from its last checkpoint, or from the beginning, to an update, and returns when
// it is there, with what run.json holds. At the update the parameters are validated and saved. They are the same bits
// as those of a run that does not pause there. Nobody but the sweep of the order continues the run. Errors of the
// run itself are returned as they are, with ErrPartStopped and ErrPartInterrupted in place of what ended it from
// outside.
func (h *Host) Advance(ctx context.Context, o Order, until uint64) (store.Info, error) {
	r, err := h.part(o, until)
	if errors.Is(err, coordinator.ErrInterrupted) { // while its start was fitted
		err = ErrPartInterrupted
	}
	// The run has finished before, or it could not be opened: what the disk says of it is the answer.
	if err != nil || r == nil {
		info, infoErr := store.Load(h.cfg.RunsDir, o.Name)
		if err == nil {
			err = infoErr
		}
		return info, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		r.stop(errSweep)
		<-r.done
	}
	info, err := r.watch.Info(), r.err
	switch {
	case errors.Is(err, errStop):
		return info, ErrPartStopped
	case errors.Is(err, coordinator.ErrInterrupted):
		return info, ErrPartInterrupted
	}
	return info, err
}

// part opens a run up to an update. It returns nothing if the run has finished. Several parts are opened at the same
// time, as each waits for the disk: their runs have different names, which no one but the sweep of each gives. A
// part that is under way is joined if it leads to the same update.
func (h *Host) part(o Order, until uint64) (*hosted, error) {
	h.opening.RLock()
	defer h.opening.RUnlock()
	if h.life.Err() != nil {
		return nil, ErrPartInterrupted
	}
	if r := h.hosted(o.Name); r != nil {
		if r.until != until || r.watch.Info().Sweep != o.Sweep {
			return nil, fmt.Errorf("%w: %s is led already", errOtherConfig, o.Name)
		}
		return r, nil
	}
	info, err := store.Load(h.cfg.RunsDir, o.Name)
	if errors.Is(err, store.ErrNotFound) {
		return h.createUntil(o, until)
	}
	if err == nil {
		err = h.check(o)
	}
	if err != nil || info.State == store.Finished {
		return nil, err
	}
	return h.resume(o.Name, until)
}

// Workers is the number of workers that the host knows.
func (h *Host) Workers() int { return h.pool.Workers() }

// direct is the bus of a run over its connection. Without Config.Direct everything goes through the broker.
func (h *Host) direct(bus *cluster.Bus) wire.Bus {
	if h.cfg.Direct == nil {
		return bus
	}
	return h.cfg.Direct(bus)
}
