package main

import "fmt"

// This file has the instructions that the kernels use, each with its result first and
// in a new register unless said otherwise. The words are those of the Arm
// Architecture Reference Manual, with zeros for the registers.

var (
	threeShifts = []int{0, 5, 16}
	twoShifts   = []int{0, 5}
)

// three is an instruction on vectors of three registers.
func (f *function) three(name, arrangement string, word uint32, d, n, m *register) *register {
	text := fmt.Sprintf("%[1]s %%s.%[2]s, %%s.%[2]s, %%s.%[2]s", name, arrangement)
	f.word(text, word, threeShifts, lower(d), lower(n), lower(m))
	return d
}

// two is an instruction on vectors of two registers, which may differ in arrangement.
func (f *function) two(text string, word uint32, d, n *register) *register {
	f.word(text, word, twoShifts, lower(d), lower(n))
	return d
}

// lower names a vector register as other assemblers do.
func lower(r *register) operand { return operand{r, "v%d"} }

func (f *function) fadd(d, n, m *register) *register {
	return f.three("fadd", "4s", 0x4e20d400, d, n, m)
}
func (f *function) fsub(d, n, m *register) *register {
	return f.three("fsub", "4s", 0x4ea0d400, d, n, m)
}
func (f *function) fmul(d, n, m *register) *register {
	return f.three("fmul", "4s", 0x6e20dc00, d, n, m)
}
func (f *function) fdiv(d, n, m *register) *register {
	return f.three("fdiv", "4s", 0x6e20fc00, d, n, m)
}
func (f *function) fmax(d, n, m *register) *register {
	return f.three("fmax", "4s", 0x4e20f400, d, n, m)
}
func (f *function) fmin(d, n, m *register) *register {
	return f.three("fmin", "4s", 0x4ea0f400, d, n, m)
}
func (f *function) smax(d, n, m *register) *register {
	return f.three("smax", "4s", 0x4ea06400, d, n, m)
}
func (f *function) bic(d, n, m *register) *register {
	return f.three("bic", "16b", 0x4e601c00, d, n, m)
}

func (f *function) fcmgt(d, n, m *register) *register {
	return f.three("fcmgt", "4s", 0x6ea0e400, d, n, m)
}
func (f *function) fcmge(d, n, m *register) *register {
	return f.three("fcmge", "4s", 0x6e20e400, d, n, m)
}
func (f *function) fcmeq(d, n, m *register) *register {
	return f.three("fcmeq", "4s", 0x4e20e400, d, n, m)
}

func (f *function) fsqrt(d, n *register) *register {
	return f.two("fsqrt %s.4s, %s.4s", 0x6ea1f800, d, n)
}
func (f *function) scvtf(d, n *register) *register {
	return f.two("scvtf %s.4s, %s.4s", 0x4e21d800, d, n)
}
func (f *function) fcmgtZero(d, n *register) *register {
	return f.two("fcmgt %s.4s, %s.4s, #0.0", 0x4ea0c800, d, n)
}
func (f *function) fcmgeZero(d, n *register) *register {
	return f.two("fcmge %s.4s, %s.4s, #0.0", 0x6ea0c800, d, n)
}
func (f *function) fcmeqZero(d, n *register) *register {
	return f.two("fcmeq %s.4s, %s.4s, #0.0", 0x4ea0d800, d, n)
}
func (f *function) fcmltZero(d, n *register) *register {
	return f.two("fcmlt %s.4s, %s.4s, #0.0", 0x4ea0e800, d, n)
}
func (f *function) cmltZero(d, n *register) *register {
	return f.two("cmlt %s.4s, %s.4s, #0", 0x4ea0a800, d, n)
}

func (f *function) sshr(d, n *register, bits int) *register {
	return f.two(fmt.Sprintf("sshr %%s.4s, %%s.4s, #%d", bits), 0x4f000400|uint32(64-bits)<<16, d, n)
}

