//go:build (!amd64 && !arm64) || purego

package kernel

// This build has the portable kernels alone.

func detect() []ISA { return nil }

func exp(dst, src []float32)      { expPortable(dst, src) }
func log(dst, src []float32)      { logPortable(dst, src) }
func tanh(dst, src []float32)     { tanhPortable(dst, src) }
func sigmoid(dst, src []float32)  { sigmoidPortable(dst, src) }
func softplus(dst, src []float32) { softplusPortable(dst, src) }

func add(dst, x []float32)                            { addPortable(dst, x) }
func sub(dst, x, y []float32)                         { subPortable(dst, x, y) }
func mul(dst, x, y []float32)                         { mulPortable(dst, x, y) }
func addMul(dst, x, y []float32)                      { addMulPortable(dst, x, y) }
func addScaled(dst []float32, a float32, x []float32) { addScaledPortable(dst, a, x) }
func scale(dst []float32, a float32)                  { scalePortable(dst, a) }
func relu(dst, src []float32)                         { reluPortable(dst, src) }
func reluBackward(dst, dy, y []float32)               { reluBackwardPortable(dst, dy, y) }
func finite(x []float32) bool                         { return finitePortable(x) }

func sumLanes(s *[lanes]float32, x []float32)        { sumLanesPortable(s, x) }
func sumSquaresLanes(s *[lanes]float64, x []float32) { sumSquaresLanesPortable(s, x) }
func sumRows(dst []float32, m Matrix)                { sumRowsPortable(dst, m) }
func addSumColumns(dst []float32, m Matrix)          { addSumColumnsPortable(dst, m) }
func addRow(dst Matrix, row []float32)               { addRowPortable(dst, row) }
func softmax(dst, src Matrix)                        { softmaxPortable(dst, src) }
func logSoftmax(dst, src Matrix)                     { logSoftmaxPortable(dst, src) }

func lstmForward(z, c, cNext, h, tanhC []float32) { lstmForwardPortable(z, c, cNext, h, tanhC) }
func lstmBackward(act, dz, dh, dc, tanhC, cPrev []float32) {
	lstmBackwardPortable(act, dz, dh, dc, tanhC, cPrev)
}
func adam(p, m, v, g []float32, s *AdamStep) { adamPortable(p, m, v, g, s) }
func fillGroups(dst []float32, p *Philox, block uint64, d draw) {
	fillGroupsPortable(dst, p, block, d)
}

func greatest(x []float32) uint32        { return greatestPortable(x) }
func putInt16(dst []byte, src []float32) { putInt16Portable(dst, src) }
func getInt16(dst []float32, src []byte) { getInt16Portable(dst, src) }
func roundGroups(x []float32, p *Philox, block uint64, a, limit float32) {
	roundGroupsPortable(x, p, block, a, limit)
}

func multiply(c *Matrix, a *left, b *right, e *Epilogue) { multiplyPortable(c, a, b, e) }

func (w *Workspace) multiplyPlain(c *Matrix, a *left, b *Matrix, e *Epilogue) {
	var r right
	r.plain(b, Portable)
	multiplyPortable(c, a, &r, e)
}

func packWholePanels(dst []float32, width int, b *Matrix, count int) {
	panic("kernel: no assembly in this build")
}

func packTransposedRows(dst []float32, width int, b *Matrix) int {
	panic("kernel: no assembly in this build")
}

func peak(iterations int) float64 { return peakPortable(iterations) }
