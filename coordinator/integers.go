package coordinator

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Gradients travel as float32, or as integers. Integers have one scale for each group of parameters, which is fixed
// before the step: see package vector. The exponents of the scales are sent behind the parameters. Behind the sum of
// a block of shards come the exponents that its shards need. If a group needs a greater exponent than it has, its
// integers were cut off. Then the step takes another pass, with the exponents that its shards need. So the scales, and
// with them the bits, are a function of the steps before, whichever worker computes what.

// maxPasses is how often the sum of a step may not fit its scales. With honest workers it happens once at most.
const maxPasses = 4

// integers holds the scales of a run whose gradients travel as integers. It is nil in other runs, and its methods do
// nothing then.
type integers struct {
	grid   *vector.Grid
	scales *vector.Scales
	misfit int // how often the gradient of this step did not fit its scales
}

// newIntegers returns nil if gradients travel as float32. The exponents stand in the given memory, of a value for each
// block of the grid.
func newIntegers(grid *vector.Grid, exponents []float32) *integers {
	if grid == nil {
		return nil
	}
	return &integers{grid: grid, scales: vector.NewScales(grid.Width(), exponents)}
}

// grid divides a number of parameters into blocks; nil if gradients travel as float32.
func (c *Config) grid(size int) (*vector.Grid, error) {
	if c.Gradients == wire.Float32 {
		return nil, nil
	}
	grid, err := vector.NewGrid(vector.Width(c.Gradients.Width()), c.tensors(size), c.Shards)
	if err != nil {
		return nil, fmt.Errorf("gradients as integers: %w", err)
	}
	return grid, nil
}

// tensors are the sizes of the tensors that the parameters consist of.
func (c *Config) tensors(size int) []int {
	if len(c.Layout) == 0 {
		return []int{size}
	}
	sizes := make([]int, len(c.Layout))
	for i, t := range c.Layout {
		sizes[i] = t.Size
	}
	return sizes
}

// levels are the scales' state for a checkpoint: nil if there are none.
func (i *integers) levels() []float32 {
	if i == nil {
		return nil
	}
	return i.scales.Levels()
}

// restore continues from the levels of a checkpoint.
func (i *integers) restore(levels []float32) {
	if i != nil {
		i.scales.Restore(levels)
		i.misfit = 0
	}
}

// peaks is the number of exponents behind a sum. They are not added: the greatest counts.
func (i *integers) peaks() int {
	if i == nil {
		return 0
	}
	return i.grid.Blocks()
}

// offer says in a Welcome how gradients travel.
func (i *integers) offer(w *wire.Welcome, cfg *Config, size int) {
	if i != nil {
		w.Gradients, w.Seed, w.Shards, w.Tensors = cfg.Gradients, cfg.Seed, cfg.Shards, cfg.tensors(size)
	}
}

// gradient turns a sum into the gradient that it stands for, in place, and returns it.
func (i *integers) gradient(sum []float32) []float32 {
	if i == nil {
		return sum
	}
	return i.grid.Restore(sum, i.scales.Exponents())
}

// close computes the scales of the next step from the sum of this one.
func (i *integers) close(sum []float32) {
	if i != nil {
		i.scales.Close(sum[i.grid.Parameters():])
	}
}

// reopen returns to the scales that the step had at first.
func (i *integers) reopen() {
	if i != nil {
		i.scales.Open()
		i.misfit = 0
	}
}

// widen makes those scales wider that the sum of this step does not fit, and returns their number.
func (i *integers) widen(sum []float32) int {
	if i == nil {
		return 0
	}
	blocks := i.scales.Widen(sum[i.grid.Parameters():])
	if blocks > 0 {
		i.misfit++
	}
	return blocks
}

// passes is how often the gradient of this step was computed, if more than once; 0 otherwise.
func (i *integers) passes() int {
	if i == nil || i.misfit == 0 {
		return 0
	}
	return i.misfit + 1
}

// settle resets the count for the next step.
func (i *integers) settle() {
	if i != nil {
		i.misfit = 0
	}
}
