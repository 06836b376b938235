package autodiff

// product makes the row of a product of an m x k and a k x n matrix, of which element (i, l) stands at x[a(i, l)] and
// (l, j) at y[b(l, j)], and of products of each with a constant.
func product(name string, op func(t *Tape, x, y Tensor) Tensor, x, y [2]int, a, b func(i, j int) int) opTest {
	const m, k, n = 5, 3, 4
	return opTest{
		name: name, inputs: [][2]int{x, y},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			cx, cy := t.Constant(coefficients(m*k), x[0], x[1]), t.Constant(coefficients(k*n), y[0], y[1])
			return dot(t, t.Add(op(t, in[0], in[1]), t.Add(op(t, cx, in[1]), op(t, in[0], cy))))
		},
		value: func(in [][]float64) []float64 {
			cx, cy, z := widened(coefficients(m*k)), widened(coefficients(k*n)), make([]float64, m*n)
			for i := range m {
				for j := range n {
					for l := range k {
						a, b := a(i, l), b(l, j)
						z[i*n+j] += in[0][a]*in[1][b] + cx[a]*in[1][b] + in[0][a]*cy[b]
					}
				}
			}
			return z
		},
	}
}

var matMulTests = []opTest{
	product("MatMul", (*Tape).MatMul, [2]int{5, 3}, [2]int{3, 4},
		func(i, l int) int { return 3*i + l }, func(l, j int) int { return 4*l + j }),
	product("MatMulTransA", (*Tape).MatMulTransA, [2]int{3, 5}, [2]int{3, 4},
		func(i, l int) int { return 5*l + i }, func(l, j int) int { return 4*l + j }),
	product("MatMulTransB", (*Tape).MatMulTransB, [2]int{5, 3}, [2]int{4, 3},
		func(i, l int) int { return 3*i + l }, func(l, j int) int { return 3*j + l }),
	{
		name: "MatMul/weight", inputs: [][2]int{{5, 3}}, weights: [][2]int{{3, 4}, {1, 4}},
		f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
			return dot(t, t.Tanh(t.Add(t.MatMul(in[0], t.Param(w[0])), t.Param(w[1]))))
		},
	},
	batchProduct("BatchMul", (*Tape).BatchMul,
		func(i, l int) int { return 3*i + l }, func(l, j int) int { return 4*l + j }),
	batchProduct("BatchMulTransA", (*Tape).BatchMulTransA,
		func(i, l int) int { return 2*l + i }, func(l, j int) int { return 4*l + j }),
	batchProduct("BatchMulTransB", (*Tape).BatchMulTransB,
		func(i, l int) int { return 3*i + l }, func(l, j int) int { return 3*j + l }),
	{
		name: "BatchMul/vector", inputs: [][2]int{{1, 6}, {5, 3}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			return dot(t, t.BatchMul(t.Repeat(in[0], 5), in[1], 3))
		},
		value: func(in [][]float64) []float64 {
			y := make([]float64, 5*2)
			for i := range y {
				for l := range 3 {
					y[i] += in[0][i%2*3+l] * in[1][i/2*3+l]
				}
			}
			return y
		},
	},
}

// batchProduct makes the row of products of 2 x 3 and 3 x 4 matrices, five of each; the elements stand as in product.
func batchProduct(name string, op func(t *Tape, x, y Tensor, k int) Tensor, a, b func(i, j int) int) opTest {
	const rows, n, k, m = 5, 2, 3, 4
	return opTest{
		name: name, inputs: [][2]int{{rows, n * k}, {rows, k * m}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor { return dot(t, op(t, in[0], in[1], k)) },
		value: func(in [][]float64) []float64 {
			z := make([]float64, rows*n*m)
			for i := range z {
				x, y := in[0][i/(n*m)*n*k:], in[1][i/(n*m)*k*m:]
				for l := range k {
					z[i] += x[a(i/m%n, l)] * y[b(l, i%m)]
				}
			}
			return z
		},
	}
}
