package kernel

import "math"

// reducible bounds the arguments that are reduced exactly: the multiple n of π/2 then has at
// most 20 bits, and its product with the 33 bits of piHigh or piMiddle is exact.
const reducible = 1 << 20

// π/2 = piHigh + piMiddle + piLow to 2⁻¹²²; the first two have 33 significant bits.
const (
	piHigh   = 0x1921fb544p-32
	piMiddle = 0x10b4611a6p-66
	piLow    = 0x1.3198a2e037073p-69
)

// SinCos returns sin x and cos x. For |x| <= 2²⁰ the error of each is below 1.2e-16, half a unit in the last place of
// 1; relative errors near the zeros are of the same order. Beyond 2²⁰ the argument is first reduced by the float64
// nearest to 2π, to an absolute error that grows as 1e-16·|x|. Infinities and NaN give NaN.
//
// With n the integer nearest to x/(π/2) and r = x − n·π/2 in about [−π/4, π/4], the pair is a rotation of (sin r, cos
// r) by n quarter turns.
func SinCos(x float64) (sin, cos float64) {
	if !(x >= -reducible && x <= reducible) {
		x = math.Mod(x, 2*math.Pi)
	}
	n := math.RoundToEven(float64(x * (2 / math.Pi)))
	r, tail := reduce(x, n)
	s, c := sine(r, tail), cosine(r, tail)
	if math.IsNaN(n) {
		return n, n
	}
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	default:
		return -c, s
	}
}

// reduce returns x − n·π/2 as a sum r + tail with |tail| below one unit in the last place of r.
// The first difference is exact (Sterbenz), the rounding of the second is recovered (Knuth).
func reduce(x, n float64) (r, tail float64) {
	high := x - float64(n*piHigh)
	middle := float64(n * piMiddle)
	sum := high - middle
	part := sum - high
	lost := (high - (sum - part)) - (middle + part)
	lost -= float64(n * piLow)
	r = sum + lost
	return r, (sum - r) + lost
}

// sine returns sin(r + tail) for |r| <= π/4 by its Taylor series to r¹⁷; what is cut off is below 1e-19.
//
//	sin(r + t) ≈ r − r³/3! + r⁵/5! − … + t·(1 − r²/2)
func sine(r, tail float64) float64 {
	q := float64(r * r)
	p := 1.0 / 355687428096000
	p = float64(p*q) - 1.0/1307674368000
	p = float64(p*q) + 1.0/6227020800
	p = float64(p*q) - 1.0/39916800
	p = float64(p*q) + 1.0/362880
	p = float64(p*q) - 1.0/5040
	p = float64(p*q) + 1.0/120
	p = float64(p*q) - 1.0/6
	correction := float64(tail * (1 - float64(0.5*q)))
	return r + (float64(float64(p*q)*r) + correction)
}

// cosine returns cos(r + tail) for |r| <= π/4 by its Taylor series to r¹⁸. The rounding of 1 − r²/2
// is recovered and added with the small terms.
//
//	cos(r + t) ≈ 1 − r²/2 + r⁴/4! − r⁶/6! + … − t·r
func cosine(r, tail float64) float64 {
	q := float64(r * r)
	p := -1.0 / 6402373705728000
	p = float64(p*q) + 1.0/20922789888000
	p = float64(p*q) - 1.0/87178291200
	p = float64(p*q) + 1.0/479001600
	p = float64(p*q) - 1.0/3628800
	p = float64(p*q) + 1.0/40320
	p = float64(p*q) - 1.0/720
	p = float64(p*q) + 1.0/24
	half := float64(0.5 * q)
	lead := 1 - half
	lost := (1 - lead) - half
	return lead + (lost + (float64(float64(p*q)*q) - float64(r*tail)))
}
