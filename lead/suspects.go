package lead

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/vector"

	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// Suspect is a block whose logged checksum differs from the checksum of its gradient on this machine.
type Suspect struct {
	Run      string `json:"run"`
	Worker   string `json:"worker"`
	First    int    `json:"first"`
	Count    int    `json:"count"`
	Logged   string `json:"logged"`
	Computed string `json:"computed"`
}

// String names the worker of the block, and the difference.
func (s Suspect) String() string {
	return fmt.Sprintf("shards %s by worker %s of run %s: checksum %s in the log, %s computed here",
		vector.Block{First: s.First, Count: s.Count}, s.Worker, s.Run, s.Logged, s.Computed)
}

// suspects computes the blocks of a logged step, from the parameters and levels before it, and returns those that
// differ from the log. It returns nil if the log does not say how the checksums were formed.
func (r *Record) suspects(ctx context.Context, theta, levels []float32, e coordinator.Entry) ([]Suspect, error) {
	elements := r.log.Chunk(e.Term)
	if elements == 0 || len(e.Blocks) == 0 {
		return nil, nil
	}
	sums, err := r.sums(ctx, theta, levels, e)
	if err != nil {
		return nil, err
	}
	coding := job.Coding(r.config)
	list := []Suspect{}
	for i, b := range e.Blocks {
		chunks := wire.Chunking{Size: len(sums[i]), Elements: elements, Coding: coding}
		if got := chunks.ChecksumOf(sums[i]); got != b.Checksum {
			list = append(list, Suspect{
				r.name, b.Worker, b.Block.First, b.Block.Count, fmt.Sprintf("%08x", b.Checksum), fmt.Sprintf("%08x", got),
			})
		}
	}
	return list, nil
}

// sums computes the blocks of a step as workers send them. If a block does not fit its scales, the scales are widened
// and all blocks are computed again, as in the run: the log has the blocks that fit.
func (r *Record) sums(ctx context.Context, theta, levels []float32, e coordinator.Entry) ([][]float32, error) {
	raw, err := r.plan.Program(1)
	if err != nil {
		return nil, err
	}
	program, err := r.plan.Rounded(raw)
	if err != nil {
		return nil, err
	}
	n, start := len(theta), e.Step-job.Stride(r.config)
	state, width := append(slices.Clone(theta), levels...), vector.Width(job.Coding(r.config).Width())
	width.Exponents(state[n:], levels)
	for {
		if err := program.Load(start, state); err != nil {
			return nil, fmt.Errorf("install the parameters of step %d: %w", start, err)
		}
		var sums [][]float32
		needs := slices.Repeat([]float32{float32(math.Inf(-1))}, len(levels)) // of all shards, as in the tree of a step
		for _, b := range e.Blocks {
			sum, err := r.plan.SumBlock(ctx, program, start, wire.Gradient, b.Block)
			if err != nil {
				return nil, fmt.Errorf("compute shards %s of step %d: %w", b.Block, e.Step, err)
			}
			for i, need := range sum.Values[n:] {
				needs[i] = max(needs[i], need)
			}
			sums = append(sums, sum.Values)
		}
		if width.Widen(state[n:], needs) == 0 {
			return sums, nil
		}
	}
}

// program builds the run's program with one slot, with the parameters after some steps.
func (r *Record) program(step uint64, theta []float32) (worker.Program, error) {
	program, err := r.plan.Program(1)
	if err != nil {
		return nil, err
	}
	if err := program.Load(step, theta); err != nil {
		return nil, fmt.Errorf("install the parameters of step %d: %w", step, err)
	}
	return program, nil
}
