//go:build !purego

package kernel

//go:noinline
func greatest(x []float32) uint32 {
	raceRead(x)
	switch active {
	case AVX512:
		return greatestAVX512(&x[0], len(x))
	case AVX2:
		return greatestAVX2(&x[0], len(x))
	}
	return greatestPortable(x)
}

//go:noinline
func putInt16(dst []byte, src []float32) {
	raceWriteBytes(dst)
	raceRead(src)
	n := wholeSixteens(len(src))
	switch {
	case n > 0 && active == AVX512:
		putInt16AVX512(&dst[0], &src[0], n)
	case n > 0:
		putInt16AVX2(&dst[0], &src[0], n)
	}
	putInt16Portable(dst[2*n:], src[n:])
}

//go:noinline
func getInt16(dst []float32, src []byte) {
	raceWrite(dst)
	raceReadBytes(src)
	n := wholeSixteens(len(dst))
	switch {
	case n > 0 && active == AVX512:
		getInt16AVX512(&dst[0], &src[0], n)
	case n > 0:
		getInt16AVX2(&dst[0], &src[0], n)
	}
	getInt16Portable(dst[n:], src[2*n:])
}

// wholeSixteens is how many of n values the assembly takes.
func wholeSixteens(n int) int {
	if active == Portable {
		return 0
	}
	return n &^ 15
}

//go:noinline
func roundGroups(x []float32, p *Philox, block uint64, a, limit float32) {
	raceWrite(x)
	groups := len(x) / roundGroup
	switch active {
	case AVX512:
		roundGroupsAVX512(&x[0], &p.keys[0], block, p.stream[0], p.stream[1], a, limit, groups)
	case AVX2:
		roundGroupsAVX2(&x[0], &p.keys[0], block, p.stream[0], p.stream[1], a, limit, groups)
	default:
		roundGroupsPortable(x, p, block, a, limit)
	}
}
