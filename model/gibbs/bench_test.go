package gibbs_test

import (
	"testing"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/fhn"
	"github.com/switchyard-ml/switchyard/model/gibbs"
	"github.com/switchyard-ml/switchyard/rng"
)

// oscillator is the training data of the FitzHugh–Nagumo protocol: trajectories 0, 1, … of a run of seed 1.
func oscillator(tb testing.TB, trajectories, steps int) gibbs.Data {
	tb.Helper()
	env, err := fhn.New(fhn.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	data := gibbs.Data{Observed: 2}
	for i := range uint32(trajectories) {
		var e envs.Episode
		env.Simulate(&e, rng.New(1, rng.Episode), i, steps)
		r := gibbs.Recording{Y: make([]float64, len(e.Observations))}
		for j, y := range e.Observations {
			r.Y[j] = float64(y)
		}
		data.Recordings = append(data.Recordings, r)
	}
	return data
}

func BenchmarkSweep(b *testing.B) {
	for name, hierarchical := range map[string]bool{"rslds": false, "trslds": true} {
		b.Run(name, func(b *testing.B) {
			data := oscillator(b, 100, 400)
			c, err := gibbs.New(gibbs.DefaultConfig(hierarchical), data, rng.New(1, rng.Noise), 0)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.Sweep(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
