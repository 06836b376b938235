package switchyard_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Autoregression is a family of models of one's own: x_t ~ N(f(x_{t−1}, u_t), σ²) with a network f of one hidden layer.
type Autoregression struct {
	Hidden int     `yaml:"hidden" want:"[1,4096]" doc:"width of the hidden layer"`
	Floor  float64 `yaml:"floor" want:"(0,1]" doc:"smallest standard deviation"`
}

func (s *Autoregression) New(d model.Data, key rng.Key) (model.Model, error) {
	p, draws := autodiff.NewParams(), key.At(0, 0, 0)
	m := &autoregressive{data: d, floor: float32(s.Floor), params: p}
	m.hidden = model.NewDense(p, "hidden", d.NX+d.NU, s.Hidden, &draws)
	m.mean = model.NewDense(p, "mean", s.Hidden, d.NX, &draws)
	m.sd = p.Vector("sd", d.NX)
	p.Pack()
	return m, nil
}

func (s *Autoregression) Describe() model.Description {
	return model.Description{Text: fmt.Sprintf("autoregression over %d units", s.Hidden), Variant: "ar", Bound: "exact: a log likelihood"}
}

type autoregressive struct {
	data         model.Data
	floor        float32
	params       *autodiff.Params
	hidden, mean model.Dense
	sd           *autodiff.Weight // before softplus
}

func (m *autoregressive) Params() *autodiff.Params { return m.params }

func (m *autoregressive) Terms() []model.Term {
	return []model.Term{{Name: "loss", Label: "negative log-likelihood", Unit: "nats per step", Bound: 1}}
}

// predict returns mean and standard deviation of the next observation of every row.
func (m *autoregressive) predict(t *autodiff.Tape, x, u autodiff.Tensor) (mean, sd autodiff.Tensor) {
	input := x
	if m.data.NU > 0 {
		input = t.New(x.Rows, m.data.NX+m.data.NU)
		t.Concat(input, x, u)
	}
	mean = m.mean.Apply(t, t.Linear(input, m.hidden.W, m.hidden.B, autodiff.ReLU))
	return mean, t.Repeat(t.Softplus(t.Param(m.sd), m.floor), x.Rows)
}

// Loss is −log p(x_2 … x_T | x_1, u) per sequence and time step.
func (m *autoregressive) Loss(t *autodiff.Tape, b model.Batch, _ rng.Stream, _ uint64, terms []float32) autodiff.Tensor {
	nx, nu, rows := b.NX, b.NU, (b.T-1)*b.B
	before := t.Constant(b.Observations[:rows*nx], rows, nx)
	after := t.Constant(b.Observations[b.B*nx:], rows, nx)
	mean, sd := m.predict(t, before, t.Constant(b.Controls[b.B*nu:], rows, nu))
	loss := t.WeightedSum([]float32{1 / float32(b.T*b.B)}, t.GaussianNLL(after, mean, sd, autodiff.Tensor{}))
	terms[0] = loss.Value[0]
	return loss
}

func (m *autoregressive) NewForecaster() model.Forecaster {
	return &autoforecaster{m, autodiff.NewInferenceTape(m.params)}
}

type autoforecaster struct {
	m    *autoregressive
	tape *autodiff.Tape
}

func (f *autoforecaster) Dims() model.Dims        { return model.Dims{NX: f.m.data.NX, NU: f.m.data.NU} }
func (f *autoforecaster) Clone() model.Forecaster { return f.m.NewForecaster() }

// Forecast draws paths from the last observation on; all of them are predicted side by side.
func (f *autoforecaster) Forecast(dst *model.Forecast, q model.Query) {
	B, nx, nu, noise := q.Prefix.B, f.m.data.NX, f.m.data.NU, q.Noise
	dst.Resize(q.Horizon, B, q.Samples, nx, 0)
	clear(dst.Mean)
	x := make([]float32, q.Samples*B*nx)
	for s := range q.Samples {
		copy(x[s*B*nx:], q.Prefix.Observations[(q.Prefix.T-1)*B*nx:])
	}
	draws, u := make([]float32, len(x)), make([]float32, q.Samples*B*nu)
	for h := range q.Horizon {
		for s := range q.Samples {
			copy(u[s*B*nu:(s+1)*B*nu], q.Controls[h*B*nu:]) // the same plan for all paths
		}
		f.tape.Reset()
		mean, sd := f.m.predict(f.tape, f.tape.Constant(x, q.Samples*B, nx), f.tape.Constant(u, q.Samples*B, nu))
		noise.Normals(draws)
		for i, v := range mean.Value {
			s, rest := i/(B*nx), i%(B*nx)
			dst.Paths[(s*q.Horizon+h)*B*nx+rest] = v
			dst.Mean[h*B*nx+rest] += v / float32(q.Samples)
			x[i] = v + draws[i]*sd.Value[i]
		}
		copy(dst.Draw[h*B*nx:(h+1)*B*nx], x)
	}
}

// A model of one's own trains on the same distributed trainer, with the same bits for any number of workers.
func Example_model() {
	registry, err := switchyard.NewRegistry(switchyard.Own{Families: []model.Family{{
		Name: "autoregression", Doc: "one step at a time", Settings: func() model.Settings { return &Autoregression{Hidden: 16, Floor: 0.01} },
	}}})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "runs-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	hashes := map[string]bool{}
	for workers := 1; workers <= 2; workers++ {
		run, err := switchyard.Train(context.Background(), switchyard.Options{
			Registry: registry, Preset: "fhn/smoke", RunsDir: dir, Workers: workers,
			Settings: []string{"model.kind=autoregression", "train.steps=200", "optim.rate=0.01"},
		})
		if err != nil {
			log.Fatal(err)
		}
		hashes[run.Info().ParametersSHA256] = true
		fmt.Println(run.Info().Name, "learns:", run.Info().Metrics["validation_objective"] > -0.5 && !math.IsNaN(run.Info().Metrics["validation_objective"]))
	}
	fmt.Println("parameters:", len(hashes), "hash")
	// Output:
	// fhn-smoke-ar-1 learns: true
	// fhn-smoke-ar-2 learns: true
	// parameters: 1 hash
}
