package main

import (
	. "github.com/mmcloughlin/avo/operand"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// machine lets the formulas emit through an emitter. A value is a register or, for
// AVX2, a constant in memory.
type machine struct{ e *emitter }

type formulas = formula.Formulas[Op, condition]

// formulas are those of the width in use.
func (e *emitter) formulas() formulas { return formula.On[Op, condition](machine{e}) }

// apply returns f(x).
func (e *emitter) apply(f func(formulas, Op) Op, x vector) vector {
	return e.reg(f(e.formulas(), x))
}

func (e *emitter) exp(x vector) vector { return e.apply(formulas.Exp, x) }
func (e *emitter) log(x vector) vector { return e.apply(formulas.Log, x) }

func (m machine) Word(b uint32) Op { return m.e.word(b) }
func (m machine) Register(a Op) Op { return m.e.reg(a) }
func (m machine) Copy(a Op) Op     { return m.e.copy(m.e.reg(a)) }

func (m machine) Zero() Op { return m.e.zero() }

func (m machine) Add(a, b Op) Op { return m.e.add(m.e.reg(a), b) }
func (m machine) Sub(a, b Op) Op { return m.e.sub(m.e.reg(a), b) }
func (m machine) Mul(a, b Op) Op { return m.e.mul(m.e.reg(a), b) }
func (m machine) Div(a, b Op) Op { return m.e.div(m.e.reg(a), b) }
func (m machine) Sqrt(a Op) Op   { return m.e.sqrt(a) }
func (m machine) Floor(a Op) Op  { return m.e.floor(m.e.reg(a)) }
func (m machine) Max(a, b Op) Op { return m.e.max(m.e.reg(a), b) }
func (m machine) Min(a, b Op) Op { return m.e.min(m.e.reg(a), b) }

func (m machine) AddProduct(acc, a, b Op) { m.e.addProduct(acc.(vector), m.e.reg(a), b) }
func (m machine) SubProduct(acc, a, b Op) { m.e.subProduct(acc.(vector), m.e.reg(a), b) }

func (m machine) Horner(p, x, c Op) Op {
	m.e.horner(p.(vector), x.(vector), c)
	return p
}

func (m machine) And(a, b Op) Op { return m.e.and(m.e.reg(a), b) }
func (m machine) Or(a, b Op) Op  { return m.e.or(m.e.reg(a), b) }
func (m machine) Xor(a, b Op) Op { return m.e.xor(m.e.reg(a), b) }

func (m machine) AddInt(a, b Op) Op              { return m.e.addInt(m.e.reg(a), b) }
func (m machine) SubInt(a, b Op) Op              { return m.e.subInt(m.e.reg(a), b) }
func (m machine) Left(a Op, n int) Op            { return m.e.left(m.e.reg(a), n) }
func (m machine) Right(a Op, n int) Op           { return m.e.right(m.e.reg(a), n) }
func (m machine) RightSigned(a Op, n int) Op     { return m.e.rightSigned(m.e.reg(a), n) }
func (m machine) ToFloat(a Op) Op                { return m.e.toFloat(a) }
func (m machine) Less(a, b Op) condition         { return m.e.compare(m.e.reg(a), less, b) }
func (m machine) Greater(a, b Op) condition      { return m.e.compare(m.e.reg(a), greater, b) }
func (m machine) Equal(a, b Op) condition        { return m.e.compare(m.e.reg(a), equal, b) }
func (m machine) Negative(a Op) condition        { return m.e.negative(m.e.reg(a)) }
func (m machine) Choose(c condition, a, b Op) Op { return m.e.choose(c, a, m.e.reg(b)) }
func (m machine) Only(c condition, a Op) Op      { return m.e.only(c, a) }
func (m machine) Except(c condition, a Op) Op    { return m.e.except(c, m.e.reg(a)) }

func (m machine) NotGreaterEqual(a, b Op) condition {
	return m.e.compare(m.e.reg(a), notGreaterEqual, b)
}
