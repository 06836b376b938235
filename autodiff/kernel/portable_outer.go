package kernel

// This file holds the portable loops of outer.go.

func outerPortable(dst, x, y Matrix) {
	n := y.Cols
	for r := range dst.Rows {
		to, b := dst.row(r), y.row(r)
		for i, a := range x.row(r) {
			row := to[i*n:][:n]
			for j, v := range b {
				row[j] = a * v
			}
		}
	}
}

func addWeightedRowsPortable(dst, w, m Matrix) {
	n := dst.Cols
	for r := range dst.Rows {
		to, from := dst.row(r), m.row(r)
		for i, a := range w.row(r) {
			for j, v := range from[i*n:][:n] {
				to[j] += float32(a * v)
			}
		}
	}
}

func addDotsPortable(dst, m, x Matrix) {
	for r := range dst.Rows {
		addDotsOf(dst.row(r), m.row(r), x.row(r))
	}
}

// addDotsOf takes four dot products at a time: four sums that do not wait for each other.
func addDotsOf(dst, m, x []float32) {
	i, n := 0, len(x)
	for ; i+4 <= len(dst); i += 4 {
		a, b, c, d := m[i*n:][:n], m[(i+1)*n:][:n], m[(i+2)*n:][:n], m[(i+3)*n:][:n]
		var sumA, sumB, sumC, sumD float32
		for j, v := range x {
			sumA += float32(a[j] * v)
			sumB += float32(b[j] * v)
			sumC += float32(c[j] * v)
			sumD += float32(d[j] * v)
		}
		dst[i] += sumA
		dst[i+1] += sumB
		dst[i+2] += sumC
		dst[i+3] += sumD
	}
	for ; i < len(dst); i++ {
		var sum float32
		for j, v := range m[i*n:][:n] {
			sum += float32(v * x[j])
		}
		dst[i] += sum
	}
}
