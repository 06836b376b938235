package autodiff

import (
	"math"
	"slices"
)

// sums makes the row of a sum of 21 rows of 18 columns over what goes into element to(row, column) of n.
func sums(name string, op func(t *Tape, x Tensor) Tensor, n int, share float64, to func(row, col int) int) opTest {
	const rows, cols = 21, 18
	return opTest{
		name: name, inputs: [][2]int{{rows, cols}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			op(t, t.Constant(coefficients(4), 2, 2)) // of a constant there is nothing to add to
			return dot(t, op(t, in[0]))
		},
		value: func(in [][]float64) []float64 {
			y := make([]float64, n)
			for i, x := range in[0] {
				y[to(i/cols, i%cols)] += share * x
			}
			return y
		},
	}
}

var sumTests = []opTest{
	sums("Sum", (*Tape).Sum, 1, 1, func(_, _ int) int { return 0 }),
	sums("Mean", (*Tape).Mean, 1, 1.0/(21*18), func(_, _ int) int { return 0 }),
	sums("SumRows", (*Tape).SumRows, 21, 1, func(row, _ int) int { return row }),
	sums("SumColumns", (*Tape).SumColumns, 18, 1, func(_, col int) int { return col }),
	{
		name: "Columns", inputs: [][2]int{{5, 4}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			t.Columns(t.Constant(coefficients(4), 2, 2), 0, 1)
			return dot(t, t.Columns(in[0], 1, 3).Reshape(2, 5))
		},
		value: func(in [][]float64) (y []float64) {
			for row := range 5 {
				y = append(y, in[0][4*row+1], in[0][4*row+2])
			}
			return y
		},
	},
	{
		name: "PairTanh", inputs: [][2]int{{6, 5}, {6, 5}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			t.PairTanh(t.New(2, 2), t.Constant(coefficients(4), 2, 2), in[1].Slice(0, 2).Reshape(5, 2).Slice(0, 2), 2)
			y := t.New(12, 5)
			t.PairTanh(y, in[0], in[1], 3)
			return dot(t, y)
		},
		value: func(in [][]float64) (y []float64) {
			eachPair(6, 3, func(_, row, other int) {
				for j := range 5 {
					y = append(y, math.Tanh(in[0][5*row+j]+in[1][5*other+j]))
				}
			})
			return y
		},
	},
	{
		name: "PairSums", inputs: [][2]int{{12, 5}, {6, 5}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			y := t.New(6, 5)
			t.Concat(y, in[1])
			t.PairSums(y, in[0], 3, 0.5)
			return dot(t, y)
		},
		value: func(in [][]float64) []float64 {
			y := slices.Clone(in[1])
			for i := range y {
				y[i] += (in[0][i/5*10+i%5] + in[0][i/5*10+5+i%5]) / 2
			}
			return y
		},
	},
}
