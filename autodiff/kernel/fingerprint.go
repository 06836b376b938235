package kernel

import "math"

// Line is one line of a fingerprint: a hash of the bits that a kernel computes from fixed input.
type Line struct {
	Kernel string // name of the function or method
	Sum    uint64
}

// Fingerprint runs every kernel on fixed input and returns a hash of each one's results, in ascending order of the
// names. Programs whose fingerprints are equal train the same parameters; where a line differs, that kernel does. It
// takes some milliseconds.
func Fingerprint() []Line { return fingerprint(probes()) }

// probe computes with one kernel and shows what came out: run calls show for every slice of results, in a fixed
// order.
type probe struct {
	kernel string
	run    func(show func(...float32))
}

// fingerprint hashes the results of each probe for itself.
func fingerprint(probes []probe) []Line {
	sums := make([]Line, len(probes))
	for i, p := range probes {
		h := newBitHash()
		p.run(h.add)
		sums[i] = Line{p.kernel, h.sum}
	}
	return sums
}

// probes are in ascending order of their names. What a probe needs beside its kernel is plain Go, so that a kernel
// that differs changes its own line alone.
func probes() []probe {
	return []probe{
		{"Adam", probeAdam},
		{"Add", probeBinary(func(out, x, _ []float32) { Add(out, x) })},
		{"AddDots", probeOuter(func(x, y, m Matrix) Matrix {
			AddDots(x, m, y)
			return x
		})},
		{"AddMul", probeBinary(AddMul)},
		{"AddRow", probeRows(func(show func(...float32), out, in Matrix) {
			AddRow(in, in.row(0))
			show(in.Data...)
		})},
		{"AddScaled", probeBinary(func(out, x, _ []float32) { AddScaled(out, 1.7, x) })},
		{"AddSumColumns", probeRows(func(show func(...float32), out, in Matrix) {
			AddSumColumns(out.row(0), in)
			show(out.row(0)...)
		})},
		{"AddWeightedRows", probeOuter(func(x, y, m Matrix) Matrix {
			AddWeightedRows(y, x, m)
			return y
		})},
		{"Block", probeBlock},
		{"Div", probeBinary(Div)},
		{"DropBelow", probeFunction(func(out, x []float32) {
			copy(out, x)
			DropBelow(out, 0.5)
		}, usual)},
		{"Exp", probeFunction(Exp, wide)},
		{"FMA", probeFMA},
		{"Finite", probeFinite},
		{"GetInt16", probeGetInt16},
		{"Greatest", probeGreatest},
		{"Gumbels", probeDraws((*Philox).Gumbels)},
		{"LSTMBackward", probeLSTMBackward},
		{"LSTMForward", probeLSTMForward},
		{"Log", probeFunction(Log, positive)},
		{"LogSoftmax", probeRows(func(show func(...float32), out, in Matrix) {
			LogSoftmax(out, in)
			show(out.Data...)
		})},
		{"Logistics", probeDraws((*Philox).Logistics)},
		{"Mul", probeBinary(Mul)},
		{"NormalOf", probeNormalOf},
		{"Normals", probeDraws((*Philox).Normals)},
		{"Outer", probeOuter(func(x, y, m Matrix) Matrix {
			Outer(m, x, y)
			return m
		})},
		{"PutInt16", probePutInt16},
		{"ReLU", probeFunction(ReLU, wide)},
		{"ReLUBackward", probeBinary(ReLUBackward)},
		{"Round", probeRound},
		{"Scale", probeBinary(func(out, _, _ []float32) { Scale(out, 1.7) })},
		{"Sigmoid", probeFunction(Sigmoid, wide)},
		{"SinCos", probeSinCos},
		{"Softmax", probeRows(func(show func(...float32), out, in Matrix) {
			Softmax(out, in)
			show(out.Data...)
		})},
		{"Softplus", probeFunction(Softplus, wide)},
		{"Sqrt", probeFunction(Sqrt, positive)},
		{"Sub", probeBinary(Sub)},
		{"Sum", probeSums(func(x []float32) float64 { return float64(Sum(x)) })},
		{"SumRows", probeRows(func(show func(...float32), _, in Matrix) {
			sums := make([]float32, in.Rows)
			SumRows(sums, in)
			show(sums...)
		})},
		{"SumSquares", probeSums(SumSquares)},
		{"Tanh", probeFunction(Tanh, wide)},
		{"TanhBackward", probeBinary(TanhBackward)},
		{"Uniforms", probeDraws((*Philox).Uniforms)},
		{"Workspace.Mul", probeProduct(func(w *Workspace, c, a, b Matrix, e Epilogue) { w.Mul(c, a, b, e) })},
		{"Workspace.MulPacked", probeProduct(func(w *Workspace, c, a, b Matrix, e Epilogue) {
			var p Packed
			p.Pack(b)
			w.MulPacked(c, a, &p, e)
		})},
		{"Workspace.MulPacked of PackTransposed", probeProduct(func(w *Workspace, c, a, b Matrix, e Epilogue) {
			var p Packed
			p.PackTransposed(turned(b))
			w.MulPacked(c, a, &p, e)
		})},
		{"Workspace.MulTransA", probeProduct(func(w *Workspace, c, a, b Matrix,
			e Epilogue,
		) {
			w.MulTransA(c, turned(a), b, e)
		})},
	}
}

// bitHash is FNV-1a over the bits of values: a step for each byte, so that no single change of a value goes unseen.
// Every NaN counts as one and the same.
type bitHash struct{ sum uint64 }

// newBitHash starts from the offset basis of FNV-1a for 64 bits.
func newBitHash() *bitHash { return &bitHash{14695981039346656037} }

// add hashes the bits of values in their order, the low byte of each first.
func (h *bitHash) add(values ...float32) {
	for _, v := range values {
		bits := math.Float32bits(v)
		if v != v {
			bits = 0x7fc00000
		}
		for range 4 {
			h.sum = (h.sum ^ uint64(bits&0xff)) * 1099511628211
			bits >>= 8
		}
	}
}

// words is SplitMix64 (Steele et al. 2014): the input of the probes. A value is the state of the generator; equal
// seeds give equal sequences.
type words uint64

// next returns the next 64 bits.
func (w *words) next() uint64 {
	*w += 0x9e3779b97f4a7c15
	z := uint64(*w)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// usual are values in (-1, 1), every sixteenth of them subnormal.
func usual(seed words, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		w := seed.next()
		x[i] = float32(int32(w)) / (1 << 31)
		if w>>60 == 0 {
			x[i] = math.Float32frombits(uint32(w>>32) & 0x807fffff)
		}
	}
	return x
}

// wide are values in (-16, 16), every eighth of them of any finite magnitude.
func wide(seed words, n int) []float32 {
	x := usual(seed, n)
	for i := range x {
		x[i] *= 16
		if w := seed.next(); w>>61 == 0 && uint32(w)&0x7f800000 != 0x7f800000 {
			x[i] = math.Float32frombits(uint32(w))
		}
	}
	return x
}

// positive are the values of wide without their signs, subnormal ones among them.
func positive(seed words, n int) []float32 {
	x := wide(seed, n)
	for i, v := range x {
		x[i] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
	}
	return x
}

// turned is the transpose of m.
func turned(m Matrix) Matrix {
	t := Dense(make([]float32, m.Rows*m.Cols), m.Cols, m.Rows)
	transpose(&t, &m)
	return t
}
