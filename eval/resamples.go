package eval

import "github.com/switchyard-ml/switchyard/rng"

// resamples is how often data are drawn again to say how sure a decision is: a share is known to about 0.035 at
// worst.
const resamples = 200

// sureness is the share of bootstrap resamples of n parts, recordings or blocks, that decide the same (Efron 1979).
// times is how often each part was drawn. The draws are the same every time: the answer is a function of the data.
// It is between 0 and 1. times is reused from call to call.
func sureness(n int, same func(times []float64) bool) float64 {
	draws, count := rng.New(1, rng.Evaluation).At(0, 0, 0), 0
	times := make([]float64, n)
	for range resamples {
		clear(times)
		for range n {
			times[draws.IntN(n)]++
		}
		if same(times) {
			count++
		}
	}
	return float64(count) / resamples
}
