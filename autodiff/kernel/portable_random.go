package kernel

import "math"

// uniform1 maps a word to (0, 1].
func uniform1(w uint32) float32 {
	return FMA(float32(int32(w>>1)), 1.0/(1<<31), 1.0/(1<<32))
}

const (
	quarterTurn float32 = 1.5707963267948966 / (1 << 30) // π/2 in units of 2⁻³² turns
)

// Polynomials of sin and cos on [-π/4, π/4] (Cephes sinf, cosf).
var (
	sinPoly = [...]float32{-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}
	cosPoly = [...]float32{2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1}
)

// boxMuller returns √(-2 ln u)·(cos φ, sin φ) with u from word a and φ = 2π·b/2³².
func boxMuller(a, b uint32) (float32, float32) {
	l := logNormal(uniform1(a))
	// The float64 root of a float32 rounds to the correctly rounded float32 root.
	r := float32(math.Sqrt(float64(float32(l * -2))))
	q := (b + 1<<29) >> 30 // the nearest quarter turn; the rest is within ±π/4
	v := int32(b - q<<30)
	x := float32(float32(v) * quarterTurn)
	x2 := float32(x * x)
	s := sinPoly[0]
	for _, c := range sinPoly[1:] {
		s = FMA(s, x2, c)
	}
	s = FMA(s, float32(x2*x), x)
	c := cosPoly[0]
	for _, k := range cosPoly[1:] {
		c = FMA(c, x2, k)
	}
	if q&1 != 0 {
		s, c = c, s
	}
	s = fromBits(bitsOf(s) ^ q>>1<<31)
	c = fromBits(bitsOf(c) ^ (q+1)>>1<<31)
	return float32(r * c), float32(r * s)
}

// logUnit is ln u for u in (0, 1], given w = 1-u from the same word: near u = 1 the
// series starts from -w, which has the bits that u has lost.
func logUnit(u, w float32) float32 {
	f, e := logSplit(u)
	if u > sqrtHalf {
		f, e = -w, 0
	}
	return logReduced(f, e)
}

// gumbel1 is −ln(−ln u) of a word. ^x gives 1 − u, so that neither tail loses bits.
func gumbel1(x uint32) float32 {
	return -logNormal(-logUnit(uniform1(x), uniform1(^x)))
}

// logistic1 is ln u − ln(1 − u) of a word.
func logistic1(x uint32) float32 {
	u, w := uniform1(x), uniform1(^x)
	return logUnit(u, w) - logUnit(w, u)
}

// fillGroupsPortable fills dst, whole groups, from block on.
func fillGroupsPortable(dst []float32, p *Philox, block uint64, d draw) {
	var w [groupWords]uint32
	for ; len(dst) > 0; dst = dst[groupWords:] {
		p.group(&w, block)
		block += groupBlocks
		drawGroup((*[groupWords]float32)(dst), &w, d)
	}
}

// group returns the words of the group of blocks from block on.
func (p *Philox) group(w *[groupWords]uint32, block uint64) {
	for j := range uint64(groupBlocks) {
		x := p.Block(block + j)
		w[2*j], w[2*j+1], w[16+2*j], w[17+2*j] = x[0], x[1], x[2], x[3]
	}
}

// drawGroup turns the words of a group into numbers.
func drawGroup(dst *[groupWords]float32, w *[groupWords]uint32, d draw) {
	switch d {
	case drawUniform:
		for i, x := range w {
			dst[i] = uniform1(x)
		}
	case drawNormal:
		for i := range groupWords / 2 {
			dst[i], dst[16+i] = boxMuller(w[i], w[16+i])
		}
	case drawGumbel:
		for i, x := range w {
			dst[i] = gumbel1(x)
		}
	case drawLogistic:
		for i, x := range w {
			dst[i] = logistic1(x)
		}
	}
}
