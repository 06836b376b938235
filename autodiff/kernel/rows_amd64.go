//go:build !purego

package kernel

//go:noinline
func sumLanes(s *[lanes]float32, x []float32) {
	raceRead(x)
	switch active {
	case AVX512:
		sumLanesAVX512(&s[0], &x[0], len(x))
	case AVX2:
		sumLanesAVX2(&s[0], &x[0], len(x))
	default:
		sumLanesPortable(s, x)
	}
}

//go:noinline
func sumSquaresLanes(s *[lanes]float64, x []float32) {
	raceRead(x)
	switch active {
	case AVX512:
		sumSquaresLanesAVX512(&s[0], &x[0], len(x))
	case AVX2:
		sumSquaresLanesAVX2(&s[0], &x[0], len(x))
	default:
		sumSquaresLanesPortable(s, x)
	}
}

//go:noinline
func sumRows(dst []float32, m Matrix) {
	raceWrite(dst)
	raceReadMatrix(&m)
	switch active {
	case AVX512:
		sumRowsAVX512(&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride)
	case AVX2:
		sumRowsAVX2(&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride)
	default:
		sumRowsPortable(dst, m)
	}
}

//go:noinline
func addSumColumns(dst []float32, m Matrix) {
	raceWrite(dst)
	raceReadMatrix(&m)
	switch active {
	case AVX512:
		addSumColumnsAVX512(&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride)
	case AVX2:
		addSumColumnsAVX2(&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride)
	default:
		addSumColumnsPortable(dst, m)
	}
}

//go:noinline
func addRow(dst Matrix, row []float32) {
	raceWriteMatrix(&dst)
	raceRead(row)
	switch active {
	case AVX512:
		addRowAVX512(&dst.Data[0], &row[0], dst.Rows, dst.Cols, dst.Stride)
	case AVX2:
		addRowAVX2(&dst.Data[0], &row[0], dst.Rows, dst.Cols, dst.Stride)
	default:
		addRowPortable(dst, row)
	}
}

//go:noinline
func softmax(dst, src Matrix) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&src)
	if active != Portable {
		done := softmaxShort(dst, src)
		if done == dst.Rows {
			return
		}
		dst, src = dst.rowRange(done, dst.Rows), src.rowRange(done, src.Rows)
	}
	switch active {
	case AVX512:
		softmaxAVX512(&dst.Data[0], &src.Data[0], dst.Rows, dst.Cols, dst.Stride, src.Stride)
	case AVX2:
		softmaxAVX2(&dst.Data[0], &src.Data[0], dst.Rows, dst.Cols, dst.Stride, src.Stride)
	default:
		softmaxPortable(dst, src)
	}
}

func softmaxShort(dst, src Matrix) (rows int) {
	blocks := shortBlocks(&dst, &src)
	if blocks == 0 {
		return 0
	}
	d, s, wide := &dst.Data[0], &src.Data[0], active == AVX512
	switch {
	case dst.Cols == 4 && wide:
		softmax4AVX512(d, s, blocks)
	case dst.Cols == 4:
		softmax4AVX2(d, s, blocks)
	case dst.Cols == 8 && wide:
		softmax8AVX512(d, s, blocks)
	case dst.Cols == 8:
		softmax8AVX2(d, s, blocks)
	case wide:
		softmax16AVX512(d, s, blocks)
	default:
		softmax16AVX2(d, s, blocks)
	}
	return blocks * lanes / dst.Cols
}

//go:noinline
func logSoftmax(dst, src Matrix) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&src)
	if active != Portable {
		done := logSoftmaxShort(dst, src)
		if done == dst.Rows {
			return
		}
		dst, src = dst.rowRange(done, dst.Rows), src.rowRange(done, src.Rows)
	}
	switch active {
	case AVX512:
		logSoftmaxAVX512(&dst.Data[0], &src.Data[0], dst.Rows, dst.Cols, dst.Stride, src.Stride)
	case AVX2:
		logSoftmaxAVX2(&dst.Data[0], &src.Data[0], dst.Rows, dst.Cols, dst.Stride, src.Stride)
	default:
		logSoftmaxPortable(dst, src)
	}
}

