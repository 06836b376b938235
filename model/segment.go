package model

import "github.com/switchyard-ml/switchyard/rng"

// Segmentation is the probability of every regime (base system) at each time step, given all observations.
type Segmentation struct {
	T, B, M int

	// Probability is [T,B,M]; rows sum to 1. Row t is about the transition that leads to step t. None leads to the
	// first step, which has the row of the second.
	Probability []float32
}

// Resize gives the segmentation its dimensions and reuses its memory.
func (s *Segmentation) Resize(t, b, m int) {
	s.T, s.B, s.M = t, b, m
	s.Probability = resize(s.Probability, t*b*m)
}

// Segmenter is a Forecaster that divides sequences into regimes.
type Segmenter interface {
	// Segment writes the probabilities of the regimes at all steps of b. It averages over so many paths of the
	// posterior, or fewer where the model knows the probabilities.
	Segment(dst *Segmentation, b Batch, paths int, noise rng.Stream)
}

// SegmentByFilter segments by the average of the mixing weights that a filter infers. Weights that do not sum to 1
// count by their share of the sum.
func SegmentByFilter(dst *Segmentation, f Filterer, b Batch, paths int, noise rng.Stream) {
	var answer Filtering
	for path := range paths {
		f.Filter(&answer, b, rng.New(noise.Uint64(), rng.Noise).At(0, 0, 0))
		if path == 0 {
			dst.Resize(b.T, b.B, answer.M)
			clear(dst.Probability)
		}
		for i, w := range answer.Switches {
			dst.Probability[i] += w
		}
	}
	dst.normalise()
}

// normalise makes rows sum to 1. Rows of zeros at the first step are those of the second; elsewhere, and where there is
// no second step, all regimes are equally likely.
func (s *Segmentation) normalise() {
	row := s.B * s.M
	for i := 0; i < len(s.Probability); i += s.M {
		p, sum := s.Probability[i:i+s.M], float32(0)
		for _, v := range p {
			sum += v
		}
		if sum == 0 && i < row && s.T > 1 {
			continue
		}
		for k := range p {
			if sum == 0 {
				p[k] = 1 / float32(s.M)
			} else {
				p[k] /= sum
			}
		}
	}
	// The second step has been normalised by now.
	for i := 0; i < row && s.T > 1; i += s.M {
		first, zero := s.Probability[i:i+s.M], true
		for _, v := range first {
			zero = zero && v == 0
		}
		if zero {
			copy(first, s.Probability[row+i:])
		}
	}
}
