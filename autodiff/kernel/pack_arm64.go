//go:build !purego

package kernel

// packRows packs the rows of b, as many as one call of assembly gets.
//
//go:noinline
func packRows(dst *float32, _, panel int, b *Matrix, count int) {
	packPanelsNEON(dst, &b.Data[0], uintptr(panel)*4, uintptr(b.Stride)*4, uintptr(b.Rows), uintptr(count))
}
