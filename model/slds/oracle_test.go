package slds

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// A scalar linear-Gaussian system that the networks can express exactly, since
// relu(v) − relu(−v) = v:
//
//	h ~ N(0,1);  z_1 = start·h;  z_t = (1 + a)z_{t−1} + N(0, q);  x_t = c·z_t + N(0, r)
//
// Both base systems are equal, so the switch has no say, and β = 0.
type oracle struct{ start, a, c, q, r float64 }

// evidence is log p(x_1 … x_T) from the dense joint Gaussian in float64.
func (o oracle) evidence(x []float64) float64 {
	n := len(x)
	state := make([]float64, n) // Var z_t
	state[0] = o.start * o.start
	for t := 1; t < n; t++ {
		state[t] = (1+o.a)*(1+o.a)*state[t-1] + o.q
	}
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			v := o.c * o.c * state[i] * math.Pow(1+o.a, float64(j-i))
			if i == j {
				v += o.r
			}
			cov.SetSym(i, j, v)
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(cov) {
		panic("covariance is not positive definite")
	}
	var solved mat.VecDense
	if err := factor.SolveVecTo(&solved, mat.NewVecDense(n, x)); err != nil {
		panic(err)
	}
	return -0.5 * (mat.Dot(mat.NewVecDense(n, x), &solved) + factor.LogDet() + float64(n)*math.Log(2*math.Pi))
}

// initialPosterior is mean and variance of h given x_1 and x_2: the regression weights and what is left.
func (o oracle) initialPosterior() (w1, w2, variance float64) {
	// x = [c·start, c(1+a)start]·h + noise with covariance [[r, 0], [0, c²q + r]]
	l1, l2 := o.c*o.start, o.c*(1+o.a)*o.start
	p1, p2 := 1/o.r, 1/(o.c*o.c*o.q+o.r)
	precision := 1 + l1*l1*p1 + l2*l2*p2
	return l1 * p1 / precision, l2 * p2 / precision, 1 / precision
}

// model sets the networks to the exact posterior of a sequence of two steps: q(h | x_1, x_2) is the
// true one, and so is q(z_2 | z_1, x_2) ∝ N(z_2; x_2/c, r/c²)·p(z_2 | z_1).
func (o oracle) model(t *testing.T) *Model {
	c := tiny()
	c.Dims = model.Dims{NX: 1, NU: 0, NZ: 1, M: 2}
	c.Hidden, c.EncoderHidden, c.InitialObservations = 4, 2, 2
	c.EmissionSD, c.Anneal.KLSwitch = statespace.ConstantSD, 0
	c.VarianceFloor = 1e-12
	m := newModel(t, c)
	w1, w2, variance := o.initialPosterior()

	set(m, "initial.dense.weight", 1, -1, 0, 0, 0, 0, 1, -1) // [2 inputs, 4 units]: ±x_1, ±x_2
	set(m, "initial.dense.bias")
	set(m, "initial.mean.weight", w1, -w1, w2, -w2)
	set(m, "initial.mean.bias")
	set(m, "initial.sd.weight")
	set(m, "initial.sd.bias", sdHead(variance))
	set(m, "start.hidden.weight", 1, -1)
	set(m, "start.hidden.bias")
	set(m, "start.out.weight", o.start, -o.start)
	set(m, "start.out.bias")

	set(m, "encoder.dense.weight", 1, -1)
	set(m, "encoder.dense.bias")
	set(m, "encoder.mean.weight", 1/o.c, -1/o.c)
	set(m, "encoder.mean.bias")
	set(m, "encoder.sd.weight")
	set(m, "encoder.sd.bias", sdHead(o.r/(o.c*o.c)))

	set(m, "transition.A", o.a, o.a)
	set(m, "transition.Q", softplusInverse(o.q), softplusInverse(o.q))
	set(m, "transition.Q_inference", softplusInverse(o.q), softplusInverse(o.q))

	set(m, "decoder.dense.weight", 1, -1)
	set(m, "decoder.dense.bias")
	set(m, "decoder.mean.weight", o.c, -o.c)
	set(m, "decoder.mean.bias")
	set(m, "decoder.sd", sdHead(o.r))
	m.params.Pack()
	return m
}

// set writes the first values of the named weight and zeros the rest.
func set(m *Model, name string, values ...float64) {
	for _, w := range m.params.Layout() {
		if w.Name != name {
			continue
		}
		part := m.params.Values[w.Offset : w.Offset+w.Size]
		clear(part)
		for i, v := range values {
			part[i] = float32(v)
		}
		return
	}
	panic("no weight " + name)
}

func softplusInverse(y float64) float64 { return math.Log(math.Expm1(y)) }

// sdHead is the head's output whose softplus plus the floor is the root of the variance.
func sdHead(variance float64) float64 {
	return softplusInverse(math.Sqrt(variance) - statespace.SDFloor)
}

// elbo is the mean bound of n copies of the sequence, in nats, and the standard error of the draws.
func (o oracle) elbo(t *testing.T, m *Model, x []float64, n int) (mean, sd float64) {
	b := model.Batch{}
	b.Resize(len(x), n, 1, 0)
	for s, v := range x {
		for i := range n {
			b.Observations[s*n+i] = float32(v)
		}
	}
	tape, terms := autodiff.NewInferenceTape(m.params), make([]float32, 5)
	const repeats = 10
	var values []float64
	for k := range repeats {
		tape.Reset()
		m.Loss(tape, b, noiseOf(uint64(k)), 0, terms)
		values = append(values, -float64(terms[0])*float64(len(x)))
		mean += values[k] / repeats
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / (repeats - 1)
	}
	return mean, math.Sqrt(sd / repeats)
}

// TestLoss_AgainstDenseGaussian: at the exact posterior the bound is the log evidence; for longer
// sequences, where q(z_t) does not see the future, and for a wrong posterior it is below.
func TestLoss_AgainstDenseGaussian(t *testing.T) {
	o := oracle{start: 1.3, a: -0.2, c: 0.8, q: 0.3, r: 0.2}
	m := o.model(t)
	for _, x := range [][]float64{{0.5, -0.3}, {2, 1.5}, {-1, 2}} {
		got, sd := o.elbo(t, m, x, 2000)
		if want := o.evidence(x); math.Abs(got-want) > 4*sd+1e-3 {
			t.Errorf("x = %v: bound %.5f ± %.5f, log evidence %.5f", x, got, sd, want)
		}
	}
	long := []float64{0.5, -0.3, 0.9, 1.4, -0.2, 0.1}
	got, sd := o.elbo(t, m, long, 2000)
	want := o.evidence(long)
	if got+4*sd > want || got < want-2 {
		t.Errorf("x = %v: bound %.5f ± %.5f against log evidence %.5f", long, got, sd, want)
	}
	set(m, "initial.mean.weight")
	m.params.Pack()
	x := []float64{2, 1.5}
	if got, sd := o.elbo(t, m, x, 2000); got+4*sd > o.evidence(x)-0.1 {
		t.Errorf("a wrong posterior has bound %.5f ± %.5f, log evidence %.5f", got, sd, o.evidence(x))
	}
}
