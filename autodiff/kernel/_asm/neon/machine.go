package main

import (
	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// emitter emits one function on vectors of four lanes. It is the formulas' machine: a value is a register, which
// may be a constant that no instruction has loaded yet.
type emitter struct {
	*function
	file      *file
	constants *register            // address of the table of constants
	hoisted   map[uint32]*register // constants that stay in registers
}

type formulas = formula.Formulas[*register, condition]

func (e *emitter) formulas() formulas { return formula.On[*register, condition](e) }

// condition is a mask: ones in the lanes where it holds, or where it does not.
type condition struct {
	mask    *register
	negated bool
}

// begin starts the function name<NEON>.
func (out *file) begin(name, list string) *emitter { return out.beginResult(name, list, "") }

// beginResult starts a function that returns a value of the given type, bool or uint32; "" is none.
func (out *file) beginResult(name, list, result string) *emitter {
	f := &function{name: name + "NEON", params: parseParams(list, result)}
	out.functions = append(out.functions, f)
	return &emitter{function: f, file: out, hoisted: map[uint32]*register{}}
}

// end returns from the function.
func (e *emitter) end() { e.op("RET") }

// useTable makes the constants available.
func (e *emitter) useTable() {
	e.constants = newGP()
	e.op("MOVD $constants<>(SB), %s", e.constants.gp())
}

// hoist keeps constants in registers from here on.
func (e *emitter) hoist(lists ...[]uint32) {
	if e.constants == nil {
		e.useTable()
	}
	for _, list := range lists {
		for _, b := range list {
			if e.hoisted[b] == nil {
				e.hoisted[b] = e.Word(b)
				e.Register(e.hoisted[b])
			}
		}
	}
}

// Word returns a constant, in a register once it is used.
func (e *emitter) Word(b uint32) *register {
	if r := e.hoisted[b]; r != nil {
		return r
	}
	r := newVector()
	r.constant, r.bits = true, b
	return r
}

// Value is Word of the bits of x as a float32.
func (e *emitter) Value(x float64) *register { return e.Word(formula.Bits(x)) }

// Register returns a, which is loaded if it is a constant that is not.
func (e *emitter) Register(a *register) *register {
	if a.constant && !a.loaded {
		a.loaded = true
		e.loadConstant(a, a.bits)
	}
	return a
}

// loadConstant loads a constant into all lanes of d: from the table or, if it is zero, from nothing.
func (e *emitter) loadConstant(d *register, b uint32) {
	if b == 0 {
		e.into(d, vzero)
		return
	}
	e.op("FMOVQ %s, %s", e.constants.at(e.file.constant(b)), d.f())
}

func (e *emitter) Copy(a *register) *register {
	d := newVector()
	if a.constant && !a.loaded {
		e.loadConstant(d, a.bits)
		return d
	}
	return e.into(d, vmov, a)
}

func (e *emitter) Zero() *register { return e.new(vzero) }

func (e *emitter) Add(a, b *register) *register { return e.new(fadd, a, b) }
func (e *emitter) Sub(a, b *register) *register { return e.new(fsub, a, b) }
func (e *emitter) Mul(a, b *register) *register { return e.new(fmul, a, b) }
func (e *emitter) Div(a, b *register) *register { return e.new(fdiv, a, b) }
func (e *emitter) Sqrt(a *register) *register   { return e.new(fsqrt, a) }

func (e *emitter) Floor(a *register) *register { return e.new(frintm, a) }

// Max and Min are FMAX and FMIN only where these agree: of two zeros they may return the
// other one, and they return a NaN where b is to be returned.
func (e *emitter) Max(a, b *register) *register {
	switch {
	case a.constant && a.bits == 0:
		return e.new(bic, b, e.new(fcmltZero, b))
	case a.ordinary():
		return e.new(fmax, a, b)
	}
	return e.Choose(e.Greater(a, b), a, b)
}

func (e *emitter) Min(a, b *register) *register {
	if a.ordinary() {
		return e.new(fmin, a, b)
	}
	return e.Choose(e.Less(a, b), a, b)
}

// ordinary reports whether r is a constant other than zero and no NaN.
func (r *register) ordinary() bool {
	return r.constant && r.bits<<1 != 0 && r.bits<<1 <= 0xff000000
}

func (e *emitter) AddProduct(acc, a, b *register) { e.into(acc, vfmla, a, b) }
func (e *emitter) SubProduct(acc, a, b *register) { e.into(acc, vfmls, a, b) }

// Horner adds p*x to a copy of c, as there is no instruction that replaces a factor.
func (e *emitter) Horner(p, x, c *register) *register { return e.into(e.Copy(c), vfmla, p, x) }

func (e *emitter) And(a, b *register) *register { return e.new(vand, a, b) }
func (e *emitter) Or(a, b *register) *register  { return e.new(vorr, a, b) }
func (e *emitter) Xor(a, b *register) *register { return e.new(veor, a, b) }

func (e *emitter) AddInt(a, b *register) *register             { return e.new(vadd, a, b) }
func (e *emitter) SubInt(a, b *register) *register             { return e.new(vsub, a, b) }
func (e *emitter) Left(a *register, bits int) *register        { return e.new(vshl(bits), a) }
func (e *emitter) Right(a *register, bits int) *register       { return e.new(vushr(bits), a) }
func (e *emitter) RightSigned(a *register, bits int) *register { return e.new(sshr(bits), a) }
func (e *emitter) ToFloat(a *register) *register               { return e.new(scvtf, a) }

func (e *emitter) Less(a, b *register) condition { return e.Greater(b, a) }

func (e *emitter) Greater(a, b *register) condition {
	return condition{mask: e.compare(a, b, fcmgt, fcmgtZero)}
}

func (e *emitter) Equal(a, b *register) condition {
	return condition{mask: e.compare(a, b, fcmeq, fcmeqZero)}
}

func (e *emitter) NotGreaterEqual(a, b *register) condition {
	return condition{mask: e.compare(a, b, fcmge, fcmgeZero), negated: true}
}

// compare compares with b or, if that is the constant 0, with zero.
func (e *emitter) compare(a, b *register, with, withZero instruction) *register {
	if b.constant && b.bits == 0 {
		return e.new(withZero, a)
	}
	return e.new(with, a, b)
}

func (e *emitter) Negative(a *register) condition {
	return condition{mask: e.new(cmltZero, a)}
}

// Choose takes the bits of a where the mask has ones (VBIT) or zeros (VBIF), and those of b elsewhere.
func (e *emitter) Choose(c condition, a, b *register) *register {
	if c.negated {
		return e.into(e.Copy(b), vbif, a, c.mask)
	}
	return e.into(e.Copy(b), vbit, a, c.mask)
}

func (e *emitter) Only(c condition, a *register) *register {
	if c.negated {
		return e.new(bic, a, c.mask)
	}
	return e.new(vand, a, c.mask)
}

func (e *emitter) Except(c condition, a *register) *register {
	return e.Only(condition{c.mask, !c.negated}, a)
}

var _ formula.Machine[*register, condition] = (*emitter)(nil)
