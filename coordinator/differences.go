package coordinator

import (
	"fmt"
	"sync/atomic"

	"github.com/switchyard-ml/switchyard/internal/vector"

	"github.com/switchyard-ml/switchyard/store/checkpoint"
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

// differences is how the parameters of a run follow the exact ones. It is nil in runs whose parameters travel whole,
// and its methods do nothing then.
type differences struct {
	coding wire.Coding
	grid   *vector.Grid
	last   *vector.Difference // of the last update
	exact  []float32
}

// newDifferences returns nil if parameters travel whole.
func newDifferences(cfg *Config, theta []float32) *differences {
	grid, err := cfg.changes(len(theta))
	if err != nil {
		panic(err) // the configuration was not validated
	}
	if grid == nil {
		return nil
	}
	return &differences{
		coding: cfg.Parameters, grid: grid, last: vector.NewDifference(grid), exact: append([]float32(nil), theta...),
	}
}

// changes divides a number of parameters into the blocks of their differences; nil if parameters travel whole.
func (c *Config) changes(size int) (*vector.Grid, error) {
	if c.Parameters == wire.Float32 {
		return nil, nil
	}
	grid, err := vector.NewGrid(vector.Width(c.Parameters.Width()), c.tensors(size), 1)
	if err != nil {
		return nil, fmt.Errorf("parameters as differences: %w", err)
	}
	return grid, nil
}

// target is what the optimiser updates: the exact parameters, or theta itself.
func (d *differences) target(theta []float32) []float32 {
	if d == nil {
		return theta
	}
	return d.exact
}

// follow moves theta towards the exact parameters. It returns ErrParameters if that is not finite.
func (d *differences) follow(theta []float32) error {
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

// moments are what of them is in a checkpoint.
func (d *differences) moments() []vector.Moment {
	if d == nil {
		return nil
	}
	return []vector.Moment{{Name: checkpoint.Exact, Values: d.exact}}
}

// begin lets the exact parameters be theta.
func (d *differences) begin(theta []float32) {
	if d != nil {
		copy(d.exact, theta)
	}
}

// offer says in a Welcome how parameters travel.
func (d *differences) offer(w *wire.Welcome, cfg *Config, size int) {
	if d != nil {
		w.Parameters, w.Tensors = d.coding, cfg.tensors(size)
	}
}
