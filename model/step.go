package model

// Belief is what a Stepper knows of B sequences after their last step. It is all that the next step depends on
// beside parameters, observation, controls and noise, so a program may keep it between calls.
type Belief struct {
	B, NZ, M int

	Z              []float32 // [B,NZ] the state that the next step goes on from: a draw, or the mean without noise
	Mean, Variance []float32 // [B,NZ] of q(z_t)
	Switch         []float32 // [B,Carried] the switch that led to the state; empty after the first step, which none did
	Weights        []float32 // [B,M] of the base systems; zeros after the first step
}

// Resize gives the belief the dimensions of a model and reuses its memory. Without a switch, Switch is empty.
func (b *Belief) Resize(n int, d Dims, switched bool) {
	b.B, b.NZ, b.M = n, d.NZ, d.M
	nz, m := d.NZ, d.M
	b.Z, b.Mean, b.Variance = resize(b.Z, n*nz), resize(b.Mean, n*nz), resize(b.Variance, n*nz)
	b.Weights = resize(b.Weights, n*m)
	b.Switch = resize(b.Switch, n*d.Carried())
	if !switched {
		b.Switch = b.Switch[:0]
		clear(b.Weights)
	}
}

// Disturbance is the noise of a step: of the state [B,NZ], standard normal, and of the switch [B,M], in the
// distribution of its kind (Gumbel, logistic or standard normal). The zero Disturbance has none, so that a step follows
// the means.
type Disturbance struct{ State, Switch []float32 }

// Stepper is a Forecaster that filters sequences one observation at a time, in the same time for every step: each step
// knows the observation of its own time and what the belief before it says, nothing later.
type Stepper interface {
	Forecaster
	// Warmup is how many observations the first state is inferred from. Begin may have fewer.
	Warmup() int
	// Begin infers z_1 from the first observations of sequences, without noise.
	Begin(dst *Belief, first Batch)
	// Step filters the next observation: b has a single step, its controls act between the step before and it.
	Step(dst, from *Belief, b Batch, noise Disturbance)
	// Advance predicts the next state under controls [B,NU], without an observation.
	Advance(dst, from *Belief, u []float32, noise Disturbance)
	// Emit writes mean and standard deviation of p(x | z), as an Emitter does.
	Emit(mean, sd, z []float32)
}

// Exporter is a Stepper whose steps can be written as graphs, in the units of the model: encoder, initial, first_step
// (if the first switch has a network of its own), filter_step, first_transition and transition, predict (so many steps)
// and emission.
type Exporter interface {
	Stepper
	Graphs(horizon int) []Graph
}
