package modeltest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
)

// golden: the bits are those of the case, on every instruction set of this machine. The instruction set that was
// active before is active again afterwards.
func (c Case) golden(t *testing.T) {
	active := kernel.Active()
	defer func() {
		if err := kernel.Use(active); err != nil {
			t.Fatal(err)
		}
	}()
	for _, isa := range kernel.Available() {
		if err := kernel.Use(isa); err != nil {
			t.Fatal(err)
		}
		if got := c.Bits(t); got != c.Golden {
			t.Errorf("%v: bits %q, want %q", isa, got, c.Golden)
		}
	}
}

// trained are the terms that a training step has: those of a validation come after them.
func trained(m model.Trainable, terms []float32) []float32 {
	for i, t := range m.Terms() {
		if t.Validation {
			return terms[:i]
		}
	}
	return terms
}

// Bits is a digest of what a model computes: initial parameters, loss, terms and gradient, filtering and forecast,
// some values missing. It is the first 8 bytes of a SHA-256 over the little-endian bits of all of them, as 16
// hexadecimal digits, so a single bit of a single value changes it.
func (c Case) Bits(t testing.TB) string {
	m := c.New(t)
	h := sha256.New()
	write := func(lists ...[]float32) {
		for _, x := range lists {
			for _, v := range x {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
	}
	tape, terms := autodiff.NewTape(m.Params()), make([]float32, len(m.Terms()))
	b := c.Batch(7, 3)
	// Training first, on complete data.
	tape.Backward(m.Loss(tape, b, Noise(0), step, terms))
	write(m.Params().Values, trained(m, terms), tape.Gradient)
	// Then the filter, and a forecast under controls that differ, with one value missing.
	b.Seen = make([]float32, len(b.Observations))
	for i := range b.Seen {
		b.Seen[i] = 1
	}
	// The batch has 3 sequences, so row 8 is step 2 of the last one.
	b.Seen[c.NX*8+1], b.Observations[c.NX*8+1] = 0, 0
	f := m.NewForecaster()
	if filterer, ok := f.(model.Filterer); ok {
		var p model.Filtering
		filterer.Filter(&p, b, Noise(1))
		write(p.Mean, p.SD, p.Switches)
	}
	q := model.Query{Prefix: b, Horizon: 4, Samples: 3, Controls: make([]float32, 4*3*c.NU), Noise: Noise(2)}
	for i := range q.Controls {
		q.Controls[i] = float32(i%5) / 4
	}
	var a model.Forecast
	f.Forecast(&a, q)
	write(a.Mean, a.Paths, a.Draw, a.Switches)
	return hex.EncodeToString(h.Sum(nil)[:8])
}
