package statespace

import "github.com/switchyard-ml/switchyard/model"

// Nets are the sizes of a state-space model and of its encoder, initial network and decoder.
type Nets struct {
	// NX, NU, NZ and the number M of base systems. With several bodies they are those of each, and each body is a
	// sequence of a batch: consecutive sequences are the bodies of one.
	model.Dims

	Hidden        int  // width of all networks but the encoder
	EncoderHidden int  // width of the encoder trunk
	Blocks        int  // residual blocks of each of them; 0: one dense layer
	Skip          bool // linear maps beside them
	Interactions  int  // systems of the interaction of bodies; 0: there is none

	InitialObservations int // k, the (x, u) pairs that q(h) reads
	Initial             InitialNet
	Emission            Density
	EmissionSD          SD
	EmissionFloor       float64 // least standard deviation of a Gaussian emission; 0: SDFloor
}

// InitialConfig is that of the initial network.
func (n Nets) InitialConfig() InitialConfig {
	return InitialConfig{
		NX: n.NX, NU: n.NU, NZ: n.NZ, Observations: n.InitialObservations, Hidden: n.Hidden, Blocks: n.Blocks,
		Net: n.Initial, Skip: n.Skip,
	}
}

// EncoderConfig is that of the encoder.
func (n Nets) EncoderConfig() EncoderConfig {
	return EncoderConfig{NX: n.NX, NZ: n.NZ, Width: n.EncoderHidden, Blocks: n.Blocks, Skip: n.Skip}
}

// EmissionConfig is that of the decoder.
func (n Nets) EmissionConfig() EmissionConfig {
	return EmissionConfig{
		Density: n.Emission, SD: n.EmissionSD, Floor: n.EmissionFloor, NX: n.NX, NZ: n.NZ, Hidden: n.Hidden,
		Blocks: n.Blocks, Skip: n.Skip,
	}
}
