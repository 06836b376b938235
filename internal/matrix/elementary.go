package matrix

import "math"

// Exp and log are those of FreeBSD's msun (e_exp.c, e_log.c; error below one unit in the last place), with each product
// rounded before it is added. math.Exp and math.Log use fused operations on some processors: their bits differ.

// ln 2 is the sum of the two. The last bits of ln2Hi are zeros, so that its product with an exponent is exact.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// Exp returns eˣ: NaN for NaN, +Inf above 709.78, just below the logarithm of the largest number, and 0 below
// −745.14. With x = k·ln 2 + r and |r| ≤ ½ ln 2,
//
//	eˣ = 2ᵏ·(1 + r + r·c/(2−c)),  c = r − (p1·r² + p2·r⁴ + … + p5·r¹⁰)
func Exp(x float64) float64 {
	const (
		log2e = 1.44269504088896338700e+00
		p1    = 1.66666666666666657415e-01
		p2    = -2.77777777770155933842e-03
		p3    = 6.61375632143793436117e-05
		p4    = -1.65339022054652515390e-06
		p5    = 4.13813679705723846039e-08
	)
	switch {
	case math.IsNaN(x):
		return x
	case x > 709.78:
		return math.Inf(1)
	case x < -745.14:
		return 0
	}
	k := math.Floor(float64(log2e*x) + 0.5)
	hi, lo := x-float64(k*ln2Hi), float64(k*ln2Lo)
	r := hi - lo
	t := float64(r * r)
	c := r - float64(t*(p1+float64(t*(p2+float64(t*(p3+float64(t*(p4+float64(t*p5)))))))))
	y := 1 - ((lo - float64(r*c)/(2-c)) - hi)
	// A result below the normal numbers has no exponent of its own to add k to.
	if k < -1021 {
		return math.Ldexp(y, int(k))
	}
	return math.Float64frombits(math.Float64bits(y) + uint64(int64(k))<<52)
}

// Log returns the natural logarithm of x ≥ 0: −Inf of 0, +Inf of +Inf, NaN of negative numbers and of NaN. With
// x = 2ᵏ·(1+f), √½ ≤ 1+f < √2, and s = f/(2+f),
//
//	ln x = k·ln 2 + f − (f²/2 − s·(f²/2 + R)),  R = l1·s² + l2·s⁴ + … + l7·s¹⁴
//
// in which R has an even and an odd half.
func Log(x float64) float64 {
	const (
		l1 = 6.666666666666735130e-01
		l2 = 3.999999999940941908e-01
		l3 = 2.857142874366239149e-01
		l4 = 2.222219843214978396e-01
		l5 = 1.818357216161805012e-01
		l6 = 1.531383769920937332e-01
		l7 = 1.479819860511658591e-01
	)
	switch {
	case math.IsNaN(x) || x > math.MaxFloat64:
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction *= 2
		exponent--
	}
	f, k := fraction-1, float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	t1 := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	t2 := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	half := float64(0.5 * float64(f*f))
	return float64(k*ln2Hi) - ((half - (float64(s*(half+t1+t2)) + float64(k*ln2Lo))) - f)
}

// Logistic returns σ(x) = 1/(1+e⁻ˣ), in [0, 1]: where e⁻ˣ overflows it is 0.
func Logistic(x float64) float64 { return 1 / (1 + Exp(-x)) }

// Softplus returns ln(1+eˣ), so that ln σ(x) = −Softplus(−x). The exponential is of −|x| and cannot overflow. The
// error is small beside 1, not beside the result: below about −37 that is 0.
func Softplus(x float64) float64 {
	if x > 0 {
		return x + Log(1+Exp(-x))
	}
	return Log(1 + Exp(x))
}
