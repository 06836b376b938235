package dvbf

import (
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func tiny(change func(*Settings)) *Settings {
	s := DefaultSettings()
	s.Switches, s.Hidden, s.EncoderHidden = 5, 12, 10
	if change != nil {
		change(s)
	}
	return s
}

func newModel(s *Settings, nx, nu int) *Model {
	return New(s, model.Data{NX: nx, NU: nu}, rng.New(5, rng.Init))
}

// golden are the bits of every variant.
var golden = map[string]string{
	"annealed":    "a0a51475979100ab",
	"plain":       "5532e8c91f14b016",
	"residual":    "6c4cbacf2fc1cbd6",
	"no controls": "599880c1a0cf96fc",
	"images":      "a7f23ab8c4bb907e",
	"lstm":        "03afee555eaa6785",
	"usual":       "3796a452ef49c68d",
}

// variants are the settings that all checks run through.
func variants() map[string]modeltest.Case {
	list := map[string]modeltest.Case{}
	add := func(name string, nx, nu int, change func(*Settings)) {
		s := tiny(change)
		list[name] = modeltest.Case{
			New: func(testing.TB) modeltest.Model { return newModel(s, nx, nu) },
			NX:  nx, NU: nu, Binary: s.Emission == statespace.Bernoulli, First: s.InitialObservations, Golden: golden[name],
		}
	}
	add("annealed", 3, 2, func(s *Settings) { s.Anneal.Updates = 300 })
	add("plain", 3, 2, func(s *Settings) { s.Anneal.Updates, s.Residual = 0, false })
	add("residual", 3, 2, func(s *Settings) { s.Blocks = 2 })
	add("no controls", 3, 0, nil)
	add("images", 3, 0, func(s *Settings) { s.Emission = statespace.Bernoulli })
	add("lstm", 3, 2, func(s *Settings) { s.Initial = statespace.LSTM })
	add("usual", 3, 2, nil)
	return list
}

func TestModel_KeepsTheContract(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, c.Run)
	}
}

// exact is the model of a linear-Gaussian system, with two equal base systems: q(w_1 | x_1, x_2) is the true posterior,
// and so is q(w_2 | z_1, x_2, u_2), the regression of w on the innovation e = x_2 − C((1 + A)z_1 + B·u_2), of variance
// S = C²Q + R: mean C√Q·e/S and variance R/S.
func exact(o modeltest.LinearGaussian) *Model {
	m := newModel(tiny(func(s *Settings) {
		s.Latent, s.Switches, s.Hidden, s.EncoderHidden, s.InitialObservations = 1, 2, 6, 2, 2
	}), 1, 1)
	o.SetInitial(m, 6)
	o.SetEmission(m)
	q := math.Sqrt(o.Q)
	modeltest.Set(m, "transition.A", o.A, o.A)
	modeltest.Set(m, "transition.B", o.B, q, o.B, q) // B above C, twice

	modeltest.Set(m, "encoder.dense.weight", 1, -1) // features relu(±x)
	modeltest.Set(m, "encoder.dense.bias")
	modeltest.Set(m, "recognition.dense.weight", // of [z, x₊, x₋, u] to ±z, ±x, ±u
		1, -1, 0, 0, 0, 0,
		0, 0, 1, -1, 0, 0,
		0, 0, -1, 1, 0, 0,
		0, 0, 0, 0, 1, -1)
	modeltest.Set(m, "recognition.dense.bias")
	s := o.C*o.C*o.Q + o.R
	gain := o.C * q / s
	onZ, onX, onU := -gain*o.C*(1+o.A), gain, -gain*o.C*o.B
	modeltest.Set(m, "recognition.mean.weight", onZ, -onZ, onX, -onX, onU, -onU)
	modeltest.Set(m, "recognition.mean.bias")
	modeltest.Set(m, "recognition.sd.weight")
	modeltest.Set(m, "recognition.sd.bias", modeltest.SDHead(o.R/s))
	return m
}

var system = modeltest.LinearGaussian{Start: 1.3, A: -0.2, B: 0.7, C: 0.8, Q: 0.3, R: 0.2}

// TestLoss_AgainstDenseGaussian: reduced to a linear-Gaussian system and its exact posterior, the bound is the log evidence.
func TestLoss_AgainstDenseGaussian(t *testing.T) {
	system.CheckBound(t, exact(system), 2)
	system.CheckImportance(t, exact(system))
}

// TestForecast_AgainstDenseGaussian: mean and variance of paths with a pass of inference each are those of the exact
// prediction.
func TestForecast_AgainstDenseGaussian(t *testing.T) {
	m := exact(system)
	system.CheckForecast(t, m)
}

// TestFilter_MomentsOfTheState: in the linear-Gaussian system q(z_2 | z_1, x_2) is known.
func TestFilter_MomentsOfTheState(t *testing.T) {
	o, m := system, exact(system)
	var b model.Batch
	b.Resize(2, 1, 1, 1)
	copy(b.Observations, []float32{0.5, -0.3})
	copy(b.Controls, []float32{0, 0.8})
	var f model.Filtering
	m.NewForecaster().(model.Filterer).Filter(&f, b, modeltest.Noise(0))
	prior := (1+o.A)*float64(f.Mean[0]) + o.B*0.8
	gain := o.Q * o.C / (o.C*o.C*o.Q + o.R)
	mean, sd := prior+gain*(-0.3-o.C*prior), math.Sqrt(o.Q*(1-gain*o.C))
	if math.Abs(float64(f.Mean[1])-mean) > 1e-5 || math.Abs(float64(f.SD[1])-sd) > 1e-5 {
		t.Errorf("q(z_2) = N(%v, %v²), want N(%v, %v²)", f.Mean[1], f.SD[1], mean, sd)
	}
}

