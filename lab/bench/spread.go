package bench

import "slices"

// Spread summarises a quantity that was measured several times.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spread sorts the samples; there has to be at least one.
func spread(samples []float64) Spread {
	slices.Sort(samples)
	n := len(samples)
	return Spread{Median: (samples[(n-1)/2] + samples[n/2]) / 2, Min: samples[0], Max: samples[n-1]}
}
