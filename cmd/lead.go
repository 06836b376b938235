package cmd

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/quantize"
	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// coordinatorConfig is what a coordinator needs to lead the plan's run in its folder.
func coordinatorConfig(p *plan, run *runs.Run) coordinator.Config {
	return leadConfig(p, run.Name(), run.Folder())
}

// leadConfig is coordinatorConfig for a run of that name in any folder.
func leadConfig(p *plan, name, folder string) coordinator.Config {
	c, lead := p.config, stepConfig(p)
	lead.Run, lead.Steps = name, c.Train.Steps
	lead.ValidateEvery, lead.ValidationShards, lead.CheckpointEvery = c.Train.ValidateEvery, c.Train.Shards, c.Train.CheckpointEvery
	lead.Data, lead.Identity = p.data.bytes(), c.Identity()
	lead.Dir, lead.Log = filepath.Join(folder, runs.Checkpoints), filepath.Join(folder, runs.Log)
	lead.Numerics, lead.Golden, lead.Referee = numerics(), p.golden, (&referee{plan: p}).compute
	lead.Audit, lead.AuditHere = c.Cluster.Audit, c.Cluster.Audit == 1
	return lead
}

// stepConfig is the part of a run's configuration that decides what a step is and what it costs.
func stepConfig(p *plan) coordinator.Config {
	c := p.config
	return coordinator.Config{
		Seed: c.Seed, Shards: roundShards(c), Optimizer: optimizer(c), Outer: outer(c), Gradients: gradientCoding(c),
		FailureDetection: c.Cluster.FailureDetection, Chunk: c.Cluster.Chunk, Credit: c.Cluster.Credit,
		Job: c.YAML(), TermNames: p.terms, Layout: p.layout,
	}
}

// gradientCoding is the form in which gradients travel.
func gradientCoding(c config.Config) wire.Coding {
	if c.Train.Gradients == "int16" {
		return wire.Int16
	}
	return wire.Float32
}

// rounded is a program of the plan, with the gradients that a worker delivers of it.
func (p *plan) rounded(program worker.Program) (worker.Program, error) {
	if gradientCoding(p.config) == wire.Float32 {
		return program, nil
	}
	grid, err := p.grid()
	if err != nil {
		return nil, err
	}
	return worker.Rounded(program, quantize.Rounder{Grid: grid, Seed: p.config.Seed}), nil
}

// grid divides the parameters into blocks for gradients that travel as integers.
func (p *plan) grid() (*quantize.Grid, error) {
	sizes := make([]int, len(p.layout))
	for i, t := range p.layout {
		sizes[i] = t.Size
	}
	return quantize.NewGrid(sizes, p.config.Train.Shards)
}

// numerics is the fingerprint of the arithmetic of this process.
func numerics() []wire.Numeric {
	var list []wire.Numeric
	for _, line := range kernel.Fingerprint() {
		list = append(list, wire.Numeric{Kernel: line.Kernel, Sum: line.Sum})
	}
	return list
}

// referee computes blocks in the coordinator's process, with a program that is built when it is first needed.
type referee struct {
	plan *plan

	mu      sync.Mutex
	program worker.Program
}

// compute is a coordinator.Referee.
func (r *referee) compute(ctx context.Context, step uint64, theta []float32, work wire.Work, block reduce.Block) (values, terms []float32, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.program == nil {
		program, err := newRunProgram(r.plan.config, r.plan.data.dataset(), 1)
		if err != nil {
			return nil, nil, err
		}
		if r.program, err = r.plan.rounded(program); err != nil {
			return nil, nil, err
		}
	}
	if err := r.program.Load(step, theta); err != nil {
		return nil, nil, fmt.Errorf("install the parameters of step %d: %w", step, err)
	}
	sum, err := r.plan.sumBlock(ctx, r.program, step, work, block)
	if err != nil {
		return nil, nil, fmt.Errorf("compute shards %s of step %d: %w", block, step, err)
	}
	return sum.Values, sum.Terms, nil
}

// sumBlock computes the shards of a block one after the other and adds them in the order of the tree. program is rounded.
func (p *plan) sumBlock(ctx context.Context, program worker.Program, step uint64, work wire.Work, block reduce.Block) (reduce.Partial, error) {
	var free []reduce.Partial
	tree := reduce.NewTree(block)
	tree.Peaks = program.Size() - len(p.theta)
	for shard := block.First; shard < block.First+block.Count; shard++ {
		if err := ctx.Err(); err != nil {
			return reduce.Partial{}, err
		}
		part := reduce.Partial{Terms: make([]float32, len(program.TermNames()))}
		var err error
		if work == wire.Gradient {
			if n := len(free); n > 0 {
				part.Values, free = free[n-1].Values, free[:n-1]
			} else {
				part.Values = make([]float32, program.Size())
			}
			err = worker.GradientWhile(program, 0, step, shard, part.Values, part.Terms, func() bool { return ctx.Err() == nil })
		} else {
			err = program.Validate(0, step, shard, part.Terms)
		}
		if err != nil {
			return reduce.Partial{}, fmt.Errorf("shard %d: %w", shard, err)
		}
		tree.Add(reduce.Block{First: shard, Count: 1}, part, func(p reduce.Partial) { free = append(free, p) })
	}
	sum, _ := tree.Take()
	return sum, nil
}
