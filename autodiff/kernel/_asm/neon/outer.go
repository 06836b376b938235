package main

// outers emits the outer product and the two sums of its VJP, all for one row. The references are in
// portable_outer.go.
func (out *file) outers() {
	out.outer()
	out.addWeightedRows()
	out.addDots()
}

// outer emits dst[i*n+j] = x[i] * y[j]: a loop over the k values of x around that over the n of y.
func (out *file) outer() {
	e := out.begin("outer", "dst, x, y *float32, k, n int")
	dst, x, y, k, n := e.load("dst"), e.load("x"), e.load("y"), e.load("k"), e.load("n")
	row := e.loadStride("n")
	e.label("row")
	a := e.broadcastFrom(x)
	to, from, left := e.copyGP(dst), e.copyGP(y), e.copyGP(n)
	e.each("loop", 4, left, pointers(to, from), false, func(s *span) {
		s.store(e.Mul(a, s.load(from)), to)
	})
	e.add(dst, row)
	e.addBytes(x, 4)
	e.subtract(k, 1)
	e.branch("BNE", "row")
	e.end()
}

// broadcastFrom returns the value at p in all lanes.
func (e *emitter) broadcastFrom(p *register) *register {
	v := newVector()
	e.op("FMOVS %s, %s", p.at(0), v.f())
	return e.new(broadcast, v)
}

// addWeightedRows emits dst[j] += w[i] * m[i*n+j], i ascending, as addSumColumns goes: the chains of 32 columns stay
// in registers while the loop goes down the rows.
func (out *file) addWeightedRows() {
	e := out.begin("addWeightedRows", "dst, w, m *float32, k, n int")
	dst, w, m, k, n := e.load("dst"), e.load("w"), e.load("m"), e.load("k"), e.load("n")
	stride := e.loadStride("n")
	e.eachColumns(n, dst, m, func(label string, s *span, vectors int) {
		e.columnChains(label, s, vectors, dst, m, k, stride, w)
	})
	e.end()
}

// addDots emits dst[i] += Σ m[i*n+j] * x[j], j ascending, for k values of dst, a multiple of 16. Four columns of four
// rows at a time become vectors whose lanes are the rows.
func (out *file) addDots() {
	e := out.begin("addDots", "dst, m, x *float32, k, n int")
	dst, m, k, stride := e.load("dst"), e.load("m"), e.load("k"), e.loadStride("n")
	e.label("sixteen")
	x, n, column := e.load("x"), e.load("n"), e.copyGP(m)
	sum := e.zeros()
	// The lanes that do not exist are zeros, which change no sum: none is ever -0.
	e.each("columns", 1, n, pointers(column, x), true, func(s *span) {
		from, xs := e.copyGP(column), s.existing(s.load(x))
		for _, v := range sum {
			var rows [4]*register
			for i := range rows {
				rows[i] = s.existing(s.load(from))
				e.add(from, stride)
			}
			for j, c := range e.transpose(rows) {
				e.into(v, fadd, v, e.Mul(c, e.new(broadcastLane(j), xs)))
			}
		}
	})
	for i, v := range sum {
		e.storeVector(e.Add(e.loadVector(dst.at(16*i)), v), dst.at(16*i))
	}
	e.addBytes(dst, 64)
	e.op("ADD %s<<4, %s, %s", stride.gp(), m.gp(), m.gp())
	e.subtract(k, 16)
	e.branch("BNE", "sixteen")
	e.end()
}
