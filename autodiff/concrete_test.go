package autodiff

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/rng"
)

// The densities in float64, as the paper of the Concrete distribution states them.

func logConcrete(y, l []float64, lambda float64) float64 {
	n := float64(len(y))
	gamma, _ := math.Lgamma(n)
	var sum, lse float64
	for k := range y {
		sum += l[k] - lambda*y[k]
		lse += math.Exp(l[k] - lambda*y[k])
	}
	return gamma + (n-1)*math.Log(lambda) + sum - n*math.Log(lse)
}

func logBinaryConcrete(y, l, lambda float64) float64 {
	t := l - lambda*y
	return math.Log(lambda) + t - 2*math.Log1p(math.Exp(t))
}

func logSoftmax(l, noise []float64, lambda float64) []float64 {
	y := make([]float64, len(l))
	var lse float64
	for k := range l {
		y[k] = (l[k] + noise[k]) / lambda
		lse += math.Exp(y[k])
	}
	for k := range y {
		y[k] -= math.Log(lse)
	}
	return y
}

// TestConcreteDensity_IntegratesToOne: for two categories y lies on a curve, parameterised by
// d = y₁ − y₂; with respect to d the density is that of the logistic logit space.
func TestConcreteDensity_IntegratesToOne(t *testing.T) {
	l, lambda := []float64{0.3, -0.8}, 0.7
	var concrete, binary float64
	const h = 1e-3
	for d := -60.0; d < 60; d += h {
		y := logSoftmax([]float64{d, 0}, []float64{0, 0}, 1)
		concrete += h * math.Exp(logConcrete(y, l, lambda))
		binary += h * math.Exp(logBinaryConcrete(d, l[0], lambda))
	}
	if math.Abs(concrete-1) > 1e-6 || math.Abs(binary-1) > 1e-6 {
		t.Errorf("densities integrate to %v (Concrete) and %v (Binary Concrete)", concrete, binary)
	}
}

// klCase holds one row of logits and its noise in both precisions.
type klCase struct {
	lq, lp, noise []float64
}

func newKLCase(seed uint64, m, samples int, binary bool) klCase {
	draws := rng.New(seed, rng.Evaluation).At(0, 0, 0)
	c := klCase{lq: make([]float64, m), lp: make([]float64, m), noise: make([]float64, m*samples)}
	for k := range m {
		c.lq[k], c.lp[k] = float64(float32(2*draws.Normal())), float64(float32(2*draws.Normal()))
	}
	noise := make([]float32, m*samples)
	if binary {
		draws.Logistics(noise)
	} else {
		draws.Gumbels(noise)
	}
	for i, v := range noise {
		c.noise[i] = float64(v)
	}
	return c
}

func (c klCase) tape(t *Tape, binary bool, lambdaQ, lambdaP float64) float64 {
	t.Reset()
	narrow := func(x []float64, rows int) Tensor {
		y := t.New(rows, len(c.lq))
		for i, v := range x {
			y.Value[i] = float32(v)
		}
		return y
	}
	lq, lp, noise := narrow(c.lq, 1), narrow(c.lp, 1), narrow(c.noise, len(c.noise)/len(c.lq))
	if binary {
		return float64(t.BinaryConcreteKL(lq, lp, noise, float32(lambdaQ), float32(lambdaP)).Value[0])
	}
	return float64(t.ConcreteKL(lq, lp, noise, float32(lambdaQ), float32(lambdaP)).Value[0])
}

func (c klCase) exact(binary bool, lambdaQ, lambdaP float64) float64 {
	m := len(c.lq)
	samples := len(c.noise) / m
	var sum float64
	for j := range samples {
		noise := c.noise[j*m : (j+1)*m]
		if !binary {
			y := logSoftmax(c.lq, noise, lambdaQ)
			sum += logConcrete(y, c.lq, lambdaQ) - logConcrete(y, c.lp, lambdaP)
			continue
		}
		for k := range m {
			y := (c.lq[k] + noise[k]) / lambdaQ
			sum += logBinaryConcrete(y, c.lq[k], lambdaQ) - logBinaryConcrete(y, c.lp[k], lambdaP)
		}
	}
	return sum / float64(samples)
}

// TestRelaxedKL compares both divergences with the stated densities, sample by sample, at different
// temperatures.
func TestRelaxedKL(t *testing.T) {
	tape := NewTape(NewParams())
	for _, binary := range []bool{false, true} {
		for seed := range uint64(20) {
			c := newKLCase(seed, 2+int(seed%7), 10, binary)
			got, want := c.tape(tape, binary, 0.67, 2), c.exact(binary, 0.67, 2)
			if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("binary %v, seed %d: %v, want %v", binary, seed, got, want)
			}
		}
	}
}

// TestRelaxedKL_OfEqualDistributionsIsZero for every single sample, up to rounding.
func TestRelaxedKL_OfEqualDistributionsIsZero(t *testing.T) {
	tape := NewTape(NewParams())
	for _, binary := range []bool{false, true} {
		for seed := range uint64(50) {
			c := newKLCase(seed, 8, 1, binary)
			c.lp = c.lq
			if got := c.tape(tape, binary, 0.7, 0.7); math.Abs(got) > 2e-4 {
				t.Errorf("binary %v, seed %d: divergence %v of equal distributions", binary, seed, got)
			}
		}
	}
}

// TestRelaxedKL_MeanIsNotNegative over 100,000 samples.
func TestRelaxedKL_MeanIsNotNegative(t *testing.T) {
	tape := NewTape(NewParams())
	for _, binary := range []bool{false, true} {
		c := newKLCase(3, 6, 100_000, binary)
		for k := range c.lp { // near, where noise could hide a wrong sign
			c.lp[k] = c.lq[k] + 0.1*float64(k%3-1)
		}
		if got := c.tape(tape, binary, 1.2, 1.1); got <= 0 {
			t.Errorf("binary %v: mean divergence %v", binary, got)
		}
	}
}
