// Package envs says what a simulated environment is: a source of episodes, each a pure function of a random key, an
// episode index and a length. Anyone who holds the key can simulate any episode again, alone and in any order, to the
// same bits; this is what lets a shard of training data be computed by whichever worker happens to lease it.
//
// The environments themselves are subpackages; envtest holds the rules that each of them keeps. Package envs does not
// know models, batches or how episodes travel.
package envs

import "github.com/switchyard-ml/switchyard/rng"

// Spec describes the episodes of an environment.
type Spec struct {
	Name        string
	Observation int      // nx, dimensions of an observation
	Control     int      // nu, dimensions of a control; 0 = none
	State       int      // dimensions of the true state, for probes; 0 = not recorded
	Labels      []string // names of the label columns, for probes; nil = none
	DT          float64  // time between two steps, in the environment's unit; 0 = steps have no duration
}

// Episode is one sequence of T steps. Every array is row-major [T, n] with n from the Spec;
// rows follow each other without padding. The caller owns the memory and may reuse it.
//
// Controls[t] acts between step t−1 and step t, so it is causal for Observations[t];
// Controls[0] is zero. Labels[t] describes step t.
type Episode struct {
	T            int
	Observations []float32
	Controls     []float32
	States       []float32
	Labels       []float32
}

// Resize gives the episode the dimensions of T steps of s. It reuses the memory that the episode
// already holds and leaves the contents undefined: a simulation overwrites all of them.
func (e *Episode) Resize(s Spec, T int) {
	e.T = T
	e.Observations = resize(e.Observations, T*s.Observation)
	e.Controls = resize(e.Controls, T*s.Control)
	e.States = resize(e.States, T*s.State)
	e.Labels = resize(e.Labels, T*len(s.Labels))
}

// Env simulates episodes. Its methods may be called from several goroutines at once.
type Env interface {
	// Spec is always the same. Callers must not change its Labels.
	Spec() Spec

	// Simulate resizes dst to T steps and fills all of it with episode index under key.
	//
	// The episode is a pure function of (key, index, T), and the first T steps of a longer
	// episode are the same bits. Once dst has the capacity, Simulate does not allocate.
	Simulate(dst *Episode, key rng.Key, index uint32, T int)
}

// Indicator is the label of a fact: 1 where it holds, 0 where it does not.
func Indicator(holds bool) float32 {
	if holds {
		return 1
	}
	return 0
}

// Pictured is an Env whose observations are images.
type Pictured interface {
	// Image is height, width and channels: an observation holds them in this order, the last running fastest.
	Image() [3]int
}

// Switching is an Env that switches between regimes, and knows which one each step has.
type Switching interface {
	Env
	// Regime is the column of the labels that holds the regime: a whole number from 0.
	Regime() int
}

// resize returns s with n elements, or new memory where it is too small.
func resize(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}