// recursion is z + Σᵢ αᵢ(z·Aᵢ + u·Bᵢ + w·Cᵢ) in float64.
func recursion(m *Model, alpha, z, u, w []float32) []float64 {
	nz, nu := m.Nets.NZ, m.Nets.NU
	next := make([]float64, nz)
	for j := range next {
		next[j] = float64(z[j])
		for i, a := range alpha {
			add := func(x, matrix []float32) {
				for k, v := range x {
					next[j] += float64(a) * float64(v) * float64(matrix[k*nz+j])
				}
			}
			add(z, m.transition.A.Values()[i*nz*nz:])
			add(u, m.transition.B.Values()[i*(nu+nz)*nz:])
			add(w, m.transition.B.Values()[(i*(nu+nz)+nu)*nz:])
		}
	}
	return next
}

// TestInfer_IsTheStatedRecursion: every transition, and the moments that filtering reports of it.
func TestInfer_IsTheStatedRecursion(t *testing.T) {
	const n = 2
	m := newModel(tiny(nil), 3, 2)
	tape, nz := autodiff.NewInferenceTape(m.Params()), m.Nets.NZ
	b, noise := modeltest.Case{NX: 3, NU: 2}.Batch(4, n), modeltest.Noise(0)
	p := m.infer(tape, b, 1, &noise)
	states := m.states(tape, p)
	near := func(what string, row, j int, got float32, want float64) {
		if math.Abs(float64(got)-want) > 1e-5 {
			t.Errorf("row %d, dimension %d: %s %v, want %v", row, j, what, got, want)
		}
	}
	for row := range 3 * n {
		z, u := p.z.Value[row*nz:][:nz], b.Controls[(row+n)*2:][:2]
		w, mean, variance := p.w.Value[row*nz:][:nz], p.mean.Value[row*nz:][:nz], p.variance.Value[row*nz:][:nz]
		alpha := p.weights.Value[row*m.Nets.M:][:m.Nets.M]
		centre := recursion(m, alpha, z, u, mean)
		spread := make([]float64, nz)
		for k, v := range variance {
			shifted := slices.Clone(mean)
			shifted[k]++
			for j, x := range recursion(m, alpha, z, u, shifted) {
				spread[j] += float64(v) * (x - centre[j]) * (x - centre[j])
			}
		}
		for j, want := range recursion(m, alpha, z, u, w) {
			near("state", row, j, p.z.Value[(row+n)*nz+j], want)
			near("mean", row, j, states.Mean.Value[row*nz+j], centre[j])
			near("variance", row, j, states.Variance.Value[row*nz+j], spread[j])
		}
	}
}

// TestLoss_Annealed recomputes the loss under a schedule in float64 from what inference left on the tape:
// c·(−log p(x) − log p(w)) + log q(w), but for its constant.
func TestLoss_Annealed(t *testing.T) {
	m := newModel(tiny(func(s *Settings) { s.Anneal.Updates = 1000 }), 3, 2)
	b, noise := modeltest.Case{NX: 3, NU: 2}.Batch(4, 2), modeltest.Noise(0)
	p := m.infer(autodiff.NewInferenceTape(m.Params()), b, 1, &noise)
	terms := make([]float32, 4)
	m.Loss(autodiff.NewInferenceTape(m.Params()), b, modeltest.Noise(0), 290, terms) // c = 0.3
	const c = 0.3
	unit := 1 / float64(b.T*b.B)
	want := c * float64(terms[1])
	add := func(mean, variance autodiff.Tensor) {
		for i, v := range widen(variance.Value) {
			mu := float64(mean.Value[i])
			cross := c * 0.5 * (v + mu*mu + math.Log(2*math.Pi))              // −c·E log p(w)
			entropy := 0.5 * (1 + math.Log(2*math.Pi) + math.Log(v))          // −E log q(w)
			constant := 0.5*math.Log(2*math.Pi/c) - c*0.5*math.Log(2*math.Pi) // of N(0, 1/c) against p(w)^c
			want += unit * (cross - entropy + constant)
		}
	}
	add(p.first.Mean, p.first.Variance)
	add(p.mean, p.variance)
	if got := float64(terms[0]); math.Abs(got-want) > 1e-4*math.Abs(want) {
		t.Errorf("loss %v, want %v", got, want)
	}
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func TestAnneal(t *testing.T) {
	a := Anneal{Updates: 1000}
	for step, want := range map[uint64]float32{0: 0.01, 500: 0.51, 990: 1, 1000: 1, model.EndOfSchedule: 1} {
		if got := a.At(step); math.Abs(float64(got-want)) > 1e-6 {
			t.Errorf("step %d: %v, want %v", step, got, want)
		}
	}
	if got := (Anneal{}).At(0); got != 1 {
		t.Errorf("without a schedule the weight is %v", got)
	}
}
