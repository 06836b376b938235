package kvae

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/rng"
)

// restated are the terms of the loss in float64, from the dense Gaussian and the same noise. The auto-encoder is the
// model's own.
func restated(m *Model, b model.Batch, reconstruction float64) []float64 {
	n, rows := &m.state, b.T*b.B
	tape, noise := autodiff.NewInferenceTape(m.params), modeltest.Noise(0)
	mean, variance := m.codec.encode(tape, tape.Constant(b.Observations, rows, b.NX))
	codeNoise, stateNoise := make([]float32, rows*n.na), make([]float32, rows*n.nz)
	noise.Normals(codeNoise)
	noise.Normals(stateNoise)
	codes := make([]float32, rows*n.na)
	for i := range codes {
		codes[i] = mean.Value[i] + float32(math.Sqrt(float64(variance.Value[i])))*codeNoise[i]
	}
	var code, transition, emission, smoothing, evidence float64
	drawn := slices.Clone(codes)
	for i, o := range oraclesOf(m, b, codes) {
		if len(o.observed) > 0 {
			evidence += o.evidence()
		}
		var before []float64
		for t := range b.T {
			row := t*b.B + i
			smooth, cov := o.given(t)
			z := times(lower(cov), wide(stateNoise[row*n.nz:][:n.nz]))
			for k := range z {
				z[k] += smooth[k]
			}
			smoothing -= entropy(cov)
			if t == 0 {
				transition -= logNormal(z, make([]float64, n.nz), float64(n.start))
			} else {
				moved := times(o.a[t], before)
				for k, v := range o.moves[t] {
					moved[k] += v
				}
				transition -= logNormal(z, moved, float64(n.q))
			}
			before = z
			emitted := times(o.c[t], z)
			if !o.seen[t] {
				for k, v := range emitted {
					drawn[row*n.na+k] = float32(v + math.Sqrt(float64(n.r))*float64(codeNoise[row*n.na+k]))
				}
				continue
			}
			emission -= logNormal(o.codes[t], emitted, float64(n.r))
			for k := range n.na {
				code -= 0.5 * math.Log(2*math.Pi*math.E*float64(variance.Value[row*n.na+k]))
			}
		}
	}
	nll := float64(m.codec.negativeLogLikelihood(tape, b, tape.Constant(drawn, rows, n.na)).Value[0])
	loss := reconstruction*nll + code + transition + emission + smoothing
	terms := []float64{loss, nll, code, transition, emission, smoothing, nll + code - evidence}
	for i := range terms {
		terms[i] /= float64(rows)
	}
	return terms
}

// lower is the Cholesky factor of a covariance.
func lower(cov *mat.Dense) []float64 {
	n, _ := cov.Dims()
	var c mat.Cholesky
	if !c.Factorize(symmetric(cov)) {
		panic("a covariance is not positive definite")
	}
	var l mat.TriDense
	c.LTo(&l)
	y := make([]float64, 0, n*n)
	for i := range n {
		for j := range n {
			y = append(y, l.At(i, j))
		}
	}
	return y
}

func symmetric(a *mat.Dense) *mat.SymDense {
	n, _ := a.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, 0.5*(a.At(i, j)+a.At(j, i)))
		}
	}
	return s
}

// entropy of a Gaussian.
func entropy(cov *mat.Dense) float64 {
	n, _ := cov.Dims()
	logDet, _ := mat.LogDet(symmetric(cov))
	return 0.5 * (float64(n)*math.Log(2*math.Pi*math.E) + logDet)
}

func logNormal(x, mean []float64, variance float64) (sum float64) {
	for i := range x {
		sum -= 0.5 * ((x[i]-mean[i])*(x[i]-mean[i])/variance + math.Log(2*math.Pi*variance))
	}
	return sum
}

// TestLoss_AgainstRestatement: every term, in training and at validation.
func TestLoss_AgainstRestatement(t *testing.T) {
	for name, setting := range settingsOf() {
		m := lively(setting.d, nil)
		for step, reconstruction := range map[uint64]float64{0: 0.3, 200: 0.3, model.EndOfSchedule: 1} {
			got := make([]float32, len(m.Terms()))
			m.Loss(autodiff.NewTape(m.params), setting.b, modeltest.Noise(0), step, got)
			for i, want := range restated(m, setting.b, reconstruction) {
				if math.Abs(float64(got[i])-want) > 2e-4*(1+math.Abs(want)) {
					t.Errorf("%s, step %d: %s is %v, want %v", name, step, m.Terms()[i].Name, got[i], want)
				}
			}
		}
	}
}

