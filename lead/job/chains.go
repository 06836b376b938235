package job

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// newChains builds the program of a model that fits itself: to all training episodes, whole. The training episodes
// are those of the environment, or of set on own files.
func newChains(c config.Config, s model.Sweeps, set *files.Dataset, slots int) (*worker.Chains, error) {
	data, _, err := config.Data(c)
	if err != nil {
		return nil, err
	}
	m, err := config.NewModel(c, data)
	if err != nil {
		return nil, err
	}
	fitter, err := config.Fitter(c, m)
	if err != nil {
		return nil, err
	}
	recordings, err := training(c, set, 0)
	if err != nil {
		return nil, err
	}
	p, err := worker.NewChains(fitter, recordings, s, slots)
	if err != nil {
		return nil, fmt.Errorf("build the program: %w", err)
	}
	return p, nil
}

// planChains plans the run of a model that fits itself. No chain has begun: the parameters are zeros. The golden
// shard is the start of chain 0 and one sweep.
func planChains(c config.Config, s model.Sweeps, data *Data, slots int) (*Plan, error) {
	program, err := newChains(c, s, data.Dataset(), 1)
	if err != nil {
		return nil, err
	}
	m := program.Model()
	p := &Plan{Config: c, Data: data, Terms: m.Terms(), Theta: make([]float32, program.Size())}
	parts := m.Layout(program.Recordings())
	for chain := range s.Chains {
		p.chain(chain, parts)
	}
	gradient, terms := make([]float32, len(p.Theta)), make([]float32, len(p.Terms))
	if err := program.Golden(gradient, terms); err != nil {
		return nil, fmt.Errorf("start a first chain: %w", err)
	}
	p.Golden = wire.DigestPartial(gradient, terms)
	p.Memory = program.Memory(max(slots, 1)).Total()
	return p, nil
}

// chain adds the tensors of a chain to the layout: a number that says whether it has begun, and the parts of its
// state. Values of a state are float64, each written in vector.Words elements, which are the last dimension.
func (p *Plan) chain(chain int, parts []model.Part) {
	add := func(name string, shape ...int) {
		t := coordinator.Tensor{
			Name: fmt.Sprintf("chain%d/%s", chain, name), Shape: shape,
			Size: model.Part{Shape: shape}.Size(),
		}
		if n := len(p.Layout); n > 0 {
			t.Offset = p.Layout[n-1].Offset + p.Layout[n-1].Size
		}
		p.Layout = append(p.Layout, t)
	}
	add("begun", 1)
	for _, part := range parts {
		if part.Size() > 0 {
			add(part.Name, append(part.Shape[:len(part.Shape):len(part.Shape)], vector.Words)...)
		}
	}
}
