// Command vector generates the element-wise functions, reductions, softmaxes, the
// LSTM cell, Adam, the random numbers and the rounding to integers. Every function is emitted for AVX2 and
// for AVX-512 from one sequence of operations, the one of kernel/portable_*.go, so
// that all three give the same bits.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64")
	ConstraintExpr("!purego")

	for _, bytes := range []int{32, 64} {
		functions(bytes)
		arithmetic(bytes)
		finite(bytes)
		sums(bytes)
		outers(bytes)
		for _, log := range []bool{false, true} {
			softmax(bytes, log)
			for _, columns := range []int{4, 8, 16} {
				shortSoftmax(bytes, columns, log)
			}
		}
		lstmForward(bytes)
		lstmBackward(bytes)
		adam(bytes)
		random(bytes)
		integers(bytes)
	}
	tables()
	Generate()
}
