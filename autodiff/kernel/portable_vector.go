package kernel

import "math"

// This file holds the loops of the portable kernels. They get checked, non-empty
// arguments, like their counterparts in assembly.

func expPortable(dst, src []float32) {
	for i, x := range src {
		dst[i] = exp1(x)
	}
}

func logPortable(dst, src []float32) {
	for i, x := range src {
		dst[i] = log1(x)
	}
}

func tanhPortable(dst, src []float32) {
	for i, x := range src {
		dst[i] = tanh1(x)
	}
}

func sigmoidPortable(dst, src []float32) {
	for i, x := range src {
		dst[i] = sigmoid1(x)
	}
}

func softplusPortable(dst, src []float32) {
	for i, x := range src {
		dst[i] = softplus1(x)
	}
}

func addPortable(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}

func subPortable(dst, x, y []float32) {
	for i := range dst {
		dst[i] = x[i] - y[i]
	}
}

func mulPortable(dst, x, y []float32) {
	for i := range dst {
		dst[i] = x[i] * y[i]
	}
}

func divPortable(dst, x, y []float32) {
	for i := range dst {
		dst[i] = x[i] / y[i]
	}
}

// sqrtPortable takes the root in float64: of a float32, it rounds to the correctly rounded float32 root.
func sqrtPortable(dst, src []float32) {
	for i, x := range src {
		dst[i] = float32(math.Sqrt(float64(x)))
	}
}

func addMulPortable(dst, x, y []float32) {
	for i := range dst {
		dst[i] = FMA(x[i], y[i], dst[i])
	}
}

func addScaledPortable(dst []float32, a float32, x []float32) { fmaRow(dst, x, a) }

func scalePortable(dst []float32, a float32) {
	for i := range dst {
		dst[i] *= a
	}
}

func reluPortable(dst, src []float32) {
	for i, x := range src {
		dst[i] = maxOf(0, x)
	}
}

func reluBackwardPortable(dst, dy, y []float32) {
	for i := range dst {
		d := dy[i]
		if !(y[i] > 0) {
			d = 0
		}
		dst[i] = d
	}
}

func tanhBackwardPortable(dst, dy, y []float32) {
	for i := range dst {
		dst[i] = float32(dy[i] * (1 - float32(y[i]*y[i])))
	}
}

func finitePortable(x []float32) bool {
	const exponent = 0x7f800000
	for _, v := range x {
		if bitsOf(v)&exponent == exponent {
			return false
		}
	}
	return true
}

// sumLanesPortable adds x[i] into lane i mod 16, over ascending i.
func sumLanesPortable(s *[lanes]float32, x []float32) {
	for i, v := range x {
		s[i%lanes] += v
	}
}

// sumSquaresLanesPortable adds x[i]² into lane i mod 16. The square of a float32 is exact in float64, so that it
// does not matter whether the compiler fuses it into the sum.
func sumSquaresLanesPortable(s *[lanes]float64, x []float32) {
	for i, v := range x {
		s[i%lanes] += float64(v) * float64(v)
	}
}

// sumRowsPortable sums every row in lanes of its own.
func sumRowsPortable(dst []float32, m Matrix) {
	for i := range dst {
		var s [lanes]float32
		sumLanesPortable(&s, m.row(i))
		dst[i] = fold32(&s)
	}
}

// addSumColumnsPortable adds the rows to dst one after another: a chain for each column.
func addSumColumnsPortable(dst []float32, m Matrix) {
	for i := range m.Rows {
		addPortable(dst, m.row(i))
	}
}

func addRowPortable(dst Matrix, row []float32) {
	for i := range dst.Rows {
		addPortable(dst.row(i), row)
	}
}

// expSum sets dst to e^(x-m) and returns its sum.
func expSum(dst, x []float32, m float32) float32 {
	var s [lanes]float32
	for j, v := range x {
		e := exp1(v - m)
		s[j%lanes] += e
		if dst != nil {
			dst[j] = e
		}
	}
	return fold32(&s)
}

// maxOfRow is the greatest value, compared as MAXPS does: after a NaN it is what follows.
func maxOfRow(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		m = maxOf(m, v)
	}
	return m
}

// softmaxPortable multiplies by the inverse of the sum, one division for a row.
func softmaxPortable(dst, src Matrix) {
	for i := range dst.Rows {
		y, x := dst.row(i), src.row(i)
		inverse := 1 / expSum(y, x, maxOfRow(x))
		scalePortable(y, inverse)
	}
}

// logSoftmaxPortable subtracts m + ln Σ e^(x−m); the exponentials are summed without being kept.
func logSoftmaxPortable(dst, src Matrix) {
	for i := range dst.Rows {
		y, x := dst.row(i), src.row(i)
		m := maxOfRow(x)
		norm := m + log1(expSum(nil, x, m))
		for j, v := range x {
			y[j] = v - norm
		}
	}
}

// lstmForwardPortable is the cell of one row, with c of H values: the equations at LSTMForward.
func lstmForwardPortable(z, c, cNext, h, tanhC []float32) {
	H := len(c)
	for u := range c {
		i, f := sigmoid1(z[u]), sigmoid1(z[H+u])
		g, o := tanh1(z[2*H+u]), sigmoid1(z[3*H+u])
		z[u], z[H+u], z[2*H+u], z[3*H+u] = i, f, g, o
		cNext[u] = FMA(f, c[u], float32(i*g))
		tanhC[u] = tanh1(cNext[u])
		h[u] = float32(o * tanhC[u])
	}
}

// lstmBackwardPortable is the reverse of one row: the equations at LSTMBackward. Each operand is read before its
// place may be overwritten, as dz may be act.
func lstmBackwardPortable(act, dz, dh, dc, tanhC, cPrev []float32) {
	H := len(dh)
	for u := range dh {
		i, f, g, o := act[u], act[H+u], act[2*H+u], act[3*H+u]
		t := tanhC[u]
		d := FMA(float32(dh[u]*o), FMA(-t, t, 1), dc[u])
		dz[3*H+u] = float32(float32(dh[u]*t) * float32(o*(1-o)))
		dz[u] = float32(float32(d*g) * float32(i*(1-i)))
		dz[2*H+u] = float32(float32(d*i) * FMA(-g, g, 1))
		dz[H+u] = float32(float32(d*cPrev[u]) * float32(f*(1-f)))
		dc[u] = float32(d * f)
	}
}

// adamPortable is the loop of Adam.
func adamPortable(p, m, v, g []float32, s *AdamStep) {
	for i, d := range g {
		m[i] = FMA(s.Beta1, m[i], float32(d*s.OneMinusBeta1))
		v[i] = FMA(s.Beta2, v[i], float32(float32(d*d)*s.OneMinusBeta2))
		// The float64 root of a float32 rounds to the correctly rounded float32 root.
		root := float32(math.Sqrt(float64(v[i])))
		p[i] = FMA(-s.Rate, m[i]/(root+s.Eps), p[i])
	}
}
