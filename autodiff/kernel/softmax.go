package kernel

// Softmax is, for each row x of src and y of dst,
//
//	y[j] = e^(x[j]-m) * (1 / Σ e^(x[k]-m)),   m = max x
//
// with the sum in 16 lanes and then by halves. A row with a NaN, with +Inf or
// with nothing but -Inf becomes NaN. Shapes must be equal; dst may be src.
func Softmax(dst, src Matrix) {
	checkSame("Softmax", dst, src)
	if dst.empty() {
		return
	}
	step := rowsPerCall(dst.Cols)
	for i := 0; i < dst.Rows; i += step {
		j := min(i+step, dst.Rows)
		softmax(dst.rowRange(i, j), src.rowRange(i, j))
	}
}

// LogSoftmax is, for each row x of src and y of dst,
//
//	y[j] = x[j] - (m + ln Σ e^(x[k]-m)),   m = max x
//
// with the sum in 16 lanes and then by halves. A row with a NaN, with +Inf or
// with nothing but -Inf becomes NaN. Shapes must be equal; dst may be src.
func LogSoftmax(dst, src Matrix) {
	checkSame("LogSoftmax", dst, src)
	if dst.empty() {
		return
	}
	step := rowsPerCall(dst.Cols)
	for i := 0; i < dst.Rows; i += step {
		j := min(i+step, dst.Rows)
		logSoftmax(dst.rowRange(i, j), src.rowRange(i, j))
	}
}

// checkSame panics unless dst and src are sound and of one shape.
func checkSame(op string, dst, src Matrix) {
	dst.check(op)
	src.check(op)
	if dst.Rows != src.Rows || dst.Cols != src.Cols {
		panicShape(op, dst, src)
	}
}
