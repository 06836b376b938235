package autodiff

import "github.com/switchyard-ml/switchyard/rng"

var modelTests = []opTest{
	{name: "Linear", inputs: [][2]int{{5, 3}}, weights: [][2]int{{3, 4}, {1, 4}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		return dot(t, t.Linear(in[0], w[0], w[1], Identity))
	}},
	{name: "Linear/relu", inputs: [][2]int{{5, 3}}, weights: [][2]int{{3, 5}, {1, 5}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		return dot(t, t.Linear(in[0], w[0], w[1], ReLU))
	}},
	{name: "Linear/shared", inputs: [][2]int{{4, 4}}, weights: [][2]int{{4, 4}, {1, 4}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		return dot(t, t.Linear(t.Linear(in[0], w[0], w[1], ReLU), w[0], w[1], Identity))
	}},
	{name: "StepLinear", inputs: [][2]int{{2, 3}}, weights: [][2]int{{3, 3}, {1, 3}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		x, y := t.New(8, 3), t.New(6, 3) // three steps of two rows, each fed by the one before
		layer := t.StepLinear(y, x.Slice(0, 6), w[0], w[1], ReLU, 2)
		t.Concat(x.Block(0, 2), in[0])
		for i := range 3 {
			layer.Step(i)
			t.Concat(x.Block(i+1, 2), y.Block(i, 2))
		}
		return dot(t, x.Slice(2, 8))
	}},
	{name: "AddReLU", inputs: [][2]int{{3, 4}, {3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 4)
		t.Concat(y, in[0])
		t.AddReLU(y, in[1])
		return dot(t, y)
	}},
	{name: "Concat", inputs: [][2]int{{3, 2}, {3, 1}, {3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 7)
		t.Concat(y, in...)
		return dot(t, y)
	}},
	{name: "BackwardLSTM", inputs: [][2]int{{6, 3}}, weights: [][2]int{{3, 20}, {5, 20}, {1, 20}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		return dot(t, t.BackwardLSTM(in[0], Tensor{}, LSTMWeights{w[0], w[1], w[2]}, 2))
	}},
	{name: "BackwardLSTM/controls", inputs: [][2]int{{6, 3}}, weights: [][2]int{{5, 20}, {5, 20}, {1, 20}}, f: func(t *Tape, in []Tensor, w []*Weight) Tensor {
		u := t.Constant(coefficients(12), 6, 2)
		return dot(t, t.BackwardLSTM(in[0], u, LSTMWeights{w[0], w[1], w[2]}, 2))
	}},
	{name: "Mixture", inputs: [][2]int{{4, 3}, {6, 2}}, weights: [][2]int{{6, 3}, {4, 3}}, f: mixtureTest(true)},
	{name: "Mixture/made", inputs: [][2]int{{4, 3}, {6, 2}, {6, 2}}, weights: [][2]int{{6, 3}, {4, 3}}, f: mixtureTest(true)},
	{name: "Mixture/absolute", inputs: [][2]int{{4, 3}, {6, 2}}, weights: [][2]int{{6, 3}, {4, 3}}, f: mixtureTest(false)},
	{name: "VarianceMixture", inputs: [][2]int{{6, 4}, {4, 3}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(6, 3)
		m := t.VarianceMixture(y, in[0], in[1], 0.1, 2)
		for i := range 3 {
			m.Step(i)
		}
		return dot(t, y)
	}},
	{name: "Softplus", inputs: [][2]int{{3, 5}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return dot(t, t.Softplus(in[0], 0.1))
	}},
	{name: "Variance", inputs: [][2]int{{3, 5}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 5)
		t.Variance(y, in[0], 0.1)
		return dot(t, y)
	}},
	{name: "Sigmoid", inputs: [][2]int{{3, 5}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 5)
		t.Sigmoid(y, in[0])
		return dot(t, y)
	}},
	{name: "Softmax", inputs: [][2]int{{3, 5}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 5)
		t.Softmax(y, in[0])
		return dot(t, y)
	}},
	{name: "LimitSum", inputs: [][2]int{{5, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		// Rows of small and of large sums.
		x, y := t.New(5, 4), t.New(5, 4)
		t.Sigmoid(x, t.Scale(in[0], 6))
		t.LimitSum(y, x)
		return dot(t, y)
	}},
	{name: "Repeat", inputs: [][2]int{{1, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return dot(t, t.Repeat(in[0], 5))
	}},
	{name: "Draw", inputs: [][2]int{{3, 4}, {3, 4}}, positive: []int{1}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 4)
		t.Draw(y, in[0], in[1], normalNoise(t, 3, 4))
		return dot(t, y)
	}},
	{name: "Fuse", inputs: [][2]int{{3, 4}, {3, 4}, {3, 4}, {3, 4}}, positive: []int{1, 3}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(9, 4)
		t.Fuse(Fusion{
			Draw: y.Block(0, 3), Mean: y.Block(1, 3), Variance: y.Block(2, 3),
			M1: in[0], V1: in[1], M2: in[2], V2: in[3], Noise: normalNoise(t, 3, 4),
		})
		return dot(t, y)
	}},
	{name: "Fuse/masked", inputs: [][2]int{{3, 4}, {3, 4}, {3, 4}, {3, 4}}, positive: []int{1, 3}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(9, 4)
		t.Fuse(Fusion{
			Draw: y.Block(0, 3), Mean: y.Block(1, 3), Variance: y.Block(2, 3),
			M1: in[0], V1: in[1], M2: in[2], V2: in[3], Noise: normalNoise(t, 3, 4), Seen: mask(t, 3, 1),
		})
		return dot(t, y)
	}},
	{name: "GaussianKL", inputs: [][2]int{{3, 4}, {3, 4}, {3, 4}, {3, 4}}, positive: []int{1, 3}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.GaussianKL(in[0], in[1], in[2], in[3])
	}},
	{name: "StandardKL", inputs: [][2]int{{3, 4}, {3, 4}}, positive: []int{1}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.StandardKL(in[0], in[1])
	}},
	{name: "GaussianNLL", inputs: [][2]int{{3, 4}, {3, 4}}, positive: []int{1}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.GaussianNLL(normalNoise(t, 3, 4), in[0], in[1], Tensor{})
	}},
	{name: "GaussianNLL/masked", inputs: [][2]int{{3, 4}, {3, 4}}, positive: []int{1}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.GaussianNLL(normalNoise(t, 3, 4), in[0], in[1], mask(t, 3, 4))
	}},
	{name: "BernoulliNLL", inputs: [][2]int{{3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.BernoulliNLL(mask(t, 3, 4), in[0], Tensor{})
	}},
	{name: "BernoulliNLL/masked", inputs: [][2]int{{3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		x := mask(t, 4, 4)
		return t.BernoulliNLL(x.Slice(1, 4), in[0], x.Slice(0, 3))
	}},
	{name: "HideRows", inputs: [][2]int{{5, 3}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return dot(t, t.HideRows(in[0], mask(t, 5, 1)))
	}},
	{name: "Gate", inputs: [][2]int{{3, 4}, {3, 4}, {3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 4)
		t.Gate(y, in[0], in[1], in[2])
		return dot(t, y)
	}},
	{name: "Concrete", inputs: [][2]int{{3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 4)
		t.Concrete(y, in[0], normalNoise(t, 3, 4), 0.7, false)
		return dot(t, y)
	}},
	{name: "BinaryConcrete", inputs: [][2]int{{3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(3, 4)
		t.BinaryConcrete(y, in[0], normalNoise(t, 3, 4), 0.7, false)
		return dot(t, y)
	}},
	{name: "ConcreteKL", inputs: [][2]int{{3, 4}, {3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.ConcreteKL(in[0], in[1], normalNoise(t, 15, 4), 0.7, 2)
	}},
	{name: "BinaryConcreteKL", inputs: [][2]int{{3, 4}, {3, 4}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.BinaryConcreteKL(in[0], in[1], normalNoise(t, 15, 4), 0.7, 2)
	}},
	{name: "WeightedSum", inputs: [][2]int{{1, 1}, {1, 1}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		return t.WeightedSum([]float32{2, -3}, in[0], in[1])
	}},
}

func mixtureTest(residual bool) func(t *Tape, in []Tensor, w []*Weight) Tensor {
	return func(t *Tape, in []Tensor, w []*Weight) Tensor { // in: z of the first step, weights of all, and u if it is made
		z, u := t.New(8, 3), normalNoise(t, 6, 2)
		if len(in) > 2 {
			u = in[2]
		}
		t.Concat(z.Block(0, 2), in[0].Slice(0, 2))
		m := t.Mixture(MixtureArgs{
			Y: z.Slice(2, 8), Weights: in[1], Z: z.Slice(0, 6), U: u, A: w[0], B: w[1], Residual: residual, Block: 2,
		})
		for i := range 3 {
			m.Step(i)
		}
		return dot(t, z)
	}
}

// mask is a constant of zeros and ones, with both in every few rows.
func mask(t *Tape, rows, cols int) Tensor {
	x := normalNoise(t, rows, cols)
	for i := range x.Value {
		x.Value[i] = float32((i + i/3) % 2)
	}
	return x
}

func normalNoise(t *Tape, rows, cols int) Tensor {
	x := t.NewConstant(rows, cols)
	draws := rng.New(7, rng.Noise).At(1, 0, 0)
	draws.Normals(x.Value)
	return x
}
