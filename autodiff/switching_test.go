package autodiff

import "math"

// Two rows, three systems, states of two dimensions.
var switchingTests = []opTest{
	predictTest("PredictSwitch", 3),
	predictTest("PredictSwitch/rows", 9),
	{
		name: "MixMoves", inputs: [][2]int{{2, 3}, {2, 2}, {2, 6}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			y := t.New(2, 2)
			t.MixMoves(y, in[0], in[1], in[2])
			return dot(t, y)
		},
		value: func(in [][]float64) []float64 {
			y := append([]float64(nil), in[1]...)
			for i := range 12 {
				y[i/6*2+i%2] += in[0][i/2] * in[2][i]
			}
			return y
		},
	},
	{name: "MixMoves/absolute", inputs: [][2]int{{2, 3}, {2, 6}}, f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(2, 2)
		t.MixMoves(y, in[0], Tensor{}, in[1])
		return dot(t, y)
	}},
	{
		name: "WeighSwitch", inputs: [][2]int{{2, 3}, {2, 2}, {2, 2}, {2, 6}, {3, 2}}, positive: []int{4},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			return weighed(t, SwitchEvidence{LogWeights: in[0], Z: in[1], From: in[2], Moves: in[3], Variance: in[4]})
		},
		value: weighSwitch,
	},
	{
		name: "PreviewSwitch", inputs: [][2]int{{2, 3}, {2, 2}, {2, 2}, {2, 6}, {3, 2}, {2, 2}}, positive: []int{4, 5},
		f: preview(Tensor{}), value: previewSwitch,
	},
	{
		name: "PreviewSwitch/missing", inputs: [][2]int{{2, 3}, {2, 2}, {2, 2}, {2, 6}, {3, 2}, {2, 2}}, positive: []int{4, 5},
		f: preview(Tensor{Rows: 2, Cols: 1, Value: []float32{1, 0}}),
	},
	{
		name: "WeighSwitch/absolute", inputs: [][2]int{{2, 3}, {2, 2}, {2, 6}, {3, 2}}, positive: []int{3},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			return weighed(t, SwitchEvidence{LogWeights: in[0], Z: in[1], Moves: in[2], Variance: in[3]})
		},
	},
}

// preview weighs three systems by measurements of two rows, of which the second may be missing.
func preview(seen Tensor) func(t *Tape, in []Tensor, _ []*Weight) Tensor {
	return func(t *Tape, in []Tensor, _ []*Weight) Tensor {
		y := t.New(2, 3)
		t.PreviewSwitch(SwitchPreview{
			Weights: y, LogWeights: in[0], Mean: in[1], From: in[2], Moves: in[3], Variance: in[4], Spread: in[5], Seen: seen,
		})
		return dot(t, y)
	}
}

func previewSwitch(in [][]float64) []float64 {
	y := make([]float64, 6)
	for row := range 2 {
		sum := 0.0
		for j := range 3 {
			s := in[0][row*3+j]
			for d := range 2 {
				q, e := in[4][j*2+d]+in[5][row*2+d], in[1][row*2+d]-in[2][row*2+d]-in[3][(row*3+j)*2+d]
				s -= 0.5 * (e*e/q + math.Log(q))
			}
			y[row*3+j] = math.Exp(s)
			sum += y[row*3+j]
		}
		for j := range 3 {
			y[row*3+j] /= sum
		}
	}
	return y
}

// predictTest is a prediction from a belief whose logarithms need not be those of probabilities.
func predictTest(name string, scores int) opTest {
	return opTest{
		name: name, inputs: [][2]int{{2, 3}, {2, scores}, {3, 3}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			w, logs, y := t.New(2, 3), t.New(2, 3), t.New(2, 6)
			t.PredictSwitch(SwitchPrediction{LogWeights: logs, Weights: w, LogBelief: in[0], Scores: in[1], Transition: in[2]})
			t.Concat(y, w, logs)
			return dot(t, y)
		},
		value: func(in [][]float64) []float64 {
			y := make([]float64, 12)
			for row := range 2 {
				for i := range 3 {
					var p [3]float64
					var sum float64
					for j := range p {
						p[j] = math.Exp(in[2][i*3+j] + in[1][row*scores+(i*3+j)%scores])
						if scores == 3 {
							p[j] = math.Exp(in[2][i*3+j] + in[1][row*3+j])
						}
						sum += p[j]
					}
					for j := range p {
						y[row*6+j] += math.Exp(in[0][row*3+i]) * p[j] / sum
					}
				}
				for j := range 3 {
					y[row*6+3+j] = math.Log(y[row*6+j])
				}
			}
			return y
		},
	}
}

func weighed(t *Tape, e SwitchEvidence) Tensor {
	e.LogDensity, e.LogBelief = t.New(2, 1), t.New(2, 3)
	t.WeighSwitch(e)
	y := t.New(2, 4)
	t.Concat(y, e.LogDensity, e.LogBelief)
	return dot(t, y)
}

func weighSwitch(in [][]float64) []float64 {
	y := make([]float64, 8)
	for row := range 2 {
		joint, sum := y[row*4+1:][:3], 0.0
		for j := range joint {
			joint[j] = in[0][row*3+j]
			for d := range 2 {
				q, e := in[4][j*2+d], in[1][row*2+d]-in[2][row*2+d]-in[3][(row*3+j)*2+d]
				joint[j] -= 0.5 * (e*e/q + math.Log(2*math.Pi*q))
			}
			sum += math.Exp(joint[j])
		}
		y[row*4] = math.Log(sum)
		for j := range joint {
			joint[j] -= y[row*4]
		}
	}
	return y
}
