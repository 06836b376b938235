//go:build (amd64 || arm64) && !purego

package kernel

// Kernels whose assembly does a part of the work: rows of some lengths, whole groups of values, one distribution of
// several. The functions …Assembly are not called where the instruction set is Portable.

func softmax(dst, src Matrix)    { normaliseRows(dst, src, false) }
func logSoftmax(dst, src Matrix) { normaliseRows(dst, src, true) }

// normaliseRows is softmax, or its logarithm.
//
//go:noinline
func normaliseRows(dst, src Matrix, log bool) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&src)
	if active == Portable {
		if log {
			logSoftmaxPortable(dst, src)
		} else {
			softmaxPortable(dst, src)
		}
		return
	}
	// Dense rows of 4, 8 or 16 values go several at a time; what is left over, and all other rows, one by one.
	done := normaliseShort(dst, src, log)
	if done == dst.Rows {
		return
	}
	dst, src = dst.rowRange(done, dst.Rows), src.rowRange(done, src.Rows)
	d, s := &dst.Data[0], &src.Data[0]
	if log {
		logSoftmaxAssembly(d, s, dst.Rows, dst.Cols, dst.Stride, src.Stride)
	} else {
		softmaxAssembly(d, s, dst.Rows, dst.Cols, dst.Stride, src.Stride)
	}
}

// normaliseShort does as many whole rows as the kernels for short rows can, and returns how many.
func normaliseShort(dst, src Matrix, log bool) (rows int) {
	blocks := shortBlocks(&dst, &src)
	if blocks == 0 {
		return 0
	}
	d, s := &dst.Data[0], &src.Data[0]
	switch {
	case dst.Cols == 4 && log:
		logSoftmax4Assembly(d, s, blocks)
	case dst.Cols == 4:
		softmax4Assembly(d, s, blocks)
	case dst.Cols == 8 && log:
		logSoftmax8Assembly(d, s, blocks)
	case dst.Cols == 8:
		softmax8Assembly(d, s, blocks)
	case log:
		logSoftmax16Assembly(d, s, blocks)
	default:
		softmax16Assembly(d, s, blocks)
	}
	return blocks * lanes / dst.Cols
}

// shortBlocks returns how many blocks of 16 values the kernels for dense rows of 4, 8 or 16 values can do; the rows
// left over are less than one block.
func shortBlocks(dst, src *Matrix) int {
	if dst.Stride != dst.Cols || src.Stride != src.Cols || dst.Cols != 4 && dst.Cols != 8 && dst.Cols != 16 {
		return 0
	}
	return dst.Rows * dst.Cols / lanes
}

//go:noinline
func outer(dst, x, y Matrix) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&x)
	raceReadMatrix(&y)
	if active == Portable {
		outerPortable(dst, x, y)
		return
	}
	for r := range dst.Rows {
		outerAssembly(&dst.Data[r*dst.Stride], &x.Data[r*x.Stride], &y.Data[r*y.Stride], x.Cols, y.Cols)
	}
}

//go:noinline
func addWeightedRows(dst, w, m Matrix) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&w)
	raceReadMatrix(&m)
	if active == Portable {
		addWeightedRowsPortable(dst, w, m)
		return
	}
	for r := range dst.Rows {
		addWeightedRowsAssembly(&dst.Data[r*dst.Stride], &w.Data[r*w.Stride], &m.Data[r*m.Stride], w.Cols, dst.Cols)
	}
}

// addDots takes 16 dot products at a time; Go does the rest.
//
//go:noinline
func addDots(dst, m, x Matrix) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&m)
	raceReadMatrix(&x)
	whole := wholeSixteens(dst.Cols)
	for r := range dst.Rows {
		to, from, v := dst.row(r), m.row(r), x.row(r)
		if whole > 0 {
			addDotsAssembly(&to[0], &from[0], &v[0], whole, x.Cols)
		}
		addDotsOf(to[whole:], from[whole*x.Cols:], v)
	}
}

// fillGroups fills dst, a whole number of groups, with draws of the words from block on.
//
//go:noinline
func fillGroups(dst []float32, p *Philox, block uint64, d draw) {
	raceWrite(dst)
	if active == Portable {
		fillGroupsPortable(dst, p, block, d)
		return
	}
	to, keys, groups := &dst[0], &p.keys[0], len(dst)/groupWords
	s0, s1 := p.stream[0], p.stream[1]
	switch d {
	case drawUniform:
		uniformsAssembly(to, keys, block, s0, s1, groups)
	case drawNormal:
		normalsAssembly(to, keys, block, s0, s1, groups)
	case drawGumbel:
		gumbelsAssembly(to, keys, block, s0, s1, groups)
	case drawLogistic:
		logisticsAssembly(to, keys, block, s0, s1, groups)
	}
}

// putInt16 leaves a rest of fewer than 16 values to Go; so does getInt16.
//
//go:noinline
func putInt16(dst []byte, src []float32) {
	raceWriteBytes(dst)
	raceRead(src)
	n := wholeSixteens(len(src))
	if n > 0 {
		putInt16Assembly(&dst[0], &src[0], n)
	}
	putInt16Portable(dst[2*n:], src[n:])
}

//go:noinline
func getInt16(dst []float32, src []byte) {
	raceWrite(dst)
	raceReadBytes(src)
	n := wholeSixteens(len(dst))
	if n > 0 {
		getInt16Assembly(&dst[0], &src[0], n)
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
