package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// span is the part of a loop's vectors that exists: all of it, or the first lanes.
// Loads give 0 and stores write nothing in the other lanes.
type span struct {
	*emitter
	whole bool
	k     OpmaskVirtual
	v     vector
}

// load returns the values at a place.
func (s *span) load(at Mem) vector {
	r := s.new()
	switch {
	case s.whole:
		VMOVUPS(at, r)
	case s.wide():
		VMOVUPS_Z(at, s.k, r)
	default:
		VMASKMOVPS(at, s.v, r)
	}
	return r
}

// store writes the values to a place.
func (s *span) store(r vector, at Mem) {
	switch {
	case s.whole:
		VMOVUPS(r, at)
	case s.wide():
		VMOVUPS(r, s.k, at)
	default:
		VMASKMOVPS(r, s.v, at)
	}
}

// each emits a loop over n > 0 values: body for whole vectors, and once more for the rest, under a mask. The
// pointers advance past what body has done in whole vectors; n is used up. Both copies of body give the same bits
// for a value, so it does not matter where a vector ends.
//
//	n -= lanes; if n < 0 goto Tail
//	loop: body; pointers += bytes; n -= lanes; if n >= 0 goto loop
//	Tail: n += lanes; if n == 0 goto End; body under the mask of n lanes
//	End:
func (e *emitter) each(label string, n GPVirtual, pointers []GPVirtual, body func(s *span)) {
	advance := func() {
		for _, p := range pointers {
			ADDQ(U8(e.bytes), p)
		}
	}
	SUBQ(U8(e.lanes()), n)
	JL(LabelRef(label + "Tail"))
	Label(label)
	body(&span{emitter: e, whole: true})
	advance()
	SUBQ(U8(e.lanes()), n)
	JGE(LabelRef(label))
	Label(label + "Tail")
	ADDQ(U8(e.lanes()), n)
	JZ(LabelRef(label + "End"))
	body(e.firstLanes(n))
	Label(label + "End")
}

// firstLanes is the span of the first n lanes, n less than a vector's.
func (e *emitter) firstLanes(n GPVirtual) *span {
	s := &span{emitter: e}
	if e.wide() {
		s.k = opmask(n)
	} else {
		s.v = e.tailMask(n, 0)
	}
	return s
}

// opmask returns the mask of the first n lanes, n <= 16.
func opmask(n GPVirtual) OpmaskVirtual {
	m := GP32()
	MOVL(U32(0xffffffff), m)
	BZHIL(n.As32(), m, m)
	k := K()
	KMOVW(m, k)
	return k
}

// tailMask returns the mask of the first n of 16 lanes, from lane first on (AVX2).
func (e *emitter) tailMask(n GPVirtual, first int) vector {
	at, skip := GP64(), GP64()
	LEAQ(table("tailMasks", 64), at)
	MOVQ(n, skip)
	NEGQ(skip)
	m := e.new()
	VMOVUPS(Mem{Base: at, Disp: 4 * first}.Idx(skip, 4), m)
	return m
}

// sixteen is the part of a row's next 16 values that exists, as one or two vectors. Sums go by sixteens whatever
// the vectors are, since lane i mod 16 is what the bits depend on.
type sixteen struct {
	*emitter
	spans []*span
}

// wholeSixteen is all of them.
func (e *emitter) wholeSixteen() sixteen {
	s := sixteen{emitter: e}
	for range e.perSixteen() {
		s.spans = append(s.spans, &span{emitter: e, whole: true})
	}
	return s
}

// firstSixteen is the first n of them, n < 16.
func (e *emitter) firstSixteen(n GPVirtual) sixteen {
	if e.wide() {
		return sixteen{e, []*span{{emitter: e, k: opmask(n)}}}
	}
	return sixteen{e, []*span{
		{emitter: e, v: e.tailMask(n, 0)},
		{emitter: e, v: e.tailMask(n, 8)},
	}}
}

// each calls f for each vector with its displacement.
func (s sixteen) each(f func(i int, s *span, disp int)) {
	for i, sp := range s.spans {
		f(i, sp, i*s.bytes)
	}
}

// eachSixteen emits a loop over the n values at the pointers, 16 at a time, body
// once more for a rest of fewer, whose span the caller made before. The pointers
// advance past the whole sixteens; n stays.
func (e *emitter) eachSixteen(label string, n GPVirtual, rest sixteen, pointers []GPVirtual, body func(s sixteen)) {
	left := GP64()
	MOVQ(n, left)
	SUBQ(U8(16), left)
	JL(LabelRef(label + "Rest"))
	Label(label)
	body(e.wholeSixteen())
	for _, p := range pointers {
		ADDQ(U8(64), p)
	}
	SUBQ(U8(16), left)
	JGE(LabelRef(label))
	Label(label + "Rest")
	ADDQ(U8(16), left)
	JZ(LabelRef(label + "End"))
	body(rest)
	Label(label + "End")
}

// arg loads an argument.
func arg(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// at is the place that p points to.
func at(p GPVirtual) Mem { return Mem{Base: p} }

// pointers makes a list of its arguments.
func pointers(p ...GPVirtual) []GPVirtual { return p }

// argPlace is where an argument lies in the frame.
func argPlace(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// copyOf returns the value of a general register in a new one.
func (e *emitter) copyOf(p GPVirtual) GPVirtual {
	r := GP64()
	MOVQ(p, r)
	return r
}
