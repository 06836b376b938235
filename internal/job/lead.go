package job

import (
	"path/filepath"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/model"
)

// Lead is the configuration of a coordinator for the plan's run, under that name, in that folder.
func (p *Plan) Lead(name, folder string) coordinator.Config {
	c, lead := p.Config, p.Step()
	lead.Run, lead.Steps = name, c.Train.Steps
	lead.CheckpointEvery = c.Train.CheckpointEvery
	if c.Uses("train.validate_every") {
		lead.ValidateEvery, lead.ValidationShards = c.Train.ValidateEvery, c.Train.Shards
		lead.Average, lead.Patience = c.Optim.Average, c.Train.Patience
	}
	lead.Data, lead.Identity = p.Data.Bytes(), c.Identity()
	lead.Dir, lead.Log = filepath.Join(folder, runs.Checkpoints), filepath.Join(folder, runs.Log)
	if lead.Numerics = p.Numerics; lead.Numerics == nil {
		lead.Numerics = Numerics()
	}
	lead.Golden, lead.Referee = p.Golden, (&referee{plan: p}).compute
	lead.Audit, lead.AuditHere = c.Cluster.Audit, c.Cluster.Audit == 1
	return lead
}

// Step is the part of Lead that decides the work and the messages of a step.
func (p *Plan) Step() coordinator.Config {
	c := p.Config
	return coordinator.Config{
		Seed: c.Seed, Shards: RoundShards(c), Optimizer: optimizer(c, p.Layout), Outer: outer(c), Gradients: Coding(c),
		FailureDetection: c.Cluster.FailureDetection, Chunk: c.Cluster.Chunk, Credit: c.Cluster.Credit,
		Job: c.YAML(), TermNames: model.TermNames(p.Terms), Layout: p.Layout,
	}
}

// Coding is the form in which gradients travel.
func Coding(c config.Config) wire.Coding {
	switch {
	case !c.Uses("train.gradients"):
		return wire.Float32
	case c.Train.Gradients == "int16":
		return wire.Int16
	case c.Train.Gradients == "int8":
		return wire.Int8
	}
	return wire.Float32
}

// Numerics is the fingerprint of the arithmetic of this process.
func Numerics() []wire.Numeric {
	var list []wire.Numeric
	for _, line := range kernel.Fingerprint() {
		list = append(list, wire.Numeric{Kernel: line.Kernel, Sum: line.Sum})
	}
	return list
}
