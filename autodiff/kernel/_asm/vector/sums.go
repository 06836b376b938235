package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// sums emits the reductions. Their references are in portable_vector.go and fold32.
func sums(bytes int) {
	sumLanes(bytes)
	sumSquaresLanes(bytes)
	sumRows(bytes)
	addSumColumns(bytes)
}

// rest returns n mod 16 and its span.
func (e *emitter) rest(n GPVirtual) sixteen {
	r := e.copyOf(n)
	ANDQ(U8(15), r)
	return e.firstSixteen(r)
}

// zeros returns 16 lanes of 0.
func (e *emitter) zeros() []vector {
	var v []vector
	for range e.perSixteen() {
		v = append(v, e.zero())
	}
	return v
}

// sumLanes emits s[i mod 16] += x[i], i ascending.
func sumLanes(bytes int) {
	e := begin(bytes, "sumLanes", "func(s, x *float32, n int)")
	to, x, n := arg("s"), arg("x"), arg("n")
	rest := e.rest(n)
	var sum []vector
	for i := range e.perSixteen() {
		sum = append(sum, e.copy(at(to).Offset(i*bytes)))
	}
	e.addUp("loop", sum, x, n, rest)
	for i, v := range sum {
		VMOVUPS(v, at(to).Offset(i*bytes))
	}
	e.end()
}

// addUp emits the sum of the n values at x into the 16 lanes. Lanes that do not
// exist add +0, which changes no lane: none is ever -0.
func (e *emitter) addUp(label string, sum []vector, x, n GPVirtual, rest sixteen) {
	e.eachSixteen(label, n, rest, pointers(x), func(block sixteen) {
		block.each(func(i int, s *span, disp int) {
			VADDPS(s.load(at(x).Offset(disp)), sum[i], sum[i])
		})
	})
}

// sumSquaresLanes emits s[i mod 16] += x[i]² in float64, i ascending. A vector of float32 makes two of float64, so
// 16 lanes take twice the registers.
func sumSquaresLanes(bytes int) {
	e := begin(bytes, "sumSquaresLanes", "func(s *float64, x *float32, n int)")
	to, x, n := arg("s"), arg("x"), arg("n")
	rest := e.rest(n)
	var sum []vector
	for i := range 2 * e.perSixteen() {
		sum = append(sum, e.copy(at(to).Offset(i*bytes)))
	}
	e.eachSixteen("loop", n, rest, pointers(x), func(block sixteen) {
		block.each(func(i int, s *span, disp int) {
			low, high := e.toDouble(s.load(at(x).Offset(disp)))
			VFMADD231PD(low, low, sum[2*i])
			VFMADD231PD(high, high, sum[2*i+1])
		})
	})
	for i, v := range sum {
		VMOVUPS(v, at(to).Offset(i*bytes))
	}
	e.end()
}

// toDouble returns the lower and the upper half of v in float64.
func (e *emitter) toDouble(v vector) (low, high vector) {
	low, high = e.new(), e.new()
	if e.wide() {
		half := YMM()
		VEXTRACTF64X4(U8(1), v, half)
		VCVTPS2PD(v.AsY(), low)
		VCVTPS2PD(half, high)
	} else {
		half := XMM()
		VEXTRACTF128(U8(1), v, half)
		VCVTPS2PD(v.AsX(), low)
		VCVTPS2PD(half, high)
	}
	return low, high
}

// sumRows emits dst[i] = Σ src[i, j], by lanes.
func sumRows(bytes int) {
	e := begin(bytes, "sumRows", "func(dst, src *float32, rows, n, stride int)")
	dst, src, rows, n, stride := arg("dst"), arg("src"), arg("rows"), arg("n"), arg("stride")
	SHLQ(U8(2), stride)
	rest := e.rest(n)
	Label("row")
	sum, x := e.zeros(), e.copyOf(src)
	e.addUp("loop", sum, x, n, rest)
	VMOVSS(e.fold(sum, addTo), at(dst))
	ADDQ(U8(4), dst)
	ADDQ(stride, src)
	DECQ(rows)
	JNZ(LabelRef("row"))
	e.end()
}

