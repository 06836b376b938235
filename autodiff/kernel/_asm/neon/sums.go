package main

// sums emits the reductions. Their references are in portable_vector.go and fold32.
func (out *file) sums() {
	out.sumLanes()
	out.sumSquaresLanes()
	out.sumRows()
	out.addSumColumns()
}

// sumLanes emits s[i mod 16] += x[i], i ascending.
func (out *file) sumLanes() {
	e := out.begin("sumLanes", "s, x *float32, n int")
	to, x, n := e.load("s"), e.load("x"), e.load("n")
	var sum []*register
	for i := range 4 {
		sum = append(sum, e.loadVector(to.at(16*i)))
	}
	e.addUp("loop", sum, x, n)
	for i, v := range sum {
		e.storeVector(v, to.at(16*i))
	}
	e.end()
}

// addUp emits the sum of the n values at x into the 16 lanes. Lanes that do not exist
// add +0, which changes no lane: none is ever -0.
func (e *emitter) addUp(label string, sum []*register, x, n *register) {
	e.eachSixteen(label, n, pointers(x), func(i int, s *span) {
		e.into(sum[i], fadd, sum[i], s.existing(s.load(x)))
	})
}

// zeros returns 16 lanes of 0.
func (e *emitter) zeros() []*register {
	var list []*register
	for range 4 {
		list = append(list, e.new(vzero))
	}
	return list
}

// sumSquaresLanes emits s[i mod 16] += x[i]² in float64, i ascending. A vector of float32 makes two of float64, so
// 16 lanes take eight registers.
func (out *file) sumSquaresLanes() {
	e := out.begin("sumSquaresLanes", "s *float64, x *float32, n int")
	to, x, n := e.load("s"), e.load("x"), e.load("n")
	var sum []*register
	for i := range 8 {
		sum = append(sum, e.loadVector(to.at(16*i)))
	}
	e.eachSixteen("loop", n, pointers(x), func(i int, s *span) {
		v := s.existing(s.load(x))
		low, high := e.new(fcvtl, v), e.new(fcvtl2, v)
		e.into(sum[2*i], vfmlaDoubles, low, low)
		e.into(sum[2*i+1], vfmlaDoubles, high, high)
	})
	for i, v := range sum {
		e.storeVector(v, to.at(16*i))
	}
	e.end()
}

// sumRows emits dst[i] = Σ src[i, j], by lanes.
func (out *file) sumRows() {
	e := out.begin("sumRows", "dst, src *float32, rows, n, stride int")
	dst, src, rows, n, stride := e.load("dst"), e.load("src"), e.load("rows"), e.load("n"), e.loadStride("stride")
	e.label("row")
	sum, x := e.zeros(), e.copyGP(src)
	e.addUp("loop", sum, x, n)
	e.op("FMOVS %s, %s", e.fold(sum, fadd).f(), dst.at(0))
	e.addBytes(dst, 4)
	e.add(src, stride)
	e.subtract(rows, 1)
	e.branch("BNE", "row")
	e.end()
}

// fold joins 16 lanes by halves: i and i+8, then i+4, i+2, i+1. Every lane of the
// result holds the same.
func (e *emitter) fold(v []*register, f instruction) *register {
	first, second := e.new(f, v[0], v[2]), e.new(f, v[1], v[3])
	return e.foldFour(e.new(f, first, second), f)
}

// foldFour joins the four lanes of a vector, i and i+2, then i and i+1; every lane of the result holds the same.
func (e *emitter) foldFour(v *register, f instruction) *register {
	v = e.new(f, v, e.new(swapHalves, v))
	return e.new(f, v, e.new(swapPairs, v))
}

// addSumColumns emits dst[j] += src[i, j], i ascending. The sums of some columns stay in registers while the loop
// goes down the rows; dst is read and written once for each block of columns. The reference is
// addSumColumnsPortable.
func (out *file) addSumColumns() {
	e := out.begin("addSumColumns", "dst, src *float32, rows, n, stride int")
	dst, src, rows, n, stride := e.load("dst"), e.load("src"), e.load("rows"), e.load("n"), e.loadStride("stride")
	e.eachColumns(n, dst, src, func(label string, s *span, vectors int) {
		e.columnChains(label, s, vectors, dst, src, rows, stride, nil)
	})
	e.end()
}

// eachColumns emits a loop over the n columns of dst and src: chains for eight vectors of them at a time, then for
// single ones, then for the rest of one. The pointers advance; n is used up.
func (e *emitter) eachColumns(n, dst, src *register, chains func(label string, s *span, vectors int)) {
	const block = 32
	e.subtract(n, block)
	e.branch("BLT", "few")
	e.label("many")
	chains("manyRows", &span{emitter: e}, block/4)
	e.addBytes(dst, 4*block)
	e.addBytes(src, 4*block)
	e.subtract(n, block)
	e.branch("BGE", "many")
	e.label("few")
	e.addBytes(n, block)
	e.branch("CBZ %s,", "end", n.gp())
	e.each("one", 1, n, pointers(dst, src), true, func(s *span) {
		label := "oneRows"
		if s.partial {
			label = "restRows"
		}
		chains(label, s, 1)
	})
	e.label("end")
}

// columnChains emits the loop over the rows for some vectors of columns; weights, unless it is nil, points to what each
// row is multiplied by.
func (e *emitter) columnChains(label string, s *span, vectors int, dst, src, rows, stride, weights *register) {
	part := func(i int) *span {
		t := *s
		t.displacement = 16 * i
		return &t
	}
	var sum []*register
	for i := range vectors {
		sum = append(sum, part(i).load(dst))
	}
	x, left := e.copyGP(src), e.copyGP(rows)
	var weight *register
	if weights != nil {
		weight = e.copyGP(weights)
	}
	e.label(label)
	var a *register
	if weights != nil {
		a = e.broadcastFrom(weight)
		e.addBytes(weight, 4)
	}
	for i, v := range sum {
		term := part(i).load(x)
		if weights != nil {
			term = e.Mul(a, term)
		}
		e.into(v, fadd, v, term)
	}
	e.add(x, stride)
	e.subtract(left, 1)
	e.branch("BNE", label)
	for i, v := range sum {
		part(i).store(v, dst)
	}
}
