// Package slds is the switching linear dynamical system of Becker-Ehmck, Peters and van der Smagt
// (ICML 2019): latent linear dynamics mixed by a switch, trained by the evidence lower bound.
//
// Generative model, t = 1 … T:
//
//	p(h) = N(0, I);  z_1 = t(h);  p(x_t | z_t) Gaussian or Bernoulli
//	p(s_t | s_{t−1}, z_{t−1}, u_t): Concrete or Normal with parameters g(z_{t−1}, s_{t−1}, u_t),
//	                                for t = 2 g₀(z_1, u_2)
//	p(z_t | z_{t−1}, s_t, u_t) = N(z_{t−1} + Σᵢ wᵢ(Aᵢ z_{t−1} + Bᵢ u_t), Σᵢ wᵢ Qᵢ),  w the mixing weights of s_t
//
// Inference q is structured like it: the transition's mean, with variances of its own, is multiplied
// by a Gaussian measurement of x_t; the switch's transition is combined with a measurement that reads
// x_t … x_T backwards (or the present alone, for filtering).
//
// In code: rows of a tensor are time-major, n rows a step; z has T blocks of n rows, and all that belongs to a
// transition has T−1, block i for the step from z_{i+1} to z_{i+2} in the numbering from 1. A pass of inference draws
// the noise of h and z first, in one tensor, then that of the switches; the order of the two is part of what makes runs
// reproducible.
//
// docs/paper.md maps equations to functions. Initial state, encoder, base matrices and emission are those of package
// statespace; the files here are what is the switch's own: transition, switch_concrete and switch_normal, recognition,
// and elbo; forecast goes on where the data end. The package does not know where batches come from.
package slds

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is the parameters of a switching linear dynamical system and the networks over them. One
// Model serves any number of tapes at a time, as long as its parameters do not change.
type Model struct {
	statespace.Frame
	cfg  Config
	note string // about the divergence of the switches

	recognition recognitionNet
	transition  transitionNet
}

var (
	_ model.Trainable = (*Model)(nil)
	_ statespace.Core = (*Model)(nil)
)

// New declares and initialises a model. Equal configuration and key give equal parameters: all come from one
// stream, in the order of declaration. The error lists every fault of the configuration.
func New(cfg Config, key rng.Key) (*Model, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("new model: %w", err)
	}
	draws := key.At(0, 0, 0)
	m := &Model{Frame: statespace.NewFrame(cfg.Nets, &draws), cfg: cfg, note: cfg.divergenceNote()}
	m.recognition = newRecognitionNet(m.Params(), cfg, &draws)
	m.transition = newTransitionNet(m.Params(), cfg, &draws)
	m.Complete(&draws)
	return m, nil
}
