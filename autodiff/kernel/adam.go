package kernel

// AdamStep holds the constants of one update. Bias correction is the caller's: it
// folds it into Rate and Eps, and forms 1-β in float64 before rounding.
type AdamStep struct {
	// The assembly reads the six fields in this order, as one array.
	Beta1, OneMinusBeta1 float32
	Beta2, OneMinusBeta2 float32
	Rate, Eps            float32
}

// Adam updates parameters p and their moments m and v from gradients g (Kingma and Ba 2015, algorithm 1, without
// bias correction):
//
//	m = FMA(Beta1, m, OneMinusBeta1*g)
//	v = FMA(Beta2, v, OneMinusBeta2*(g*g))
//	p = FMA(-Rate, m/(√v + Eps), p)
//
// The four slices have one length and do not overlap. Division and root are correctly rounded, so the bits are the
// same everywhere.
func Adam(p, m, v, g []float32, s AdamStep) {
	checkLen("Adam", len(m), len(p))
	checkLen("Adam", len(v), len(p))
	checkLen("Adam", len(g), len(p))
	for i := 0; i < len(p); i += chunk {
		j := min(i+chunk, len(p))
		adam(p[i:j], m[i:j], v[i:j], g[i:j], &s)
	}
}
