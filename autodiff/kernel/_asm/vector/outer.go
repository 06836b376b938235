package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// outers emits the outer product and the two sums of its VJP, all for one row. The references are in
// portable_outer.go.
func outers(bytes int) {
	outer(bytes)
	addWeightedRows(bytes)
	addDots(bytes)
}

// outer emits dst[i*n+j] = x[i] * y[j]: a loop over the k values of x around that over the n of y.
func outer(bytes int) {
	e := begin(bytes, "outer", "func(dst, x, y *float32, k, n int)")
	dst, x, y, k, n := arg("dst"), arg("x"), arg("y"), arg("k"), arg("n")
	Label("row")
	a := e.new()
	VBROADCASTSS(at(x), a)
	to, from, left := e.copyOf(dst), e.copyOf(y), e.copyOf(n)
	e.each("loop", left, pointers(to, from), func(s *span) {
		s.store(e.mul(a, s.load(at(from))), at(to))
	})
	LEAQ(at(dst).Idx(n, 4), dst)
	ADDQ(U8(4), x)
	DECQ(k)
	JNZ(LabelRef("row"))
	e.end()
}

// addWeightedRows emits dst[j] += w[i] * m[i*n+j], i ascending, as addSumColumns goes: the chains of 32 columns stay
// in registers while the loop goes down the rows.
func addWeightedRows(bytes int) {
	e := begin(bytes, "addWeightedRows", "func(dst, w, m *float32, k, n int)")
	dst, w, m, n := arg("dst"), arg("w"), arg("m"), arg("n")
	stride := e.copyOf(n)
	SHLQ(U8(2), stride)
	e.eachColumns(2*e.perSixteen(), n, dst, m, func(label string, s *span, vectors int) {
		e.columnChains(label, s, vectors, dst, m, stride, "k", w)
	})
	e.end()
}

// addDots emits dst[i] += Σ m[i*n+j] * x[j], j ascending, for k values of dst, a multiple of 16. Four columns of 16
// rows at a time become vectors whose lanes are the rows.
func addDots(bytes int) {
	e := begin(bytes, "addDots", "func(dst, m, x *float32, k, n int)")
	dst, m, k := arg("dst"), arg("m"), arg("k")
	stride := arg("n")
	SHLQ(U8(2), stride)
	Label("sixteen")
	x, n := arg("x"), arg("n")
	rows := e.fours(m, stride)
	sum := e.zeros()
	SUBQ(U8(4), n)
	JL(LabelRef("few"))
	Label("columns")
	e.addColumns(sum, rows, four{}, func(j int, b vector) { VBROADCASTSS(at(x).Offset(4*j), b) })
	for _, p := range append(rows.at[:], x) {
		ADDQ(U8(16), p)
	}
	SUBQ(U8(4), n)
	JGE(LabelRef("columns"))
	Label("few")
	ADDQ(U8(4), n)
	JZ(LabelRef("end"))
	Comment("One to three columns; the others are zeros, which change no sum: none is ever -0.")
	part := e.firstOfFour(n)
	xs := e.loadPart(part, at(x))
	e.addColumns(sum, rows, part, func(j int, b vector) {
		lane := XMM()
		VPERMILPS(U8(j*0x55), xs, lane)
		VBROADCASTSS(lane, b)
	})
	Label("end")
	for i, v := range sum {
		to := at(dst).Offset(i * bytes)
		VADDPS(to, v, v)
		VMOVUPS(v, to)
	}
	ADDQ(U8(64), dst)
	for range 4 { // 16 rows of 4 bytes a value, in steps that fit an instruction
		LEAQ(at(m).Idx(stride, 4), m)
	}
	SUBQ(U8(16), k)
	JNZ(LabelRef("sixteen"))
	e.end()
}

// fours forms the addresses of 16 rows: of rows 0, 4, 8 and 12, and of the three behind each.
type fours struct {
	at            [4]GPVirtual
	stride, three GPVirtual
}

func (e *emitter) fours(m, stride GPVirtual) fours {
	f := fours{at: [4]GPVirtual{e.copyOf(m)}, stride: stride, three: GP64()}
	LEAQ(at(stride).Idx(stride, 2), f.three)
	for i := 1; i < len(f.at); i++ {
		f.at[i] = GP64()
		LEAQ(at(f.at[i-1]).Idx(stride, 4), f.at[i])
	}
	return f
}

// place is row i of the four from p on.
func (f fours) place(p GPVirtual, i int) Mem {
	return []Mem{at(p), at(p).Idx(f.stride, 1), at(p).Idx(f.stride, 2), at(p).Idx(f.three, 1)}[i]
}

// four is four values of a row, or the first ones under a mask.
type four struct {
	part bool
	k    OpmaskVirtual // of AVX-512
	v    vector        // of AVX2
}

// firstOfFour is the first n of them.
func (e *emitter) firstOfFour(n GPVirtual) four {
	if e.wide() {
		return four{part: true, k: opmask(n)}
	}
	return four{part: true, v: e.tailMask(n, 0)}
}

// loadPart returns the values that exist, and zeros.
func (e *emitter) loadPart(f four, place Mem) VecVirtual {
	x := XMM()
	if e.wide() {
		VMOVUPS_Z(place, f.k, x)
	} else {
		VMASKMOVPS(place, f.v.AsX(), x)
	}
	return x
}

// load loads the values into the lowest four lanes of r. It writes all of r, so that nothing of it is in use before.
func (e *emitter) load(f four, place Mem, r vector) {
	switch {
	case e.wide() && f.part:
		VMOVUPS_Z(place, f.k, r)
	case e.wide():
		VBROADCASTF32X4(place, r)
	case f.part:
		VMASKMOVPS(place, f.v, r)
	default:
		VBROADCASTF128(place, r)
	}
}

// insert loads the values into other four lanes of r.
func (e *emitter) insert(f four, place Mem, lanes int, r vector) {
	var from Op = place
	if f.part {
		from = e.loadPart(f, place)
	}
	if e.wide() {
		VINSERTF32X4(U8(lanes), from, r, r)
	} else {
		VINSERTF128(U8(lanes), from, r, r)
	}
}

// addColumns adds up to four columns, each multiplied by its value of x, which broadcast loads.
func (e *emitter) addColumns(sum []vector, rows fours, f four, broadcast func(j int, b vector)) {
	perVector := e.lanes() / 4
	for i, v := range sum {
		var r [4]vector // row i of every four
		for k := range r {
			r[k] = e.new()
			for lanes, p := range rows.at[i*perVector:][:perVector] {
				if lanes == 0 {
					e.load(f, rows.place(p, k), r[k])
				} else {
					e.insert(f, rows.place(p, k), lanes, r[k])
				}
			}
		}
		for j, column := range e.columns(r) {
			if f.part && j == 3 {
				break
			}
			b := e.new()
			broadcast(j, b)
			VADDPS(e.mul(column, b), v, v)
		}
	}
}

// columns returns the columns of four rows, in each four lanes apart.
func (e *emitter) columns(r [4]vector) [4]vector {
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
