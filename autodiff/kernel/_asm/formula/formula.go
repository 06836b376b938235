// Package formula holds the sequences of operations behind the kernels that compute
// value by value: those of kernel/portable_*.go, on vectors. It knows no instruction
// set: a generator gives it a Machine, and emits the same sequence for each of its own.
package formula

import "math"

// Machine emits operations on vectors of 32-bit lanes. V is a register or a constant,
// C what a comparison gives. Each operation returns its result in a new register,
// unless its comment says otherwise; only the operations in place change a register,
// and never a constant.
type Machine[V, C any] interface {
	Word(bits uint32) V // in every lane
	Register(a V) V     // a itself in a register, for an operand that is used often
	Copy(a V) V
	Zero() V // +0 in every lane, in a new register

	Add(a, b V) V
	Sub(a, b V) V
	Mul(a, b V) V
	Div(a, b V) V
	Sqrt(a V) V
	Floor(a V) V
	Max(a, b V) V // b if either is NaN or both are zero
	Min(a, b V) V // b if either is NaN or both are zero

	AddProduct(acc, a, b V) // acc += a*b, fused, in place
	SubProduct(acc, a, b V) // acc -= a*b, fused, in place
	Horner(p, x, c V) V     // p*x + c, fused; p is lost

	And(a, b V) V
	Or(a, b V) V
	Xor(a, b V) V

	AddInt(a, b V) V
	SubInt(a, b V) V
	Left(a V, n int) V
	Right(a V, n int) V
	RightSigned(a V, n int) V
	ToFloat(a V) V // of signed integers

	Less(a, b V) C
	Greater(a, b V) C
	Equal(a, b V) C
	NotGreaterEqual(a, b V) C // true for a NaN
	Negative(a V) C           // the sign bit
	Choose(c C, a, b V) V     // a where c holds, else b
	Only(c C, a V) V          // a where c, not from Negative, holds, else 0
	Except(c C, a V) V        // 0 where c, not from Negative, holds, else a
}

// Formulas emits on a machine. Each method is the function of kernel/portable_*.go with nearly the same name (Exp
// is exp1, Tanh is tanh1), operation by operation: the order of operations, what is fused and which operand comes
// first are those of the Go code, since they decide the bits.
type Formulas[V, C any] struct{ Machine[V, C] }

// On returns the formulas on m.
func On[V, C any](m Machine[V, C]) Formulas[V, C] { return Formulas[V, C]{m} }

// Value is a constant.
func (f Formulas[V, C]) Value(x float64) V { return f.Word(Bits(x)) }

// Negate returns -x: it flips the sign bit, also of zeros and NaN.
func (f Formulas[V, C]) Negate(x V) V { return f.Xor(x, f.Word(signBit)) }

// polynomial returns the value at x of the polynomial with the given coefficients, the highest first: Horner's
// rule with an FMA for each coefficient but the first.
func (f Formulas[V, C]) polynomial(x V, coefficients []float64) V {
	p := f.Copy(f.Value(coefficients[0]))
	for _, c := range coefficients[1:] {
		p = f.Horner(p, x, f.Value(c))
	}
	return p
}

// Bits returns x in the format of float32.
func Bits(x float64) uint32 { return math.Float32bits(float32(x)) }

// words returns values in the format of float32.
func words(values ...float64) []uint32 {
	var list []uint32
	for _, x := range values {
		list = append(list, Bits(x))
	}
	return list
}
