// Command gemm generates the micro-kernels of the matrix products, for AVX2 and
// AVX-512, and the packing of their operands.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("amd64")
	ConstraintExpr("!purego")

	for rows := 1; rows <= 14; rows++ {
		tile(avx512, rows, 2)
	}
	for rows := 1; rows <= 14; rows++ {
		tile(avx512, rows, 1)
	}
	for rows := 1; rows <= 6; rows++ {
		tile(avx2, rows, 2)
	}
	packPanels(avx512)
	packPanels(avx2)
	packTransposed()
	peak(avx512)
	peak(avx2)
	partialMasks()
	Generate()
}
