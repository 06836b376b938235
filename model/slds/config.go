package slds

import (
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
)

// Switching is the distribution of the switch s_t.
type Switching string

// The two variants of the paper, "Inference of Switching Variables" and "Reinterpretation as a
// Hierarchical Model", and the ablation without a random switch.
const (
	Concrete      Switching = "concrete"      // relaxed categorical, or relaxed Bernoulli with sigmoid weights
	Normal        Switching = "normal"        // Gaussian, mapped to mixing weights by an affine layer
	Deterministic Switching = "deterministic" // mixing weights of the logits, without noise, measurement or divergence
)

// Categorical is a discrete switch that is summed out: a model of its own, in package categorical.
const Categorical Switching = "categorical"

// Measurement is the network behind the measurement part of the switch posterior.
type Measurement string

// LSTM reads x_t … x_T (and u_t … u_T) backwards; MLP reads x_t (and u_t) alone, so that a filter can
// run online.
const (
	LSTM Measurement = "lstm"
	MLP  Measurement = "mlp"
)

// Start says what the training of a categorical switch begins with.
type Start string

// The starts.
const (
	Random    Start = "random"
	FromARHMM Start = "arhmm"
)

// RolloutSwitch says what a forecast feeds to the transition in place of a posterior switch.
type RolloutSwitch string

// RolloutSample draws from the prior, RolloutMean uses its noise-free value, RolloutMode the most likely system.
const (
	RolloutSample RolloutSwitch = "sample"
	RolloutMean   RolloutSwitch = "mean"
	RolloutMode   RolloutSwitch = "mode"
)

// Config is a model: its sizes, its variant and the resolutions of what the paper leaves open.
type Config struct {
	statespace.Nets // M is also the size of s, and Hidden the width of the LSTM

	Switching Switching
	Weights   statespace.Weights // sigmoid: the maze of the paper

	Measurement         Measurement
	MeasurementControls bool    // whether the measurement network also reads u_t
	Residual            bool    // z + A·z rather than A·z
	Offset              bool    // every base system adds a constant cᵢ
	SwitchSD            float64 // Normal: standard deviations of the switch at the beginning; 0: as dense layers are drawn
	// Concrete: mix transition and measurement logits by γ; without it the posterior uses the measurement alone
	Gate          bool
	Hard          bool    // Concrete: one-hot forward pass with the relaxed gradient (straight-through)
	KLSamples     int     // Monte-Carlo samples of the Concrete divergence
	VarianceFloor float32 // added to mixed transition variances
	Rollout       RolloutSwitch

	Anneal Anneal
	Warmup statespace.Warmup // weight of the divergences of h and z
}

// spread starts a head of standard deviations of a Normal switch.
func (c Config) spread(head model.Dense) {
	if c.SwitchSD > 0 {
		head.B.FillSoftplusInverse(c.SwitchSD)
	}
}

// transitionBlocks is the number of residual blocks of the switch transition and of the MLP measurement: at most
// one.
func (c Config) transitionBlocks() int { return min(c.Blocks, 1) }

// binary reports whether the switch is a vector of relaxed Bernoulli variables.
func (c Config) binary() bool { return c.Switching == Concrete && c.Weights.Gates() }

// Validate returns every fault of the configuration.
func (c Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("slds: "+format, args...)) }
	positive := func(name string, v int) {
		if v < 1 {
			fault("%s is %d, want at least 1", name, v)
		}
	}
	// Sizes first, then ranges, then words, then what goes together.
	positive("observation size", c.NX)
	positive("latent size", c.NZ)
	positive("number of base systems", c.M)
	positive("hidden width", c.Hidden)
	positive("encoder width", c.EncoderHidden)
	positive("number of initial observations", c.InitialObservations)
	positive("number of KL samples", c.KLSamples)
	if c.NU < 0 || c.Blocks < 0 || c.Blocks > model.MaxBlocks {
		fault("control size %d or residual blocks %d out of range (0 … %d blocks)", c.NU, c.Blocks, model.MaxBlocks)
	}
	if c.VarianceFloor <= 0 {
		fault("variance floor is %g, want a positive number", c.VarianceFloor)
	}
	if c.SwitchSD < 0 || c.SwitchSD > 1 {
		fault("initial standard deviation of the switch is %g, want 0 to 1", c.SwitchSD)
	}
	choice(fault, "switching", c.Switching, Concrete, Normal, Deterministic)
	choice(fault, "weights", c.Weights, statespace.AllWeights()...)
	choice(fault, "measurement", c.Measurement, LSTM, MLP)
	choice(fault, "emission", c.Emission, statespace.Gaussian, statespace.Bernoulli)
	choice(fault, "emission standard deviation", c.EmissionSD, statespace.StateSD, statespace.ConstantSD)
	choice(fault, "rollout switch", c.Rollout, RolloutSample, RolloutMean, RolloutMode)
	if c.Rollout == RolloutMode && c.Switching != Concrete {
		fault("rollout switch is %q, which only a Concrete switch has", c.Rollout)
	}
	return errors.Join(faults...)
}

// choice adds a fault unless got is one of the options.
func choice[T ~string](fault func(string, ...any), name string, got T, options ...T) {
	for _, o := range options {
		if got == o {
			return
		}
	}
	fault("%s is %q, want one of %q", name, got, options)
}
