//go:build (!amd64 && !arm64) || purego

package kernel

// What the portable build has in place of partial.go, gemm_blocks.go and the instruction sets.

// detect: this build has Portable alone.
func detect() []ISA { return nil }

func peak(iterations int) float64 { return peakPortable(iterations) }

func softmax(dst, src Matrix)            { softmaxPortable(dst, src) }
func logSoftmax(dst, src Matrix)         { logSoftmaxPortable(dst, src) }
func putInt16(dst []byte, src []float32) { putInt16Portable(dst, src) }
func getInt16(dst []float32, src []byte) { getInt16Portable(dst, src) }

func outer(dst, x, y Matrix)           { outerPortable(dst, x, y) }
func addWeightedRows(dst, w, m Matrix) { addWeightedRowsPortable(dst, w, m) }
func addDots(dst, m, x Matrix)         { addDotsPortable(dst, m, x) }

func fillGroups(dst []float32, p *Philox, block uint64, d draw) {
	fillGroupsPortable(dst, p, block, d)
}

func multiply(c *Matrix, a *left, b *right, e *Epilogue) { multiplyPortable(c, a, b, e) }

func (w *Workspace) multiplyPlain(c *Matrix, a *left, b *Matrix, e *Epilogue) {
	var r right
	r.plain(b, Portable)
	multiplyPortable(c, a, &r, e)
}

// packWholePanels and packTransposedRows are not called where the instruction set is Portable.
func packWholePanels(dst []float32, width int, b *Matrix, count int) {
	panic("kernel: no assembly in this build")
}

func packTransposedRows(dst []float32, width int, b *Matrix) int {
	panic("kernel: no assembly in this build")
}
