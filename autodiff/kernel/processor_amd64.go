//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// detect returns the instruction sets beside Portable.
func detect() []ISA {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return nil
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL:
		return []ISA{AVX2, AVX512}
	}
	return []ISA{AVX2}
}

// peak runs so many iterations of the loop for the active instruction set, and returns their operations.
//
//go:noinline
func peak(iterations int) float64 {
	const perIteration = 2 * 12 // operations on each lane
	switch active {
	case AVX512:
		peakAVX512(iterations)
		return perIteration * 16 * float64(iterations)
	case AVX2:
		peakAVX2(iterations)
		return perIteration * 8 * float64(iterations)
	}
	return peakPortable(iterations)
}

// packRows packs the rows of b, as many as one call of assembly gets.
//
//go:noinline
func packRows(dst *float32, width, panel int, b *Matrix, count int) {
	src, row, rows := &b.Data[0], uintptr(b.Stride)*4, uintptr(b.Rows)
	if width == 32 {
		packPanelsAVX512(dst, src, uintptr(panel)*4, row, rows, uintptr(count))
	} else {
		packPanelsAVX2(dst, src, uintptr(panel)*4, row, rows, uintptr(count))
	}
}

// tileRows returns the most rows of a tile: as many as the registers hold.
func tileRows(isa ISA) int {
	if isa == AVX512 {
		return 14
	}
	return 6
}

// readsBeyond reports whether the kernels read more of B than the rest columns of a narrow last panel. AVX-512
// masks every last vector instead.
func readsBeyond(isa ISA, rest int) bool { return isa == AVX2 && rest > 0 }

// tile multiplies rows rows of A with the panels of B that g says: a, b, c and bias are the first elements, and
// what the accumulators become is written to C.
func tile(isa ISA, rows int, a, b, c, bias *float32, g *geometry) {
	switch {
	case isa == AVX2:
		tile16AVX2(rows, a, b, c, bias, g)
	case g[width] <= 16:
		tile16AVX512(rows, a, b, c, bias, g)
	default:
		tile32AVX512(rows, a, b, c, bias, g)
	}
}
