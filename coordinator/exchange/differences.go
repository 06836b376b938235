package exchange

import (
	"slices"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Parameters travel whole, or as the differences to those of the step before: see vector.Difference. Then the optimiser
// updates exact parameters, which stay here, and the run's parameters are those that workers have: they are validated,
// logged, saved and exported. Who gets them whole gets the same bits.
//
// Differences go out once, to all, when a step is closed: its blocks were computed at the parameters before, so workers
// have these. Where a gradient does not fit its scales, workers keep the parameters and get new scales: see wire.Stay.
// All else is sent whole: to who joins, who asks, in any other further pass, after a restart or a rollback, and the
// average.

// Differences is how the parameters of a run follow the exact ones. It is nil in runs whose parameters travel whole,
// and its methods do nothing then. The goroutine that owns the run calls all methods.
type Differences struct {
	coding wire.Coding
	grid   *vector.Grid
	last   *vector.Difference // of the last update
	exact  []float32
}

// NewDifferences returns nil if there is no grid: then parameters travel whole. It copies theta.
func NewDifferences(coding wire.Coding, grid *vector.Grid, theta []float32) *Differences {
	if grid == nil {
		return nil
	}
	return &Differences{coding: coding, grid: grid, last: vector.NewDifference(grid), exact: slices.Clone(theta)}
}

// Target is what the optimiser updates: the exact parameters, or theta itself.
func (d *Differences) Target(theta []float32) []float32 {
	if d == nil {
		return theta
	}
	return d.exact
}

// Follow moves theta towards the exact parameters. It returns ErrParameters if that is not finite. It uses all cores.
// The integers of the last update are kept until the next call.
func (d *Differences) Follow(theta []float32) error {
	if d == nil {
		return nil
	}
	var infinite atomic.Bool
	vector.Ranges(d.grid.Blocks(), vector.Elements/vector.BlockSize, func(first, end int) {
		if !d.last.Follow(theta, d.exact, first, end) {
			infinite.Store(true)
		}
	})
	if infinite.Load() {
		return vector.ErrParameters
	}
	return nil
}

// Exact are the exact parameters, which belong to d; nil if parameters travel whole.
func (d *Differences) Exact() []float32 { return d.Target(nil) }

// Begin lets the exact parameters be theta, which come without exact ones. It copies them.
func (d *Differences) Begin(theta []float32) {
	if d != nil {
		copy(d.exact, theta)
	}
}
