package kernel

import "math"

// probeLengths end in every part of the vectors of an instruction set, and one is cut into calls.
func probeLengths() []int { return []int{1, 7, 16, 33, 77, chunk + 45} }

// probeFunction runs a function of one vector on input of a kind, for every length of probeLengths.
func probeFunction(f func(dst, src []float32), input func(words, int) []float32) func(func(...float32)) {
	return func(show func(...float32)) {
		for _, n := range probeLengths() {
			out := make([]float32, n)
			f(out, input(1, n))
			show(out...)
		}
	}
}

// probeBinary runs a function of two vectors, or one that updates out, for every length of probeLengths.
func probeBinary(f func(out, x, y []float32)) func(func(...float32)) {
	return func(show func(...float32)) {
		for _, n := range probeLengths() {
			out := usual(1, n)
			f(out, usual(2, n), usual(3, n))
			show(out...)
		}
	}
}

// probeSums shows a sum in float64 as two float32: rounded, and what the rounding lost.
func probeSums(f func(x []float32) float64) func(func(...float32)) {
	return func(show func(...float32)) {
		for _, n := range probeLengths() {
			v := f(usual(1, n))
			high := float32(v)
			show(high, float32(v-float64(high)))
		}
	}
}

// probeRows gives f matrices of a few shapes, with gaps between the rows of the input; the output begins as zeros.
func probeRows(f func(show func(...float32), out, in Matrix)) func(func(...float32)) {
	return func(show func(...float32)) {
		for _, cols := range []int{1, 4, 8, 18, 100} {
			const rows = 21
			in := Matrix{Data: usual(1, rows*(cols+3)), Rows: rows, Cols: cols, Stride: cols + 3}
			for i, v := range in.Data {
				in.Data[i] = 8 * v
			}
			f(show, Dense(make([]float32, rows*cols), rows, cols), in)
		}
	}
}

// probeOuter gives f rows of k values, of n, and of k·n, for shapes with and without a rest.
func probeOuter(f func(x, y, m Matrix) Matrix) func(func(...float32)) {
	return func(show func(...float32)) {
		const rows = 3
		for _, k := range []int{1, 5, 16, 35} {
			for _, n := range []int{1, 2, 4, 7, 16, 45} {
				x, y := Dense(usual(1, rows*k), rows, k), Dense(usual(2, rows*n), rows, n)
				show(f(x, y, Dense(usual(3, rows*k*n), rows, k*n)).Data...)
			}
		}
	}
}

// probeProduct multiplies matrices of odd shapes, one of them deeper than a block, with every start and end of a chain.
func probeProduct(f func(w *Workspace, c, a, b Matrix, e Epilogue)) func(func(...float32)) {
	return func(show func(...float32)) {
		var w Workspace
		for _, s := range [][3]int{{1, 1, 1}, {5, 16, 33}, {2, 70, 100}, {30, 3, 7}, {13, 37, 650}} {
			m, n, k := s[0], s[1], s[2]
			a, b := Dense(usual(1, m*k), m, k), Dense(usual(2, k*n), k, n)
			for _, e := range []Epilogue{{}, {Accumulate: true}, {Bias: usual(3, n), ReLU: true}} {
				c := Dense(usual(4, m*n), m, n)
				f(&w, c, a, b, e)
				show(c.Data...)
			}
		}
	}
}

// probeAdam shows parameters and both moments after an update; second moments are not negative.
func probeAdam(show func(...float32)) {
	for _, n := range probeLengths() {
		p, m, v, g := usual(1, n), usual(2, n), usual(3, n), usual(4, n)
		for i := range v {
			v[i] *= v[i]
		}
		Adam(p, m, v, g, AdamStep{Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Rate: 1e-3, Eps: 1e-8})
		show(p...)
		show(m...)
		show(v...)
	}
}

// probeLSTMForward shows activations, cell, output and its tanh, for numbers of units with and without a rest.
func probeLSTMForward(show func(...float32)) {
	for _, units := range []int{1, 13, 16, 77} {
		z, c, out := wide(1, 4*units), usual(2, units), make([]float32, 3*units)
		LSTMForward(z, c, out[:units], out[units:2*units], out[2*units:], units)
		show(z...)
		show(out...)
	}
}

