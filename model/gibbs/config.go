package gibbs

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrConfig is returned for a configuration that describes no model.
	ErrConfig = errors.New("gibbs: invalid configuration")
	// ErrData is returned for data that cannot be fitted.
	ErrData = errors.New("gibbs: invalid data")
	// ErrState is returned for a state that is not one of the chain's.
	ErrState = errors.New("gibbs: invalid state")
	// ErrNumeric is returned when a draw fails, as a matrix that should be a covariance is not positive definite.
	ErrNumeric = errors.New("gibbs: numerical failure")
)

// Config describes a model. Start from DefaultConfig: a zero is taken literally.
type Config struct {
	Shape        Shape // of the tree: Caterpillar for an rSLDS, Balanced for a TrSLDS
	Hierarchical bool  // regimes that are neighbours in the tree have similar dynamics: the prior of the TrSLDS
	Leaves       int   // K ≥ 1 regimes; 1: one linear dynamical system
	Latent       int   // D, dimensions of x
	Identity     bool  // C = I and d = 0, which needs D = Dy; otherwise they are drawn
	Told         bool  // the regimes of an autoregressive HMM begin; else a tree of systems is fitted greedily
	Prior        Prior
}

// Prior are the constants of the prior, named as in the package comment.
type Prior struct {
	Start     float64 // v₀, variance of x_0
	Plane     float64 // v_R, variance of the entries of a hyperplane
	Diagonal  float64 // a: A is near a·I
	Dynamics  float64 // v, of W, in units of Q for a leaf
	Shrink    float64 // λ, factor on v from a node of the tree to its children; only with Hierarchical
	Noise     float64 // ψ of Q
	Emission  float64 // v_C of (C, d)
	Measuring float64 // ψ_S of S
	// Resolution is the least standard deviation of the observations' noise, as a share of that of an observed
	// dimension. It matters where observations have no noise: without it the density of a dimension that its past
	// determines has no bound, and rises most when all steps have one regime.
	Resolution float64
}

// DefaultConfig is that of the published experiments of Nassar et al. (2019) on the FitzHugh–Nagumo oscillator: of
// a TrSLDS on a balanced tree if hierarchical, else of an rSLDS on a caterpillar. Its states are the observations
// (Identity).
func DefaultConfig(hierarchical bool) Config {
	shape := Caterpillar
	if hierarchical {
		shape = Balanced
	}
	return Config{
		Shape: shape, Hierarchical: hierarchical, Leaves: 4, Latent: 2, Identity: true,
		Prior: Prior{
			Start: 20, Plane: 1e4, Diagonal: 0.99, Dynamics: 100, Shrink: 0.01, Noise: 1e-6, Emission: 100,
			Measuring: 1e-8, Resolution: 1e-3,
		},
	}
}

// validate joins all faults, each an ErrConfig. Of the data it reads the number of observed dimensions alone.
func (c Config) validate(d Data) error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %w", ErrConfig, fmt.Errorf(format, args...)))
	}
	if c.Shape != Caterpillar && c.Shape != Balanced {
		fault("shape %q, want %q or %q", c.Shape, Caterpillar, Balanced)
	}
	if c.Leaves < 1 {
		fault("%d leaves, want at least 1", c.Leaves)
	}
	if c.Latent < 1 {
		fault("%d latent dimensions, want at least 1", c.Latent)
	}
	if c.Identity && c.Latent != d.Observed {
		fault("the observations have %d dimensions and x has %d: C = I needs as many; give them, or let C be drawn",
			d.Observed, c.Latent)
	}
	p := c.Prior
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"Start", p.Start},
		{"Plane", p.Plane},
		{"Dynamics", p.Dynamics},
		{"Shrink", p.Shrink},
		{"Noise", p.Noise},
		{"Emission", p.Emission},
		{"Measuring", p.Measuring},
		{"Resolution", p.Resolution},
	} {
		if !(v.value > 0) || math.IsInf(v.value, 1) {
			fault("Prior.%s = %v, want a positive number", v.name, v.value)
		}
	}
	if math.IsNaN(p.Diagonal) || math.IsInf(p.Diagonal, 0) {
		fault("Prior.Diagonal = %v, want a number", p.Diagonal)
	}
	return errors.Join(errs...)
}

// Data are recordings of one process. They may differ in length.
type Data struct {
	Observed   int // Dy, dimensions of an observation
	Controls   int // Du, dimensions of a control; 0: none
	Recordings []Recording
}

// Recording is a sequence without gaps in time, time-major. It belongs to the caller and is not changed.
type Recording struct {
	Y []float64 // [T,Dy] observations; NaN where a value is missing
	U []float64 // [T,Du] controls; U[t] acts between steps t−1 and t, U[0] is not used
}

// steps is the length T of a recording; data of no dimension, which validate refuses, do not divide by zero.
func (d Data) steps(r Recording) int { return len(r.Y) / max(d.Observed, 1) }

// validate returns the first fault, an ErrData. Observations may be missing, controls may not, but for those of a
// first step, which nothing reads. There has to be a transition.
func (d Data) validate() error {
	if d.Observed < 1 || d.Controls < 0 {
		return fmt.Errorf("%w: %d observed and %d control dimensions, want at least 1 and 0", ErrData, d.Observed, d.Controls)
	}
	transitions := 0
	for i, r := range d.Recordings {
		T := d.steps(r)
		if T == 0 || len(r.Y) != T*d.Observed {
			return fmt.Errorf("%w: recording %d has %d observed values, want a positive multiple of %d", ErrData, i, len(r.Y),
				d.Observed)
		}
		if len(r.U) != T*d.Controls {
			return fmt.Errorf("%w: recording %d has %d control values, want %d for %d steps of %d", ErrData, i, len(r.U),
				T*d.Controls, T, d.Controls)
		}
		for j, y := range r.Y {
			if math.IsInf(y, 0) {
				return fmt.Errorf("%w: recording %d, step %d, dimension %d: the observation is infinite; write NaN for a "+
					"missing value", ErrData, i, j/d.Observed, j%d.Observed)
			}
		}
		for j, u := range r.U {
			if j >= d.Controls && (math.IsNaN(u) || math.IsInf(u, 0)) {
				return fmt.Errorf("%w: recording %d, step %d, control %d: %v; controls cannot be missing", ErrData, i, j/d.Controls,
					j%d.Controls, u)
			}
		}
		transitions += T - 1
	}
	if transitions == 0 {
		return fmt.Errorf("%w: no recording has two steps", ErrData)
	}
	return nil
}

// observed returns an ErrData unless there is a value of each dimension, without which its parameters cannot be
// fitted. Data that are valid are asked about.
func (d Data) observed() error {
	seen := make([]bool, d.Observed)
	for _, r := range d.Recordings {
		for j, y := range r.Y {
			seen[j%d.Observed] = seen[j%d.Observed] || !math.IsNaN(y)
		}
	}
	if i := slices.Index(seen, false); i >= 0 {
		return fmt.Errorf("%w: dimension %d is never observed; leave it out", ErrData, i)
	}
	return nil
}
