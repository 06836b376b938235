package job

import (
	"context"
	"fmt"
	"sync"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// Rounded wraps a program of the plan so that its gradients are rounded as those that a worker sends. Where
// gradients travel as float32, it returns the program itself.
func (p *Plan) Rounded(program worker.Program) (worker.Program, error) {
	if Coding(p.Config) == wire.Float32 {
		return program, nil
	}
	sizes := make([]int, len(p.Layout))
	for i, t := range p.Layout {
		sizes[i] = t.Size
	}
	grid, err := vector.NewGrid(vector.Width(Coding(p.Config).Width()), sizes, p.Config.Train.Shards)
	if err != nil {
		return nil, err
	}
	return worker.Rounded(program, vector.Rounder{Grid: grid, Seed: p.Config.Seed}), nil
}

// referee computes blocks in the coordinator's process. Its program is built at the first use. It computes one block
// at a time, in one slot.
type referee struct {
	plan *Plan

	mu      sync.Mutex
	program worker.Program
}

// compute implements coordinator.Referee. The values belong to the caller. When ctx ends, it returns an error.
func (r *referee) compute(ctx context.Context, step uint64, theta []float32, work wire.Work,
	block vector.Block,
) (values, terms []float32, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.program == nil {
		program, err := r.plan.Program(1)
		if err != nil {
			return nil, nil, err
		}
		if r.program, err = r.plan.Rounded(program); err != nil {
			return nil, nil, err
		}
	}
	if err := r.program.Load(step, theta); err != nil {
		return nil, nil, fmt.Errorf("install the parameters of step %d: %w", step, err)
	}
	sum, err := r.plan.SumBlock(ctx, r.program, step, work, block)
	if err != nil {
		return nil, nil, fmt.Errorf("compute shards %s of step %d: %w", block, step, err)
	}
	return sum.Values, sum.Terms, nil
}

// SumBlock computes the shards of a block one after the other and adds them in the order of the tree, so that the
// sum has the bits of a worker's. program is the result of Rounded, with the parameters of the step; with rounding
// it has an element for each block of the grid behind the parameters, of which the greatest counts. For other work
// than gradients the sum has terms alone. When ctx ends, it returns an error.
func (p *Plan) SumBlock(ctx context.Context, program worker.Program, step uint64, work wire.Work,
	block vector.Block,
) (vector.Partial, error) {
	var free []vector.Partial
	tree := vector.NewTree(block)
	tree.Peaks = program.Size() - len(p.Theta)
	for shard := block.First; shard < block.First+block.Count; shard++ {
		if err := ctx.Err(); err != nil {
			return vector.Partial{}, err
		}
		part := vector.Partial{Terms: make([]float32, len(program.TermNames()))}
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
			return vector.Partial{}, fmt.Errorf("shard %d: %w", shard, err)
		}
		tree.Add(vector.Block{First: shard, Count: 1}, part, func(p vector.Partial) { free = append(free, p) })
	}
	sum, _ := tree.Take()
	return sum, nil
}
