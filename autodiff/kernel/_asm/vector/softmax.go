package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// normaliser ends a softmax, log or not, given the maximum and the sum of a row in
// all lanes: it returns what apply needs.
func (e *emitter) normaliser(log bool, max, sum vector) vector {
	if log {
		return e.add(max, e.log(sum))
	}
	return e.div(e.valueReg(1), sum)
}

// softmaxName is the name of the kernel.
func softmaxName(log bool) string {
	if log {
		return "logSoftmax"
	}
	return "softmax"
}

// softmax emits the softmax, or its logarithm, of each row: its maximum, the sum of the exponentials (kept in dst
// if they are wanted), then the result. The references are softmaxPortable and logSoftmaxPortable. A row is gone
// through three times.
func softmax(bytes int, log bool) {
	e := begin(bytes, softmaxName(log), "func(dst, src *float32, rows, n, dstStride, srcStride int)")
	dst, src, rows, n := arg("dst"), arg("src"), arg("rows"), arg("n")
	rest := e.rest(n)
	e.hoist(formula.ReduceConstants, formula.ExpConstants)

	Label("row")
	// First pass: the maximum of the row.
	max := e.broadcastLane(e.fold(e.rowMax(src, n, rest), maxTo))
	// Second pass: exponentials and their sum in 16 lanes.
	sum := e.zeros()
	x, y := e.copyOf(src), e.copyOf(dst)
	e.eachSixteen("sum", n, rest, pointers(x, y), func(block sixteen) {
		block.each(func(i int, s *span, disp int) {
			v := e.exp(e.sub(s.load(at(x).Offset(disp)), max))
			if !log {
				s.store(v, at(y).Offset(disp))
			}
			e.addExisting(s, v, sum[i])
		})
	})
	// Third pass: the result, from the exponentials in dst or from the row itself.
	norm := e.normaliser(log, max, e.broadcastLane(e.fold(sum, addTo)))
	from := dst
	if log {
		from = src
	}
	p, q := e.copyOf(from), e.copyOf(dst)
	e.eachSixteen("apply", n, rest, pointers(p, q), func(block sixteen) {
		block.each(func(_ int, s *span, disp int) {
			v := s.load(at(p).Offset(disp))
			if log {
				v = e.sub(v, norm)
			} else {
				v = e.mul(v, norm)
			}
			s.store(v, at(q).Offset(disp))
		})
	})
	for _, m := range []struct {
		p      GPVirtual
		stride string
	}{{src, "srcStride"}, {dst, "dstStride"}} {
		stride := arg(m.stride)
		LEAQ(at(m.p).Idx(stride, 4), m.p)
	}
	DECQ(rows)
	JNZ(LabelRef("row"))
	e.end()
}

// rowMax returns the maxima of the lanes of the row at src.
func (e *emitter) rowMax(src, n GPVirtual, rest sixteen) []vector {
	var max []vector
	for range e.perSixteen() {
		max = append(max, e.copy(e.wordReg(0xff800000)))
	}
	x := e.copyOf(src)
	e.eachSixteen("max", n, rest, pointers(x), func(block sixteen) {
		block.each(func(i int, s *span, disp int) {
			v := s.load(at(x).Offset(disp))
			switch {
			case s.whole:
				VMAXPS(v, max[i], max[i])
			case e.wide():
				VMAXPS(v, max[i], s.k, max[i])
			default:
				VMAXPS(e.choose(condition{v: s.v}, v, max[i]), max[i], max[i])
			}
		})
	})
	return max
}

// addExisting is sum += v in the lanes of s, in place.
func (e *emitter) addExisting(s *span, v, sum vector) {
	switch {
	case s.whole:
		VADDPS(v, sum, sum)
	case e.wide():
		VADDPS(v, sum, s.k, sum)
	default:
		VADDPS(e.and(v, s.v), sum, sum)
	}
}

// broadcastLane returns lane 0 in all lanes.
func (e *emitter) broadcastLane(v VecVirtual) vector {
	r := e.new()
	VBROADCASTSS(v.AsX(), r)
	return r
}

// shortSoftmax emits the softmax, or its logarithm, of dense rows of 4, 8 or 16
// values: as many rows at once as 16 values hold. Lanes are joined by swapping, so
// that each lane ends up with the sum of its row, formed in the usual order.
func shortSoftmax(bytes, columns int, log bool) {
	e := begin(bytes, fmt.Sprintf("%s%d", softmaxName(log), columns), "func(dst, src *float32, blocks int)")
	dst, src, blocks := arg("dst"), arg("src"), arg("blocks")
	e.hoist(formula.ReduceConstants, formula.ExpConstants)
	Label("loop")
	var x []vector
	for i := range e.perSixteen() {
		x = append(x, e.copy(at(src).Offset(i*bytes)))
	}
	// All rows of a block have their maxima, exponentials and sums at once, each lane that of its own row.
	max := e.foldRows(x, columns, maxTo)
	var exps []vector
	for i, v := range x {
		exps = append(exps, e.exp(e.sub(v, max[i])))
	}
	sum := e.foldRows(exps, columns, addTo)
	for i := range x {
		norm := e.normaliser(log, max[i], sum[i])
		if log {
			VMOVUPS(e.sub(x[i], norm), at(dst).Offset(i*bytes))
		} else {
			VMOVUPS(e.mul(exps[i], norm), at(dst).Offset(i*bytes))
		}
	}
	ADDQ(U8(64), src)
	ADDQ(U8(64), dst)
	DECQ(blocks)
	JNZ(LabelRef("loop"))
	e.end()
}

// foldRows joins the lanes of each group of columns lanes: every lane of the
// result holds its group's.
func (e *emitter) foldRows(v []vector, columns int, f folding) []vector {
	var out []vector
	for _, x := range v {
		out = append(out, e.copy(x))
	}
	// On AVX2 a row of 16 is two vectors: the first halving is between them, and both get the result.
	if columns == 16 && !e.wide() {
		f(out[1], out[0])
		out[1] = out[0]
		v, out = v[:1], out[:1]
	}
	for i := range v {
		for _, distance := range []int{8, 4, 2, 1} {
			if distance < columns && distance < e.lanes() {
				f(e.swap(out[i], distance), out[i])
			}
		}
	}
	if len(out) < e.perSixteen() {
		out = append(out, out[0])
	}
	return out
}

// swap returns v with the lanes at the given distance exchanged.
func (e *emitter) swap(v vector, distance int) vector {
	r := e.new()
	switch {
	case distance == 8:
		VSHUFF32X4(U8(0x4e), v, v, r)
	case distance == 4 && e.wide():
		VSHUFF32X4(U8(0xb1), v, v, r)
	case distance == 4:
		VPERM2F128(U8(1), v, v, r)
	case distance == 2:
		VPERMILPS(U8(0x4e), v, r)
	case distance == 1:
		VPERMILPS(U8(0xb1), v, r)
	}
	return r
}
