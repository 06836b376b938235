package vector

import (
	"runtime"
	"sync"
)

// Elements is a grain for cheap work on the elements of a vector: for fewer elements, a second goroutine costs more
// than it saves.
const Elements = 1 << 15

// Ranges calls f on consecutive ranges that together are [0, n), on as many goroutines as there are cores, and
// returns when all calls have. No range is shorter than the grain, unless n is. The result does not depend on the
// ranges if f treats each element independently of the others, which it must. f may be called from several goroutines
// at a time, and runs in the caller's for the first range.
func Ranges(n, grain int, f func(from, to int)) { new(Team).Ranges(n, grain, f) }

// Team is Ranges for an owner who calls it often, one call at a time. It keeps the memory for its goroutines, so that a
// call allocates nothing. The zero value is ready for use.
type Team struct {
	shares []*share // one for each goroutine but the caller's; they are kept between calls
	all    sync.WaitGroup
}

// share is the part of a call that one goroutine does.
type share struct {
	from, to int
	f        func(from, to int)
	work     func() // calls f and says so; made once, as a closure costs an allocation
}

// Ranges is the function of the same name.
func (t *Team) Ranges(n, grain int, f func(from, to int)) {
	parts := min(runtime.GOMAXPROCS(0), n/grain)
	if parts < 2 {
		if n > 0 {
			f(0, n)
		}
		return
	}
	// The caller does the first part itself, which saves a change of goroutine.
	for part := 1; part < parts; part++ {
		if len(t.shares) < part {
			t.shares = append(t.shares, t.newShare())
		}
		s := t.shares[part-1]
		s.from, s.to, s.f = part*n/parts, (part+1)*n/parts, f
		t.all.Add(1)
		go s.work()
	}
	f(0, n/parts)
	t.all.Wait()
}

// newShare returns a share whose work calls whatever f it has at the time.
func (t *Team) newShare() *share {
	s := &share{}
	s.work = func() {
		defer t.all.Done()
		s.f(s.from, s.to)
	}
	return s
}
