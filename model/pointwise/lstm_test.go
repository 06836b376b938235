package pointwise

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func newLSTM(nx, nu int, change func(*LSTMSettings)) *LSTMModel {
	s := DefaultLSTMSettings()
	s.Hidden = 7
	if change != nil {
		change(s)
	}
	return NewLSTM(s, model.Data{NX: nx, NU: nu}, rng.New(5, rng.Init))
}

// goldenLSTM are the bits of every variant.
var goldenLSTM = map[string]string{
	"residual":    "87ee8a3d738f84da",
	"absolute":    "182f83543d6fc890",
	"no controls": "2fff3fa3d6022f1a",
	"images":      "6f55ce9ea95f867d",
}

func TestLSTM_KeepsTheContract(t *testing.T) {
	run := func(name string, nx, nu int, change func(*LSTMSettings)) {
		m := newLSTM(nx, nu, change)
		c := modeltest.Case{
			New: func(testing.TB) modeltest.Model { return newLSTM(nx, nu, change) },
			NX:  nx, NU: nu, Binary: m.binary, Golden: goldenLSTM[name],
		}
		t.Run(name, c.Run)
	}
	run("residual", 3, 2, nil)
	run("absolute", 3, 2, func(s *LSTMSettings) { s.Residual = false })
	run("no controls", 3, 0, nil)
	run("images", 3, 0, func(s *LSTMSettings) { s.Emission = statespace.Bernoulli })
}

// direct is the layer in float64: it reads x and u of one sequence one step at a time.
type direct struct {
	m       *LSTMModel
	h, cell []float64
}

func newDirect(m *LSTMModel) *direct {
	units := m.layer.Recurrent.Rows
	return &direct{m, make([]float64, units), make([]float64, units)}
}

// step returns W·h + b after reading x and u.
func (d *direct) step(x, u []float64) []float64 {
	l, units := d.m.layer, len(d.h)
	in := append(append([]float64(nil), x...), u...)
	gate := func(block, j int) float64 {
		column := block*units + j
		sum := float64(l.Bias.Values()[column])
		for k, v := range in {
			sum += v * float64(l.Input.Values()[k*4*units+column])
		}
		for k, v := range d.h {
			sum += v * float64(l.Recurrent.Values()[k*4*units+column])
		}
		return sum
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	h := make([]float64, units)
	for j := range units {
		d.cell[j] = sigmoid(gate(1, j))*d.cell[j] + sigmoid(gate(0, j))*math.Tanh(gate(2, j))
		h[j] = sigmoid(gate(3, j)) * math.Tanh(d.cell[j])
	}
	d.h = h
	y := make([]float64, d.m.data.NX)
	for i := range y {
		y[i] = float64(d.m.head.B.Values()[i])
		for j, v := range h {
			y[i] += v * float64(d.m.head.W.Values()[j*len(y)+i])
		}
	}
	return y
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// TestLSTM_LossAgainstDirectEvaluation recomputes the loss in float64, step by step: x_t and u_{t+1} predict x_{t+1}.
func TestLSTM_LossAgainstDirectEvaluation(t *testing.T) {
	const nx, nu, n = 3, 2, 2
	m := newLSTM(nx, nu, nil)
	b := modeltest.Case{NX: nx, NU: nu}.Batch(6, n)
	sd := math.Log(2) + statespace.SDFloor
	var want float64
	for s := range n {
		d := newDirect(m)
		for i := range b.T - 1 {
			at, next := i*n+s, (i+1)*n+s
			y := d.step(widen(b.Observations[at*nx:][:nx]), widen(b.Controls[next*nu:][:nu]))
			for k, v := range y {
				e := (float64(b.Observations[next*nx+k]) - float64(b.Observations[at*nx+k]) - v) / sd
				want += (0.5*e*e + math.Log(sd) + 0.5*math.Log(2*math.Pi)) / float64(n*(b.T-1))
			}
		}
	}
	terms := make([]float32, 2)
	m.Loss(autodiff.NewInferenceTape(m.params), b, modeltest.Noise(0), 0, terms)
	if got := float64(terms[0]); math.Abs(got-want) > 1e-5*want {
		t.Errorf("loss %v, want %v", got, want)
	}
}

// TestLSTM_FeedsPredictionsBack recomputes a forecast in float64, past and future.
func TestLSTM_FeedsPredictionsBack(t *testing.T) {
	const nx, nu = 3, 2
	m := newLSTM(nx, nu, nil)
	b := modeltest.Case{NX: nx, NU: nu}.Batch(5, 1)
	q := model.Query{Prefix: b, Horizon: 4, Samples: 2, Controls: []float32{1, -1, 0.5, 0, -0.5, 2, 0, 0.3}, Noise: modeltest.Noise(1)}
	var f model.Forecast
	m.NewForecaster().Forecast(&f, q)
	d, controls := newDirect(m), append(widen(b.Controls[nu:]), widen(q.Controls)...)
	var x []float64
	for i := range b.T + q.Horizon - 1 {
		if i < b.T {
			x = widen(b.Observations[i*nx:][:nx])
		}
		y := d.step(x, controls[i*nu:][:nu])
		for k := range y {
			y[k] += x[k]
		}
		x = y
		for k, want := range y {
			if h := i + 1 - b.T; h >= 0 && math.Abs(float64(f.Mean[h*nx+k])-want) > 1e-5 {
				t.Errorf("step %d, dimension %d: %v, want %v", h+1, k, f.Mean[h*nx+k], want)
			}
		}
	}
}
