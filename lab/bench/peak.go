package bench

import (
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// peakIterations is the number of iterations that take about a millisecond.
const peakIterations = 100_000

// Peak is the rate of fused multiply-adds, in floating-point operations per second, that the given number of
// cores reach together with the active instruction set. It is the best of eight measurements, because nothing can
// be faster than the hardware.
func Peak(threads int) float64 {
	best := 0.0
	for range 8 {
		best = max(best, peakOnce(threads))
	}
	return best
}

// peakOnce is one measurement, on as many goroutines as threads: the sum of their rates.
func peakOnce(threads int) float64 {
	var all sync.WaitGroup
	rates := make([]float64, threads)
	for i := range threads {
		all.Go(func() {
			start := time.Now()
			flops := kernel.Peak(peakIterations)
			rates[i] = flops / time.Since(start).Seconds()
		})
	}
	all.Wait()
	total := 0.0
	for _, r := range rates {
		total += r
	}
	return total
}
