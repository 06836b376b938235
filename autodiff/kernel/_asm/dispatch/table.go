package main

// kernel is a function of package kernel that every instruction set has: NAME, which chooses among NAMEAVX512,
// NAMEAVX2, NAMENEON and NAMEPortable.
type kernel struct {
	name   string
	params string // of NAME and NAMEPortable
	result string
	writes string // parameters that it writes, and reads, for the race detector
	reads  string
	call   string // the arguments of the assembly
}

// kernels are those whose assembly takes all of their arguments.
var kernels = []kernel{
	unary("exp"), unary("log"), unary("tanh"), unary("sigmoid"), unary("softplus"), unary("relu"), unary("sqrt"),
	{name: "add", params: "dst, x []float32", writes: "dst", reads: "x", call: "&dst[0], &x[0], len(dst)"},
	binary("sub", "x", "y"), binary("mul", "x", "y"), binary("div", "x", "y"),
	binary("addMul", "x", "y"), binary("reluBackward", "dy", "y"),
	binary("tanhBackward", "dy", "y"),
	{
		name: "addScaled", params: "dst []float32, a float32, x []float32", writes: "dst", reads: "x",
		call: "&dst[0], a, &x[0], len(dst)",
	},
	{name: "scale", params: "dst []float32, a float32", writes: "dst", call: "&dst[0], a, len(dst)"},
	{name: "finite", params: "x []float32", result: "bool", reads: "x", call: "&x[0], len(x)"},
	{name: "greatest", params: "x []float32", result: "uint32", reads: "x", call: "&x[0], len(x)"},
	{name: "sumLanes", params: "s *[lanes]float32, x []float32", reads: "x", call: "&s[0], &x[0], len(x)"},
	{name: "sumSquaresLanes", params: "s *[lanes]float64, x []float32", reads: "x", call: "&s[0], &x[0], len(x)"},
	{
		name: "sumRows", params: "dst []float32, m Matrix", writes: "dst", reads: "m",
		call: "&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride",
	},
	{
		name: "addSumColumns", params: "dst []float32, m Matrix", writes: "dst", reads: "m",
		call: "&dst[0], &m.Data[0], m.Rows, m.Cols, m.Stride",
	},
	{
		name: "addRow", params: "dst Matrix, row []float32", writes: "dst", reads: "row",
		call: "&dst.Data[0], &row[0], dst.Rows, dst.Cols, dst.Stride",
	},
	{
		name: "lstmForward", params: "z, c, cNext, h, tanhC []float32", writes: "z cNext h tanhC", reads: "c",
		call: "&z[0], &c[0], &cNext[0], &h[0], &tanhC[0], len(h)",
	},
	{
		name: "lstmBackward", params: "act, dz, dh, dc, tanhC, cPrev []float32", writes: "dz dc",
		reads: "act dh tanhC cPrev", call: "&act[0], &dz[0], &dh[0], &dc[0], &tanhC[0], &cPrev[0], len(dh)",
	},
	{
		name: "adam", params: "p, m, v, g []float32, s *AdamStep", writes: "p m v", reads: "g",
		call: "&p[0], &m[0], &v[0], &g[0], &s.Beta1, len(p)",
	},
	{
		name: "roundGroups", params: "x []float32, p *Philox, block uint64, a, limit float32", writes: "x",
		call: "&x[0], &p.keys[0], block, p.stream[0], p.stream[1], a, limit, len(x)/roundGroup",
	},
}

// unary is dst[i] = f(src[i]).
func unary(name string) kernel {
	return kernel{
		name: name, params: "dst, src []float32", writes: "dst", reads: "src", call: "&dst[0], &src[0], len(dst)",
	}
}

// binary is dst[i] = f(x[i], y[i]), or dst[i] += …
func binary(name, x, y string) kernel {
	return kernel{
		name: name, params: "dst, " + x + ", " + y + " []float32", writes: "dst", reads: x + " " + y,
		call: "&dst[0], &" + x + "[0], &" + y + "[0], len(dst)",
	}
}

// parts are functions of assembly that do a part of a kernel in partial.go, which has no assembly without them: they
// are not called where the instruction set is Portable.
var parts = []kernel{
	softmax("softmax"), shortSoftmax("softmax4"), shortSoftmax("softmax8"), shortSoftmax("softmax16"),
	softmax("logSoftmax"), shortSoftmax("logSoftmax4"), shortSoftmax("logSoftmax8"), shortSoftmax("logSoftmax16"),
	random("uniforms"), random("normals"), random("gumbels"), random("logistics"),
	{name: "outer", params: "dst, x, y *float32, k, n int", call: "dst, x, y, k, n"},
	{name: "addWeightedRows", params: "dst, w, m *float32, k, n int", call: "dst, w, m, k, n"},
	{name: "addDots", params: "dst, m, x *float32, k, n int", call: "dst, m, x, k, n"},
	{name: "putInt16", params: "dst *byte, src *float32, n int", call: "dst, src, n"},
	{name: "getInt16", params: "dst *float32, src *byte, n int", call: "dst, src, n"},
}

// softmax is a kernel of rows of any length, with the strides of both matrices in values.
func softmax(name string) kernel {
	return kernel{
		name: name, params: "dst, src *float32, rows, columns, dstStride, srcStride int",
		call: "dst, src, rows, columns, dstStride, srcStride",
	}
}

// shortSoftmax is a kernel of dense rows of 4, 8 or 16 values, in blocks of 16 values.
func shortSoftmax(name string) kernel {
	return kernel{name: name, params: "dst, src *float32, blocks int", call: "dst, src, blocks"}
}

// random is a kernel that fills whole groups of 32 values from the blocks of the generator.
func random(name string) kernel {
	return kernel{
		name: name, params: "dst *float32, keys *uint32, block uint64, s0, s1 uint32, groups int",
		call: "dst, keys, block, s0, s1, groups",
	}
}

// architecture is a processor with its instruction sets beside Portable, the fastest first.
type architecture struct {
	name  string
	isas  []string
	tiles []tile
}

// tile is a matrix product of 1 to rows rows of A with so many columns of a panel.
type tile struct {
	isa           string
	columns, rows int
}

// AVX2 has 16 vector registers, AVX-512 and NEON have 32: hence the rows of their tiles.
var architectures = []architecture{
	{"amd64", []string{"AVX512", "AVX2"}, []tile{{"AVX512", 32, 14}, {"AVX512", 16, 14}, {"AVX2", 16, 6}}},
	{"arm64", []string{"NEON"}, []tile{{"NEON", 16, 6}, {"NEON", 12, 6}, {"NEON", 8, 6}, {"NEON", 4, 6}}},
}
