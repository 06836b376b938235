//go:build !purego

package kernel

//go:noinline
func greatest(x []float32) uint32 {
	raceRead(x)
	if active == Portable {
		return greatestPortable(x)
	}
	return greatestNEON(&x[0], len(x))
}

//go:noinline
func putInt16(dst []byte, src []float32) {
	raceWriteBytes(dst)
	raceRead(src)
	n := wholeSixteens(len(src))
	if n > 0 {
		putInt16NEON(&dst[0], &src[0], n)
	}
	putInt16Portable(dst[2*n:], src[n:])
}

//go:noinline
func getInt16(dst []float32, src []byte) {
	raceWrite(dst)
	raceReadBytes(src)
	n := wholeSixteens(len(dst))
	if n > 0 {
		getInt16NEON(&dst[0], &src[0], n)
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
	if active == Portable {
		roundGroupsPortable(x, p, block, a, limit)
		return
	}
	roundGroupsNEON(&x[0], &p.keys[0], block, p.stream[0], p.stream[1], a, limit, groups)
}
