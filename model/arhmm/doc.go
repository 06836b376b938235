// Package arhmm fits an autoregressive hidden Markov model (Hamilton 1989) by expectation maximisation:
//
//	s_t ~ P[s_{t−1}, ·],  s_L ~ π
//	x_t = Σ_{l=1..L} A_{jl} x_{t−l} + Σ_{c=0..C} B_{jc} u_{t−c} + c_j + N(0, Q_j),  j = s_t,  t ≥ L
//
// The first L observations of a recording are given. W_j = [A_j1 … A_jL B_j0 … B_jC c_j] has D rows and
// P = L·D+(C+1)·Du+1 columns; C < L, so that all controls that count are those of steps.
// A chain is a start of its own; each sweep is one step of EM over all recordings (Baum et al. 1970), and the chain of
// the highest likelihood answers.
//
// Of an observation that is missing in part the seen channels count with their marginal. Over a gap all paths of
// the regimes are followed, each with the normal distribution of what is missing (see bridge): likelihood, regimes, and
// the moments of a sweep are exact if the steps are no more than a node remembers, and without lags always. In longer
// gaps, paths that differ in older regimes only are merged to their mean and covariance (generalised pseudo-Bayes), and
// a step counts in a sweep with the missing values as they are known a few steps later. A given observation that is
// missing is N(mean, variance) of its channel. The more steps of the recordings lie in gaps, the sooner paths are
// merged, so that a sweep stays in proportion.
//
// All arithmetic is float64 in a fixed order (see internal/matrix): the bits are those of every machine.
package arhmm
