//go:build !purego

package kernel

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
