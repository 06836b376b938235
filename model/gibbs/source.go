package gibbs

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/rng"
)

// source draws from the distributions of the conditionals, in float64. How many numbers of its stream a draw takes
// is random where it rejects, so that sources of different steps of work have different streams (see at).
type source struct {
	stream rng.Stream
	spare  float64 // the second of a pair of normal numbers
	has    bool
}

// phase is a use of random numbers within a sweep: the streams of different phases share no number.
type phase uint32

// The phases of a sweep, and of the start, which is that of sweep 0. phases is their number, by which the chains
// are set apart: with another one every chain would have other numbers.
const (
	drawStart phase = iota
	drawRegimes
	drawHyperplanes
	drawLeaves
	drawInner
	drawStates
	drawEmission
	phases
)

// at returns the source of one phase of one sweep of one chain, for the recording, node or leaf with the given
// index. Streams of one sweep differ in shard, which tells chain and phase, and in sample, which is the index.
func at(key rng.Key, sweep uint64, chain uint32, p phase, index int) source {
	return source{stream: key.At(sweep, chain*uint32(phases)+uint32(p), uint32(index))}
}

// uniform draws from (0, 1], a multiple of 2⁻⁵³: its logarithm is finite.
func (s *source) uniform() float64 {
	return float64(1<<53-s.stream.Uint64()>>11) * (1.0 / (1 << 53))
}

// symmetric draws from [−1, 1), a multiple of 2⁻⁵².
func (s *source) symmetric() float64 {
	return float64(int64(s.stream.Uint64()>>11)-1<<52) * (1.0 / (1 << 52))
}

// exponential draws from the exponential distribution of mean 1.
func (s *source) exponential() float64 { return -matrix.Log(s.uniform()) }

// normal draws from N(0,1), by the polar method (Marsaglia and Bray 1964). Numbers come in pairs, of which the
// second is kept for the next call.
func (s *source) normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		a, b := s.symmetric(), s.symmetric()
		q := float64(a*a) + float64(b*b)
		if q >= 1 || q == 0 {
			continue
		}
		f := math.Sqrt(-2 * matrix.Log(q) / q)
		s.spare, s.has = float64(b*f), true
		return float64(a * f)
	}
}

// normals fills dst with draws from N(0,1).
func (s *source) normals(dst []float64) {
	for i := range dst {
		dst[i] = s.normal()
	}
}

// gamma draws from the gamma distribution of the given shape and scale 1 (Marsaglia and Tsang 2000). For a shape ≥
// 1 it is d v with d = shape − ⅓, v = (1 + x/√(9d))³, x normal, accepted where ln U < x²/2 + d − d v + d ln v.
func (s *source) gamma(shape float64) float64 {
	if shape < 1 { // Γ(a) = Γ(a+1) U^{1/a}
		g := s.gamma(shape + 1)
		return float64(g * matrix.Exp(matrix.Log(s.uniform())/shape))
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		if matrix.Log(s.uniform()) < float64(0.5*x*x)+d-float64(d*v)+float64(d*matrix.Log(v)) {
			return float64(d * v)
		}
	}
}

// gammaBelow draws from the gamma distribution of the given shape > 1 and rate, restricted to (0, limit]. Where
// the mode is more than about a standard deviation above the limit, it proposes from the tangent of the log
// density there.
//
// With r = g/limit and the slope b = shape − 1 − rate·limit of the log density at r = 1, 1 − r is exponential of
// rate b, and is accepted with probability exp((shape−1)(ln r + 1 − r)), as ln r ≤ r − 1. Otherwise, draws of the
// gamma distribution are soon below the limit.
func (s *source) gammaBelow(shape, rate, limit float64) float64 {
	slope := shape - 1 - float64(rate*limit) // times limit
	for slope < math.Sqrt(shape) {
		if g := s.gamma(shape) / rate; g <= limit {
			return g
		}
	}
	for {
		r := 1 - s.exponential()/slope
		if r > 0 && matrix.Log(s.uniform()) < float64((shape-1)*(matrix.Log(r)+1-r)) {
			return float64(r * limit)
		}
	}
}

// chiSquared draws from the χ² distribution with ν > 0 degrees of freedom.
func (s *source) chiSquared(nu float64) float64 { return 2 * s.gamma(0.5*nu) }

// categorical draws an index with probability proportional to weights, which need not sum to 1. What rounding
// leaves is for the last.
func (s *source) categorical(weights []float64) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	u := float64(s.stream.Float64() * total)
	for k, w := range weights[:len(weights)-1] {
		if u < w {
			return k
		}
		u -= w
	}
	return len(weights) - 1
}
