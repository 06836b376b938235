// Package model holds what every sequence model of Switchyard shares: the batch it is trained
// on, the objective it offers to a worker and the questions that an evaluation may ask it.
// It does not know where data comes from, how gradients travel or which paper's table is asked for.
//
// Sequences are TIME-major throughout: row t·B+b of a buffer belongs to time step t of sequence b.
// Controls[t] acts between step t−1 and step t, so it is causal for Observations[t]; Controls[0] is zero.
//
// # What a model may be asked
//
// A Family is registered under a name; its Settings build a Model. All else is found out by asking a model, or the
// Forecaster that it makes, for one of the interfaces here.
//
//	Trainable      its loss can be differentiated: workers share the shards of a batch
//	Fitter         it fits itself by sweeps: workers share its chains
//	Starter        it may begin from parameters that are fitted to recordings
//	Weighing       its draws can be weighed against the model, for the importance-weighted bound
//	Forecasting    it makes Forecasters, one for each goroutine
//
//	Forecaster     predicts; beside that it may be a
//	  Filterer     which infers states from the past
//	  Smoother     which infers them from all observations, and fills gaps
//	  Segmenter    which divides sequences into regimes
//	  Sampler      which makes up sequences
//	  Systematic   which has base systems
//	  Stepper      which filters one observation at a time
//	  Exporter     whose steps are graphs for other programs
//
// # Missing values
//
// A missing value is 0 in Observations and in Seen. It counts for nothing in a likelihood, and inference does not take
// it for a measurement; only the initial state of a state-space model reads the 0. A Forecaster that reads observations
// of which a part is missing is a PartReader; for others Ahead and Whole fill such gaps in before they are asked.
package model

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// Batch is B sequences of T steps with NX observed and NU control dimensions.
type Batch struct {
	T, B, NX, NU int
	Observations []float32 // [T,B,NX]
	Controls     []float32 // [T,B,NU]

	// Seen marks missing observations: [T,B,NX] with 0 where a value is missing (the observation
	// holds 0 there) and 1 elsewhere. Nil if nothing is missing.
	Seen []float32
}

// Resize gives the batch T = t steps of B = n sequences and reuses its memory; the contents are undefined, except
// that nothing is missing.
func (b *Batch) Resize(t, n, nx, nu int) {
	b.T, b.B, b.NX, b.NU = t, n, nx, nu
	b.Observations = resize(b.Observations, t*n*nx)
	b.Controls = resize(b.Controls, t*n*nu)
	b.Seen = nil
}

// Steps are the steps from … to−1 of all sequences, in the memory of the batch. The control of the first of them stays
// what it was.
func (b Batch) Steps(from, to int) Batch {
	cut := func(x []float32, width int) []float32 { return x[from*b.B*width : to*b.B*width] }
	p := b
	p.T, p.Observations, p.Controls = to-from, cut(b.Observations, b.NX), cut(b.Controls, b.NU)
	if b.Seen != nil {
		p.Seen = cut(b.Seen, b.NX)
	}
	return p
}

// Sequence are copies in float64 of the observations of sequence i, [T,NX] with a NaN where a value is missing, and of
// its controls, [T,NU].
func (b Batch) Sequence(i int) (x, u []float64) {
	x, u = make([]float64, 0, b.T*b.NX), make([]float64, 0, b.T*b.NU)
	for row := i; row < b.T*b.B; row += b.B {
		for at := row * b.NX; at < (row+1)*b.NX; at++ {
			v := float64(b.Observations[at])
			if b.Seen != nil && b.Seen[at] == 0 {
				v = math.NaN()
			}
			x = append(x, v)
		}
		for _, v := range b.Controls[row*b.NU : (row+1)*b.NU] {
			u = append(u, float64(v))
		}
	}
	return x, u
}

// Complete reports whether all values of step t of sequence i were seen.
func (b Batch) Complete(t, i int) bool { return b.Seen == nil || b.count(t, i) == b.NX }

// EndOfSchedule is the step of a loss whose schedules have come to their end, so that values of
// different steps compare.
const EndOfSchedule = math.MaxUint64

// Model has parameters. What else it can do it says by the interfaces of this package: Trainable, Forecasting, and
// those of the Forecaster.
type Model interface {
	// Params are the parameters θ. Their values belong to the caller between two other calls.
	Params() *autodiff.Params
}

// Trainable is a model that a worker differentiates.
type Trainable interface {
	Model
	// Terms are the values that Loss reports, the loss first.
	Terms() []Term
	// Loss records what is minimised, per sequence and time step, on the tape and writes its terms. It is a pure
	// function of θ, the batch, the noise stream and the step, which sets the schedules.
	Loss(tape *autodiff.Tape, batch Batch, noise rng.Stream, step uint64, terms []float32) autodiff.Tensor
}

// Query asks for a forecast: filter the prefix and nothing beyond it, then roll out Samples paths of Horizon steps
// for each of its B sequences.
type Query struct {
	Prefix   Batch     // B sequences of T ≥ 1 known steps
	Controls []float32 // applied after the prefix: [Horizon,B,NU], or [Samples,Horizon,B,NU] for a plan per rollout
	Horizon  int       // steps to predict, at least 1
	Samples  int       // latent rollouts
	// Drawn says that a single rollout is a draw, too; without it a family may follow the means along it
	Drawn bool
	// First and Of say that the rollouts are some of Of, from number First on; 0 of 0: they are all. A Varied reads it.
	First, Of int
	Noise     rng.Stream
}

