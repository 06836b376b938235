package vector

import "math"

// Octaves counts values by their magnitude: Counts[i] lie in [2^(First+i), 2^(First+i+1)). Neither end of Counts is 0.
type Octaves struct {
	Zero   int   `json:"zero"` // zeros and numbers below 2^-126
	First  int   `json:"first"`
	Counts []int `json:"counts"`
}

// Magnitudes are those of the values of each tensor after an update, in the order of the layout: of the gradient, the
// mean over the shards before clipping, and of the parameters. With local steps the gradient is what the replicas have
// gone in the mean.
type Magnitudes struct {
	Gradient   []Octaves `json:"gradient"`
	Parameters []Octaves `json:"parameters"`
}

// CountOctaves counts the values, which are finite. It reads the exponent of each float32, whose 8 bits are the
// octave plus 127; subnormal numbers and zeros have 0 there.
func CountOctaves(values []float32) Octaves {
	const bias, exponents = 127, 256
	var all [exponents]int
	for _, v := range values {
		all[math.Float32bits(v)>>23&(exponents-1)]++
	}
	first, last := 1, exponents-1
	for first < last && all[first] == 0 {
		first++
	}
	for last >= first && all[last] == 0 {
		last--
	}
	if last < first {
		return Octaves{Zero: all[0], Counts: []int{}}
	}
	return Octaves{Zero: all[0], First: first - bias, Counts: append([]int{}, all[first:last+1]...)}
}
