package autodiff

import (
	"math"
	"testing"
)

var durationTests = []opTest{
	agedTest("PredictAgedSwitch", 3, 4), agedTest("PredictAgedSwitch/rows", 9, 2),
}

// agedTest is a prediction of two rows and three systems from beliefs and ages that need not be probabilities.
func agedTest(name string, scores, ages int) opTest {
	return opTest{
		name: name, inputs: [][2]int{{2, 3}, {2, 3 * ages}, {2, scores}, {3, 3}, {3, ages}}, positive: []int{1},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			w, logs, a, y := t.New(2, 3), t.New(2, 3), t.New(2, 3*ages), t.New(2, 6+3*ages)
			t.PredictAgedSwitch(AgedPrediction{
				SwitchPrediction: SwitchPrediction{
					LogWeights: logs, Weights: w, LogBelief: in[0], Scores: in[2], Transition: in[3],
				},
				From: in[1], Durations: in[4], Ages: a,
			})
			t.Concat(y, w, logs, a)
			return dot(t, y)
		},
		value: func(in [][]float64) []float64 {
			var y []float64
			for row := range 2 {
				y = append(y, agedRow(in[0][row*3:][:3], in[1][row*3*ages:], in[2][row*scores:][:scores], in[3], in[4])...)
			}
			return y
		},
	}
}

// agedRow sums over all pairs of a system and an age.
func agedRow(belief, from, scores, transition, durations []float64) []float64 {
	const m = 3
	d := len(durations) / m
	w, next := make([]float64, m), make([]float64, m*d)
	for i := range m {
		for k := range d {
			var p [m]float64
			sum := 0.0
			for j := range p {
				s := transition[i*m+j] + scores[(i*m+j)%len(scores)]
				if len(scores) == m {
					s = transition[i*m+j] + scores[j]
				}
				if i == j {
					s += durations[i*d+k]
				}
				p[j] = math.Exp(s)
				sum += p[j]
			}
			for j := range p {
				joint, age := math.Exp(belief[i])*from[i*d+k]*p[j]/sum, 0
				if i == j {
					age = min(k+1, d-1)
				}
				w[j] += joint
				next[j*d+age] += joint
			}
		}
	}
	y := append([]float64(nil), w...)
	for _, v := range w {
		y = append(y, math.Log(v))
	}
	for i, v := range next {
		y = append(y, v/w[i/d])
	}
	return y
}

// TestPredictAgedSwitch_Certain: odds beyond every bound and systems that are out of the question have finite weights,
// ages and gradients, and the odds still have a gradient where they explain nothing.
func TestPredictAgedSwitch_Certain(t *testing.T) {
	const m, d = 2, 3
	tape := NewTape(NewParams())
	belief, from, scores := tape.New(1, m), tape.New(1, m*d), tape.New(1, m)
	copy(belief.Value, []float32{0, Unlikely})
	copy(from.Value, []float32{0, 0, 1, 1, 0, 0})
	clear(scores.Value)
	transition, durations := tape.New(m, m), tape.New(m, d)
	clear(transition.Value)
	copy(durations.Value, []float32{0, 0, 500, 0, 0, -500})
	w, logs, ages := tape.New(1, m), tape.New(1, m), tape.New(1, m*d)
	tape.PredictAgedSwitch(AgedPrediction{
		SwitchPrediction: SwitchPrediction{
			LogWeights: logs, Weights: w, LogBelief: belief, Scores: scores, Transition: transition,
		},
		From: from, Durations: durations, Ages: ages,
	})
	if got := logs.Value; got[0] != 0 || math.Abs(float64(got[1])+mostCertain) > 1e-4 {
		t.Errorf("the logarithms of the weights are %v, want 0 and %d", got, -mostCertain)
	}
	for i, want := range []float32{0, 0, 1, 1, 0, 0} {
		if ages.Value[i] != want {
			t.Fatalf("the ages are %v", ages.Value)
		}
	}
	tape.Backward(tape.Sum(logs))
	if g := durations.Grad[2]; math.Abs(float64(g)+1) > 1e-5 {
		t.Errorf("the gradient of odds that exclude what happened is %v, want -1", g)
	}
	for _, x := range []Tensor{belief, from, scores, transition, durations} {
		for _, g := range x.Grad {
			if math.IsNaN(float64(g)) || math.IsInf(float64(g), 0) {
				t.Fatalf("gradients %v", x.Grad)
			}
		}
	}
}
