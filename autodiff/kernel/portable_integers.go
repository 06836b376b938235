package kernel

import (
	"encoding/binary"
	"math"
)

// greatestPortable returns the bits of the greatest magnitude.
func greatestPortable(x []float32) uint32 {
	var most uint32
	for _, v := range x {
		most = max(most, bitsOf(v)&^signBit)
	}
	return most
}

// putInt16Portable writes whole numbers within int16, the low byte first.
func putInt16Portable(dst []byte, src []float32) {
	for i, v := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(int32(v)))
	}
}

// getInt16Portable reads what putInt16Portable wrote.
func getInt16Portable(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = float32(int16(binary.LittleEndian.Uint16(src[2*i:])))
	}
}

// roundGroupsPortable rounds x, whole groups of 64, with the words from block on.
func roundGroupsPortable(x []float32, p *Philox, block uint64, a, limit float32) {
	var w [groupWords]uint32
	for ; len(x) > 0; x = x[roundGroup:] {
		p.group(&w, block)
		block += groupBlocks
		for i, word := range w {
			x[i] = round1(float32(x[i]*a), word&0xffff, limit)
			x[groupWords+i] = round1(float32(x[groupWords+i]*a), word>>16, limit)
		}
	}
}

// round1 rounds y by a half word. The comparisons are those of the vector instructions for what is no number.
func round1(y float32, half uint32, limit float32) float32 {
	q := float32(math.Floor(float64(y)))
	if float32(float32(half)*(1.0/(1<<16)))+1.0/(1<<17) < y-q {
		q++
	}
	if !(q > -limit) {
		q = -limit
	}
	if !(q < limit) {
		q = limit
	}
	return q + 0 // no -0
}