// TestLoss_FirstStageLeavesTheMixingNetwork: it gets no gradient, and all else the gradient that it always has.
func TestLoss_FirstStageLeavesTheMixingNetwork(t *testing.T) {
	m := lively(controlled, nil)
	b := modeltest.Case{NX: 3, NU: 2}.Batch(5, 3)
	gradient := func(step uint64) []float32 {
		tape := autodiff.NewTape(m.params)
		tape.Backward(m.Loss(tape, b, modeltest.Noise(0), step, make([]float32, 7)))
		return tape.Gradient
	}
	first, second := gradient(99), gradient(100)
	zero := func(x []float32) bool { return !slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) }
	for _, w := range m.params.Layout() {
		early, late := first[w.Offset:w.Offset+w.Size], second[w.Offset:w.Offset+w.Size]
		if zero(late) {
			t.Errorf("no gradient reaches %s", w.Name)
		}
		if strings.HasPrefix(w.Name, "mixing.lstm") || strings.HasPrefix(w.Name, "mixing.scores") {
			if !zero(early) {
				t.Errorf("%s has a gradient in the first stage", w.Name)
			}
		} else if !slices.Equal(early, late) {
			t.Errorf("the gradient of %s changes with the stage", w.Name)
		}
	}
}

// TestLoss_BoundOfAnExactPosterior: in a linear-Gaussian system of one step, of which q(a|x) is the posterior, the negative
// ELBO is the log evidence of the observations; with another encoder it is more.
func TestLoss_BoundOfAnExactPosterior(t *testing.T) {
	const n, noise = 40000, 0.5
	m, b := scalar(noise), modeltest.Case{NX: 1}.Batch(1, n)
	bound := func() float64 {
		terms := make([]float32, 7)
		m.Loss(autodiff.NewInferenceTape(m.params), b, modeltest.Noise(1), model.EndOfSchedule, terms)
		return -float64(terms[6])
	}
	var want float64
	for _, x := range b.Observations {
		want += logNormal([]float64{float64(x)}, []float64{0}, 0.7*0.7*2+0.3+noise*noise) / n
	}
	if got := bound(); math.Abs(got-want) > 0.01 { // several standard errors of the draws
		t.Errorf("bound %v, log evidence %v", got, want)
	}
	modeltest.Set(m, "encoder.mean.bias", 0.5)
	if got := bound(); got > want-0.1 {
		t.Errorf("with a wrong posterior the bound is %v, log evidence %v", got, want)
	}
	b = modeltest.Case{NX: 1}.Batch(1, 2000)
	want = 0
	for _, x := range b.Observations {
		want += logNormal([]float64{float64(x)}, []float64{0}, 0.7*0.7*2+0.3+noise*noise) / 2000
	}
	weighted, last := new(model.Importance), math.Inf(-1)
	for _, samples := range []int{1, 8, 400} {
		got := weighted.Bound(m, autodiff.NewInferenceTape(m.params), b, samples, func(k int) rng.Stream { return modeltest.Noise(uint64(k)) })
		if got < last || got > want+0.02 {
			t.Errorf("%d draws: %v after %v, log evidence %v", samples, got, last, want)
		}
		last = got
	}
	if math.Abs(last-want) > 0.02 {
		t.Errorf("400 draws: %v, log evidence %v", last, want)
	}
}

// scalar is a model of one dimension and one base system, z_t = 0.9·z_{t−1}, a = 0.7·z, whose encoder and decoder are the
// identity; the emission has the given standard deviation.
func scalar(sd float64) *Model {
	m := newModel(tiny(func(s *Settings) {
		s.Latent, s.Code, s.Switches, s.Hidden, s.EncoderHidden = 1, 1, 1, 2, 2
		s.EmissionSD, s.InitialVariance, s.CodeVariance = "constant", 2, 0.3
	}), model.Data{NX: 1})
	modeltest.Set(m, "transition.A", 0.9)
	modeltest.Set(m, "transition.C", 0.7)
	for _, net := range []string{"encoder", "decoder"} {
		modeltest.Set(m, net+".dense.weight", 1, -1)
		modeltest.Set(m, net+".dense.bias")
		modeltest.Set(m, net+".mean.weight", 1, -1)
		modeltest.Set(m, net+".mean.bias")
	}
	// q(a|x) for a prior N(0, P) of the code and x = a + N(0, s²): mean x·P/(P + s²), variance P·s²/(P + s²)
	prior, s := 0.7*0.7*2+0.3, sd*sd
	share := prior / (prior + s)
	modeltest.Set(m, "encoder.mean.weight", share, -share)
	modeltest.Set(m, "encoder.variance.weight")
	v := share * s / 0.3
	modeltest.Set(m, "encoder.variance.bias", math.Log(v/(1-v)))
	modeltest.Set(m, "decoder.sd", modeltest.SDHead(s))
	return m
}
