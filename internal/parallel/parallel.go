// Package parallel spreads work on long vectors over the cores. It knows nothing of what is computed.
package parallel

import (
	"runtime"
	"sync"
)

// Elements is a grain for cheap work on each element of a vector: below it another goroutine costs more than it saves.
const Elements = 1 << 15

// Ranges calls f on consecutive ranges that make up [0, n), on as many goroutines as there are cores, and returns when all
// are done. No range is shorter than the grain, unless n is. What f does to an element must not depend on the others: then
// the ranges do not enter the result.
func Ranges(n, grain int, f func(from, to int)) { new(Team).Ranges(n, grain, f) }

// Team is Ranges for an owner who calls it often, once at a time: it keeps what its goroutines need, so that a call
// allocates nothing. The zero value is ready.
type Team struct {
	shares []*share
	all    sync.WaitGroup
}

// share is what one goroutine of a call does.
type share struct {
	from, to int
	f        func(from, to int)
	work     func()
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

func (t *Team) newShare() *share {
	s := &share{}
	s.work = func() {
		defer t.all.Done()
		s.f(s.from, s.to)
	}
	return s
}
