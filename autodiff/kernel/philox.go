package kernel

// Philox is the counter-based generator Philox4x32-10 (Salmon et al. 2011) with a
// key and a stream: 2⁶⁴ blocks of four words each, of which any can be computed at
// once. It holds no position and is never modified, so it may be copied and shared.
type Philox struct {
	keys   [2 * rounds]uint32 // the two round keys of each round
	stream [2]uint32          // counter words 2 and 3
}

const (
	rounds = 10

	groupBlocks = 8               // counters of one group
	groupWords  = 4 * groupBlocks // values of one group

	// Multipliers and key increments of Philox4x32 (Salmon et al. 2011, section 5).
	mult0, mult1 = 0xD2511F53, 0xCD9E8D57
	bump0, bump1 = 0x9E3779B9, 0xBB67AE85
)

// NewPhilox returns the generator of the given key (low word first) and stream
// (counter words 2 and 3, low word first).
func NewPhilox(key, stream uint64) Philox {
	var p Philox
	k0, k1 := uint32(key), uint32(key>>32)
	for i := range rounds {
		p.keys[2*i], p.keys[2*i+1] = k0, k1
		k0 += bump0
		k1 += bump1
	}
	p.stream = [2]uint32{uint32(stream), uint32(stream >> 32)}
	return p
}

// Block returns the four words of block i: the counter is (i low, i high, stream
// low, stream high).
func (p *Philox) Block(i uint64) [4]uint32 {
	x := [4]uint32{uint32(i), uint32(i >> 32), p.stream[0], p.stream[1]}
	for r := range rounds {
		a := uint64(x[0]) * mult0
		b := uint64(x[2]) * mult1
		x = [4]uint32{
			uint32(b>>32) ^ x[1] ^ p.keys[2*r], uint32(b),
			uint32(a>>32) ^ x[3] ^ p.keys[2*r+1], uint32(a),
		}
	}
	return x
}

// The bulk methods below fill dst from block on. Eight consecutive blocks make a
// group of 32 words: first words 0 and 1 of each block, then words 2 and 3 of
// each. A group gives 32 values; a last group that dst has no room for is
// generated whole and cut, so dst uses 8*ceil(len(dst)/32) blocks.

// draw is a distribution that whole groups can be filled with.
type draw uint8

const (
	drawUniform draw = iota
	drawNormal
	drawGumbel
	drawLogistic
)

// Uniforms fills dst with numbers uniform in (0, 1]: (w>>1)·2⁻³¹ + 2⁻³² of a word w.
func (p *Philox) Uniforms(dst []float32, block uint64) { p.fill(dst, block, drawUniform) }

// Normals fills dst with standard normal numbers by the Box-Muller transform: word
// i of the first half of a group gives the radius of values i and 16+i of the
// group, word 16+i the angle.
func (p *Philox) Normals(dst []float32, block uint64) { p.fill(dst, block, drawNormal) }

// Gumbels fills dst with standard Gumbel numbers -ln(-ln u), both tails to full
// relative accuracy of u.
func (p *Philox) Gumbels(dst []float32, block uint64) { p.fill(dst, block, drawGumbel) }

// Logistics fills dst with standard logistic numbers ln u - ln(1-u), both tails to
// full relative accuracy of u.
func (p *Philox) Logistics(dst []float32, block uint64) { p.fill(dst, block, drawLogistic) }

func (p *Philox) fill(dst []float32, block uint64, d draw) {
	const step = chunk / 4 // a random number costs a few times more than an Exp
	for len(dst) >= groupWords {
		n := min(len(dst)/groupWords*groupWords, step)
		fillGroups(dst[:n], p, block, d)
		dst = dst[n:]
		block += uint64(n / groupWords * groupBlocks)
	}
	if len(dst) > 0 {
		var last [groupWords]float32
		fillGroups(last[:], p, block, d)
		copy(dst, last[:])
	}
}

// NormalOf returns the standard normal number that Normals makes of the radius
// word a and the angle word b, at the place of a.
func NormalOf(a, b uint32) float32 {
	x, _ := boxMuller(a, b)
	return x
}
