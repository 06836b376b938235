package coordinator

import (
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// TestFootprint_IsOfTheLastTwoHeartbeats: the cores in use follow from the processor time between two heartbeats, and a
// process that began anew does not make them negative.
func TestFootprint_IsOfTheLastTwoHeartbeats(t *testing.T) {
	var f footprint
	for _, c := range []struct {
		at        time.Duration
		processor uint64
		memory    uint64
		cores     float64
	}{{1 * time.Second, 40_000, 10, 0}, {3 * time.Second, 43_000, 12, 1.5}, {4 * time.Second, 100, 8, 1.5}, {6 * time.Second, 600, 9, 0.25}} {
		f.note(c.at, &wire.Heartbeat{Processor: c.processor, Memory: c.memory})
		if f.cores != c.cores || f.memory != c.memory {
			t.Errorf("at %v: %g cores, %d bytes; want %g, %d", c.at, f.cores, f.memory, c.cores, c.memory)
		}
	}
}
