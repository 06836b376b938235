//go:build !purego

package kernel

// detect returns the instruction sets beside Portable: every 64-bit Arm processor that Go runs on has NEON.
func detect() []ISA { return []ISA{NEON} }

// peak runs so many iterations of the loop for the active instruction set, and returns their operations.
//
//go:noinline
func peak(iterations int) float64 {
	if active == Portable {
		return peakPortable(iterations)
	}
	peakNEON(iterations)
	return 2 * 24 * 4 * float64(iterations) // 24 FMAs of 4 lanes each
}

// packRows packs the rows of b, as many as one call of assembly gets.
//
//go:noinline
func packRows(dst *float32, _, panel int, b *Matrix, count int) {
	packPanelsNEON(dst, &b.Data[0], uintptr(panel)*4, uintptr(b.Stride)*4, uintptr(b.Rows), uintptr(count))
}

// tileRows returns the most rows of a tile: as many as the registers hold.
func tileRows(ISA) int { return 6 }

// readsBeyond reports whether the kernels read more of B than the rest columns of a narrow last panel: they read whole
// vectors.
func readsBeyond(isa ISA, rest int) bool { return isa == NEON && rest%4 > 0 }

// tile multiplies rows rows of A with the panels of B that g says, by the kernel for as few vectors as hold their
// columns.
func tile(_ ISA, rows int, a, b, c, bias *float32, g *geometry) {
	switch (g[width] + 3) / 4 {
	case 1:
		tile4NEON(rows, a, b, c, bias, g)
	case 2:
		tile8NEON(rows, a, b, c, bias, g)
	case 3:
		tile12NEON(rows, a, b, c, bias, g)
	case 4:
		tile16NEON(rows, a, b, c, bias, g)
	}
}
