package kernel

// Kernels of gradients that travel as integers.

// Greatest returns the greatest magnitude in x, 0 if x is empty. Magnitudes are compared by their bits, in which
// an infinity is above all numbers and a NaN above that. The integer order of the bits is the order of magnitudes,
// as the sign bit is left out.
func Greatest(x []float32) float32 {
	var most uint32
	for i := 0; i < len(x); i += chunk {
		most = max(most, greatest(x[i:min(i+chunk, len(x))]))
	}
	return fromBits(most)
}

// PutInt16 writes integers as little-endian int16:
//
//	for i, v := range src { dst[2*i:] = v }
//
// The values are whole numbers within int16.
func PutInt16(dst []byte, src []float32) {
	checkLen("PutInt16", len(dst), 2*len(src))
	for i := 0; i < len(src); i += chunk {
		j := min(i+chunk, len(src))
		putInt16(dst[2*i:2*j], src[i:j])
	}
}

// GetInt16 reads little-endian int16, each of which float32 holds exactly:
//
//	for i := range dst { dst[i] = src[2*i:] }
func GetInt16(dst []float32, src []byte) {
	checkLen("GetInt16", len(src), 2*len(dst))
	for i := 0; i < len(dst); i += chunk {
		j := min(i+chunk, len(dst))
		getInt16(dst[i:j], src[2*i:2*j])
	}
}

// roundGroup is how many values a group of the generator rounds: 32 words of 16 bits twice.
const roundGroup = 2 * groupWords

// Round rounds a·x to integers at random, up with the probability of the fraction, so that the expectation is a·x:
//
//	for i, v := range x {
//		y := a * v
//		x[i] = min(max(⌊y⌋ + (1 if uᵢ < y - ⌊y⌋), -limit), limit)
//	}
//
// uᵢ = (h+½)·2⁻¹⁶ of a half word h: of the words of a group, see above, the low halves are for its first 32 values, the
// high halves for the other 32. The expectation is off by at most 2⁻¹⁷. x takes 8*ceil(len(x)/64) blocks. Zeros are +0.
// a is a power of two; what is not finite becomes some integer.
func (p *Philox) Round(x []float32, a, limit float32, block uint64) {
	const step = chunk / 4
	for len(x) >= roundGroup {
		n := min(len(x)/roundGroup*roundGroup, step)
		roundGroups(x[:n], p, block, a, limit)
		x = x[n:]
		block += uint64(n / roundGroup * groupBlocks)
	}
	if len(x) > 0 {
		// A group of its own for the rest: its other values are thrown away, but use the same words.
		var last [roundGroup]float32
		copy(last[:], x)
		roundGroups(last[:], p, block, a, limit)
		copy(x, last[:])
	}
}
