package kernel

import "math"

// This file defines the bits of the element-wise functions, one value at a time.
// The generator in _asm emits the same operations in the same order. Products are
// written float32(x*y), which forbids the compiler to fuse them into an FMA.

func bitsOf(x float32) uint32   { return math.Float32bits(x) }
func fromBits(b uint32) float32 { return math.Float32frombits(b) }

// Words of the float32 format.
const (
	signBit = 1 << 31
	oneBits = 0x3f800000
)

const (
	log2e float32 = 1.44269504088896341
	// ln 2 in two parts; the upper one has 9 trailing zero bits, so that its
	// product with any exponent is exact.
	ln2hi float32 = 0.693145751953125
	ln2lo float32 = 1.42860682030941723212e-6
)

// roundBias is 1.5*2²³: adding it rounds to an integer, which lands in the low bits.
const roundBias float32 = 12582912

const roundBiasBits = 0x4b400000

// expPoly approximates (e^r - 1 - r)/r² on [-ln2/2, ln2/2] (minimax fit).
var expPoly = [...]float32{
	0.001381459878757596, 0.0083687165752053261, 0.041668388992547989,
	0.1666652113199234, 0.49999994039535522,
}

// minOf and maxOf are MINPS and MAXPS: b if either operand is NaN or both are zero.
func minOf(a, b float32) float32 {
	if a < b {
		return a
	}
	return b
}

func maxOf(a, b float32) float32 {
	if a > b {
		return a
	}
	return b
}

// expReduce returns r = x - n·ln2 and t, whose low bits are the integer n.
func expReduce(x float32) (t, r float32) {
	t = FMA(x, log2e, roundBias)
	n := t - roundBias
	r = FMA(-n, ln2hi, x)
	return t, FMA(-n, ln2lo, r)
}

// expm1Reduced returns e^r - 1 for a reduced argument.
func expm1Reduced(r float32) float32 {
	q := expPoly[0]
	for _, c := range expPoly[1:] {
		q = FMA(q, r, c)
	}
	return FMA(q, float32(r*r), r)
}

// exp1 is e^x. The scale 2ⁿ is applied in two factors, for subnormal results.
func exp1(x float32) float32 {
	x = minOf(89, x)
	x = maxOf(-104, x)
	t, r := expReduce(x)
	p := expm1Reduced(r) + 1
	n := int32(bitsOf(t)) - roundBiasBits
	h := n >> 1
	n -= h
	p = float32(p * fromBits(uint32(h)<<23+oneBits))
	return float32(p * fromBits(uint32(n)<<23+oneBits))
}

// expNegative is e^x for x <= 0, with x below -87 taken as -87: always normal.
func expNegative(x float32) float32 {
	x = maxOf(-87, x)
	t, r := expReduce(x)
	p := expm1Reduced(r) + 1
	return float32(p * fromBits(bitsOf(t)<<23+oneBits))
}

// sigmoid1 is 1/(1+z) or z/(1+z), z = e^-|x|.
func sigmoid1(x float32) float32 {
	z := expNegative(fromBits(bitsOf(x) | signBit))
	num := float32(1)
	if bitsOf(x)&signBit != 0 {
		num = z
	}
	return num / (z + 1)
}

// tanh1 is e/(e+2), e = e^(2|x|) - 1, with the sign of x; it is 1 from 9.1 on.
func tanh1(x float32) float32 {
	a := fromBits(bitsOf(x) &^ signBit)
	a = minOf(9.1, a)
	a += a
	t, r := expReduce(a)
	p := expm1Reduced(r)
	scale := fromBits(bitsOf(t)<<23 + oneBits)
	e := FMA(p, scale, scale-1)
	return fromBits(bitsOf(e/(e+2)) | bitsOf(x)&signBit)
}

const (
	sqrtHalf  float32 = 0.70710678
	minNormal float32 = 1.1754943508222875e-38
	// ln 2 in two parts, for logarithms.
	lnHi float32 = 0.693359375
	lnLo float32 = -2.12194440e-4
)

const sqrtHalfBits = 0x3f3504f3

// logPoly approximates (ln(1+f) - f + f²/2)/f³ on [√½-1, √2-1] (Cephes logf).
var logPoly = [...]float32{
	7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
	-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
}

// logReduced is ln(1+f) + e·ln2.
func logReduced(f, e float32) float32 {
	p := logPoly[0]
	for _, c := range logPoly[1:] {
		p = FMA(p, f, c)
	}
	f2 := float32(f * f)
	f3 := float32(f2 * f)
	y := float32(e * lnLo)
	y = FMA(f3, p, y)
	y = FMA(-f2, 0.5, y)
	return FMA(e, lnHi, f+y)
}

// logSplit returns f and e with x = (1+f)·2^e and 1+f in [√½, √2), x positive and
// normal.
func logSplit(x float32) (f, e float32) {
	n := int32(bitsOf(x)-sqrtHalfBits) >> 23
	m := fromBits(bitsOf(x) - uint32(n)<<23)
	return m - 1, float32(n)
}

// logNormal is ln x of a positive, normal x.
func logNormal(x float32) float32 {
	f, e := logSplit(x)
	return logReduced(f, e)
}

// log1 is ln x.
func log1(x float32) float32 {
	scaled, subnormal := x, x < minNormal
	if subnormal {
		scaled = float32(x * (1 << 23))
	}
	f, e := logSplit(scaled)
	if subnormal {
		e -= 23
	}
	switch {
	case !(x >= 0):
		return fromBits(0x7fc00000)
	case x == 0:
		return fromBits(0xff800000)
	case bitsOf(x) == 0x7f800000:
		return x
	}
	return logReduced(f, e)
}

// softplus1 is max(x, 0) + ln(1+z), z = e^-|x|; for z above √2-1 the logarithm is
// ln((1+z)/2) + ln 2.
func softplus1(x float32) float32 {
	z := expNegative(fromBits(bitsOf(x) | signBit))
	f, e := z, float32(0)
	if z > 0.41421356 {
		f, e = float32((z-1)*0.5), 1
	}
	return maxOf(0, x) + logReduced(f, e)
}
