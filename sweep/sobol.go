package sweep

import "math/bits"

// maxSobol is the largest number of dimensions of a Sobol point: van der Corput's, and those of the table.
const maxSobol = 1 + len(joeKuo)

// joeKuo are the primitive polynomials and initial direction numbers of dimensions 2, 3, … of Joe and Kuo (2008),
// "Constructing Sobol sequences with better two-dimensional projections", file new-joe-kuo-6.21201: a holds the inner
// coefficients of the polynomial, m the initial numbers, as many as its degree.
var joeKuo = [...]struct {
	a uint32
	m []uint32
}{
	{0, []uint32{1}},
	{1, []uint32{1, 3}},
	{1, []uint32{1, 3, 1}},
	{2, []uint32{1, 1, 1}},
	{1, []uint32{1, 1, 3, 3}},
	{4, []uint32{1, 3, 5, 13}},
	{2, []uint32{1, 1, 5, 5, 17}},
	{4, []uint32{1, 1, 5, 5, 5}},
	{7, []uint32{1, 1, 7, 11, 19}},
	{11, []uint32{1, 1, 5, 1, 1}},
	{13, []uint32{1, 1, 1, 3, 11}},
	{14, []uint32{1, 3, 5, 5, 31}},
	{1, []uint32{1, 3, 3, 9, 7, 49}},
	{13, []uint32{1, 1, 1, 15, 21, 21}},
	{16, []uint32{1, 3, 1, 13, 27, 49}},
	{19, []uint32{1, 1, 1, 15, 7, 5}},
	{22, []uint32{1, 3, 1, 15, 13, 25}},
	{25, []uint32{1, 1, 5, 5, 19, 61}},
	{1, []uint32{1, 3, 7, 11, 23, 15, 103}},
	{4, []uint32{1, 3, 7, 13, 13, 15, 69}},
	{7, []uint32{1, 1, 3, 13, 7, 35, 63}},
	{8, []uint32{1, 3, 5, 9, 1, 25, 53}},
	{14, []uint32{1, 3, 1, 13, 9, 35, 107}},
	{19, []uint32{1, 3, 1, 5, 27, 61, 31}},
	{21, []uint32{1, 1, 5, 11, 19, 41, 61}},
	{28, []uint32{1, 3, 5, 3, 3, 13, 69}},
	{31, []uint32{1, 1, 7, 13, 1, 19, 1}},
	{32, []uint32{1, 3, 7, 5, 13, 19, 59}},
	{37, []uint32{1, 1, 3, 9, 25, 29, 41}},
	{41, []uint32{1, 3, 5, 13, 23, 1, 55}},
	{42, []uint32{1, 3, 7, 3, 13, 59, 17}},
}

// sobolBits is the number of binary digits of a coordinate: a word w stands for w/2³².
const sobolBits = 32

// directions are the direction numbers of a dimension, from 0: v_k = m_k·2^(32−k), where with the coefficients a of the
// polynomial m_k = 2·a_1·m_{k−1} ⊕ … ⊕ 2^s·m_{k−s} ⊕ m_{k−s}.
func directions(dimension int) [sobolBits]uint32 {
	var v [sobolBits]uint32
	if dimension == 0 { // van der Corput
		for k := range v {
			v[k] = 1 << (sobolBits - 1 - k)
		}
		return v
	}
	p := joeKuo[dimension-1]
	s := len(p.m)
	for k := range v {
		if k < s {
			v[k] = p.m[k] << (sobolBits - 1 - k)
			continue
		}
		v[k] = v[k-s] ^ v[k-s]>>s
		for i := 1; i < s; i++ {
			if p.a>>(s-1-i)&1 == 1 {
				v[k] ^= v[k-i]
			}
		}
	}
	return v
}

// sobol is coordinate dimension of point index of the sequence, before the shift: the exclusive or of the
// direction numbers v_k at the ones of the Gray code of index,
//
//	x = ⊕ v_k over the bits k of index ⊕ ⌊index/2⌋
//
// It takes the low 32 bits of the Gray code; dimension is below maxSobol. The direction numbers are computed
// again for each call, which is cheap beside a trial.
func sobol(index uint64, dimension int) uint32 {
	v := directions(dimension)
	x := uint32(0)
	for g := uint32(index ^ index>>1); g != 0; g &= g - 1 {
		x ^= v[bits.TrailingZeros32(g)]
	}
	return x
}
