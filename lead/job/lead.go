package job

import (
	"path/filepath"
	"slices"
	"sync"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/wire"
)

// Lead is the configuration of a coordinator for the plan's run, under that name, in that folder. The caller adds
// disk, gate and memory, and may change what decides no bit. The data set is not copied.
func (p *Plan) Lead(name, folder string) coordinator.Config {
	c, lead := p.Config, p.Step()
	lead.Run, lead.Steps = name, c.Train.Steps
	lead.CheckpointEvery = c.Train.CheckpointEvery
	if c.Uses("train.validate_every") {
		lead.ValidateEvery, lead.ValidationShards = c.Train.ValidateEvery, c.Train.Shards
		lead.Average, lead.Patience = c.Optim.Average, c.Train.Patience
	}
	lead.Data, lead.Identity = p.Data.Bytes(), c.Identity()
	lead.Dir, lead.Log = filepath.Join(folder, store.Checkpoints), filepath.Join(folder, store.Log)
	if lead.Numerics = p.Numerics; lead.Numerics == nil {
		lead.Numerics = Numerics()
	}
	lead.Golden, lead.Referee = p.Golden, (&referee{plan: p}).compute
	// Any other value is a star, which is the zero value.
	switch c.Cluster.Exchange {
	case "sharded":
		lead.Exchange = coordinator.Sharded
	case "auto":
		lead.Exchange = coordinator.Auto
	}
	lead.Audit, lead.AuditHere = c.Cluster.Audit, c.Cluster.Audit == 1
	lead.AuditSums = c.Cluster.AuditSums
	return lead
}

// Step is the part of Lead that decides the work and the messages of a step.
func (p *Plan) Step() coordinator.Config {
	c := p.Config
	return coordinator.Config{
		Seed: c.Seed, Shards: RoundShards(c), Optimizer: optimizer(c, p.Layout), Outer: outer(c), Gradients: Coding(c),
		Parameters:       ParametersCoding(c),
		FailureDetection: c.Cluster.FailureDetection, Chunk: c.Cluster.Chunk, Credit: c.Cluster.Credit,
		Job: c.YAML(), TermNames: model.TermNames(p.Terms), Layout: p.Layout,
	}
}

// Coding is the form in which gradients travel. A model that has no use for train.gradients sends float32.
func Coding(c config.Config) wire.Coding { return coding(c, "train.gradients", c.Train.Gradients) }

// ParametersCoding is the form in which the parameters' differences travel; Float32: they travel whole.
func ParametersCoding(c config.Config) wire.Coding {
	return coding(c, "train.parameters", c.Train.Parameters)
}

// coding is the form that a key names, where it has an effect. A form that it does not know is Float32.
func coding(c config.Config, key, form string) wire.Coding {
	if !c.Uses(key) {
		return wire.Float32
	}
	switch form {
	case "int16", "delta16":
		return wire.Int16
	case "int8", "delta8":
		return wire.Int8
	}
	return wire.Float32
}

// numerics remembers the fingerprint of each instruction set: a process computes with the same kernels to its end, and
// every worker and coordinator in it asks.
var numerics sync.Map // kernel.ISA → []wire.Numeric

// Numerics is the fingerprint of the arithmetic of this process. The list belongs to the caller. The first call for
// an instruction set runs all kernels, which takes a moment.
func Numerics() []wire.Numeric {
	isa := kernel.Active()
	known, there := numerics.Load(isa)
	if !there {
		known, _ = numerics.LoadOrStore(isa, fingerprint())
	}
	return slices.Clone(known.([]wire.Numeric))
}

// fingerprint runs the kernels of the active instruction set: the name and the checksum of each.
func fingerprint() []wire.Numeric {
	var list []wire.Numeric
	for _, line := range kernel.Fingerprint() {
		list = append(list, wire.Numeric{Kernel: line.Kernel, Sum: line.Sum})
	}
	return list
}
