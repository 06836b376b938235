package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// diskRemedy is what helps when a file cannot be written.
func diskRemedy(err error) string {
	return disk.Remedy(err) + "; training continues and it is tried again every few seconds"
}

// saver writes checkpoints on a goroutine of its own, one at a time, while the workers compute. A checkpoint that
// cannot be written waits. It is tried again after a pause, and when the next one is due. A later checkpoint replaces
// one that waits; but only a better one replaces the best. So at most two wait. The goroutine of Run owns it but for
// the writing itself.
type saver struct {
	store   *checkpoint.Store
	queue   []checkpointCommand // to be written, oldest first
	busy    bool                // a checkpoint is being written, or its outcome waits in done
	done    chan saved
	retry   *time.Timer // runs while a failed checkpoint waits for its next attempt
	pause   backoff
	failing time.Time // since when; zero: all is well
}

// saved is an attempt to write a checkpoint.
type saved struct {
	cmd     checkpointCommand
	seconds float64
	err     error
	pruning error // old checkpoints that could not be deleted
}

// newSaver returns a saver that has nothing to write.
func newSaver(s *checkpoint.Store) saver {
	retry := time.NewTimer(time.Hour)
	retry.Stop()
	return saver{store: s, done: make(chan saved, 1), retry: retry}
}

// save writes a checkpoint as soon as the one under way is done.
func (s *saver) save(cmd checkpointCommand) {
	s.queue = supersede(s.queue, cmd)
	s.next()
}

// supersede adds a checkpoint to those that wait, in place of those that it makes superfluous.
func supersede(queue []checkpointCommand, cmd checkpointCommand) []checkpointCommand {
	queue = slices.DeleteFunc(queue, func(old checkpointCommand) bool { return !old.best || cmd.best })
	return append(queue, cmd)
}

// next begins to write what waits, if nothing is being written.
func (s *saver) next() {
	if s.busy || len(s.queue) == 0 {
		return
	}
	cmd := s.queue[0]
	s.queue = s.queue[1:]
	s.busy = true
	s.retry.Stop()
	// The copy of the state belongs to this goroutine until its outcome is received.
	go func() {
		start := time.Now()
		r := saved{cmd: cmd}
		if r.err = s.store.Write(cmd.state, cmd.best); r.err == nil {
			r.pruning = s.store.Prune()
		}
		r.seconds = time.Since(start).Seconds()
		s.done <- r
	}()
}

// saved reports an attempt, and tries again what failed. The memory of one that is written is used for the next.
func (c *Coordinator) saved(r saved) {
	s := &c.saver
	s.busy = false
	what := fmt.Sprintf("the checkpoint of step %d", r.cmd.state.Step)
	if r.err != nil {
		if s.failing.IsZero() {
			s.failing = time.Now()
		}
		pause := s.pause.next()
		c.log.Error("checkpoint not written", "step", r.cmd.state.Step, "error", r.err, "remedy", diskRemedy(r.err),
			"again", pause)
		c.observer.Storage(StorageReport{What: what, Err: r.err, Seconds: time.Since(s.failing).Seconds()})
		// The failed one is the oldest; those that came meanwhile may make it superfluous.
		queue := []checkpointCommand{r.cmd}
		for _, cmd := range s.queue {
			queue = supersede(queue, cmd)
		}
		s.queue = queue
		s.retry.Reset(pause)
		return
	}
	if !s.failing.IsZero() {
		c.log.Info("checkpoints are written again", "step", r.cmd.state.Step)
		c.observer.Storage(StorageReport{What: what, Seconds: time.Since(s.failing).Seconds()})
	}
	s.failing, s.pause = time.Time{}, 0
	if r.pruning != nil {
		c.log.Warn("old checkpoints stay", "error", r.pruning)
	}
	cp := r.cmd.state
	// The log names a checkpoint only once it is safe.
	c.note(Event{Kind: EventCheckpoint, Step: cp.Step, Params: cp.ParamsSHA256})
	c.observer.Checkpoint(CheckpointReport{
		Step: cp.Step, Path: cp.Path, ParamsSHA256: cp.ParamsSHA256, Best: r.cmd.best, Seconds: r.seconds,
	})
	c.machine.run.milestones.spare = cp
	s.next()
}

// drop forgets what waits. What is being written is not stopped.
func (s *saver) drop() {
	s.queue = nil
	s.retry.Stop()
}

// await waits for the attempt under way. It blocks the goroutine of Run for as long as the disk takes.
func (c *Coordinator) await() {
	if c.saver.busy {
		c.saved(<-c.saver.done)
	}
}

// saveLast writes the checkpoints that wait at the end of the run. It tries again until ctx ends. Then it returns the
// error of the disk instead of ErrInterrupted, as there is no checkpoint. A run that diverged still returns
// ErrDiverged.
func (c *Coordinator) saveLast(ctx context.Context) {
	s := &c.saver
	defer s.retry.Stop()
	for {
		var last error
		for s.busy || last == nil && len(s.queue) > 0 {
			s.next()
			r := <-s.done
			c.saved(r)
			last = r.err
		}
		if last == nil {
			return
		}
		if !c.pauseEnds(ctx) {
			if errors.Is(c.err, ErrInterrupted) && !errors.Is(c.err, ErrDiverged) {
				c.err = nil
			}
			c.err = errors.Join(c.err, last)
			return
		}
	}
}

// pauseEnds waits for the time of the next attempt, and reports whether there is to be one. Messages that come
// meanwhile are dropped: the run is over.
func (c *Coordinator) pauseEnds(ctx context.Context) bool {
	for {
		select {
		case <-c.saver.retry.C:
			return true
		case <-c.inbox:
		case <-c.history.troubled():
			c.reportLog()
		case <-ctx.Done():
			return false
		}
	}
}