// folding is an operation on vectors that is repeated to join lanes.
type folding func(a, into VecVirtual)

// addTo adds a to into, in place.
func addTo(a, into VecVirtual) { VADDPS(a, into, into) }

// maxTo is the greater one; where either is a NaN or both are zero, it is a.
func maxTo(a, into VecVirtual) { VMAXPS(a, into, into) }

// fold joins 16 lanes by halves: i and i+8, then i+4, i+2, i+1. The result is in
// lane 0 of the register returned.
func (e *emitter) fold(v []vector, f folding) VecVirtual {
	// Upper half onto lower half, four times: the width halves from 16 lanes to one.
	y, x, t := YMM(), XMM(), XMM()
	if e.wide() {
		VEXTRACTF64X4(U8(1), v[0], y)
		f(v[0].AsY().(VecVirtual), y)
		VEXTRACTF32X4(U8(1), y, x)
	} else {
		VMOVAPS(v[0], y)
		f(v[1], y)
		VEXTRACTF128(U8(1), y, x)
	}
	f(y.AsX().(VecVirtual), x)
	VMOVHLPS(x, x, t)
	f(t, x)
	VMOVSHDUP(x, t)
	f(t, x)
	return x
}

// addSumColumns emits dst[j] += src[i, j], i ascending. The sums of some columns stay in registers while the loop
// goes down the rows; dst is read and written once for each block of columns. The reference is
// addSumColumnsPortable.
func addSumColumns(bytes int) {
	e := begin(bytes, "addSumColumns", "func(dst, src *float32, rows, n, stride int)")
	dst, src, n, stride := arg("dst"), arg("src"), arg("n"), arg("stride")
	SHLQ(U8(2), stride)
	e.eachColumns(4, n, dst, src, func(label string, s *span, vectors int) {
		e.columnChains(label, s, vectors, dst, src, stride, "rows", nil)
	})
	e.end()
}

// eachColumns emits a loop over the n columns of dst and src: chains for several vectors of them at a time, then for
// single ones, then for the rest of one. The pointers advance; n is used up.
func (e *emitter) eachColumns(several int, n, dst, src GPVirtual, chains func(label string, s *span, vectors int)) {
	block := several * e.lanes()
	SUBQ(U8(block), n)
	JL(LabelRef("few"))
	Label("many")
	chains("manyRows", &span{emitter: e, whole: true}, several)
	ADDQ(U32(4*block), dst)
	ADDQ(U32(4*block), src)
	SUBQ(U8(block), n)
	JGE(LabelRef("many"))
	Label("few")
	ADDQ(U8(block), n)
	JZ(LabelRef("end"))
	e.each("one", n, pointers(dst, src), func(s *span) {
		label := "oneRows"
		if !s.whole {
			label = "restRows"
		}
		chains(label, s, 1)
	})
	Label("end")
}

// columnChains emits the loop over the rows for some vectors of columns. The parameter rows is their number; weights,
// unless it is nil, points to what each row is multiplied by.
func (e *emitter) columnChains(label string, s *span, vectors int, dst, src, stride GPVirtual, rows string,
	weights GPVirtual,
) {
	var sum []vector
	for i := range vectors {
		sum = append(sum, s.load(at(dst).Offset(i*e.bytes)))
	}
	x := e.copyOf(src)
	var weight GPVirtual
	if weights != nil {
		weight = e.copyOf(weights)
	}
	n, a := arg(rows), e.new()
	Label(label)
	if weights != nil {
		VBROADCASTSS(at(weight), a)
		ADDQ(U8(4), weight)
	}
	for i, v := range sum {
		term := s.load(at(x).Offset(i * e.bytes))
		if weights != nil {
			term = e.mul(a, term)
		}
		VADDPS(term, v, v)
	}
	ADDQ(stride, x)
	DECQ(n)
	JNZ(LabelRef(label))
	for i, v := range sum {
		s.store(v, at(dst).Offset(i*e.bytes))
	}
}
