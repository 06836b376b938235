package worker

import (
	"runtime"
	"sync"
)

// prefetch prepares the episodes of the next step. A worker will probably get the same shards there as in this step, so
// its slots prepare them while they have nothing to compute: simulation fills the time in which gradients are gathered
// and parameters are sent. If the worker gets other shards, only idle time is lost.
type prefetch struct {
	mu   sync.Mutex
	step uint64
	work []expected // shards that are not fully prepared and that no slot is working on
}

// expected is a shard of a step that a program can prepare.
type expected struct {
	program Preparer
	step    uint64
	shard   int
}

// expect adds a shard of a step. Shards of other steps are forgotten. A program that prepares nothing is left out.
func (f *prefetch) expect(p Program, step uint64, shard int) {
	program, ok := p.(Preparer)
	if !ok {
		return
	}
	f.mu.Lock()
	if f.step != step {
		f.step, f.work = step, f.work[:0]
	}
	f.work = append(f.work, expected{program, step, shard})
	f.mu.Unlock()
}

// prepare does a small part of the preparation. It reports whether there was anything to do. No two slots prepare one
// shard at a time.
func (f *prefetch) prepare(slot int) bool {
	f.mu.Lock()
	n := len(f.work)
	if n == 0 {
		f.mu.Unlock()
		return false
	}
	next := f.work[n-1]
	f.work = f.work[:n-1]
	f.mu.Unlock()
	if !next.program.Prepare(slot, next.step, next.shard) {
		return true
	}
	f.mu.Lock()
	// The step may be over meanwhile.
	if f.step == next.step {
		f.work = append(f.work, next)
	}
	f.mu.Unlock()
	return true
}

// prepareNext prepares until there is something to compute, nothing more to prepare, or the worker leaves. It lets
// other goroutines run in between, such as a coordinator in the same process.
func (w *Worker) prepareNext(slot int) {
	for runtime.Gosched(); len(w.tasks) == 0 && !w.leaving() && w.prefetch.prepare(slot); runtime.Gosched() {
	}
}

// leaving reports whether Run is about to return.
func (w *Worker) leaving() bool {
	select {
	case <-w.closing:
		return true
	default:
		return false
	}
}
