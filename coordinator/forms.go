package coordinator

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// grid divides a number of parameters into blocks of gradients; nil if these travel as float32. The sum over the
// shards of a step has to fit its integers.
func (c *Config) grid(size int) (*vector.Grid, error) {
	return c.blocks("gradients as integers", c.Gradients, size, c.Shards)
}

// changes divides a number of parameters into the blocks of their differences; nil if parameters travel whole. Each
// difference is of one term, so all bits are its own.
func (c *Config) changes(size int) (*vector.Grid, error) {
	return c.blocks("parameters as differences", c.Parameters, size, 1)
}

// blocks divides a number of parameters into blocks whose integers are sums of so many; nil if they travel as float32.
func (c *Config) blocks(what string, coding wire.Coding, size, terms int) (*vector.Grid, error) {
	if coding == wire.Float32 {
		return nil, nil
	}
	grid, err := vector.NewGrid(vector.Width(coding.Width()), c.tensors(size), terms)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return grid, nil
}

// tensors are the sizes of the tensors that the parameters consist of. Without a layout there is one tensor.
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

// tensorBytes is the most that the sizes of the tensors take in a Welcome: five bytes each in msgpack.
func (c *Config) tensorBytes() int {
	if c.Gradients == wire.Float32 && c.Parameters == wire.Float32 {
		return 0
	}
	return 5 * max(1, len(c.Layout))
}

// offer says in a Welcome how gradients and parameters travel, if not as float32. size is the number of parameters.
func (c *Config) offer(w *wire.Welcome, size int) {
	if c.Gradients != wire.Float32 {
		w.Gradients, w.Seed, w.Shards, w.Tensors = c.Gradients, c.Seed, c.Shards, c.tensors(size)
	}
	if c.Parameters != wire.Float32 {
		w.Parameters, w.Tensors = c.Parameters, c.tensors(size)
	}
}