// probeLSTMBackward needs activations: what they are a forward step of is of no interest.
func probeLSTMBackward(show func(...float32)) {
	for _, units := range []int{1, 13, 16, 77} {
		act, dz, dc := usual(1, 4*units), make([]float32, 4*units), usual(2, units)
		LSTMBackward(act, dz, usual(3, units), dc, usual(4, units), usual(5, units), units)
		show(dz...)
		show(dc...)
	}
}

// probeDraws shows random numbers of whole groups, of a part of one, and of more than a call.
func probeDraws(fill func(p *Philox, dst []float32, block uint64)) func(func(...float32)) {
	return func(show func(...float32)) {
		p := NewPhilox(11, 12)
		for _, n := range []int{5, 32, 77, 1000, chunk/4 + 45} {
			out := make([]float32, n)
			fill(&p, out, 1<<32-16) // the counter carries over
			show(out...)
		}
	}
}

// probeBlock shows the words of blocks far apart, each in two halves, which float32 holds exactly.
func probeBlock(show func(...float32)) {
	p := NewPhilox(0x0123456789abcdef, 0xfedcba9876543210)
	for i := range uint64(64) {
		for _, w := range p.Block(i << 27) {
			show(float32(w>>16), float32(w&0xffff))
		}
	}
}

// probeNormalOf shows normal numbers of single pairs of words.
func probeNormalOf(show func(...float32)) {
	in := words(1)
	for range 200 {
		w := in.next()
		show(NormalOf(uint32(w), uint32(w>>32)))
	}
}

// probeFMA shows FMAs of any values, and what a product loses when it is rounded.
func probeFMA(show func(...float32)) {
	const n = 1000
	a, b, c := usual(1, n), usual(2, n), usual(3, n)
	for i := range n {
		show(FMA(a[i], b[i], c[i]), FMA(a[i], b[i], -float32(a[i]*b[i])))
	}
}

// probeFinite asks about vectors that are finite, and about ones whose last value is not.
func probeFinite(show func(...float32)) {
	for _, n := range probeLengths() {
		x := usual(1, n)
		for _, last := range []float32{x[n-1], float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())} {
			x[n-1] = last
			found := float32(0)
			if Finite(x) {
				found = 1
			}
			show(found)
		}
	}
}

// probeSinCos shows all bits of sines and cosines of angles in every quadrant, and of two far away.
func probeSinCos(show func(...float32)) {
	parts := func(v float64) {
		for range 3 { // 24 bits each
			high := float32(v)
			show(high)
			v -= float64(high)
		}
	}
	for _, x := range []float64{0, 0.3, -1.1, 2, 4.4, -5.9, 700.25, 1e5, 3e7} {
		sin, cos := SinCos(x)
		parts(sin)
		parts(cos)
	}
}

// probeGreatest shows the greatest magnitude of values of any size.
func probeGreatest(show func(...float32)) {
	for _, n := range probeLengths() {
		show(Greatest(wide(1, n)))
	}
}

// probeRound rounds values of many magnitudes, some of them cut off.
func probeRound(show func(...float32)) {
	p := NewPhilox(13, 14)
	for _, n := range []int{5, 64, 77, 1000, chunk/4 + 45} {
		x := wide(1, n)
		p.Round(x, 64, 511, 1<<32-16) // the counter carries over
		show(x...)
	}
}

// probePutInt16 shows the bytes of integers of the whole range.
func probePutInt16(show func(...float32)) {
	for _, n := range probeLengths() {
		out := make([]byte, 2*n)
		PutInt16(out, whole(1, n))
		for _, b := range out {
			show(float32(b))
		}
	}
}

// probeGetInt16 shows the integers of any bytes.
func probeGetInt16(show func(...float32)) {
	for _, n := range probeLengths() {
		in, out := make([]byte, 2*n), make([]float32, n)
		seed := words(1)
		for i := range in {
			in[i] = byte(seed.next())
		}
		GetInt16(out, in)
		show(out...)
	}
}

// whole are whole numbers of int16.
func whole(seed words, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(int16(seed.next()))
	}
	return x
}
