//go:build !purego

package kernel

// tileRows returns the most rows of a tile: as many as the registers hold.
func tileRows(ISA) int { return 6 }

// readsBeyond reports whether the kernels read more of B than the rest columns of a
// narrow last panel: they read whole vectors.
func readsBeyond(isa ISA, rest int) bool { return isa == NEON && rest%4 > 0 }

// tile multiplies rows rows of A with the panels of B.
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

func tile16NEON(rows int, a, b, c, bias *float32, g *geometry) {
	switch rows {
	case 1:
		tile1x16NEON(a, b, c, bias, g)
	case 2:
		tile2x16NEON(a, b, c, bias, g)
	case 3:
		tile3x16NEON(a, b, c, bias, g)
	case 4:
		tile4x16NEON(a, b, c, bias, g)
	case 5:
		tile5x16NEON(a, b, c, bias, g)
	case 6:
		tile6x16NEON(a, b, c, bias, g)
	}
}

func tile12NEON(rows int, a, b, c, bias *float32, g *geometry) {
	switch rows {
	case 1:
		tile1x12NEON(a, b, c, bias, g)
	case 2:
		tile2x12NEON(a, b, c, bias, g)
	case 3:
		tile3x12NEON(a, b, c, bias, g)
	case 4:
		tile4x12NEON(a, b, c, bias, g)
	case 5:
		tile5x12NEON(a, b, c, bias, g)
	case 6:
		tile6x12NEON(a, b, c, bias, g)
	}
}

func tile8NEON(rows int, a, b, c, bias *float32, g *geometry) {
	switch rows {
	case 1:
		tile1x8NEON(a, b, c, bias, g)
	case 2:
		tile2x8NEON(a, b, c, bias, g)
	case 3:
		tile3x8NEON(a, b, c, bias, g)
	case 4:
		tile4x8NEON(a, b, c, bias, g)
	case 5:
		tile5x8NEON(a, b, c, bias, g)
	case 6:
		tile6x8NEON(a, b, c, bias, g)
	}
}

func tile4NEON(rows int, a, b, c, bias *float32, g *geometry) {
	switch rows {
	case 1:
		tile1x4NEON(a, b, c, bias, g)
	case 2:
		tile2x4NEON(a, b, c, bias, g)
	case 3:
		tile3x4NEON(a, b, c, bias, g)
	case 4:
		tile4x4NEON(a, b, c, bias, g)
	case 5:
		tile5x4NEON(a, b, c, bias, g)
	case 6:
		tile6x4NEON(a, b, c, bias, g)
	}
}
