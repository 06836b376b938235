package main

// outers emits the outer product and the two sums of its VJP. Their references are in portable_outer.go.
func (out *file) outers() {
	out.outer()
	out.addWeightedRows()
	out.dots16()
}

// outer emits dst[i, j] = x[i] * y[j]: a loop over the m values of x around that over the n of y.
func (out *file) outer() {
	e := out.begin("outer", "dst, x, y *float32, m, n int")
	dst, x, y, m, n := e.load("dst"), e.load("x"), e.load("y"), e.load("m"), e.load("n")
	row := e.loadStride("n")
	e.label("row")
	a := e.broadcastFrom(x, 0)
	to, from, left := e.copyGP(dst), e.copyGP(y), e.copyGP(n)
	e.each("loop", 4, left, pointers(to, from), false, func(s *span) {
		s.store(e.Mul(a, s.load(from)), to)
	})
	e.add(dst, row)
	e.addBytes(x, 4)
	e.subtract(m, 1)
	e.branch("BNE", "row")
	e.end()
}

// broadcastFrom returns the value so many bytes from p in all lanes.
func (e *emitter) broadcastFrom(p *register, bytes int) *register {
	v := newVector()
	e.op("FMOVS %s, %s", p.at(bytes), v.f())
	return e.new(broadcast, v)
}

// addWeightedRows emits dst[j] += w[i] * m[i, j], i ascending, as addSumColumns goes: the chains of 32 columns stay
// in registers while the loop goes down the rows.
func (out *file) addWeightedRows() {
	e := out.begin("addWeightedRows", "dst, w, m *float32, rows, n, stride int")
	dst, w, m, rows, n := e.load("dst"), e.load("w"), e.load("m"), e.load("rows"), e.load("n")
	stride := e.loadStride("stride")
	const block = 32
	e.subtract(n, block)
	e.branch("BLT", "few")
	e.label("many")
	e.weightedChains("manyRows", &span{emitter: e}, block/4, dst, w, m, rows, stride)
	e.addBytes(dst, 4*block)
	e.addBytes(m, 4*block)
	e.subtract(n, block)
	e.branch("BGE", "many")
	e.label("few")
	e.addBytes(n, block)
	e.branch("CBZ %s,", "end", n.gp())
	e.each("one", 1, n, pointers(dst, m), true, func(s *span) {
		label := "oneRows"
		if s.partial {
			label = "restRows"
		}
		e.weightedChains(label, s, 1, dst, w, m, rows, stride)
	})
	e.label("end")
	e.end()
}

// weightedChains emits the loop over the rows for some vectors of columns.
func (e *emitter) weightedChains(label string, s *span, vectors int, dst, w, m, rows, stride *register) {
	part := func(i int) *span {
		t := *s
		t.displacement = 16 * i
		return &t
	}
	var sum []*register
	for i := range vectors {
		sum = append(sum, part(i).load(dst))
	}
	from, weight, left := e.copyGP(m), e.copyGP(w), e.copyGP(rows)
	e.label(label)
	a := e.broadcastFrom(weight, 0)
	for i, v := range sum {
		e.into(v, fadd, v, e.Mul(a, part(i).load(from)))
	}
	e.addBytes(weight, 4)
	e.add(from, stride)
	e.subtract(left, 1)
	e.branch("BNE", label)
	for i, v := range sum {
		part(i).store(v, dst)
	}
}

// dots16 emits s[i] = Σ m[i, j] * x[j] for 16 rows and n > 0 columns; j ascending. Four columns of four rows at a
// time become vectors whose lanes are the rows.
func (out *file) dots16() {
	e := out.begin("dots16", "s, m, x *float32, n, stride int")
	to, m, x, n, stride := e.load("s"), e.load("m"), e.load("x"), e.load("n"), e.loadStride("stride")
	sum := e.zeros()
	// The lanes that do not exist are zeros, which change no sum: none is ever -0.
	e.each("columns", 1, n, pointers(m, x), true, func(s *span) {
		from, xs := e.copyGP(m), s.existing(s.load(x))
		for _, v := range sum {
			var rows [4]*register
			for i := range rows {
				rows[i] = s.existing(s.load(from))
				e.add(from, stride)
			}
			for j, column := range e.transpose(rows) {
				e.into(v, fadd, v, e.Mul(column, e.new(broadcastLane(j), xs)))
			}
		}
	})
	for i, v := range sum {
		e.storeVector(v, to.at(16*i))
	}
	e.end()
}
