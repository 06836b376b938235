package categorical

import "github.com/switchyard-ml/switchyard/model/statespace"

// Config is a model: its sizes and its variant. Package slds, whose settings describe it, has checked it.
type Config struct {
	statespace.Nets

	Residual      bool    // z + A·z rather than A·z
	VarianceFloor float32 // added to transition variances
	Rows          bool    // g has a row for each system that is left
	Preview       bool    // the weights that propose z_t look at x_t
	Rollout       Rollout
	Warmup        statespace.Warmup // weight of the divergences of h and z
	Start         bool              // begin from an autoregressive HMM
}

// Rollout says which switch a forecast follows.
type Rollout string

// Sample draws systems, Mean goes on with their probabilities, Mode takes the most likely system at each step.
const (
	Sample Rollout = "sample"
	Mean   Rollout = "mean"
	Mode   Rollout = "mode"
)

// scores is the number of outputs of g: one for each system that may follow, or M for each system that is left.
func (c Config) scores() int {
	if c.Rows {
		return c.M * c.M
	}
	return c.M
}
