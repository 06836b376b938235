package categorical

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/rng"
)

// rotations are recordings of a plane that turns one way or the other, pushed by a control, seen by so many channels:
// its two coordinates, or mixtures of them. The regime lasts 20 steps.
func rotations(channels, n int, missing bool) []model.Batch {
	draws := rng.New(8, rng.Noise).At(0, 0, 0)
	mix := make([]float64, 2*channels)
	for i := range mix {
		mix[i] = draws.Normal()
		if channels <= 2 {
			mix[i] = float64((i + 1) % 3 % 2) // the identity
		}
	}
	var list []model.Batch
	for range n {
		var b model.Batch
		b.Resize(100, 1, channels, 1)
		draws.Normals(b.Controls)
		if missing {
			b.Seen = slices.Repeat([]float32{1}, len(b.Observations))
		}
		x := [2]float64{draws.Normal(), draws.Normal()}
		for t := range b.T {
			sin, cos := math.Sincos(0.4)
			if t/20%2 == 1 {
				sin = -sin
			}
			x = [2]float64{
				cos*x[0] - sin*x[1] + 0.3*float64(b.Controls[t]) + 0.1*draws.Normal(), sin*x[0] + cos*x[1] + 0.1*draws.Normal(),
			}
			for i := range channels {
				v := &b.Observations[t*channels+i]
				*v = float32(mix[2*i]*x[0] + mix[2*i+1]*x[1])
				if missing && (t+i)%17 == 0 {
					*v, b.Seen[t*channels+i] = 0, 0
				}
			}
		}
		list = append(list, b)
	}
	return list
}

// started is a model after its start, without noise in its own draws.
func started(t *testing.T, channels, latent int, recordings []model.Batch, change func(*Config)) *Model {
	t.Helper()
	c := tiny()
	c.NX, c.NU, c.NZ, c.M, c.Start, c.Preview = channels, 1, latent, 2, true, true
	if change != nil {
		change(&c)
	}
	m := New(c, rng.New(5, rng.Init))
	if err := m.Start(recordings, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	return m
}

// bound is that of all recordings, in nats per step.
func bound(m *Model, recordings []model.Batch) float64 {
	tape, terms, total := autodiff.NewInferenceTape(m.Params()), make([]float32, len(m.Terms())), 0.0
	for i, b := range recordings {
		tape.Reset()
		m.Loss(tape, b, modeltest.Noise(uint64(i)), model.EndOfSchedule, terms)
		total -= float64(terms[0])
	}
	return total / float64(len(recordings))
}

// hits is the share of steps that have the regime of the recordings, under the better of two matches.
func hits(m *Model, recordings []model.Batch) float64 {
	var s model.Segmentation
	right, all := 0, 0
	for i, b := range recordings {
		m.NewForecaster().(model.Segmenter).Segment(&s, b, 4, modeltest.Noise(uint64(i)))
		for t := 1; t < b.T; t++ {
			if regime := t / 20 % 2; (s.Probability[2*t+regime] > 0.5) == true {
				right++
			}
			all++
		}
	}
	return max(float64(right), float64(all-right)) / float64(all)
}

// TestStart_IsTheARHMM: with as many latent dimensions as channels the bound of a started model is near the log
// likelihood of data whose regimes are known, a little below; with more dimensions, fewer ones, and missing values its
// regimes are the true ones. With one A transposed they are not.
func TestStart_IsTheARHMM(t *testing.T) {
	// The noise has the deviation .1 in two dimensions, and a regime changes every 20 steps.
	const likelihood = -(1 + 1.8378770664 - 2*2.302585093) - 0.2
	recordings := rotations(2, 8, false)
	m := started(t, 2, 2, recordings, nil)
	if got := bound(m, recordings); got > likelihood+0.1 || got < likelihood-0.2 {
		t.Errorf("the bound of a started model is %v, the log likelihood of a step about %v", got, likelihood)
	}
	if random := bound(New(m.cfg, rng.New(5, rng.Init)), recordings); random > likelihood-3 {
		t.Errorf("without a start the bound is %v already", random)
	}
	for name, c := range map[string]struct {
		channels, latent int
		missing          bool
		change           func(*Config)
	}{
		"equal":    {2, 2, false, nil},
		"idle":     {2, 3, false, nil},
		"lags":     {2, 4, false, nil},
		"fewer":    {5, 2, false, nil},
		"missing":  {2, 2, true, nil},
		"few, too": {5, 2, true, nil},
		"absolute": {2, 3, false, func(c *Config) { c.Residual, c.Rows, c.Preview = false, true, false }},
	} {
		recordings := rotations(c.channels, 8, c.missing)
		m := started(t, c.channels, c.latent, recordings, c.change)
		if got := hits(m, recordings); got < 0.98 {
			t.Errorf("%s: the started model knows %.3f of the regimes", name, got)
		}
	}
	w := m.transition.systems.W.Values() // rows are inputs, columns are j·2 + outputs
	w[1], w[4] = w[4], w[1]
	m.Params().Pack()
	if got := hits(m, recordings); got > 0.8 {
		t.Errorf("with A of one system transposed the model knows %.3f of the regimes", got)
	}
}

// TestStart_IsAFunctionOfTheRecordings: the bits are the same again, other recordings give others, and a start that is
// stopped, or has nothing to fit to, says so.
func TestStart_IsAFunctionOfTheRecordings(t *testing.T) {
	recordings := rotations(2, 3, false)
	first := started(t, 2, 2, recordings, nil).Params().Values
	if !slices.Equal(first, started(t, 2, 2, recordings, nil).Params().Values) {
		t.Error("a start has other bits the second time")
	}
	if slices.Equal(first, started(t, 2, 2, recordings[1:], nil).Params().Values) {
		t.Error("other recordings give the same parameters")
	}
	c := tiny()
	c.NX, c.NU, c.NZ, c.M, c.Start = 5, 1, 2, 2, true
	if err := New(c, rng.New(5, rng.Init)).Start(rotations(5, 2, false), func() bool { return false }); !errors.Is(err, model.ErrStopped) {
		t.Errorf("a start that is stopped: %v", err)
	}
	blind := rotations(5, 2, true)
	for _, b := range blind {
		clear(b.Seen)
	}
	if err := New(c, rng.New(5, rng.Init)).Start(blind, func() bool { return true }); !errors.Is(err, ErrStart) {
		t.Errorf("recordings without an observation: %v", err)
	}
}
