// Package dvbf has the Deep Variational Bayes Filters that the paper compares with. Both have locally linear
// transitions and no switch: their mixing weights are a deterministic function of the past. The loss is the negative
// evidence lower bound. The parts are those of package statespace; the package does not know where batches come from.
//
// # Model: the noise is inferred
//
// DVBF-LL (Karl, Soelch, Bayer and van der Smagt, Deep Variational Bayes Filters, ICLR 2017). All that is random in the
// transition is a noise w_t, and it is the noise that is inferred, not the state. Generative model, t = 1 … T:
//
//	p(w_1) = N(0, I);  z_1 = t(w_1);  p(x_t | z_t) Gaussian with a constant variance, or Bernoulli
//	p(w_t) = N(0, I);  α_t = softmax(f(z_{t−1}, u_t)), for t ≥ 2
//	z_t = z_{t−1} + Σᵢ αᵢ(Aᵢ z_{t−1} + Bᵢ u_t + Cᵢ w_t)
//
// Inference:
//
//	q(w_1 | x_{1:k}, u_{1:k}) = N(μ, σ²);  q(w_t | z_{t−1}, x_t, u_t) = N(μ_t, σ_t²)
//
// Training has the annealing of that paper. Base matrices are point estimates.
//
// # Fusion: the state is inferred
//
// DVBF Fusion (Karl, Soelch, Becker-Ehmck, Benbouzid, van der Smagt and Bayer, Unsupervised Real-Time Control through
// Variational Empowerment, 2017). It is the switching model of package slds without the switch. Generative model:
//
//	p(h) = N(0, I);  z_1 = t(h);  p(x_t | z_t) Gaussian or Bernoulli
//	α_t = sigmoid(f(z_{t−1}, u_t)), or softmax, for t ≥ 2
//	p(z_t | z_{t−1}, u_t) = N(μ_t, Σᵢ αᵢ Qᵢ),  μ_t = z_{t−1} + Σᵢ αᵢ(Aᵢ z_{t−1} + Bᵢ u_t)
//
// Inference multiplies the transition, with base variances of its own, by a measurement of the present observation:
//
//	q(h | x_{1:k}, u_{1:k}) = N(μ_h, σ_h²)
//	q(z_t | z_{t−1}, x_t, u_t) ∝ N(z_t; μ_t, Σᵢ αᵢ Q′ᵢ) · N(z_t; μ_meas(x_t), σ_meas²(x_t))
package dvbf
