package envs

import (
	"errors"
	"fmt"
	"math"
)

// Constants collects the faults of an environment's constants, so that New can report all of them together.
type Constants struct {
	Fault error // the environment's own error, which every fault wraps

	faults []error
}

// Check adds a fault if a constant is not ok, not a number or infinite.
func (c *Constants) Check(name string, v float64, ok bool) {
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		c.faults = append(c.faults, fmt.Errorf("%w: %s = %v", c.Fault, name, v))
	}
}

// Err returns all faults, or nil.
func (c *Constants) Err() error { return errors.Join(c.faults...) }
