// Package job turns a configuration into work: the user's data, read and scaled; the program of a worker; the plan,
// which describes a run before it begins; and the configuration of a coordinator. It also identifies this program: its
// version, its revision, and the platform that it runs on. It starts nothing, prints nothing and knows no broker.
package job

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// Plan describes a run before it begins: what it computes, with how many parameters, and what that takes. Several
// goroutines may use a Plan at the same time as long as nobody changes it.
type Plan struct {
	Config config.Config
	Data   *Data     // nil: simulated
	Theta  []float32 // initial parameters, before a start (see Initial)
	Layout []coordinator.Tensor
	Terms  []model.Term // of the loss, the loss first
	Golden string       // hash of the golden shard
	FLOPs  float64      // of one step; 0: not known
	Memory int          // of a worker, in bytes
	// Numerics is the fingerprint of the arithmetic of this process, for those that plan many runs; nil: Lead computes
	// it.
	Numerics []wire.Numeric

	start *start // nil: the run begins with Theta
}

// Prepare loads the data of a configuration, fills in the keys that they decide, and plans the run. stored is the
// scaling of the data of a run that continues; nil for a new run. slots is that of NewPlan.
func Prepare(c config.Config, stored []byte, slots int) (*Plan, error) {
	data, err := LoadData(&c, stored)
	if err != nil {
		return nil, err
	}
	return NewPlan(c, data, slots)
}

// NewPlan builds the program once, for the initial parameters, and computes one shard to count the operations of a
// step. slots is the number of shards that a worker computes at the same time. Memory depends on it, nothing else.
// data is that of c, nil if it is simulated. The program is not kept.
func NewPlan(c config.Config, data *Data, slots int) (*Plan, error) {
	if s, ok := config.Sweeps(c); ok {
		return planChains(c, s, data, slots)
	}
	program, err := NewShards(c, data.Dataset(), 1)
	if err != nil {
		return nil, err
	}
	params := program.Model().Params()
	p := &Plan{Config: c, Data: data, Terms: program.Terms(), Theta: slices.Clone(params.Values)}
	p.Layout = layout(program.Model())
	if err := checkFactors(c, p.Layout); err != nil {
		return nil, err
	}
	// The start itself is made by Initial: it may take seconds, and a run that is only shown does not need it.
	if s, ok := program.Model().(model.Starter); ok && s.StartSteps() > 0 {
		p.start = new(start)
	}
	if err := program.Load(0, p.Theta); err != nil {
		return nil, fmt.Errorf("install the initial parameters: %w", err)
	}
	// The golden shard is the first one at the initial parameters. A worker that gets other bits for it is refused.
	gradient, terms := make([]float32, len(p.Theta)), make([]float32, len(p.Terms))
	if err := program.Gradient(0, 0, 0, gradient, terms); err != nil {
		return nil, fmt.Errorf("compute a first shard: %w", err)
	}
	p.Golden, p.FLOPs = wire.DigestPartial(gradient, terms), program.Flops()
	p.Memory = program.Memory(max(slots, 1)).Total()
	if LocalSteps(c) {
		// A replica keeps parameters and moments of its own beside the gradients.
		replicas, err := newReplicas(c, program)
		if err != nil {
			return nil, err
		}
		p.Memory = replicas.Memory(max(slots, 1)).Total()
	}
	return p, nil
}

// layout names the places of a model's parameters.
func layout(m model.Model) []coordinator.Tensor {
	var list []coordinator.Tensor
	for _, t := range m.Params().Layout() {
		list = append(list, coordinator.Tensor{Name: t.Name, Shape: t.Shape, Offset: t.Offset, Size: t.Size})
	}
	return list
}

// Program builds the program of a worker for the plan's run. Each call makes another one, with memory of its own;
// the data set is shared.
func (p *Plan) Program(slots int) (worker.Program, error) {
	return NewProgram(p.Config, p.Data.Dataset(), slots)
}

// Shards builds the program of the shards of an update, also for a run with local steps.
func (p *Plan) Shards(slots int) (*worker.Shards, error) {
	return NewShards(p.Config, p.Data.Dataset(), slots)
}
