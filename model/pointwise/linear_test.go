package pointwise

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
)

// goldenLinear are the bits of every variant.
var goldenLinear = map[string]string{
	"controls":    "efd79b75929dd72b",
	"no controls": "4eb03fcc13c1fcde",
	"images":      "0ad4c5085edbc2da",
}

func TestLinear_KeepsTheContract(t *testing.T) {
	for name, c := range map[string]modeltest.Case{
		"controls": {NX: 3, NU: 2}, "no controls": {NX: 3}, "images": {NX: 3, Binary: true},
	} {
		c.New = func(testing.TB) modeltest.Model {
			m := NewLinear(model.Data{NX: c.NX, NU: c.NU})
			if m.b != nil {
				m.b.Fill(0.3)
				m.params.Pack()
			}
			return m
		}
		c.Golden, c.Real = goldenLinear[name], true
		t.Run(name, c.Run)
	}
}

// TestLoss_LeastSquaresHasNoGradient: at the least squares of float64, and the root of what is left, the gradient is
// zero; the pairs that miss a value are left out of both.
func TestLoss_LeastSquaresHasNoGradient(t *testing.T) {
	const nx, nu, n, steps = 2, 1, 8, 6
	m := NewLinear(model.Data{NX: nx, NU: nu})
	b := modeltest.Case{NX: nx, NU: nu}.Batch(steps, n)
	for i := n * nx; i < len(b.Observations); i++ { // something to learn
		b.Observations[i] += 0.6*b.Observations[i-n*nx] - 0.8*b.Controls[i/nx]
	}
	b.Seen = make([]float32, len(b.Observations))
	for i := range b.Seen {
		b.Seen[i] = 1
	}
	const missing = (3*n + 2) * nx
	b.Seen[missing], b.Observations[missing] = 0, 0

	for j := range nx {
		var in, out []float64
		for i := n; i < steps*n; i++ {
			if b.Seen[(i-n)*nx] == 0 || b.Seen[i*nx+j] == 0 {
				continue
			}
			in = append(in, float64(b.Observations[(i-n)*nx]), float64(b.Observations[(i-n)*nx+1]), float64(b.Controls[i]), 1)
			out = append(out, float64(b.Observations[i*nx+j]))
		}
		x, y := mat.NewDense(len(out), 4, in), mat.NewVecDense(len(out), out)
		var beta, rest mat.VecDense
		if err := beta.SolveVec(x, y); err != nil {
			t.Fatal(err)
		}
		rest.MulVec(x, &beta)
		rest.SubVec(y, &rest)
		sd := math.Sqrt(mat.Dot(&rest, &rest) / float64(len(out)))
		values := m.params.Values
		for k := range nx {
			values[m.a.Offset+k*nx+j] = float32(beta.AtVec(k))
		}
		values[m.a.Offset+j*nx+j]--
		values[m.b.Offset+j] = float32(beta.AtVec(2))
		values[m.bias.Offset+j] = float32(beta.AtVec(3))
		for _, w := range m.params.Layout() {
			if w.Name == "noise.sd" {
				values[w.Offset+j] = float32(modeltest.SDHead(sd * sd))
			}
		}
	}
	m.params.Pack()
	tape, terms := autodiff.NewTape(m.params), make([]float32, 2)
	tape.Backward(m.Loss(tape, b, modeltest.Noise(0), 0, terms))
	for _, w := range m.params.Layout() {
		for i, g := range tape.Gradient[w.Offset : w.Offset+w.Size] {
			if math.Abs(float64(g)) > 1e-4 {
				t.Errorf("%s, element %d: gradient %v at the least squares", w.Name, i, g)
			}
		}
	}
}

// TestForecast_IsTheStatedProcess: mean and spread of the paths against the moments in float64.
func TestForecast_IsTheStatedProcess(t *testing.T) {
	m := NewLinear(model.Data{NX: 2, NU: 1})
	modeltest.Set(m, "transition.A", -0.3, 0.2, -0.1, -0.5) // x_t = x·[[0.7, 0.2], [−0.1, 0.5]] + …
	modeltest.Set(m, "transition.B", 0.4, -1)
	modeltest.Set(m, "transition.bias", 0.1, 0)
	modeltest.Set(m, "noise.sd", modeltest.SDHead(0.25), modeltest.SDHead(0.04))
	q := model.Query{Horizon: 3, Samples: 20000, Controls: []float32{0.5, -1, 2}, Noise: modeltest.Noise(1)}
	q.Prefix.Resize(1, 1, 2, 1)
	copy(q.Prefix.Observations, []float32{1, -2})
	var f model.Forecast
	m.NewForecaster().Forecast(&f, q)

	a := mat.NewDense(2, 2, []float64{0.7, 0.2, -0.1, 0.5})
	mean, cov := mat.NewDense(1, 2, []float64{1, -2}), mat.NewDense(2, 2, nil)
	for h, u := range q.Controls {
		var next, half mat.Dense
		next.Mul(mean, a)
		mean = mat.NewDense(1, 2, []float64{next.At(0, 0) + 0.4*float64(u) + 0.1, next.At(0, 1) - float64(u)})
		half.Mul(a.T(), cov)
		cov.Mul(&half, a)
		cov.Set(0, 0, cov.At(0, 0)+0.25)
		cov.Set(1, 1, cov.At(1, 1)+0.04)
		for i := range 2 {
			if got, want := float64(f.Mean[h*2+i]), mean.At(0, i); math.Abs(got-want) > 1e-3 { // a sum of many equal numbers rounds
				t.Errorf("step %d, dimension %d: mean %v, want %v", h+1, i, got, want)
			}
			var variance float64
			for s := range q.Samples {
				d := float64(f.Paths[(s*3+h)*2+i]) - mean.At(0, i)
				variance += d * d / float64(q.Samples)
			}
			if want := cov.At(i, i); math.Abs(variance-want) > 0.05*want {
				t.Errorf("step %d, dimension %d: variance %v, want %v", h+1, i, variance, want)
			}
		}
	}
}
