package worker

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/vector"
)

// rounded is a program whose gradients are rounded to integers. Its vectors have the parameters, then an exponent for
// each block of the grid: the current exponents in vectors that are loaded, the needed ones in results.
type rounded struct {
	Program
	rounder   vector.Rounder
	exponents []float32
}

var (
	_ Program  = (*rounded)(nil)
	_ Preparer = (*rounded)(nil)
)

// Rounded returns a program with the gradients of p, rounded by r. The grid of r has to fit p's parameters.
func Rounded(p Program, r vector.Rounder) Program {
	return &rounded{Program: p, rounder: r, exponents: make([]float32, r.Grid.Blocks())}
}

// Size is the length of the vectors.
func (r *rounded) Size() int { return r.rounder.Grid.Len() }

// Load implements Program: values has parameters and exponents.
func (r *rounded) Load(step uint64, values []float32) error {
	n := r.rounder.Grid.Parameters()
	if len(values) != r.Size() {
		return fmt.Errorf("load parameters: %d values for %d parameters in %d blocks", len(values), n,
			r.rounder.Grid.Blocks())
	}
	copy(r.exponents, values[n:])
	return r.Program.Load(step, values[:n])
}

// Gradient implements Program. grad is as long as Size: behind the integers are the exponents that they need.
func (r *rounded) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	if err := r.Program.Gradient(slot, step, shard, grad[:r.rounder.Grid.Parameters()], terms); err != nil {
		return err
	}
	return r.rounder.Round(grad, r.exponents, step, shard)
}

// Prepare implements Preparer. What does not depend on θ is not rounded.
func (r *rounded) Prepare(slot int, step uint64, shard int) (more bool) {
	return Prepare(r.Program, slot, step, shard)
}
