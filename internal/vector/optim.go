package vector

import "errors"

// maxNorm is the largest norm of a usable gradient. The square of 1.8e19 is +Inf in float32, and a parameter whose
// second moment is +Inf never changes again. The margin is for the sum in the moment.
const maxNorm = 1e18

var (
	// ErrOverflow is returned if the norm of a sum over shards is not finite.
	ErrOverflow = errors.New("the sum of the shards' gradients overflows float32")
	// ErrParameters is returned if the parameters are not finite after an update.
	ErrParameters = errors.New("the updated parameters are not finite")
)

// Moment is a vector that an optimiser keeps from one update to the next: one value for each parameter, or a single
// one for all.
type Moment struct {
	Name   string
	Values []float32
}
