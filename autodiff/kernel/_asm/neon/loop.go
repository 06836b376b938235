package main

import "fmt"

// span is the part of a loop's next four values that exists: all of them, or the first
// ones. Lanes that do not exist hold something harmless, unless it says otherwise.
type span struct {
	*emitter
	displacement  int
	partial       bool
	second, third *register // bytes from the first value to the second and third, or to the last if there is none
	mask          *register // of the lanes that exist
}

// load returns the values at p.
func (s *span) load(p *register) *register {
	v := newVector()
	s.loadInto(v, p)
	return v
}

// loadInto loads the values at p into v. Of a part it loads the first value, which clears the other lanes, and
// then lanes 1 and 2 from where they are or, if they do not exist, from a value that does: nothing beyond the
// values is read. Lane 3 is zero.
func (s *span) loadInto(v, p *register) {
	if !s.partial {
		s.op("FMOVQ %s, %s", p.at(s.displacement), v.f())
		return
	}
	s.op("FMOVS %s, %s", p.at(s.displacement), v.f())
	for i, o := range []*register{s.second, s.third} {
		s.op("VLD1 %s, %s", s.place(p, o).at(0), v.lane(i+1))
	}
}

// store writes the values to p. Where lanes do not exist, others overwrite them: lane 2 goes first and lane 0
// last, so of lanes with one place the one that exists wins.
func (s *span) store(v, p *register) {
	if !s.partial {
		s.storeVector(v, p.at(s.displacement))
		return
	}
	s.op("VST1 %s, %s", v.lane(2), s.place(p, s.third).at(0))
	s.op("VST1 %s, %s", v.lane(1), s.place(p, s.second).at(0))
	s.op("FMOVS %s, %s", v.f(), p.at(s.displacement))
}

// place returns the address that is offset bytes from p, on the span's displacement.
func (s *span) place(p, offset *register) *register {
	to := newGP()
	s.op("ADD %s, %s, %s", p.gp(), offset.gp(), to.gp())
	if s.displacement != 0 {
		s.addBytes(to, s.displacement)
	}
	return to
}

// existing returns v with zeros in the lanes that do not exist.
func (s *span) existing(v *register) *register {
	if !s.partial {
		return v
	}
	return s.And(v, s.mask)
}

// first is the span of the first n of four lanes, n from 1 to 3. The mask is made only if it is wanted. Of n = 1,
// 2 and 3 values, the second place is 0, 4 and 4 bytes and the third 0, 4 and 8 bytes from the first.
func (e *emitter) first(n *register, masked bool) *span {
	s := &span{emitter: e, partial: true, second: newGP(), third: newGP()}
	e.op("LSR $1, %s, %s", n.gp(), s.second.gp())
	e.op("LSL $2, %s, %s", s.second.gp(), s.second.gp())
	e.op("SUB $1, %s, %s", n.gp(), s.third.gp())
	e.op("LSL $2, %s, %s", s.third.gp(), s.third.gp())
	if masked {
		at := newGP()
		e.op("MOVD $masks<>(SB), %s", at.gp())
		e.op("ADD %s<<4, %s, %s", n.gp(), at.gp(), at.gp())
		s.mask = e.loadVector(at.at(0))
	}
	return s
}

// each emits a loop over n > 0 values: body for several whole vectors at a time, then for single ones, then for
// the rest of one to three values. The pointers advance past what body has done in whole vectors; n is used up.
// masked is for bodies that need to know which lanes exist. All copies of body give the same bits for a value, so
// it does not matter where a vector ends.
func (e *emitter) each(label string, several int, n *register, pointers []*register, masked bool, body func(s *span)) {
	if several > 1 {
		e.whole(label+"Several", several, n, pointers, body)
	}
	e.whole(label, 1, n, pointers, body)
	e.branch("CBZ %s,", label+"End", n.gp())
	body(e.first(n, masked))
	e.label(label + "End")
}

// whole emits the loop over whole vectors, several at a time; n is what it leaves.
func (e *emitter) whole(label string, several int, n *register, pointers []*register, body func(s *span)) {
	e.subtract(n, 4*several)
	e.branch("BLT", label+"Done")
	e.label(label)
	for i := range several {
		body(&span{emitter: e, displacement: 16 * i})
	}
	for _, p := range pointers {
		e.addBytes(p, 16*several)
	}
	e.subtract(n, 4*several)
	e.branch("BGE", label)
	e.label(label + "Done")
	e.addBytes(n, 4*several)
}

// eachSixteen emits a loop over the n values at the pointers, 16 at a time and then the rest; body gets vector i
// of a sixteen. The pointers advance; n stays. The rest is up to three whole vectors and a part of one: since lane
// i mod 16 is what the bits of a sum depend on, body i of the part has to be that of its vector, so there is a
// copy of the part for each i.
func (e *emitter) eachSixteen(label string, n *register, pointers []*register, body func(i int, s *span)) {
	left := e.copyGP(n)
	e.subtract(left, 16)
	e.branch("BLT", label+"Rest")
	e.label(label)
	for i := range 4 {
		body(i, &span{emitter: e, displacement: 16 * i})
	}
	for _, p := range pointers {
		e.addBytes(p, 64)
	}
	e.subtract(left, 16)
	e.branch("BGE", label)
	e.label(label + "Rest")
	e.addBytes(left, 16)
	// What is left is less than 16 values: a chain of whole vectors with an exit to the copy of the part that
	// comes next.
	part := func(i int) string { return fmt.Sprintf("%sPart%d", label, i) }
	for i := range 3 {
		e.branch("CBZ %s,", label+"End", left.gp())
		e.op("CMP $4, %s", left.gp())
		e.branch("BLT", part(i))
		body(i, &span{emitter: e})
		for _, p := range pointers {
			e.addBytes(p, 16)
		}
		e.op("SUB $4, %s", left.gp())
	}
	e.branch("CBZ %s,", label+"End", left.gp())
	body(3, e.first(left, true))
	for i := range 3 {
		e.branch("JMP", label+"End")
		e.label(part(i))
		body(i, e.first(left, true))
	}
	e.label(label + "End")
}

func pointers(p ...*register) []*register { return p }
