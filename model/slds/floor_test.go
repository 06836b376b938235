package slds_test

import (
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model/slds"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestDivergenceFloor_IsThatOfFlatLogits: the closed form is the mean of the tape's own estimate at flat logits, and no
// other logits have less. The value for M = 8 is a known one.
func TestDivergenceFloor_IsThatOfFlatLogits(t *testing.T) {
	if got := slds.DivergenceFloor(0.67, 2, 8, false); math.Abs(got-10.86) > 0.01 {
		t.Errorf("temperatures 0.67 and 2, M = 8: %v nats, want 10.86", got)
	}
	for _, c := range []struct {
		posterior, prior float64
		m                int
		binary           bool
	}{{0.67, 2, 8, false}, {0.75, 2, 16, true}, {2, 0.5, 3, false}, {1, 1.5, 1, true}, {1, 1, 4, false}, {0.7, 0.7, 4, true}, {0.05, 2, 8, false}} {
		floor := slds.DivergenceFloor(c.posterior, c.prior, c.m, c.binary)
		flat, se := divergence(c.posterior, c.prior, c.m, c.binary, 0)
		if math.Abs(flat-floor) > 4*se+1e-4 {
			t.Errorf("%+v: floor %v, estimated %v ± %v", c, floor, flat, se)
		}
		if other, se := divergence(c.posterior, c.prior, c.m, c.binary, 1); other+4*se < floor {
			t.Errorf("%+v: floor %v, but other logits have %v ± %v", c, floor, other, se)
		}
	}
}

// TestDivergenceFloor_OfTemperaturesFarApart: where r = λ_p/λ_q is large E[log Σ Eₖʳ] tends to r·E[log max Eₖ], which is
// r·(ln 2 − γ) of two.
func TestDivergenceFloor_OfTemperaturesFarApart(t *testing.T) {
	const gamma = 0.5772156649015329
	for _, r := range []float64{1e3, 1e6} {
		want := -math.Log(r) + 2*(r-1)*gamma + 2*(r*(math.Ln2-gamma)-(1-gamma))
		if got := slds.DivergenceFloor(2/r, 2, 2, false); !(math.Abs(got/want-1) < 2/r) {
			t.Errorf("temperatures %v and 2: %v nats, want about %v", 2/r, got, want)
		}
	}
}

// divergence is the Monte Carlo mean per switch of the divergence between logits whose spread is the given one, with its
// standard error.
func divergence(posterior, prior float64, m int, binary bool, spread float32) (mean, se float64) {
	const rows, repeats = 4000, 10
	params := autodiff.NewParams()
	params.Pack()
	tape := autodiff.NewInferenceTape(params)
	draws := rng.New(3, rng.Noise).At(0, 0, 0)
	var values []float64
	for range repeats {
		tape.Reset()
		q, p, noise := tape.NewConstant(rows, m), tape.NewConstant(rows, m), tape.NewConstant(rows, m)
		draws.Normals(q.Value)
		draws.Normals(p.Value)
		for i := range q.Value {
			q.Value[i] *= spread
			p.Value[i] *= spread
		}
		var kl autodiff.Tensor
		if binary {
			draws.Logistics(noise.Value)
			kl = tape.BinaryConcreteKL(q, p, noise, float32(posterior), float32(prior))
		} else {
			draws.Gumbels(noise.Value)
			kl = tape.ConcreteKL(q, p, noise, float32(posterior), float32(prior))
		}
		values = append(values, float64(kl.Value[0])/rows)
		mean += values[len(values)-1] / repeats
	}
	for _, v := range values {
		se += (v - mean) * (v - mean) / (repeats - 1)
	}
	return mean, math.Sqrt(se / repeats)
}
