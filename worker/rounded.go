package worker

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/quantize"
)

// rounded is a program whose gradients are rounded to integers. Its vectors are those of a grid: behind the parameters
// are the exponents of the blocks, in force where they are loaded, needed where they are returned.
type rounded struct {
	Program
	rounder   quantize.Rounder
	exponents []float32
}

var (
	_ Program  = (*rounded)(nil)
	_ Preparer = (*rounded)(nil)
)

// Rounded returns the program whose gradients are those of p, rounded by r. r's grid is of p's parameters.
func Rounded(p Program, r quantize.Rounder) Program {
	return &rounded{Program: p, rounder: r, exponents: make([]float32, r.Grid.Blocks())}
}

// Size is the length of the vectors.
func (r *rounded) Size() int { return r.rounder.Grid.Len() }

// Load implements Program: values are parameters and exponents.
func (r *rounded) Load(step uint64, values []float32) error {
	n := r.rounder.Grid.Parameters()
	if len(values) != r.Size() {
		return fmt.Errorf("load parameters: %d values for %d parameters in %d blocks", len(values), n, r.rounder.Grid.Blocks())
	}
	copy(r.exponents, values[n:])
	return r.Program.Load(step, values[:n])
}

// Gradient implements Program.
func (r *rounded) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	if err := r.Program.Gradient(slot, step, shard, grad[:r.rounder.Grid.Parameters()], terms); err != nil {
		return err
	}
	return r.rounder.Round(grad, r.exponents, step, shard)
}

// Prepare implements Preparer: what does not depend on θ is not rounded.
func (r *rounded) Prepare(slot int, step uint64, shard int) (more bool) {
	return Prepare(r.Program, slot, step, shard)
}
