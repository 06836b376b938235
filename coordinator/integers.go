package coordinator

import (
	"fmt"
	"time"

	"github.com/switchyard-ml/switchyard/internal/quantize"
	"github.com/switchyard-ml/switchyard/internal/reduce"
	"github.com/switchyard-ml/switchyard/internal/wire"
)

// Gradients travel as float32, or as integers with a scale for each block of parameters, which is fixed before the step:
// see package quantize. The scales' exponents go out behind the parameters, and behind the sum of a block of shards comes
// what its shards need. If a block of parameters needs more than it has, its integers were cut off. Then the step is
// computed once more, with what all of its shards were seen to need, so that it fits: the scales, and with them the bits,
// are a function of the steps before, whoever computes what.

// passesBorne is how often a step may not fit. Once is what honest workers need.
const passesBorne = 4

// integers is how the gradients of a run travel as integers.
type integers struct {
	grid   *quantize.Grid
	scales *quantize.Scales
}

// newIntegers returns nil if gradients travel as float32. The exponents stand in the given memory, of a value for each
// block of the grid.
func newIntegers(grid *quantize.Grid, exponents []float32) *integers {
	if grid == nil {
		return nil
	}
	return &integers{grid, quantize.NewScales(exponents)}
}

// grid divides a number of parameters into blocks; nil if gradients travel as float32.
func (c *Config) grid(size int) (*quantize.Grid, error) {
	if c.Gradients == wire.Float32 {
		return nil, nil
	}
	grid, err := quantize.NewGrid(c.tensors(size), c.Shards)
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
	}
}

// peaks is the number of values of a sum that are not summed.
func (i *integers) peaks() int {
	if i == nil {
		return 0
	}
	return i.grid.Blocks()
}

// offer tells a worker how gradients travel.
func (m *machine) offer(w *wire.Welcome) {
	if m.integers == nil {
		return
	}
	w.Gradients, w.Seed, w.Shards, w.Tensors = wire.Int16, m.cfg.Seed, m.cfg.Shards, m.cfg.tensors(len(m.opt.theta))
}

// gradient turns a sum into the gradient that it stands for, in place, and returns it.
func (i *integers) gradient(sum []float32) []float32 {
	if i == nil {
		return sum
	}
	return i.grid.Restore(sum, i.scales.Exponents())
}

// close makes the scales of the next step, from the sum of this one.
func (i *integers) close(sum []float32) {
	if i != nil {
		i.scales.Close(sum[i.grid.Parameters():])
	}
}

// beginAnew throws away all work at the present parameters.
func (m *machine) beginAnew(now time.Duration) {
	m.pass, m.narrow = m.pass+1, 0
	if m.integers != nil {
		m.integers.scales.Open()
	}
	m.open(now)
}

// redo reports whether the sum of the present step does not fit its scales. Then the step is begun anew, with wider ones,
// or the run ends: what the shards need is a function of the parameters, so it fits at the second time.
func (m *machine) redo(sum reduce.Partial) bool {
	i := m.integers
	if i == nil {
		return false
	}
	blocks := i.scales.Widen(sum.Values[i.grid.Parameters():])
	if blocks == 0 {
		return false
	}
	m.recycle(sum)
	m.figures.Useful -= min(uint64(m.cfg.Shards), m.figures.Useful)
	if m.narrow++; m.narrow > passesBorne {
		m.finish(fmt.Errorf("%w: the gradient of step %d was computed %d times, and needed a wider scale each time", ErrDisputed, m.opt.step+m.opt.Stride(), m.narrow))
		return true
	}
	m.emit(widenCommand{step: m.opt.step + m.opt.Stride(), blocks: blocks})
	return true
}
