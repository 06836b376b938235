package main

import (
	. "github.com/mmcloughlin/avo/operand"

	"github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"
)

// functions emits the functions of one variable, with the constants that each keeps in registers where there are
// enough. The references are exp1, log1 and the others of portable_math.go.
func functions(bytes int) {
	unary(bytes, "exp", formulas.Exp, formula.ReduceConstants, formula.ExpConstants)
	unary(bytes, "log", formulas.Log, formula.LogConstants)
	unary(bytes, "tanh", formulas.Tanh, formula.ReduceConstants, formula.TanhConstants)
	unary(bytes, "sigmoid", formulas.Sigmoid, formula.ReduceConstants, formula.SigmoidConstants)
	unary(bytes, "softplus", formulas.Softplus, formula.ReduceConstants, formula.SigmoidConstants)
	unary(bytes, "relu", formulas.ReLU, []uint32{0})
	unary(bytes, "sqrt", formulas.Sqrt)
}

// unary emits dst[i] = f(src[i]).
func unary(bytes int, name string, f func(formulas, Op) Op, hoist ...[]uint32) {
	e := begin(bytes, name, "func(dst, src *float32, n int)")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	e.hoist(hoist...)
	e.each("loop", n, pointers(dst, src), func(s *span) {
		s.store(e.apply(f, s.load(at(src))), at(dst))
	})
	e.end()
}
