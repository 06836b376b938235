package kernel

// This file holds the portable loops of the outer product and of the sums of its VJP.

func outerPortable(dst, x, y []float32) {
	n := len(y)
	for i, a := range x {
		row := dst[i*n:][:n]
		for j, b := range y {
			row[j] = a * b
		}
	}
}

func addWeightedRowsPortable(dst, w []float32, m Matrix) {
	for i, a := range w {
		for j, v := range m.row(i)[:len(dst)] {
			dst[j] += float32(a * v)
		}
	}
}

// addDotsPortable takes four rows at a time: four sums that do not wait for each other.
func addDotsPortable(dst []float32, m Matrix, x []float32) {
	i, n := 0, len(x)
	for ; i+4 <= len(dst); i += 4 {
		a, b, c, d := m.row(i)[:n], m.row(i + 1)[:n], m.row(i + 2)[:n], m.row(i + 3)[:n]
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
		for j, v := range m.row(i) {
			sum += float32(v * x[j])
		}
		dst[i] += sum
	}
}
