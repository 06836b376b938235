package formula

// Constants of portable_math.go, where their meaning is told.
const (
	signBit       = 0x80000000
	log2e         = 1.44269504088896341
	ln2hi         = 0.693145751953125
	ln2lo         = 1.42860682030941723212e-6
	roundBias     = 12582912.0
	roundBiasBits = 0x4b400000
	oneBits       = 0x3f800000

	sqrtHalf     = 0.70710678
	sqrtHalfBits = 0x3f3504f3
	lnHi         = 0.693359375
	lnLo         = -2.12194440e-4
	minNormal    = 1.1754943508222875e-38
)

// The polynomials are those of portable_math.go, coefficient by coefficient.
var expPoly = []float64{
	0.001381459878757596, 0.0083687165752053261, 0.041668388992547989,
	0.1666652113199234, 0.49999994039535522,
}

var logPoly = []float64{
	7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
	-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
}

// The constants of the formulas, for machines that keep them in registers.
var (
	ReduceConstants  = append(words(roundBias, log2e, ln2hi, ln2lo, 1), words(expPoly...)...)
	ExpConstants     = append(words(89, -104), roundBiasBits)
	SigmoidConstants = append(words(-87), signBit)
	TanhConstants    = append(words(9.1, 2), signBit, ^uint32(signBit))
	Ones             = words(1)
	LogConstants     = append(words(lnLo, lnHi, 0.5, 1), append(words(logPoly...), sqrtHalfBits)...)
)

// expReduce returns t, whose low bits are the integer n, and r = x - n ln2.
func (f Formulas[V, C]) expReduce(x V) (t, r V) {
	t = f.Copy(f.Value(roundBias))
	f.AddProduct(t, x, f.Value(log2e))
	n := f.Sub(t, f.Value(roundBias))
	r = f.Copy(x)
	f.SubProduct(r, n, f.Value(ln2hi))
	f.SubProduct(r, n, f.Value(ln2lo))
	return t, r
}

// expm1Reduced returns e^r - 1.
func (f Formulas[V, C]) expm1Reduced(r V) V {
	q := f.polynomial(r, expPoly)
	return f.Horner(q, f.Mul(r, r), r)
}

// scale returns 2^n for n in the low bits of t, as the bits of a float32: n in the exponent, plus those of 1. What
// stands above the low bits of t is shifted out.
func (f Formulas[V, C]) scale(t V) V {
	return f.AddInt(f.Left(t, 23), f.Word(oneBits))
}

// Exp returns e^x. The scale is applied in two factors, for subnormal results.
func (f Formulas[V, C]) Exp(x V) V {
	x = f.Min(f.Value(89), x)
	x = f.Max(f.Value(-104), x)
	t, r := f.expReduce(x)
	p := f.Add(f.expm1Reduced(r), f.Value(1))
	n := f.SubInt(t, f.Word(roundBiasBits))
	h := f.RightSigned(n, 1)
	n = f.SubInt(n, h)
	return f.Mul(f.Mul(p, f.scale(h)), f.scale(n))
}

// expNegative is Exp for x <= 0, taken as -87 below that.
func (f Formulas[V, C]) expNegative(x V) V {
	x = f.Max(f.Value(-87), x)
	t, r := f.expReduce(x)
	p := f.Add(f.expm1Reduced(r), f.Value(1))
	return f.Mul(p, f.scale(t))
}

// Sigmoid returns 1/(1 + e^-x).
func (f Formulas[V, C]) Sigmoid(x V) V {
	z := f.expNegative(f.Or(x, f.Word(signBit)))
	one := f.Register(f.Value(1))
	numerator := f.Choose(f.Negative(x), z, one)
	return f.Div(numerator, f.Add(z, one))
}

// Tanh returns tanh x. With e = e^(2|x|) - 1 it is e/(e+2), with the sign of x.
func (f Formulas[V, C]) Tanh(x V) V {
	a := f.And(x, f.Word(^uint32(signBit)))
	sign := f.And(x, f.Word(signBit))
	a = f.Min(f.Value(9.1), a)
	t, r := f.expReduce(f.Add(a, a))
	p := f.expm1Reduced(r)
	scale := f.scale(t)
	m := f.Sub(scale, f.Value(1))
	f.AddProduct(m, p, scale) // e^(2|x|) - 1
	return f.Or(f.Div(m, f.Add(m, f.Value(2))), sign)
}

// logReduced returns ln(1+u) + k ln2.
func (f Formulas[V, C]) logReduced(u, k V) V {
	p := f.polynomial(u, logPoly)
	u2 := f.Mul(u, u)
	u3 := f.Mul(u2, u)
	y := f.Mul(k, f.Value(lnLo))
	f.AddProduct(y, u3, p)
	f.SubProduct(y, u2, f.Value(0.5))
	z := f.Add(u, y)
	f.AddProduct(z, k, f.Value(lnHi))
	return z
}

// logSplit returns u and k with x = (1+u) 2^k, for a positive normal x.
func (f Formulas[V, C]) logSplit(x V) (u, k V) {
	n := f.RightSigned(f.SubInt(x, f.Word(sqrtHalfBits)), 23)
	m := f.SubInt(x, f.Left(n, 23))
	return f.Sub(m, f.Value(1)), f.ToFloat(n)
}

// logNormal is Log for a positive normal x.
func (f Formulas[V, C]) logNormal(x V) V {
	u, k := f.logSplit(x)
	return f.logReduced(u, k)
}

// Log returns ln x. Machines have no branches, so the special values are chosen last: -Inf for 0, x for +Inf, NaN
// below 0 and for NaN.
func (f Formulas[V, C]) Log(x V) V {
	subnormal := f.Less(x, f.Value(minNormal)) // and 0, and negative
	scaled := f.Choose(subnormal, f.Mul(x, f.Value(1<<23)), x)
	u, k := f.logSplit(scaled)
	k = f.Choose(subnormal, f.Sub(k, f.Value(23)), k)
	y := f.logReduced(u, k)
	y = f.Choose(f.Equal(x, f.Word(0)), f.Word(0xff800000), y)
	y = f.Choose(f.Equal(x, f.Word(0x7f800000)), x, y)
	return f.Choose(f.NotGreaterEqual(x, f.Word(0)), f.Word(0x7fc00000), y)
}

// Softplus returns ln(1 + e^x).
func (f Formulas[V, C]) Softplus(x V) V {
	z := f.expNegative(f.Or(x, f.Word(signBit)))
	large := f.Greater(z, f.Value(0.41421356))
	half := f.Mul(f.Sub(z, f.Value(1)), f.Value(0.5))
	u := f.Choose(large, half, z)
	k := f.Only(large, f.Value(1))
	return f.Add(f.ReLU(x), f.logReduced(u, k))
}

// ReLU returns 0 for a negative x, else x; a NaN stays.
func (f Formulas[V, C]) ReLU(x V) V { return f.Max(f.Word(0), x) }

// ReLUBackward returns dy where y is positive, else 0.
func (f Formulas[V, C]) ReLUBackward(dy, y V) V {
	return f.Only(f.Greater(y, f.Word(0)), dy)
}

// TanhBackward returns dy·(1 − y²), every operation rounded.
func (f Formulas[V, C]) TanhBackward(dy, y V) V {
	return f.Mul(dy, f.Sub(f.Value(1), f.Mul(y, y)))
}
