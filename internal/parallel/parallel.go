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
func Ranges(n, grain int, f func(from, to int)) {
	parts := min(runtime.GOMAXPROCS(0), n/grain)
	if parts < 2 {
		if n > 0 {
			f(0, n)
		}
		return
	}
	var all sync.WaitGroup
	for part := 1; part < parts; part++ {
		all.Go(func() { f(part*n/parts, (part+1)*n/parts) })
	}
	f(0, n/parts)
	all.Wait()
}
