package kernel

import (
	"math"
	"slices"
	"testing"
)

func TestLSTM_EveryLength(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		r := source()
		for n := range 131 {
			z, c := guarded(mixed(r, 4*n)), guarded(mixed(r, n)).values
			act, next, h, tanhC := slices.Clone(z.values), make([]float32, n), make([]float32, n), make([]float32, n)
			lstmForwardPortable(act, c, next, h, tanhC)
			gNext, gH, gTanh := guarded(h), guarded(h), guarded(h)
			LSTMForward(z.values, c, gNext.values, gH.values, gTanh.values, n)
			z.compare(t, "activations", act)
			gNext.compare(t, "cNext", next)
			gH.compare(t, "h", h)
			gTanh.compare(t, "tanhC", tanhC)

			dh, dc := guarded(normal(r, n)).values, guarded(normal(r, n))
			dz, wantDC := make([]float32, 4*n), slices.Clone(dc.values)
			lstmBackwardPortable(act, dz, dh, wantDC, tanhC, c)
			LSTMBackward(z.values, z.values, dh, dc.values, gTanh.values, c, n) // dz onto act
			z.compare(t, "dz", dz)
			dc.compare(t, "dc", wantDC)
		}
	})
}

// TestLSTM_Rows compares several rows with one after another.
func TestLSTM_Rows(t *testing.T) {
	const rows, H = 3, 21
	r := source()
	z, c, dh, dc := normal(r, 4*rows*H), normal(r, rows*H), normal(r, rows*H), normal(r, rows*H)
	act, next, h, tanhC := slices.Clone(z), make([]float32, rows*H), make([]float32, rows*H), make([]float32, rows*H)
	LSTMForward(act, c, next, h, tanhC, H)
	dz, before := make([]float32, 4*rows*H), slices.Clone(dc)
	LSTMBackward(act, dz, dh, dc, tanhC, c, H)
	for i := 0; i < rows*H; i += H {
		j := i + H
		one, hOne, scratch := slices.Clone(z[4*i:4*j]), make([]float32, H), make([]float32, H)
		LSTMForward(one, c[i:j], make([]float32, H), hOne, scratch, H)
		compare(t, "activations", act[4*i:4*j], one)
		compare(t, "h", h[i:j], hOne)
		dzOne := make([]float32, 4*H)
		LSTMBackward(one, dzOne, dh[i:j], before[i:j], scratch, c[i:j], H)
		compare(t, "dz", dz[4*i:4*j], dzOne)
		compare(t, "dc", dc[i:j], before[i:j])
	}
}

// TestLSTM_Gradient compares the backward cell with differences of the forward one.
func TestLSTM_Gradient(t *testing.T) {
	const H = 5
	r := source()
	z, c, dh, dc := normal(r, 4*H), normal(r, H), normal(r, H), normal(r, H)
	loss := func(z, c []float32) float64 {
		act, next, h, tanhC := slices.Clone(z), make([]float32, H), make([]float32, H), make([]float32, H)
		LSTMForward(act, c, next, h, tanhC, H)
		var sum float64
		for i := range H {
			sum += float64(h[i])*float64(dh[i]) + float64(next[i])*float64(dc[i])
		}
		return sum
	}
	act, next, h, tanhC := slices.Clone(z), make([]float32, H), make([]float32, H), make([]float32, H)
	LSTMForward(act, c, next, h, tanhC, H)
	dz, dcPrev := make([]float32, 4*H), slices.Clone(dc)
	LSTMBackward(act, dz, dh, dcPrev, tanhC, c, H)

	check := func(name string, x, got []float32) {
		const step = 1.0 / 128
		for i := range x {
			before := x[i]
			x[i] = before + step
			up := loss(z, c)
			x[i] = before - step
			down := loss(z, c)
			x[i] = before
			if want := (up - down) / (2 * step); math.Abs(float64(got[i])-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("%s[%d] = %g, want %g", name, i, got[i], want)
			}
		}
	}
	check("dz", z, dz)
	check("dc", c, dcPrev)
}

func TestAdam_EveryLength(t *testing.T) {
	step := AdamStep{Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Rate: 1e-3, Eps: 1e-8}
	eachISA(t, func(t *testing.T) {
		r := source()
		for _, n := range lengths() {
			g := guarded(mixed(r, n)).values
			p, m, v := guarded(normal(r, n)), guarded(normal(r, n)), guarded(normal(r, n))
			Mul(v.values, v.values, v.values)
			wantP, wantM, wantV := slices.Clone(p.values), slices.Clone(m.values), slices.Clone(v.values)
			adamPortable(wantP, wantM, wantV, g, &step)
			Adam(p.values, m.values, v.values, g, step)
			p.compare(t, "parameters", wantP)
			m.compare(t, "first moments", wantM)
			v.compare(t, "second moments", wantV)
		}
	})
}