func logSoftmaxShort(dst, src Matrix) (rows int) {
	blocks := shortBlocks(&dst, &src)
	if blocks == 0 {
		return 0
	}
	d, s, wide := &dst.Data[0], &src.Data[0], active == AVX512
	switch {
	case dst.Cols == 4 && wide:
		logSoftmax4AVX512(d, s, blocks)
	case dst.Cols == 4:
		logSoftmax4AVX2(d, s, blocks)
	case dst.Cols == 8 && wide:
		logSoftmax8AVX512(d, s, blocks)
	case dst.Cols == 8:
		logSoftmax8AVX2(d, s, blocks)
	case wide:
		logSoftmax16AVX512(d, s, blocks)
	default:
		logSoftmax16AVX2(d, s, blocks)
	}
	return blocks * lanes / dst.Cols
}

// shortBlocks returns how many blocks of 16 values the kernels for dense rows of 4,
// 8 or 16 values can do; the rows left over are less than one block.
func shortBlocks(dst, src *Matrix) int {
	if dst.Stride != dst.Cols || src.Stride != src.Cols || dst.Cols != 4 && dst.Cols != 8 && dst.Cols != 16 {
		return 0
	}
	return dst.Rows * dst.Cols / lanes
}

//go:noinline
func lstmForward(z, c, cNext, h, tanhC []float32) {
	raceWrite(z)
	raceWrite(cNext)
	raceWrite(h)
	raceWrite(tanhC)
	raceRead(c)
	switch active {
	case AVX512:
		lstmForwardAVX512(&z[0], &c[0], &cNext[0], &h[0], &tanhC[0], len(h))
	case AVX2:
		lstmForwardAVX2(&z[0], &c[0], &cNext[0], &h[0], &tanhC[0], len(h))
	default:
		lstmForwardPortable(z, c, cNext, h, tanhC)
	}
}

//go:noinline
func lstmBackward(act, dz, dh, dc, tanhC, cPrev []float32) {
	raceWrite(dz)
	raceWrite(dc)
	raceRead(act)
	raceRead(dh)
	raceRead(tanhC)
	raceRead(cPrev)
	switch active {
	case AVX512:
		lstmBackwardAVX512(&act[0], &dz[0], &dh[0], &dc[0], &tanhC[0], &cPrev[0], len(dh))
	case AVX2:
		lstmBackwardAVX2(&act[0], &dz[0], &dh[0], &dc[0], &tanhC[0], &cPrev[0], len(dh))
	default:
		lstmBackwardPortable(act, dz, dh, dc, tanhC, cPrev)
	}
}

//go:noinline
func adam(p, m, v, g []float32, s *AdamStep) {
	raceWrite(p)
	raceWrite(m)
	raceWrite(v)
	raceRead(g)
	switch active {
	case AVX512:
		adamAVX512(&p[0], &m[0], &v[0], &g[0], &s.Beta1, len(p))
	case AVX2:
		adamAVX2(&p[0], &m[0], &v[0], &g[0], &s.Beta1, len(p))
	default:
		adamPortable(p, m, v, g, s)
	}
}

//go:noinline
func fillGroups(dst []float32, p *Philox, block uint64, d draw) {
	raceWrite(dst)
	if active == Portable {
		fillGroupsPortable(dst, p, block, d)
		return
	}
	to, keys, groups, wide := &dst[0], &p.keys[0], len(dst)/groupWords, active == AVX512
	s0, s1 := p.stream[0], p.stream[1]
	switch {
	case d == drawUniform && wide:
		uniformsAVX512(to, keys, block, s0, s1, groups)
	case d == drawUniform:
		uniformsAVX2(to, keys, block, s0, s1, groups)
	case d == drawNormal && wide:
		normalsAVX512(to, keys, block, s0, s1, groups)
	case d == drawNormal:
		normalsAVX2(to, keys, block, s0, s1, groups)
	case d == drawGumbel && wide:
		gumbelsAVX512(to, keys, block, s0, s1, groups)
	case d == drawGumbel:
		gumbelsAVX2(to, keys, block, s0, s1, groups)
	case wide:
		logisticsAVX512(to, keys, block, s0, s1, groups)
	default:
		logisticsAVX2(to, keys, block, s0, s1, groups)
	}
}
