package bench

import (
	"runtime"
	"strings"
)

// allocations counts what a plain step allocates, by the memory profile of all allocations: other goroutines of the
// process do not count, such as that of the broker's library, which looks at the process once a second.
type allocations struct {
	usual        int // sampling rate of the profile
	count, bytes int64
	records      []runtime.MemProfileRecord
}

// begin starts to count; stop has to follow. step runs once before, so that what is given up at a collection and
// made anew, such as a pool's, is there again.
func (a *allocations) begin(step func() error) error {
	a.usual = runtime.MemProfileRate
	count, bytes := a.total()
	a.count, a.bytes = -count, -bytes
	runtime.MemProfileRate = 0
	err := step()
	runtime.MemProfileRate = 1
	return err
}

// stop gives the profile back its usual rate.
func (a *allocations) stop() { runtime.MemProfileRate = a.usual }

// end returns what was allocated since begin.
func (a *allocations) end() (count, bytes int64) {
	count, bytes = a.total()
	return a.count + count, a.bytes + bytes
}

// total sums up the profile so far.
func (a *allocations) total() (count, bytes int64) {
	runtime.GC() // a profile shows what happened before the last collection but one
	runtime.GC()
	for {
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

// ofStep reports whether a stack is that of a plain step. What the runtime keeps and lends to goroutines that wait is not
// the step's: how much there is follows from who happens to wait for whom.
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
