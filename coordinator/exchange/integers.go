package exchange

import "github.com/switchyard-ml/switchyard/internal/vector"

// Gradients travel as float32, or as integers. Integers have one scale for each group of parameters, which is fixed
// before the step: see package vector. The exponents of the scales are sent behind the parameters. Behind the sum of
// a block of shards come the exponents that its shards need. If a group needs a greater exponent than it has, its
// integers were cut off. Then the step takes another pass, with the exponents that its shards need. So the scales, and
// with them the bits, are a function of the steps before, whichever worker computes what.

// Integers holds the scales of a run whose gradients travel as integers. It is nil in other runs, and its methods do
// nothing then.
//
// Of a step it goes: Widen, and if that is 0, Gradient, Close and Settle. Otherwise the step is computed once more,
// and Widen comes again. Reopen begins the step anew.
type Integers struct {
	grid   *vector.Grid
	scales *vector.Scales
	misfit int // how often the gradient of this step did not fit its scales
}

// NewIntegers returns nil if gradients travel as float32. The exponents stand in the given memory, of a value for each
// block of the grid.
func NewIntegers(grid *vector.Grid, exponents []float32) *Integers {
	if grid == nil {
		return nil
	}
	return &Integers{grid: grid, scales: vector.NewScales(grid.Width(), exponents)}
}

// Levels are the scales' state for a checkpoint: nil if there are none.
func (i *Integers) Levels() []float32 {
	if i == nil {
		return nil
	}
	return i.scales.Levels()
}

// Restore continues from the levels of a checkpoint.
func (i *Integers) Restore(levels []float32) {
	if i != nil {
		i.scales.Restore(levels)
		i.misfit = 0
	}
}

// Peaks is the number of exponents behind a sum. They are not added: the greatest counts. It is 0 where gradients are
// float32.
func (i *Integers) Peaks() int {
	if i == nil {
		return 0
	}
	return i.grid.Blocks()
}

// Gradient turns a sum into the gradient that it stands for, in place, and returns it. The exponents behind it are
// left out of what is returned, and stay behind it in memory, for Close.
func (i *Integers) Gradient(sum []float32) []float32 {
	if i == nil {
		return sum
	}
	return i.grid.Restore(sum, i.scales.Exponents())
}

// Close computes the scales of the next step from the sum of this one.
func (i *Integers) Close(sum []float32) {
	if i != nil {
		i.scales.Close(sum[i.grid.Parameters():])
	}
}

// Reopen returns to the scales that the step had at first.
func (i *Integers) Reopen() {
	if i != nil {
		i.scales.Open()
		i.misfit = 0
	}
}

// Widen makes those scales wider that the sum of this step does not fit, and returns their number. The sum is not
// changed.
func (i *Integers) Widen(sum []float32) int {
	if i == nil {
		return 0
	}
	blocks := i.scales.Widen(sum[i.grid.Parameters():])
	if blocks > 0 {
		i.misfit++
	}
	return blocks
}

// Misfits is how often the gradient of this step did not fit its scales. It is called only where there are scales.
func (i *Integers) Misfits() int { return i.misfit }

// Exponents are those of the scales now. They are the memory that NewIntegers was given. It is called only where
// there are scales.
func (i *Integers) Exponents() []float32 { return i.scales.Exponents() }

// Passes is how often the gradient of this step was computed, if more than once; 0 otherwise.
func (i *Integers) Passes() int {
	if i == nil || i.misfit == 0 {
		return 0
	}
	return i.misfit + 1
}

// Settle resets the count for the next step.
func (i *Integers) Settle() {
	if i != nil {
		i.misfit = 0
	}
}
