package autodiff

// pairs makes the rows of an operation on x [3, 4] and on y of every shape that may meet it.
func pairs(name string, op func(t *Tape, x, y Tensor) Tensor, exact func(x, y float64) float64) []opTest {
	const rows, cols = 3, 4
	var tests []opTest
	for _, y := range []struct {
		name       string
		rows, cols int
	}{{"", rows, cols}, {"/row", 1, cols}, {"/column", rows, 1}, {"/scalar", 1, 1}} {
		tests = append(tests, opTest{
			name: name + y.name, inputs: [][2]int{{rows, cols}, {y.rows, y.cols}}, positive: []int{1},
			f: func(t *Tape, in []Tensor, _ []*Weight) Tensor { return dot(t, op(t, in[0], in[1])) },
			value: func(in [][]float64) []float64 {
				z := make([]float64, rows*cols)
				for i := range z {
					z[i] = exact(in[0][i], in[1][i/cols%y.rows*y.cols+i%cols%y.cols])
				}
				return z
			},
		})
	}
	// x with itself, and with a constant on either side.
	return append(tests, opTest{
		name: name + "/shared", inputs: [][2]int{{rows, cols}}, positive: []int{0},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			c := t.Constant(coefficients(rows*cols), rows, cols)
			return dot(t, op(t, op(t, in[0], in[0]), op(t, op(t, c, c), op(t, op(t, c, in[0]), c))))
		},
		value: func(in [][]float64) []float64 {
			z := make([]float64, rows*cols)
			for i, c := range widened(coefficients(rows * cols)) {
				z[i] = exact(exact(in[0][i], in[0][i]), exact(exact(c, c), exact(exact(c, in[0][i]), c)))
			}
			return z
		},
	})
}

var arithmeticTests = joined(
	pairs("Add", (*Tape).Add, func(x, y float64) float64 { return x + y }),
	pairs("Sub", (*Tape).Sub, func(x, y float64) float64 { return x - y }),
	pairs("Mul", (*Tape).Mul, func(x, y float64) float64 { return x * y }),
	pairs("Div", (*Tape).Div, func(x, y float64) float64 { return x / y }),
)

func joined(tests ...[]opTest) (all []opTest) {
	for _, t := range tests {
		all = append(all, t...)
	}
	return all
}
