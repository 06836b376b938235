package web

import "slices"

// stepBuckets are upper bounds in seconds. They range from a toy model in one process to a large model on slow
// machines.
var stepBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}

// histogram counts durations between the bounds. Longer ones are in count and sum alone. It is not safe for
// concurrent use.
type histogram struct {
	counts []uint64 // one for each bound, not cumulative
	count  uint64
	sum    float64
}

// newHistogram returns a histogram without durations.
func newHistogram() histogram { return histogram{counts: make([]uint64, len(stepBuckets))} }

// observe counts a duration several times, as that of each update of a round.
func (h *histogram) observe(seconds float64, times uint64) {
	if i, _ := slices.BinarySearch(stepBuckets, seconds); i < len(h.counts) {
		h.counts[i] += times
	}
	h.count += times
	h.sum += seconds * float64(times)
}

// cumulative is the form that Prometheus needs: for each bound, the number of durations up to it.
func (h *histogram) cumulative() map[float64]uint64 {
	buckets := make(map[float64]uint64, len(stepBuckets))
	var n uint64
	for i, bound := range stepBuckets {
		n += h.counts[i]
		buckets[bound] = n
	}
	return buckets
}
