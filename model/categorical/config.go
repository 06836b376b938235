package categorical

import (
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// Config is a model: its sizes and its variant. Package slds, whose settings describe it, has checked it.
type Config struct {
	// NX, NU, NZ and the number M of base systems. With several bodies they are those of each, and each body is a
	// sequence of a batch: consecutive sequences are the bodies of one.
	model.Dims

	Hidden        int  // width of all networks but the encoder
	EncoderHidden int  // width of the encoder
	Blocks        int  // residual blocks of encoder, initial network and decoder; 0: one dense layer
	Skip          bool // linear maps beside encoder, initial network and decoder

	InitialObservations int // k, the (x, u) pairs that q(h) reads
	Initial             statespace.InitialNet
	Emission            statespace.Density
	EmissionSD          statespace.SD

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

func (c Config) initial() statespace.InitialConfig {
	return statespace.InitialConfig{
		NX: c.NX, NU: c.NU, NZ: c.NZ, Observations: c.InitialObservations, Hidden: c.Hidden, Blocks: c.Blocks,
		Net: c.Initial, Skip: c.Skip,
	}
}

func (c Config) encoder() statespace.EncoderConfig {
	return statespace.EncoderConfig{NX: c.NX, NZ: c.NZ, Width: c.EncoderHidden, Blocks: c.Blocks, Skip: c.Skip}
}

func (c Config) emission() statespace.EmissionConfig {
	return statespace.EmissionConfig{
		Density: c.Emission, SD: c.EmissionSD, NX: c.NX, NZ: c.NZ, Hidden: c.Hidden, Blocks: c.Blocks,
		Skip: c.Skip,
	}
}

// scores is the number of outputs of g.
func (c Config) scores() int {
	if c.Rows {
		return c.M * c.M
	}
	return c.M
}
