package modeltest

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// LinearGaussian is a scalar system that a locally linear model of equal base systems can express exactly:
//
//	h ~ N(0, 1);  z_1 = Start·h;  z_t = (1 + A)z_{t−1} + B·u_t + N(0, Q);  x_t = C·z_t + N(0, R)
//
// Q and R are variances. Its evidence, the posterior of h given two observations and the predictions of the Kalman
// filter are known in closed form, so bounds and forecasts of a model with these parameters have values to compare
// with.
type LinearGaussian struct{ Start, A, B, C, Q, R float64 }

// Evidence is log p(x_1 … x_T | u_1 … u_T) in nats, from the dense joint Gaussian in float64, with
//
//	Cov(x_i, x_j) = C²·Var(z_i)·(1 + A)^{j−i} + R·[i=j] for i ≤ j
//
// u_1 has no effect.
func (o LinearGaussian) Evidence(x, u []float64) float64 {
	n := len(x)
	// Observations less their mean, C·E[z_t], are jointly normal with a covariance that depends on the variances
	// of z.
	state, mean := make([]float64, n), 0.0 // Var z_t and E z_t
	centred := make([]float64, n)
	state[0], centred[0] = o.Start*o.Start, x[0]
	for t := 1; t < n; t++ {
		mean = (1+o.A)*mean + o.B*u[t]
		centred[t] = x[t] - o.C*mean
		state[t] = (1+o.A)*(1+o.A)*state[t-1] + o.Q
	}
	cov := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			v := o.C * o.C * state[i] * math.Pow(1+o.A, float64(j-i))
			if i == j {
				v += o.R
			}
			cov.SetSym(i, j, v)
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(cov) {
		panic("modeltest: the covariance is not positive definite")
	}
	y, solved := mat.NewVecDense(n, centred), new(mat.VecDense)
	if err := factor.SolveVecTo(solved, y); err != nil {
		panic(err)
	}
	return -0.5 * (mat.Dot(y, solved) + factor.LogDet() + float64(n)*math.Log(2*math.Pi))
}

// InitialPosterior is p(h | x_1, x_2, u_2): a mean of w1·x_1 + w2·x_2 + wu·u_2, and a variance.
func (o LinearGaussian) InitialPosterior() (w1, w2, wu, variance float64) {
	// [x_1, x_2 − C·B·u_2] = [C·Start, C(1+A)Start]·h + noise with covariance [[R, 0], [0, C²Q + R]]
	l1, l2 := o.C*o.Start, o.C*(1+o.A)*o.Start
	p1, p2 := 1/o.R, 1/(o.C*o.C*o.Q+o.R)
	precision := 1 + l1*l1*p1 + l2*l2*p2
	w2 = l2 * p2 / precision
	return l1 * p1 / precision, w2, -w2 * o.C * o.B, 1 / precision
}

// SetInitial gives a model whose initial network is a dense layer of at least 6 units over two pairs (x, u), and a
// start of at least 2 units, the exact posterior of h. relu(v) − relu(−v) = v.
func (o LinearGaussian) SetInitial(m model.Model, units int) {
	w1, w2, wu, variance := o.InitialPosterior()
	weights := make([]float64, 4*units)
	for i, input := range []int{0, 2, 3} { // x_1, x_2 and u_2 of [x_1 u_1 x_2 u_2]
		weights[input*units+2*i], weights[input*units+2*i+1] = 1, -1
	}
	Set(m, "initial.dense.weight", weights...)
	Set(m, "initial.dense.bias")
	Set(m, "initial.mean.weight", w1, -w1, w2, -w2, wu, -wu)
	Set(m, "initial.mean.bias")
	Set(m, "initial.sd.weight")
	Set(m, "initial.sd.bias", SDHead(variance))
	Set(m, "start.hidden.weight", 1, -1)
	Set(m, "start.hidden.bias")
	Set(m, "start.out.weight", o.Start, -o.Start)
	Set(m, "start.out.bias")
}

// SetEmission gives a model the exact emission, with a decoder of one dense layer.
func (o LinearGaussian) SetEmission(m model.Model) {
	Set(m, "decoder.dense.weight", 1, -1)
	Set(m, "decoder.dense.bias")
	Set(m, "decoder.mean.weight", o.C, -o.C)
	Set(m, "decoder.mean.bias")
	Set(m, "decoder.sd", SDHead(o.R))
}

