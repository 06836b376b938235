// Package categorical is a switching linear dynamical system with a discrete switch, which is summed out exactly along
// the sampled path of the state.
//
// Generative model, t = 1 … T:
//
//	p(h) = N(0, I);  z_1 = t(h);  p(x_t | z_t) Gaussian or Bernoulli;  p(s_1 = j) = softmax_j(π)
//	p(s_t = j | s_{t−1} = i, z_{t−1}, u_t) = softmax_j(L_ij + g_j(z_{t−1}, u_t))
//	p(z_t | z_{t−1}, s_t = j, u_t) = N(μ_j, Q_j),  μ_j = z_{t−1} + A_j z_{t−1} + B_j u_t + c_j
//
// Along a path of z the switch is a Markov chain whose beliefs b follow by Bayes' rule:
//
//	w_t(j) = Σ_i b_{t−1}(i)·p(j | i, z_{t−1}, u_t);  ℓ_t = log Σ_j w_t(j)·N(z_t; μ_j, Q_j)
//	b_t(j) = w_t(j)·N(z_t; μ_j, Q_j)/exp ℓ_t
//
// Inference draws z_t once from the product of the transition's mixture, as one Gaussian with variances Q′ of its own,
// and a measurement of x_t:
//
//	q(z_t) ∝ N(Σ_j w_t(j) μ_j, Σ_j w_t(j) Q′_j) × q_meas(z_t | x_t)
//
// With durations the chance to stay depends on the age d of the system, the steps since the switch to it, of which D
// are told apart: C(i,d) is added to L_ii. Beside b goes the distribution of the age of every system, and the sum over
// ages is as exact (autodiff.Tape.PredictAgedSwitch). The age at the first step, where a sequence may be cut out of a
// longer one, has learned probabilities. C begins at zero, where ages change nothing.
//
// The bound is that of a model with a discrete switch. It has no temperature, no divergence of switches and no draw of
// them:
//
//	E_q[Σ_t log p(x_t | z_t) + Σ_{t≥2} ℓ_t − Σ_{t≥2} log q(z_t)] − KL[q(h) ‖ p(h)]
//
// (The paper asks for it: Becker-Ehmck et al. 2019, Conclusion. Related: Dong et al. 2020, SNLDS; Ansari et al. 2021,
// RED-SDS; both infer z by a network over the whole sequence.)
//
// Initial state, encoder and emission are those of package statespace. The model is the value categorical of the key
// model.switching of package slds, which has its settings. The package does not know where batches come from.
package categorical

import (
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// Model is the parameters of the model and the networks over them. One Model serves any number of tapes at a time, as
// long as its parameters do not change.
type Model struct {
	statespace.Frame
	cfg Config
	key rng.Key

	encoder    statespace.Encoder
	transition transition
}

var (
	_ model.Trainable = (*Model)(nil)
	_ statespace.Core = (*Model)(nil)
)

// New declares and initialises a model. Equal configuration and key give equal parameters. Draws are in the order
// of the parts below: initial network, encoder, transition, emission.
func New(c Config, key rng.Key) *Model {
	draws := key.At(0, 0, 0)
	m := &Model{Frame: statespace.NewFrame(c.Nets, &draws), cfg: c, key: key}
	m.encoder = statespace.NewEncoder(m.Params(), c.EncoderConfig(), &draws)
	m.transition = newTransition(m.Params(), c, &draws)
	m.Complete(&draws)
	return m
}
