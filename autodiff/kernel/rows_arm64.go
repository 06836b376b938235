//go:build !purego

package kernel

//go:noinline
func sumLanes(s *[lanes]float32, x []float32) {
	raceRead(x)
	if active == Portable {
		sumLanesPortable(s, x)
		return
	}
	sumLanesNEON(&s[0], &x[0], len(x))
}

//go:noinline
func sumSquaresLanes(s *[lanes]float64, x []float32) {
	raceRead(x)
	if active == Portable {
		sumSquaresLanesPortable(s, x)
		return
	}
	sumSquaresLanesNEON(&s[0], &x[0], len(x))
}

//go:noinline
func sumRows(dst []float32, m Matrix) {
	raceWrite(dst)
	raceReadMatrix(&m)
	if active == Portable {
		sumRowsPortable(dst, m)
		return
	}
	sumRowsNEON(&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride)
}

//go:noinline
func addSumColumns(dst []float32, m Matrix) {
	raceWrite(dst)
	raceReadMatrix(&m)
	if active == Portable {
		addSumColumnsPortable(dst, m)
		return
	}
	addSumColumnsNEON(&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride)
}

//go:noinline
func addRow(dst Matrix, row []float32) {
	raceWriteMatrix(&dst)
	raceRead(row)
	if active == Portable {
		addRowPortable(dst, row)
		return
	}
	addRowNEON(&dst.Data[0], &row[0], dst.Rows, dst.Cols, dst.Stride)
}

//go:noinline
func softmax(dst, src Matrix) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&src)
	if active == Portable {
		softmaxPortable(dst, src)
		return
	}
	done := softmaxShort(dst, src)
	if done == dst.Rows {
		return
	}
	dst, src = dst.rowRange(done, dst.Rows), src.rowRange(done, src.Rows)
	softmaxNEON(&dst.Data[0], &src.Data[0], dst.Rows, dst.Cols, dst.Stride, src.Stride)
}

func softmaxShort(dst, src Matrix) (rows int) {
	blocks := shortBlocks(&dst, &src)
	if blocks == 0 {
		return 0
	}
	d, s := &dst.Data[0], &src.Data[0]
	switch dst.Cols {
	case 4:
		softmax4NEON(d, s, blocks)
	case 8:
		softmax8NEON(d, s, blocks)
	case 16:
		softmax16NEON(d, s, blocks)
	}
	return blocks * lanes / dst.Cols
}

//go:noinline
func logSoftmax(dst, src Matrix) {
	raceWriteMatrix(&dst)
	raceReadMatrix(&src)
	if active == Portable {
		logSoftmaxPortable(dst, src)
		return
	}
	done := logSoftmaxShort(dst, src)
	if done == dst.Rows {
		return
	}
	dst, src = dst.rowRange(done, dst.Rows), src.rowRange(done, src.Rows)
	logSoftmaxNEON(&dst.Data[0], &src.Data[0], dst.Rows, dst.Cols, dst.Stride, src.Stride)
}

func logSoftmaxShort(dst, src Matrix) (rows int) {
	blocks := shortBlocks(&dst, &src)
	if blocks == 0 {
		return 0
	}
	d, s := &dst.Data[0], &src.Data[0]
	switch dst.Cols {
	case 4:
		logSoftmax4NEON(d, s, blocks)
	case 8:
		logSoftmax8NEON(d, s, blocks)
	case 16:
		logSoftmax16NEON(d, s, blocks)
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
	if active == Portable {
		lstmForwardPortable(z, c, cNext, h, tanhC)
		return
	}
	lstmForwardNEON(&z[0], &c[0], &cNext[0], &h[0], &tanhC[0], len(h))
}

//go:noinline
func lstmBackward(act, dz, dh, dc, tanhC, cPrev []float32) {
	raceWrite(dz)
	raceWrite(dc)
	raceRead(act)
	raceRead(dh)
	raceRead(tanhC)
	raceRead(cPrev)
	if active == Portable {
		lstmBackwardPortable(act, dz, dh, dc, tanhC, cPrev)
		return
	}
	lstmBackwardNEON(&act[0], &dz[0], &dh[0], &dc[0], &tanhC[0], &cPrev[0], len(dh))
}

//go:noinline
func adam(p, m, v, g []float32, s *AdamStep) {
	raceWrite(p)
	raceWrite(m)
	raceWrite(v)
	raceRead(g)
	if active == Portable {
		adamPortable(p, m, v, g, s)
		return
	}
	adamNEON(&p[0], &m[0], &v[0], &g[0], &s.Beta1, len(p))
}

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
		uniformsNEON(to, keys, block, s0, s1, groups)
	case drawNormal:
		normalsNEON(to, keys, block, s0, s1, groups)
	case drawGumbel:
		gumbelsNEON(to, keys, block, s0, s1, groups)
	case drawLogistic:
		logisticsNEON(to, keys, block, s0, s1, groups)
	}
}