// CheckBound checks the bound of a model with the exact posterior of two steps: there it is the log evidence. For
// longer sequences, where q(z_t) does not see the future, it is below, but by no more than the gap; so it is for a
// wrong posterior.
func (o LinearGaussian) CheckBound(t *testing.T, m Model, gap float64) {
	t.Helper()
	for _, x := range [][]float64{{0.5, -0.3}, {2, 1.5}, {-1, 2}} {
		// Two steps: q(h) reads both, so the posterior is exact and the bound is the evidence.
		u := []float64{0, 0.8}
		got, sd := Bound(m, x, u)
		if want := o.Evidence(x, u); math.Abs(got-want) > 4*sd+1e-3 {
			t.Errorf("x = %v: bound %.5f ± %.5f, log evidence %.5f", x, got, sd, want)
		}
	}
	x, u := []float64{0.5, -0.3, 0.9, 1.4, -0.2, 0.1}, []float64{0, 0.8, -1, 0.3, 0.6, -0.4}
	got, sd := Bound(m, x, u)
	if want := o.Evidence(x, u); got > want+4*sd || got < want-gap {
		t.Errorf("x = %v: bound %.5f ± %.5f against log evidence %.5f", x, got, sd, want)
	}
	Set(m, "initial.mean.weight")
	x, u = []float64{2, 1.5}, []float64{0, 0.8}
	if got, sd := Bound(m, x, u); got+4*sd > o.Evidence(x, u)-0.1 {
		t.Errorf("a wrong posterior has bound %.5f ± %.5f, log evidence %.5f", got, sd, o.Evidence(x, u))
	}
}

// Bound is the mean bound of many copies of a sequence at the end of all schedules, in nats, and the standard error
// of the draws.
func Bound(m Model, x, u []float64) (mean, sd float64) {
	const n, repeats = 2000, 10
	b := copies(x, u, n)
	tape, terms := autodiff.NewInferenceTape(m.Params()), make([]float32, len(m.Terms()))
	var values []float64
	for k := range repeats {
		tape.Reset()
		m.Loss(tape, b, Noise(uint64(k)), model.EndOfSchedule, terms)
		values = append(values, -float64(terms[0])*float64(len(x)))
		mean += values[k] / repeats
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / (repeats - 1)
	}
	return mean, math.Sqrt(sd / repeats)
}

// Set writes the first values of the named weight, zeros the rest, and packs the parameters anew. It panics if
// there is no such weight.
func Set(m model.Model, name string, values ...float64) {
	p := m.Params()
	for _, w := range p.Layout() {
		if w.Name != name {
			continue
		}
		part := p.Values[w.Offset : w.Offset+w.Size]
		clear(part)
		for i, v := range values {
			part[i] = float32(v)
		}
		p.Pack()
		return
	}
	panic("modeltest: no weight " + name)
}

// Fill writes one value into all of the named weight; without such a weight it does nothing.
func Fill(m model.Model, name string, value float64) {
	for _, w := range m.Params().Layout() {
		if w.Name == name {
			Set(m, name, slices.Repeat([]float64{value}, w.Size)...)
		}
	}
}

// SoftplusInverse is the number whose softplus is y, for y > 0.
func SoftplusInverse(y float64) float64 { return math.Log(math.Expm1(y)) }

// SDHead is the output of a head whose softplus, with the floor of package statespace, is the root of the variance.
func SDHead(variance float64) float64 {
	// This is statespace.SDFloor.
	const floor = 3.1622776601683795e-3
	return SoftplusInverse(math.Sqrt(variance) - floor)
}

// CheckForecast checks mean and variance of many paths after two steps, of which the posterior is exact, against the
// Kalman filter's prediction.
func (o LinearGaussian) CheckForecast(t *testing.T, m Model) {
	t.Helper()
	const samples, horizon = 20000, 3
	x, u, future := []float64{0.5, -0.3}, []float64{0, 0.8}, []float64{0.5, -1, 2}
	q := model.Query{Horizon: horizon, Samples: samples, Noise: Noise(3), Controls: []float32{0.5, -1, 2}}
	q.Prefix.Resize(2, 1, 1, 1)
	for i := range x {
		q.Prefix.Observations[i], q.Prefix.Controls[i] = float32(x[i]), float32(u[i])
	}
	var got model.Forecast
	m.NewForecaster().Forecast(&got, q)

	mean, variance := 0.0, o.Start*o.Start // Kalman filter
	for i := range x {
		if i > 0 {
			mean, variance = (1+o.A)*mean+o.B*u[i], (1+o.A)*(1+o.A)*variance+o.Q
		}
		gain := variance * o.C / (o.C*o.C*variance + o.R)
		mean += gain * (x[i] - o.C*mean)
		variance *= 1 - gain*o.C
	}
	for h := range horizon {
		mean, variance = (1+o.A)*mean+o.B*future[h], (1+o.A)*(1+o.A)*variance+o.Q
		spread := 0.0
		for s := range samples {
			d := float64(got.Paths[s*horizon+h] - got.Mean[h])
			spread += d * d / samples
		}
		if want := o.C * mean; math.Abs(float64(got.Mean[h])-want) > 4*math.Sqrt(o.C*o.C*variance/samples) {
			t.Errorf("step %d: mean %v, want %v", h+1, got.Mean[h], want)
		}
		if want := o.C * o.C * variance; math.Abs(spread-want) > 0.05*want {
			t.Errorf("step %d: variance of the paths %v, want %v", h+1, spread, want)
		}
	}
}
