package bench

import (
	"runtime"
	"strings"
)

// allocations counts the allocations of a plain step in the memory profile of all allocations. It ignores other
// goroutines of the process, such as one of the broker's library that looks at the process once a second. While
// it counts, every allocation is sampled, so only one may count at a time.
type allocations struct {
	usual        int                        // sampling rate of the profile
	count, bytes int64                      // since begin, less those before
	records      []runtime.MemProfileRecord // memory of the profile, kept so that reading it allocates nothing
}

// begin begins to count; stop has to follow, also after an error. It runs step once without counting, so that
// memory which a garbage collection has freed, such as that of a pool, is allocated again before.
func (a *allocations) begin(step func() error) error {
	a.usual = runtime.MemProfileRate
	count, bytes := a.total()
	a.count, a.bytes = -count, -bytes
	runtime.MemProfileRate = 0
	err := step()
	runtime.MemProfileRate = 1
	return err
}

// stop restores the usual rate of the profile.
func (a *allocations) stop() { runtime.MemProfileRate = a.usual }

// end returns the number of allocations and of bytes since begin.
func (a *allocations) end() (count, bytes int64) {
	count, bytes = a.total()
	return a.count + count, a.bytes + bytes
}

// total sums up the profile so far. It collects garbage twice: the profile contains what happened before the last
// collection but one.
func (a *allocations) total() (count, bytes int64) {
	runtime.GC() // the profile contains what happened before the last collection but one
	runtime.GC()
	for {
		// The profile may grow between two looks at its length.
		n, ok := runtime.MemProfile(a.records, true)
		if ok {
			a.records = a.records[:n]
			break
		}
		a.records = make([]runtime.MemProfileRecord, n+64)
	}
	for i := range a.records {
		if r := &a.records[i]; ofStep(r.Stack()) {
			count, bytes = count+r.AllocObjects, bytes+r.AllocBytes
		}
	}
	return count, bytes
}

// ofStep reports whether a stack belongs to a plain step. Memory that the runtime keeps for waiting goroutines does
// not: its amount depends on which goroutine happens to wait.
func ofStep(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.acquireSudog":
			return false
		case strings.Contains(frame.Function, "bench.(*plain)."):
			return true
		case !more:
			return false
		}
	}
}
