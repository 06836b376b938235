package main

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

var expPoly = []float64{
	0.001381459878757596, 0.0083687165752053261, 0.041668388992547989,
	0.1666652113199234, 0.49999994039535522,
}

var logPoly = []float64{
	7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
	-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
}

// What to hoist for the functions.
var (
	reduceConstants  = append(words(roundBias, log2e, ln2hi, ln2lo, 1), words(expPoly...)...)
	expConstants     = append(words(89, -104), roundBiasBits)
	sigmoidConstants = append(words(-87), signBit)
	tanhConstants    = append(words(9.1, 2), signBit, ^uint32(signBit))
	logConstants     = append(words(lnLo, lnHi, 0.5, 1), append(words(logPoly...), sqrtHalfBits)...)
)

func words(values ...float64) []uint32 {
	var list []uint32
	for _, x := range values {
		list = append(list, bits(x))
	}
	return list
}

func functions(bytes int) {
	unary(bytes, "exp", (*emitter).exp, reduceConstants, expConstants)
	unary(bytes, "log", (*emitter).log, logConstants)
	unary(bytes, "tanh", (*emitter).tanh, reduceConstants, tanhConstants)
	unary(bytes, "sigmoid", (*emitter).sigmoid, reduceConstants, sigmoidConstants)
	unary(bytes, "softplus", (*emitter).softplus, reduceConstants, sigmoidConstants)
	unary(bytes, "relu", func(e *emitter, x vector) vector { return e.max(e.wordReg(0), x) }, []uint32{0})
}

// unary emits dst[i] = f(src[i]).
func unary(bytes int, name string, f func(*emitter, vector) vector, hoist ...[]uint32) {
	e := begin(bytes, name, "func(dst, src *float32, n int)")
	dst, src, n := arg("dst"), arg("src"), arg("n")
	e.hoist(hoist...)
	e.each("loop", n, pointers(dst, src), func(s *span) {
		s.store(f(e, s.load(at(src))), at(dst))
	})
	e.end()
}

// expReduce returns t, whose low bits are the integer n, and r = x - n ln2.
func (e *emitter) expReduce(x vector) (t, r vector) {
	t = e.copy(e.valueReg(roundBias))
	e.addProduct(t, x, e.value(log2e))
	n := e.sub(t, e.value(roundBias))
	r = e.copy(x)
	e.subProduct(r, n, e.value(ln2hi))
	e.subProduct(r, n, e.value(ln2lo))
	return t, r
}

// expm1Reduced returns e^r - 1.
func (e *emitter) expm1Reduced(r vector) vector {
	q := e.polynomial(r, expPoly)
	e.horner(q, e.mul(r, r), r)
	return q
}

// scale returns 2^n for n in the low bits of t.
func (e *emitter) scale(t vector) vector {
	return e.addInt(e.left(t, 23), e.word(oneBits))
}

func (e *emitter) exp(x vector) vector {
	x = e.min(e.valueReg(89), x)
	x = e.max(e.valueReg(-104), x)
	t, r := e.expReduce(x)
	p := e.add(e.expm1Reduced(r), e.value(1))
	n := e.subInt(t, e.word(roundBiasBits))
	h := e.rightSigned(n, 1)
	n = e.subInt(n, h)
	return e.mul(e.mul(p, e.scale(h)), e.scale(n))
}

// expNegative is exp for x <= 0, taken as -87 below that.
func (e *emitter) expNegative(x vector) vector {
	x = e.max(e.valueReg(-87), x)
	t, r := e.expReduce(x)
	p := e.add(e.expm1Reduced(r), e.value(1))
	return e.mul(p, e.scale(t))
}

func (e *emitter) sigmoid(x vector) vector {
	z := e.expNegative(e.or(x, e.word(signBit)))
	one := e.valueReg(1)
	numerator := e.choose(e.negative(x), z, one)
	return e.div(numerator, e.add(z, one))
}

func (e *emitter) tanh(x vector) vector {
	a := e.and(x, e.word(^uint32(signBit)))
	sign := e.and(x, e.word(signBit))
	a = e.min(e.valueReg(9.1), a)
	t, r := e.expReduce(e.add(a, a))
	p := e.expm1Reduced(r)
	scale := e.scale(t)
	m := e.sub(scale, e.value(1))
	e.addProduct(m, p, scale) // e^(2|x|) - 1
	return e.or(e.div(m, e.add(m, e.value(2))), sign)
}

// logReduced returns ln(1+f) + k ln2.
func (e *emitter) logReduced(f, k vector) vector {
	p := e.polynomial(f, logPoly)
	f2 := e.mul(f, f)
	f3 := e.mul(f2, f)
	y := e.mul(k, e.value(lnLo))
	e.addProduct(y, f3, p)
	e.subProduct(y, f2, e.value(0.5))
	z := e.add(f, y)
	e.addProduct(z, k, e.value(lnHi))
	return z
}

// logSplit returns f and k with x = (1+f) 2^k, for a positive normal x.
func (e *emitter) logSplit(x vector) (f, k vector) {
	n := e.rightSigned(e.subInt(x, e.word(sqrtHalfBits)), 23)
	m := e.subInt(x, e.left(n, 23))
	return e.sub(m, e.value(1)), e.toFloat(n)
}

// logNormal is log for a positive normal x.
func (e *emitter) logNormal(x vector) vector {
	f, k := e.logSplit(x)
	return e.logReduced(f, k)
}

func (e *emitter) log(x vector) vector {
	subnormal := e.compare(x, less, e.value(minNormal)) // and 0, and negative
	scaled := e.choose(subnormal, e.mul(x, e.value(1<<23)), x)
	f, k := e.logSplit(scaled)
	k = e.choose(subnormal, e.sub(k, e.value(23)), k)
	y := e.logReduced(f, k)
	y = e.choose(e.compare(x, equal, e.word(0)), e.word(0xff800000), y)
	y = e.choose(e.compare(x, equal, e.word(0x7f800000)), x, y)
	return e.choose(e.compare(x, notGreaterEqual, e.word(0)), e.word(0x7fc00000), y)
}

func (e *emitter) softplus(x vector) vector {
	z := e.expNegative(e.or(x, e.word(signBit)))
	large := e.compare(z, greater, e.value(0.41421356))
	half := e.mul(e.sub(z, e.value(1)), e.value(0.5))
	f := e.choose(large, half, z)
	k := e.only(large, e.value(1))
	return e.add(e.max(e.wordReg(0), x), e.logReduced(f, k))
}
