package vector

import (
	"runtime"
	"sync/atomic"
	"testing"
)

func TestRanges_CoverEachElementOnce(t *testing.T) {
	var team Team
	for _, cores := range []int{1, 2, 3, 16} {
		before := runtime.GOMAXPROCS(cores)
		for _, n := range []int{0, 1, Elements, 2*Elements - 1, 2 * Elements, 5*Elements + 7, 1_431_020} {
			seen := make([]uint8, n)
			var calls atomic.Int64
			team.Ranges(n, Elements, func(from, to int) {
				calls.Add(1)
				if from >= to || to-from < min(n, Elements) {
					t.Errorf("range [%d,%d)", from, to)
				}
				for i := from; i < to; i++ {
					seen[i]++
				}
			})
			for i, s := range seen {
				if s != 1 {
					t.Fatalf("%d cores, %d elements: element %d was visited %d times", cores, n, i, s)
				}
			}
			if got := calls.Load(); got > int64(cores) || n >= 2*Elements && got < int64(min(cores, 2)) {
				t.Errorf("%d cores, %d elements: %d ranges", cores, n, got)
			}
		}
		runtime.GOMAXPROCS(before)
	}
}
