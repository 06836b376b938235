package slds

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// golden are the bits of every variant: initial parameters, loss, terms and gradient, filtering and forecast.
var golden = map[string]string{
	"concrete":          "c3bb314ee2560efc",
	"concrete/images":   "af0496d6eb899c35",
	"concrete/mlp":      "c7c566ee04e44344",
	"concrete/no gate":  "54eadc47c5f809ba",
	"concrete/no u":     "21006ad2e20df92f",
	"concrete/residual": "a7684deada2d2c8e",
	"concrete/sigmoid":  "e61ca3575cf31416",
	"normal":            "37a7d80cc83b5190",
	"normal/constant":   "e6c4da66bc69f279",
	"normal/mlp":        "d176d87f1af58265",
	"normal/sigmoid":    "4cf692dc4bdfa05c",
}

func TestGolden(t *testing.T) {
	for name, c := range variants() {
		m := newModel(t, c)
		h := sha256.New()
		write := func(x []float32) {
			for _, v := range x {
				h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		write(m.Params().Values)
		tape, terms := autodiff.NewTape(m.Params()), make([]float32, len(m.Terms()))
		b := randomBatch(c, 7, 3)
		tape.Backward(m.Loss(tape, b, noiseOf(0), 150, terms))
		write(terms)
		write(tape.Gradient)
		b.Seen = make([]float32, len(b.Observations))
		for i := range b.Seen {
			b.Seen[i] = 1
		}
		b.Seen[c.NX*8+1], b.Observations[c.NX*8+1] = 0, 0
		var f model.Filtering
		NewForecaster(m).Filter(&f, b, noiseOf(1))
		write(f.Mean)
		write(f.SD)
		write(f.Switches)
		q := model.Query{Prefix: b, Horizon: 4, Samples: 3, Controls: make([]float32, 4*3*c.NU), Noise: noiseOf(2)}
		for i := range q.Controls {
			q.Controls[i] = float32(i%5) / 4
		}
		var a model.Forecast
		NewForecaster(m).Forecast(&a, q)
		write(a.Mean)
		write(a.Paths)
		write(a.Draw)
		write(a.Switches)
		if got := hex.EncodeToString(h.Sum(nil)[:8]); got != golden[name] {
			t.Errorf("%q: %q,", name, got)
		}
	}
}