// smaxv is the greatest lane of n, in lane 0.
func (f *function) smaxv(d, n *register) *register {
	f.word("smaxv s%s, %s.4s", 0x4eb0a800, twoShifts, operand{d, "%d"}, lower(n))
	return d
}

// fcvtl and fcvtl2 are the lower and the upper lanes of n in float64.
func (f *function) fcvtl(d, n *register) *register {
	return f.two("fcvtl %s.2d, %s.2s", 0x0e617800, d, n)
}
func (f *function) fcvtl2(d, n *register) *register {
	return f.two("fcvtl2 %s.2d, %s.4s", 0x4e617800, d, n)
}

// umull and umull2 are the products, of 64 bits, of the lower and the upper lanes.
func (f *function) umull(d, n, m *register) *register {
	f.word("umull %s.2d, %s.2s, %s.2s", 0x2ea0c000, threeShifts, lower(d), lower(n), lower(m))
	return d
}

func (f *function) umull2(d, n, m *register) *register {
	f.word("umull2 %s.2d, %s.4s, %s.4s", 0x6ea0c000, threeShifts, lower(d), lower(n), lower(m))
	return d
}

// fmlaByLane0 is d += n * lane 0 of m, in place.
func (f *function) fmlaByLane0(d, n, m *register) {
	f.word("fmla %s.4s, %s.4s, %s.s[0]", 0x4f801000, threeShifts, lower(d), lower(n), lower(m))
}

// fmla and fmls are d += n*m and d -= n*m, in place.
func (f *function) fmla(d, n, m *register) { f.op("VFMLA %s, %s, %s", m.words(), n.words(), d.words()) }
func (f *function) fmls(d, n, m *register) { f.op("VFMLS %s, %s, %s", m.words(), n.words(), d.words()) }

// logic is a bitwise instruction: VAND, VORR, VEOR.
func (f *function) logic(name string, d, n, m *register) *register {
	f.op(name+" %s, %s, %s", m.bytes(), n.bytes(), d.bytes())
	return d
}

// integer is an instruction on 32-bit lanes: VADD, VSUB, VZIP1, VUZP1 and their like.
func (f *function) integer(name string, d, n, m *register) *register {
	f.op(name+" %s, %s, %s", m.words(), n.words(), d.words())
	return d
}

// shift is VSHL or VUSHR.
func (f *function) shift(name string, d, n *register, bits int) *register {
	f.op(fmt.Sprintf("%s $%d, %%s, %%s", name, bits), n.words(), d.words())
	return d
}

func (f *function) move(d, n *register) *register {
	f.op("VMOV %s, %s", n.bytes(), d.bytes())
	return d
}

func (f *function) zero(d *register) *register { return f.logic("VEOR", d, d, d) }

// halves returns n with its halves exchanged, pairs with the lanes of each half.
func (f *function) halves(n *register) *register {
	d := newVector()
	f.op("VEXT $8, %s, %s, %s", n.bytes(), n.bytes(), d.bytes())
	return d
}

func (f *function) pairs(n *register) *register {
	d := newVector()
	f.op("VREV64 %s, %s", n.words(), d.words())
	return d
}

// loadVector and storeVector move four values.
func (f *function) loadVector(from operand) *register {
	d := newVector()
	f.op("FMOVQ %s, %s", from, d.f())
	return d
}

func (f *function) storeVector(v *register, to operand) { f.op("FMOVQ %s, %s", v.f(), to) }

// addBytes and its like are arithmetic on general registers, in place.
func (f *function) addBytes(r *register, bytes int) {
	f.op(fmt.Sprintf("ADD $%d, %%s", bytes), r.gp())
}

func (f *function) add(r, by *register) { f.op("ADD %s, %s", by.gp(), r.gp()) }

func (f *function) subtract(r *register, n int) { f.op(fmt.Sprintf("SUBS $%d, %%s", n), r.gp()) }