// Forecast is the answer to a Query. Its buffers are reused from call to call.
type Forecast struct {
	Horizon, B, Samples, NX, M int

	// [Horizon,B,NX] decoder mean, averaged over the rollouts, or its expectation where the model knows it
	Mean  []float32
	Paths []float32 // [Samples,Horizon,B,NX] decoder mean of each rollout
	// [Samples,Horizon,B,NX] standard deviation of p(x | z) along each rollout; zeros where the paths are draws
	SD       []float32
	Draw     []float32 // [Horizon,B,NX] draws from the decoder along the first rollout
	Switches []float32 // [Horizon,B,M] mixing weights, averaged over the rollouts
}

// Resize gives the forecast its dimensions and reuses its memory. Its SD are zeros.
func (f *Forecast) Resize(horizon, b, samples, nx, m int) {
	f.Horizon, f.B, f.Samples, f.NX, f.M = horizon, b, samples, nx, m
	f.Mean = resize(f.Mean, horizon*b*nx)
	f.Paths = resize(f.Paths, samples*horizon*b*nx)
	f.SD = resize(f.SD, samples*horizon*b*nx)
	clear(f.SD)
	f.Draw = resize(f.Draw, horizon*b*nx)
	f.Switches = resize(f.Switches, horizon*b*m)
}

// Filtering is the posterior along one path of draws over a prefix: row t is q(z_t) given the drawn z_{t−1} and s_t.
// The first step is a draw of z_1, with a standard deviation of zero and no switch. A model whose filter is exact draws
// nothing: its rows are q(z_t) given what was observed up to t, the first like the others.
type Filtering struct {
	T, B, NZ, M int

	Mean, SD []float32 // [T,B,NZ] of q(z_t)
	Switches []float32 // [T,B,M] mixing weights of s_t; zeros at the first step
}

// Resize gives the filtering its dimensions and reuses its memory.
func (f *Filtering) Resize(t, b, nz, m int) {
	f.T, f.B, f.NZ, f.M = t, b, nz, m
	f.Mean = resize(f.Mean, t*b*nz)
	f.SD = resize(f.SD, t*b*nz)
	f.Switches = resize(f.Switches, t*b*m)
}

// Dims are the sizes of a model: observation, control, latent state and number of mixing weights.
type Dims struct {
	NX, NU, NZ, M int
	// Bodies is of how many bodies a sequence consists, each of which has a switch of its own; 0: of one. State and
	// weights are those of one body after another, NZ/Bodies and M/Bodies of each.
	Bodies int
	// Ages is how many ages of a system a switch tells apart: the last is that of all older ones; 0: it tells none.
	Ages int
}

// Switches is the number of switches: one for each body.
func (d Dims) Switches() int { return max(1, d.Bodies) }

// Carried is how many numbers carry the switch from one step to the next.
func (d Dims) Carried() int { return d.M * max(1, d.Ages) }

// Regimes is the number of values of a switch: base systems that all bodies share.
func (d Dims) Regimes() int { return d.M / d.Switches() }

// Forecasting is a model that answers questions about sequences.
type Forecasting interface {
	Model
	// NewForecaster returns what answers them for one goroutine.
	NewForecaster() Forecaster
}

// Forecaster predicts. It never sees more than the prefix of a query. A Forecaster serves one goroutine; Clone gives
// another one that shares the parameters.
type Forecaster interface {
	// Dims are the sizes of the model. They do not change.
	Dims() Dims
	// Forecast filters q.Prefix and rolls out q.Horizon steps under q.Controls. It resizes dst and writes all of
	// it. The answer is a function of the parameters and the query.
	Forecast(dst *Forecast, q Query)
	// Clone returns a Forecaster for another goroutine.
	Clone() Forecaster
}

// Lagged is a Forecaster that reads so many of the last observations of a prefix; with fewer it guesses.
type Lagged interface {
	// Lags is the number of observations at the end of a prefix that are read.
	Lags() int
}

// Filterer is a Forecaster with a latent state.
type Filterer interface {
	// Filter infers the latent states and mixing weights of the prefix.
	Filter(dst *Filtering, prefix Batch, noise rng.Stream)
}

// Smoothing is what all observations of a sequence, before and after, say of every time step.
type Smoothing struct {
	T, B, NX, NZ int

	Observations []float32 // [T,B,NX] decoder mean of the mean state, whether x_t was seen or not
	Mean, SD     []float32 // [T,B,NZ] of q(z_t)
}

// Resize gives the smoothing its dimensions and reuses its memory.
func (s *Smoothing) Resize(t, b, nx, nz int) {
	s.T, s.B, s.NX, s.NZ = t, b, nx, nz
	s.Observations = resize(s.Observations, t*b*nx)
	s.Mean = resize(s.Mean, t*b*nz)
	s.SD = resize(s.SD, t*b*nz)
}

// Smoother is a Forecaster that infers every time step from all observations, as far as its inference reads them: where
// a batch marks observations as missing, it fills them in.
type Smoother interface {
	// Smooth infers states and observations of all time steps.
	Smooth(dst *Smoothing, b Batch)
}

// Interpolator is a Smoother that infers a gap from both of its sides. With a gap before the last time step that is a
// prediction which knows how it ends.
type Interpolator interface {
	Smoother
	// Interpolates does nothing: it tells an Interpolator from other Smoothers.
	Interpolates()
}

// SmoothingPaths is how many paths of the posterior a Smoother averages that does not know its moments.
const SmoothingPaths = 32

// resize returns a slice of n numbers in the memory of s if it has room; their values are undefined.
func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
