package model

import "github.com/switchyard-ml/switchyard/rng"

// Sampling is sequences that a model made up: draws from its generative model alone.
type Sampling struct {
	T, B, NX, NZ, M int

	Mean     []float32 // [T,B,NX] mean of p(x_t | z_t) along the drawn states
	Draw     []float32 // [T,B,NX] draws of the observations
	States   []float32 // [T,B,NZ] drawn latent states
	Switches []float32 // [T,B,M] mixing weights that led to each step; zeros at the first, which none did
}

// Resize gives the sampling its dimensions and reuses its memory.
func (s *Sampling) Resize(t, b, nx, nz, m int) {
	s.T, s.B, s.NX, s.NZ, s.M = t, b, nx, nz, m
	s.Mean = resize(s.Mean, t*b*nx)
	s.Draw = resize(s.Draw, t*b*nx)
	s.States = resize(s.States, t*b*nz)
	s.Switches = resize(s.Switches, t*b*m)
}

// SampleQuery asks for B sequences of T steps.
type SampleQuery struct {
	T, B     int
	Controls []float32 // [T,B,NU]; those of the first step have no effect
	Noise    rng.Stream
}

// Sampler is a Forecaster whose model says how a sequence begins, so that it can make up whole ones. (A model of the
// next observation alone has no first one.)
type Sampler interface {
	// Sample draws initial states from the prior, then every transition and observation.
	Sample(dst *Sampling, q SampleQuery)
}
