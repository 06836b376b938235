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

// Suspect is what a worker has delivered to a step, as the log says, and what this machine computes otherwise: a block
// of shards, or the sum of some sections of the gradient.
type Suspect struct {
	Run    string `json:"run"`
	Worker string `json:"worker"`
	// The shards [First, First+Count) of the step, if it is a block.
	First    int   `json:"first"`
	Count    int   `json:"count"`
	Sections []int `json:"sections,omitempty"` // of a sum; it has no shards of its own
	Of       int   `json:"of,omitempty"`       // sections in all
	// Checksum or digest of what it delivered, and of what is right, in hexadecimal.
	Logged   string `json:"logged"`
	Computed string `json:"computed"`
}

// String names the worker, and the difference.
func (s Suspect) String() string {
	if s.Sections != nil {
		return fmt.Sprintf("the sum of sections %s of %d by worker %s of run %s: digest %s in the log, %s computed here",
			coordinator.Ranges(s.Sections), s.Of, s.Worker, s.Run, s.Logged, s.Computed)
	}
	// A digest has more digits than a CRC of 32 bits.
	name := "checksum"
	if len(s.Logged) != len("00000000") {
		name = "digest"
	}
	return fmt.Sprintf("shards %s by worker %s of run %s: %s %s in the log, %s computed here",
		vector.Block{First: s.First, Count: s.Count}, s.Worker, s.Run, name, s.Logged, s.Computed)
}

// suspects computes the blocks of a logged step, from the parameters and levels before it, and returns those that
// differ from the log; if none does, the sums that differ. It returns nil if the log does not say how the checksums
// were formed. A list without elements says that all of the step is reproduced. Blocks and sums are computed one
// after the other, by one slot.
func (r *Record) suspects(ctx context.Context, theta, levels []float32, e coordinator.Entry) ([]Suspect, error) {
	elements := r.log.Chunk(e.Term)
	if elements == 0 || len(e.Blocks) == 0 {
		return nil, nil
	}
	sums, err := r.sums(ctx, theta, levels, e)
	if err != nil {
		return nil, err
	}
	// A checksum is formed over chunks, whose length the coordinator of that term has chosen.
	chunks := wire.Chunking{Size: len(sums[0].Values), Elements: elements, Coding: job.Coding(r.config)}
	sections, summed := e.Summed(chunks)
	list := []Suspect{}
	for i, b := range e.Blocks {
		got := fmt.Sprintf("%08x", chunks.ChecksumOf(sums[i].Values))
		if b.Digest != "" {
			if !summed {
				return nil, nil
			}
			got = coordinator.BlockDigest(sections, sums[i])
		}
		if want := b.Fingerprint(); got != want {
			list = append(list, Suspect{
				Run: r.name, Worker: b.Worker, First: b.Block.First, Count: b.Block.Count, Logged: want, Computed: got,
			})
		}
	}
	if len(list) > 0 || !summed { // whoever sums wrong blocks is not to blame
		return list, nil
	}
	return r.wrongSums(sections, sums, len(levels), e), nil
}

// wrongSums returns the sums of a step that are not those of its blocks, which it uses up. levels is the number of
// elements behind the gradient, of which the tree takes the greatest. If the blocks are not all there, it returns an
// empty list.
func (r *Record) wrongSums(sections wire.Sections, blocks []vector.Partial, levels int, e coordinator.Entry) []Suspect {
	tree := vector.NewTree(vector.Block{Count: job.RoundShards(r.config)})
	tree.Peaks = levels
	for i, b := range e.Blocks {
		tree.Add(b.Block, blocks[i], func(vector.Partial) {})
	}
	total, whole := tree.Take()
	list := []Suspect{}
	if !whole {
		return list
	}
	for _, s := range e.Sums {
		if got := coordinator.ShareDigest(sections, s.Sections, total.Values); got != s.Digest {
			list = append(list, Suspect{
				Run: r.name, Worker: s.Worker, Sections: s.Sections, Of: sections.Count, Logged: s.Digest, Computed: got,
			})
		}
	}
	return list
}

// sums computes the blocks of a step as workers send them. If a block does not fit its scales, the scales are widened
// and all blocks are computed again, as in the run: the log has the blocks that fit.
func (r *Record) sums(ctx context.Context, theta, levels []float32, e coordinator.Entry) ([]vector.Partial, error) {
	raw, err := r.plan.Program(1)
	if err != nil {
		return nil, err
	}
	program, err := r.plan.Rounded(raw)
	if err != nil {
		return nil, err
	}
	// The program takes the exponents of the scales behind the parameters. Without rounding there are no levels, and
	// one pass is enough.
	n, start := len(theta), e.Step-job.Stride(r.config)
	state, width := append(slices.Clone(theta), levels...), vector.Width(job.Coding(r.config).Width())
	width.Exponents(state[n:], levels)
	for {
		if err := program.Load(start, state); err != nil {
			return nil, fmt.Errorf("install the parameters of step %d: %w", start, err)
		}
		var sums []vector.Partial
		needs := slices.Repeat([]float32{float32(math.Inf(-1))}, len(levels)) // of all shards, as in the tree of a step
		for _, b := range e.Blocks {
			sum, err := r.plan.SumBlock(ctx, program, start, wire.Gradient, b.Block)
			if err != nil {
				return nil, fmt.Errorf("compute shards %s of step %d: %w", b.Block, e.Step, err)
			}
			for i, need := range sum.Values[n:] {
				needs[i] = max(needs[i], need)
			}
			sums = append(sums, sum)
		}
		if width.Widen(state[n:], needs) == 0 {
			return sums, nil
		}
	}
}

// program builds the run's program with one slot, with the parameters after some steps. It is not rounded: its
// gradients are those of the model.
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
