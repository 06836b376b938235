package categorical

import (
	"testing"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/modeltest"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

func tiny() Config {
	return Config{
		Nets: statespace.Nets{
			Dims:   model.Dims{NX: 3, NU: 2, NZ: 4, M: 5},
			Hidden: 12, EncoderHidden: 10, Skip: true,
			InitialObservations: 3, Emission: statespace.Gaussian, EmissionSD: statespace.ConstantSD,
		},
		Residual: true, VarianceFloor: 1e-5, Rollout: Sample,
	}
}

// variants are the configurations that every test of the whole model runs through.
func variants() map[string]Config {
	change := func(f func(*Config)) Config {
		c := tiny()
		f(&c)
		return c
	}
	return map[string]Config{
		"plain":    tiny(),
		"residual": change(func(c *Config) { c.Blocks = 1; c.EmissionSD = statespace.StateSD }),
		"no u":     change(func(c *Config) { c.NU = 0; c.Skip = false }),
		"images":   change(func(c *Config) { c.Emission = statespace.Bernoulli; c.NU = 0 }),
		"absolute": change(func(c *Config) { c.Residual = false; c.Initial = statespace.LSTM }),
		"rows":     change(func(c *Config) { c.Rows = true; c.Warmup = statespace.Warmup{Start: 0.1, End: 300} }),
		"preview":  change(func(c *Config) { c.Preview = true }),
		"mean":     change(func(c *Config) { c.M = 2; c.Rollout = Mean }),
		"ages":     change(func(c *Config) { c.Ages = 4 }),
		"ages of rows": change(func(c *Config) {
			c.Ages, c.M, c.Rows, c.Preview, c.Rollout = 2, 3, true, true, Mode
		}),
	}
}

// golden are the bits of every variant.
var golden = map[string]string{
	"absolute":     "ff0c064491ef1e5b",
	"ages":         "49f93b92b93d0e91",
	"ages of rows": "7baceadee50be951",
	"images":       "d8bd36c82d67167f",
	"mean":         "b85febe5bd7c0fa8",
	"no u":         "10e802506c28c07e",
	"preview":      "937b9dcc1f0a1ccf",
	"plain":        "76939f045dda0b3d",
	"residual":     "a33d776a8f22164c",
	"rows":         "de4294eeccddedf2",
}

func contract(c Config, golden string) modeltest.Case {
	return modeltest.Case{
		New: func(testing.TB) modeltest.Model { return newModel(c) },
		NX:  c.NX, NU: c.NU, Binary: c.Emission == statespace.Bernoulli, First: c.InitialObservations, Golden: golden,
	}
}

// newModel is a model whose switch depends on the state, and on where it comes from in no symmetric way: at first, the
// last layer of g is zero and L a multiple of the identity.
func newModel(c Config) *Model {
	m := New(c, rng.New(5, rng.Init))
	draws := rng.New(6, rng.Init).At(0, 0, 0)
	m.transition.scores.W.InitFanIn(&draws, c.Hidden)
	random := [][]float32{m.transition.stay.Values(), m.transition.start.Values()}
	if c.Ages > 0 {
		random = append(random, m.transition.age.Values(), m.transition.hold.Values())
	}
	for _, values := range random {
		for i := range values {
			values[i] += float32(draws.Normal())
		}
	}
	m.Params().Pack()
	return m
}

func TestModel_KeepsTheContract(t *testing.T) {
	for name, c := range variants() {
		t.Run(name, contract(c, golden[name]).Run)
	}
}
