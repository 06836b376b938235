//go:build !purego

package kernel

// tileRows returns the most rows of a tile: as many as the registers hold.
func tileRows(isa ISA) int {
	if isa == AVX512 {
		return 14
	}
	return 6
}

// readsBeyond reports whether the kernels read more of B than the rest columns of a
// narrow last panel.
func readsBeyond(isa ISA, rest int) bool { return isa == AVX2 && rest > 0 }

// tile multiplies rows rows of A with the panels of B.
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

func tile32AVX512(rows int, a, b, c, bias *float32, g *geometry) {
	switch rows {
	case 1:
		tile1x32AVX512(a, b, c, bias, g)
	case 2:
		tile2x32AVX512(a, b, c, bias, g)
	case 3:
		tile3x32AVX512(a, b, c, bias, g)
	case 4:
		tile4x32AVX512(a, b, c, bias, g)
	case 5:
		tile5x32AVX512(a, b, c, bias, g)
	case 6:
		tile6x32AVX512(a, b, c, bias, g)
	case 7:
		tile7x32AVX512(a, b, c, bias, g)
	case 8:
		tile8x32AVX512(a, b, c, bias, g)
	case 9:
		tile9x32AVX512(a, b, c, bias, g)
	case 10:
		tile10x32AVX512(a, b, c, bias, g)
	case 11:
		tile11x32AVX512(a, b, c, bias, g)
	case 12:
		tile12x32AVX512(a, b, c, bias, g)
	case 13:
		tile13x32AVX512(a, b, c, bias, g)
	case 14:
		tile14x32AVX512(a, b, c, bias, g)
	}
}

func tile16AVX512(rows int, a, b, c, bias *float32, g *geometry) {
	switch rows {
	case 1:
		tile1x16AVX512(a, b, c, bias, g)
	case 2:
		tile2x16AVX512(a, b, c, bias, g)
	case 3:
		tile3x16AVX512(a, b, c, bias, g)
	case 4:
		tile4x16AVX512(a, b, c, bias, g)
	case 5:
		tile5x16AVX512(a, b, c, bias, g)
	case 6:
		tile6x16AVX512(a, b, c, bias, g)
	case 7:
		tile7x16AVX512(a, b, c, bias, g)
	case 8:
		tile8x16AVX512(a, b, c, bias, g)
	case 9:
		tile9x16AVX512(a, b, c, bias, g)
	case 10:
		tile10x16AVX512(a, b, c, bias, g)
	case 11:
		tile11x16AVX512(a, b, c, bias, g)
	case 12:
		tile12x16AVX512(a, b, c, bias, g)
	case 13:
		tile13x16AVX512(a, b, c, bias, g)
	case 14:
		tile14x16AVX512(a, b, c, bias, g)
	}
}

func tile16AVX2(rows int, a, b, c, bias *float32, g *geometry) {
	switch rows {
	case 1:
		tile1x16AVX2(a, b, c, bias, g)
	case 2:
		tile2x16AVX2(a, b, c, bias, g)
	case 3:
		tile3x16AVX2(a, b, c, bias, g)
	case 4:
		tile4x16AVX2(a, b, c, bias, g)
	case 5:
		tile5x16AVX2(a, b, c, bias, g)
	case 6:
		tile6x16AVX2(a, b, c, bias, g)
	}
}
