package main

import (
	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// emitter emits one function on vectors of four lanes. It is the formulas' machine.
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

func (out *file) beginResult(name, list, result string) *emitter {
	f := &function{name: name + "NEON", params: parseParams(list, result)}
	out.functions = append(out.functions, f)
	return &emitter{function: f, file: out, hoisted: map[uint32]*register{}}
}

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

func (e *emitter) Value(x float64) *register { return e.Word(formula.Bits(x)) }

// Register returns a, which is loaded if it is a constant that is not.
func (e *emitter) Register(a *register) *register {
	if a.constant && !a.loaded {
		a.loaded = true
		e.loadConstant(a, a.bits)
	}
	return a
}

func (e *emitter) loadConstant(d *register, b uint32) {
	if b == 0 {
		e.zero(d)
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
	return e.move(d, a)
}

// registers are those of the operands.
func (e *emitter) registers(a, b *register) (x, y *register) { return e.Register(a), e.Register(b) }

func (e *emitter) Add(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.fadd(newVector(), a, b)
}

func (e *emitter) Sub(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.fsub(newVector(), a, b)
}

func (e *emitter) Mul(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.fmul(newVector(), a, b)
}

func (e *emitter) Div(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.fdiv(newVector(), a, b)
}

func (e *emitter) Sqrt(a *register) *register { return e.fsqrt(newVector(), e.Register(a)) }

// Max is FMAX only where that agrees: with a zero it may return the other one, and it
// returns a NaN where b is to be returned.
func (e *emitter) Max(a, b *register) *register {
	b = e.Register(b)
	switch {
	case a.constant && a.bits == 0:
		return e.bic(newVector(), b, e.fcmltZero(newVector(), b))
	case a.ordinary():
		return e.fmax(newVector(), e.Register(a), b)
	}
	panic("max of what is no constant")
}

func (e *emitter) Min(a, b *register) *register {
	if !a.ordinary() {
		panic("min of what is no constant")
	}
	a, b = e.registers(a, b)
	return e.fmin(newVector(), a, b)
}

// ordinary reports whether r is a constant other than zero and no NaN.
func (r *register) ordinary() bool {
	return r.constant && r.bits<<1 != 0 && r.bits<<1 <= 0xff000000
}

func (e *emitter) AddProduct(acc, a, b *register) {
	a, b = e.registers(a, b)
	e.fmla(acc, a, b)
}

func (e *emitter) SubProduct(acc, a, b *register) {
	a, b = e.registers(a, b)
	e.fmls(acc, a, b)
}

func (e *emitter) Horner(p, x, c *register) *register {
	d := e.Copy(c)
	e.fmla(d, p, x)
	return d
}

func (e *emitter) And(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.logic("VAND", newVector(), a, b)
}

func (e *emitter) Or(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.logic("VORR", newVector(), a, b)
}

func (e *emitter) Xor(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.logic("VEOR", newVector(), a, b)
}

func (e *emitter) AddInt(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.integer("VADD", newVector(), a, b)
}

func (e *emitter) SubInt(a, b *register) *register {
	a, b = e.registers(a, b)
	return e.integer("VSUB", newVector(), a, b)
}

func (e *emitter) Left(a *register, n int) *register {
	return e.shift("VSHL", newVector(), e.Register(a), n)
}

func (e *emitter) Right(a *register, n int) *register {
	return e.shift("VUSHR", newVector(), e.Register(a), n)
}

func (e *emitter) RightSigned(a *register, n int) *register {
	return e.sshr(newVector(), e.Register(a), n)
}

func (e *emitter) ToFloat(a *register) *register { return e.scvtf(newVector(), e.Register(a)) }

func (e *emitter) Less(a, b *register) condition { return e.Greater(b, a) }

func (e *emitter) Greater(a, b *register) condition {
	a = e.Register(a)
	if b.constant && b.bits == 0 {
		return condition{mask: e.fcmgtZero(newVector(), a)}
	}
	return condition{mask: e.fcmgt(newVector(), a, e.Register(b))}
}

func (e *emitter) Equal(a, b *register) condition {
	a = e.Register(a)
	if b.constant && b.bits == 0 {
		return condition{mask: e.fcmeqZero(newVector(), a)}
	}
	return condition{mask: e.fcmeq(newVector(), a, e.Register(b))}
}

func (e *emitter) NotGreaterEqual(a, b *register) condition {
	a = e.Register(a)
	if b.constant && b.bits == 0 {
		return condition{mask: e.fcmgeZero(newVector(), a), negated: true}
	}
	return condition{mask: e.fcmge(newVector(), a, e.Register(b)), negated: true}
}

func (e *emitter) Negative(a *register) condition {
	return condition{mask: e.cmltZero(newVector(), e.Register(a))}
}

func (e *emitter) Choose(c condition, a, b *register) *register {
	a = e.Register(a)
	d := e.Copy(b)
	insert := "VBIT"
	if c.negated {
		insert = "VBIF"
	}
	return e.logic(insert, d, a, c.mask)
}

func (e *emitter) Only(c condition, a *register) *register { return e.pick(c, a, c.negated) }

func (e *emitter) Except(c condition, a *register) *register { return e.pick(c, a, !c.negated) }

// pick returns a where the mask is zero, or where it is not, else 0.
func (e *emitter) pick(c condition, a *register, zero bool) *register {
	a = e.Register(a)
	if zero {
		return e.bic(newVector(), a, c.mask)
	}
	return e.And(a, c.mask)
}

var _ formula.Machine[*register, condition] = (*emitter)(nil)
