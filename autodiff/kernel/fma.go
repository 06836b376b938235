package kernel

import "math"

// FMA returns a*b + c, rounded once to float32, on any machine.
//
// The product of two float32 is exact in float64. Their float64 sum rounded again
// to float32 is the wrong neighbour only if the 29 bits to be dropped are exactly
// 1000...0, or if the result is subnormal; those few are rounded to odd first
// (Boldo and Melquiond 2008), which makes the second rounding harmless because
// 53 >= 24 + 2.
func FMA(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	z := float64(c)
	s := p + z
	bits := math.Float64bits(s)
	if bits&dropped != halfway && uint32(bits>>52)&0x7ff > minNormalExponent {
		return float32(s)
	}
	return fmaSlow(p, z, s)
}

const (
	dropped           = 1<<29 - 1  // the bits of a float64 fraction that float32 lacks
	halfway           = 1 << 28    // exactly between two float32 values
	minNormalExponent = 1023 - 126 // biased float64 exponent of the least normal float32
)

// fmaSlow rounds p + z to float32, where s is the sum already rounded to float64.
//
//go:noinline
func fmaSlow(p, z, s float64) float32 {
	if s-s != 0 || s == 0 { // infinite, NaN or a signed zero: nothing was lost
		return float32(s)
	}
	t := s - p
	err := (p - (s - t)) + (z - t) // what the rounding of s dropped, exactly (TwoSum)
	bits := math.Float64bits(s)
	if err != 0 && bits&1 == 0 {
		if (err > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

// fmaRow is
//
//	for j := range c { c[j] = FMA(a, b[j], c[j]) }
func fmaRow(c, b []float32, a float32) {
	wide := float64(a)
	b = b[:len(c)]
	for j := range c {
		p := wide * float64(b[j])
		z := float64(c[j])
		s := p + z
		bits := math.Float64bits(s)
		if bits&dropped != halfway && uint32(bits>>52)&0x7ff > minNormalExponent {
			c[j] = float32(s)
		} else {
			c[j] = fmaSlow(p, z, s)
		}
	}
}
