package main

import "fmt"

// instruction is one on vectors, whose result is its first register. It is a text in
// the syntax of Go's assembler, with the numbers of the registers to be filled in. What
// that assembler lacks is a word too, as the Arm Architecture Reference Manual has it,
// with zeros for the registers; the text is then in the syntax of other assemblers.
type instruction struct {
	word uint32
	text string
}

// Places of the numbers of the registers in a word.
var registerShifts = []int{0, 5, 16}

// Instructions that Go's assembler has. Where not said otherwise they take the second
// register and the third, in this order.
var (
	vmov  = instruction{text: "VMOV V%[2]s.B16, V%[1]s.B16"}
	vand  = instruction{text: "VAND V%[3]s.B16, V%[2]s.B16, V%[1]s.B16"}
	vorr  = instruction{text: "VORR V%[3]s.B16, V%[2]s.B16, V%[1]s.B16"}
	veor  = instruction{text: "VEOR V%[3]s.B16, V%[2]s.B16, V%[1]s.B16"}
	vzero = instruction{text: "VEOR V%[1]s.B16, V%[1]s.B16, V%[1]s.B16"}

	// The second register's bits where the third has ones, or zeros; the others stay.
	vbit = instruction{text: "VBIT V%[3]s.B16, V%[2]s.B16, V%[1]s.B16"}
	vbif = instruction{text: "VBIF V%[3]s.B16, V%[2]s.B16, V%[1]s.B16"}

	// The result, changed in place, plus or minus the product.
	vfmla        = instruction{text: "VFMLA V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vfmls        = instruction{text: "VFMLS V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vfmlaDoubles = instruction{text: "VFMLA V%[3]s.D2, V%[2]s.D2, V%[1]s.D2"}

	vadd  = instruction{text: "VADD V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vsub  = instruction{text: "VSUB V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vzip1 = instruction{text: "VZIP1 V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vzip2 = instruction{text: "VZIP2 V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vuzp1 = instruction{text: "VUZP1 V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vuzp2 = instruction{text: "VUZP2 V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vtrn1 = instruction{text: "VTRN1 V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}
	vtrn2 = instruction{text: "VTRN2 V%[3]s.S4, V%[2]s.S4, V%[1]s.S4"}

	vtrn1Doubles = instruction{text: "VTRN1 V%[3]s.D2, V%[2]s.D2, V%[1]s.D2"}
	vtrn2Doubles = instruction{text: "VTRN2 V%[3]s.D2, V%[2]s.D2, V%[1]s.D2"}

	swapHalves = instruction{text: "VEXT $8, V%[2]s.B16, V%[2]s.B16, V%[1]s.B16"}
	swapPairs  = instruction{text: "VREV64 V%[2]s.S4, V%[1]s.S4"} // the lanes of each half
	broadcast  = instruction{text: "VDUP V%[2]s.S[0], V%[1]s.S4"} // lane 0
)

// broadcastLane has a lane of the second register in all lanes.
func broadcastLane(i int) instruction {
	return instruction{text: fmt.Sprintf("VDUP V%%[2]s.S[%d], V%%[1]s.S4", i)}
}

// vshl shifts words left.
func vshl(bits int) instruction {
	return instruction{text: fmt.Sprintf("VSHL $%d, V%%[2]s.S4, V%%[1]s.S4", bits)}
}

// vushr shifts words right, and zeros in.
func vushr(bits int) instruction {
	return instruction{text: fmt.Sprintf("VUSHR $%d, V%%[2]s.S4, V%%[1]s.S4", bits)}
}

// Instructions that Go's assembler lacks, on four values.
var (
	fadd   = instruction{0x4e20d400, "fadd v%s.4s, v%s.4s, v%s.4s"}
	fsub   = instruction{0x4ea0d400, "fsub v%s.4s, v%s.4s, v%s.4s"}
	fmul   = instruction{0x6e20dc00, "fmul v%s.4s, v%s.4s, v%s.4s"}
	fdiv   = instruction{0x6e20fc00, "fdiv v%s.4s, v%s.4s, v%s.4s"}
	fmax   = instruction{0x4e20f400, "fmax v%s.4s, v%s.4s, v%s.4s"}
	fmin   = instruction{0x4ea0f400, "fmin v%s.4s, v%s.4s, v%s.4s"}
	fsqrt  = instruction{0x6ea1f800, "fsqrt v%s.4s, v%s.4s"}
	frintm = instruction{0x4e219800, "frintm v%s.4s, v%s.4s"}
	fcvtzs = instruction{0x4ea1b800, "fcvtzs v%s.4s, v%s.4s"} // to integers, cut towards zero
	scvtf  = instruction{0x4e21d800, "scvtf v%s.4s, v%s.4s"}
	smax   = instruction{0x4ea06400, "smax v%s.4s, v%s.4s, v%s.4s"}
	smaxv  = instruction{0x4eb0a800, "smaxv s%s, v%s.4s"} // over the lanes, into lane 0
	bic    = instruction{0x4e601c00, "bic v%s.16b, v%s.16b, v%s.16b"}

	// The result, changed in place, plus the second times lane 0 of the third.
	fmlaByLane0 = instruction{0x4f801000, "fmla v%s.4s, v%s.4s, v%s.s[0]"}

	// Masks of the lanes where a comparison holds.
	fcmgt     = instruction{0x6ea0e400, "fcmgt v%s.4s, v%s.4s, v%s.4s"}
	fcmge     = instruction{0x6e20e400, "fcmge v%s.4s, v%s.4s, v%s.4s"}
	fcmeq     = instruction{0x4e20e400, "fcmeq v%s.4s, v%s.4s, v%s.4s"}
	fcmgtZero = instruction{0x4ea0c800, "fcmgt v%s.4s, v%s.4s, #0.0"}
	fcmgeZero = instruction{0x6ea0c800, "fcmge v%s.4s, v%s.4s, #0.0"}
	fcmeqZero = instruction{0x4ea0d800, "fcmeq v%s.4s, v%s.4s, #0.0"}
	fcmltZero = instruction{0x4ea0e800, "fcmlt v%s.4s, v%s.4s, #0.0"}
	cmltZero  = instruction{0x4ea0a800, "cmlt v%s.4s, v%s.4s, #0"}

	// From the lower or the upper two lanes to two of 64 bits.
	fcvtl  = instruction{0x0e617800, "fcvtl v%s.2d, v%s.2s"}
	fcvtl2 = instruction{0x4e617800, "fcvtl2 v%s.2d, v%s.4s"}
	umull  = instruction{0x2ea0c000, "umull v%s.2d, v%s.2s, v%s.2s"}
	umull2 = instruction{0x6ea0c000, "umull2 v%s.2d, v%s.4s, v%s.4s"}

	// Integers to the lower or the upper four lanes of 16 bits, cut to their range, and back.
	sqxtn  = instruction{0x0e614800, "sqxtn v%s.4h, v%s.4s"}
	sqxtn2 = instruction{0x4e614800, "sqxtn2 v%s.8h, v%s.4s"}
	sxtl   = instruction{0x0f10a400, "sxtl v%s.4s, v%s.4h"}
	sxtl2  = instruction{0x4f10a400, "sxtl2 v%s.4s, v%s.8h"}
)

// sshr shifts signed integers right. The sign is what comes in.
func sshr(bits int) instruction {
	return instruction{0x4f000400 | uint32(64-bits)<<16, fmt.Sprintf("sshr v%%s.4s, v%%s.4s, #%d", bits)}
}

// into adds an instruction with the result d, which it returns.
func (e *emitter) into(d *register, i instruction, operands ...*register) *register {
	l := line{text: i.text, word: i.word, operands: []operand{{d, "%d"}}}
	for _, r := range operands {
		l.operands = append(l.operands, operand{e.Register(r), "%d"})
	}
	e.lines = append(e.lines, l)
	return d
}

// new is into a new register.
func (e *emitter) new(i instruction, operands ...*register) *register {
	return e.into(newVector(), i, operands...)
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
