package config

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/model"
)

// byGradient are the keys, and the section, of training by gradient, which mean nothing to a model that fits
// itself.
func byGradient() []string {
	return []string{
		"optim", "env.window", "train.batch", "train.shards", "train.gradients", "train.parameters", "train.validate_every",
		"train.validation_episodes", "train.patience",
		"train.method", "train.replicas", "train.local_steps", "train.outer_rate", "train.outer_momentum",
	}
}

// sweeping makes of a kind one whose models fit themselves: sweeps take the place of updates. train.steps follows
// model.sweeps, and checkpoints are written at exchanges unless a user says otherwise. The checks of the kind stay.
func sweeping(kind *Kind) {
	kind.Unused = byGradient()
	kind.Decides = func(c *Config) []Decision {
		s, _ := Sweeps(*c)
		return []Decision{
			{Key: "train.steps", Value: strconv.Itoa(s.Total), By: "model.sweeps"},
			{Key: "train.checkpoint_every", Value: strconv.Itoa(s.Exchange)},
		}
	}
	check := kind.Check
	kind.Check = func(c *Config) []setting.Fault {
		s, ok := Sweeps(*c)
		if !ok {
			return check(c)
		}
		return slices.Concat(multiples(c, s), check(c))
	}
}

// multiples returns what is no multiple of the sweeps between two exchanges: the whole number of sweeps, or the
// updates between two checkpoints.
func multiples(c *Config, s model.Sweeps) []setting.Fault {
	if s.Exchange < 1 || s.Total < 1 {
		return nil // out of range, which is told already
	}
	var faults []setting.Fault
	if s.Total%s.Exchange != 0 {
		faults = append(faults, setting.Faultf([]string{"model.exchange", "model.sweeps"},
			fmt.Sprintf("e.g. model.exchange=%d", divisor(s.Total, s.Exchange)),
			"model.sweeps=%d is not a multiple of the %d sweeps between two exchanges", s.Total, s.Exchange))
	}
	if every := c.Train.CheckpointEvery; every%uint64(s.Exchange) != 0 {
		faults = append(faults, setting.Faultf([]string{"train.checkpoint_every", "model.exchange"},
			"0 writes one at the end only",
			"%d is not a multiple of model.exchange (%d): checkpoints are written where chains exchange", every, s.Exchange))
	}
	return faults
}

// divisor is the greatest common divisor.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// Sweeps says how the model of a configuration works if it fits itself.
func Sweeps(c Config) (model.Sweeps, bool) {
	s, ok := c.Model.Settings.(model.Sweeping)
	if !ok {
		return model.Sweeps{}, false
	}
	return s.SweepPlan(), true
}

// Fitter is the model of a configuration as one that fits itself, or ErrKind.
func Fitter(c Config, m model.Model) (model.Fitter, error) {
	f, ok := m.(model.Fitter)
	if !ok {
		return nil, fmt.Errorf("%w: the settings of model.kind=%s have sweeps, but its model does not fit itself", ErrKind,
			c.Model.Kind)
	}
	return f, nil
}
