package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// outers emits the outer product and the two sums of its VJP. Their references are in portable_outer.go.
func outers(bytes int) {
	outer(bytes)
	addWeightedRows(bytes)
	dots16(bytes)
}

// outer emits dst[i, j] = x[i] * y[j]: a loop over the m values of x around that over the n of y.
func outer(bytes int) {
	e := begin(bytes, "outer", "func(dst, x, y *float32, m, n int)")
	dst, x, y, m, n := arg("dst"), arg("x"), arg("y"), arg("m"), arg("n")
	Label("row")
	a := e.new()
	VBROADCASTSS(at(x), a)
	to, from, left := e.copyOf(dst), e.copyOf(y), e.copyOf(n)
	e.each("loop", left, pointers(to, from), func(s *span) {
		s.store(e.mul(a, s.load(at(from))), at(to))
	})
	LEAQ(at(dst).Idx(n, 4), dst)
	ADDQ(U8(4), x)
	DECQ(m)
	JNZ(LabelRef("row"))
	e.end()
}

// addWeightedRows emits dst[j] += w[i] * m[i, j], i ascending, as addSumColumns goes: the chains of 32 columns stay
// in registers while the loop goes down the rows.
func addWeightedRows(bytes int) {
	e := begin(bytes, "addWeightedRows", "func(dst, w, m *float32, rows, n, stride int)")
	dst, w, m, n, stride := arg("dst"), arg("w"), arg("m"), arg("n"), arg("stride")
	SHLQ(U8(2), stride)
	SUBQ(U8(32), n)
	JL(LabelRef("few"))
	Label("many")
	e.weightedChains("manyRows", &span{emitter: e, whole: true}, 2*e.perSixteen(), dst, w, m, stride)
	SUBQ(I8(-128), dst)
	SUBQ(I8(-128), m)
	SUBQ(U8(32), n)
	JGE(LabelRef("many"))
	Label("few")
	ADDQ(U8(32), n)
	JZ(LabelRef("end"))
	e.each("one", n, pointers(dst, m), func(s *span) {
		label := "oneRows"
		if !s.whole {
			label = "restRows"
		}
		e.weightedChains(label, s, 1, dst, w, m, stride)
	})
	Label("end")
	e.end()
}

// weightedChains emits the loop over the rows for some vectors of columns.
func (e *emitter) weightedChains(label string, s *span, vectors int, dst, w, m, stride GPVirtual) {
	var sum []vector
	for i := range vectors {
		sum = append(sum, s.load(at(dst).Offset(i*e.bytes)))
	}
	from, weight, rows, a := e.copyOf(m), e.copyOf(w), arg("rows"), e.new()
	Label(label)
	VBROADCASTSS(at(weight), a)
	for i, v := range sum {
		VADDPS(e.mul(a, s.load(at(from).Offset(i*e.bytes))), v, v)
	}
	ADDQ(U8(4), weight)
	ADDQ(stride, from)
	DECQ(rows)
	JNZ(LabelRef(label))
	for i, v := range sum {
		s.store(v, at(dst).Offset(i*e.bytes))
	}
}

// dots16 emits s[i] = Σ m[i, j] * x[j] for 16 rows and n columns, a multiple of four; j ascending. Four columns of
// all rows at a time become vectors whose lanes are the rows.
func dots16(bytes int) {
	e := begin(bytes, "dots16", "func(s, m, x *float32, n, stride int)")
	to, m, x, n, stride := arg("s"), arg("m"), arg("x"), arg("n"), arg("stride")
	SHLQ(U8(2), stride)
	three := GP64()
	LEAQ(at(stride).Idx(stride, 2), three)
	var fourth [4]GPVirtual // rows 0, 4, 8 and 12
	fourth[0] = m
	for i := 1; i < len(fourth); i++ {
		fourth[i] = GP64()
		LEAQ(at(fourth[i-1]).Idx(stride, 4), fourth[i])
	}
	sum := e.zeros()
	Label("columns")
	for i, v := range sum {
		perVector := e.lanes() / 4
		columns := e.columns(fourth[i*perVector:][:perVector], stride, three)
		for j, column := range columns {
			b := e.new()
			VBROADCASTSS(at(x).Offset(4*j), b)
			VADDPS(e.mul(column, b), v, v)
		}
	}
	for _, p := range append(fourth[:], x) {
		ADDQ(U8(16), p)
	}
	SUBQ(U8(4), n)
	JNZ(LabelRef("columns"))
	for i, v := range sum {
		VMOVUPS(v, at(to).Offset(i*bytes))
	}
	e.end()
}

// columns returns four columns of as many rows as there are lanes, four rows from each pointer on.
func (e *emitter) columns(fourth []GPVirtual, stride, three GPVirtual) [4]vector {
	var r [4]vector // row i of every four
	for i := range r {
		place := func(p GPVirtual) Mem {
			return []Mem{at(p), at(p).Idx(stride, 1), at(p).Idx(stride, 2), at(p).Idx(three, 1)}[i]
		}
		r[i] = e.new()
		VMOVUPS(place(fourth[0]), r[i].AsX())
		for lane, p := range fourth[1:] {
			if e.wide() {
				VINSERTF32X4(U8(lane+1), place(p), r[i], r[i])
			} else {
				VINSERTF128(U8(lane+1), place(p), r[i], r[i])
			}
		}
	}
	t0, t1, t2, t3 := e.new(), e.new(), e.new(), e.new()
	VUNPCKLPS(r[1], r[0], t0)
	VUNPCKHPS(r[1], r[0], t1)
	VUNPCKLPS(r[3], r[2], t2)
	VUNPCKHPS(r[3], r[2], t3)
	VUNPCKLPD(t2, t0, r[0])
	VUNPCKHPD(t2, t0, r[1])
	VUNPCKLPD(t3, t1, r[2])
	VUNPCKHPD(t3, t1, r[3])
	return r
}
