package formula

// Philox4x32-10 (kernel.Philox).
const (
	Rounds       = 10
	Mult0, Mult1 = 0xD2511F53, 0xCD9E8D57
)

const quarterTurn = 1.5707963267948966 / (1 << 30)

var (
	sinPoly = []float64{-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}
	cosPoly = []float64{2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1}
)

// UniformConstants are those of Uniform, which every draw begins with.
var UniformConstants = words(1.0/(1<<31), 1.0/(1<<32))

// Uniform maps words to (0, 1].
func (f Formulas[V, C]) Uniform(w V) V {
	r := f.Copy(f.Value(1.0 / (1 << 32)))
	f.AddProduct(r, f.ToFloat(f.Right(w, 1)), f.Value(1.0/(1<<31)))
	return r
}

// BoxMuller turns radius words a and angle words b into pairs of normal numbers. The reference is boxMuller: the
// angle is reduced to a quarter turn by integer arithmetic, which is exact.
func (f Formulas[V, C]) BoxMuller(a, b V) (V, V) {
	r := f.Sqrt(f.Mul(f.logNormal(f.Uniform(a)), f.Value(-2)))
	q := f.Right(f.AddInt(b, f.Word(1<<29)), 30) // the nearest quarter turn
	v := f.SubInt(b, f.Left(q, 30))
	x := f.Mul(f.ToFloat(v), f.Value(quarterTurn))
	x2 := f.Mul(x, x)
	s := f.polynomial(x2, sinPoly)
	s = f.Horner(s, f.Mul(x2, x), x)
	c := f.polynomial(x2, cosPoly)
	odd := f.Negative(f.Left(q, 31))
	sin, cos := f.Choose(odd, c, s), f.Choose(odd, s, c)
	sin = f.Xor(sin, f.Left(f.Right(q, 1), 31))
	cos = f.Xor(cos, f.Left(f.Right(f.AddInt(q, f.Word(1)), 1), 31))
	return f.Mul(r, cos), f.Mul(r, sin)
}

// logUnit is ln u in (0, 1], given w = 1-u.
func (f Formulas[V, C]) logUnit(u, w V) V {
	near := f.Greater(u, f.Value(sqrtHalf))
	v, k := f.logSplit(u)
	v = f.Choose(near, f.Negate(w), v)
	return f.logReduced(v, f.Except(near, k))
}

// uniformAndRest returns u and 1-u of words.
func (f Formulas[V, C]) uniformAndRest(w V) (u, rest V) {
	return f.Uniform(w), f.Uniform(f.Xor(w, f.Word(0xffffffff)))
}

// Gumbel turns words into standard Gumbel numbers.
func (f Formulas[V, C]) Gumbel(w V) V {
	u, rest := f.uniformAndRest(w)
	return f.Negate(f.logNormal(f.Negate(f.logUnit(u, rest))))
}

// Logistic turns words into standard logistic numbers.
func (f Formulas[V, C]) Logistic(w V) V {
	u, rest := f.uniformAndRest(w)
	return f.Sub(f.logUnit(u, rest), f.logUnit(rest, u))
}
