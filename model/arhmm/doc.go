// Package arhmm fits an autoregressive hidden Markov model (Hamilton 1989) by expectation maximisation:
//
//	s_t ~ P[s_{t−1}, ·],  s_L ~ π
//	x_t = Σ_{l=1..L} A_{jl} x_{t−l} + B_j u_t + c_j + N(0, Q_j),  j = s_t,  t ≥ L
//
// The first L observations of a recording are given. W_j = [A_j1 … A_jL B_j c_j] has D rows and P = L·D+Du+1 columns.
// A chain is a start of its own; each sweep is one step of EM over all recordings (Baum et al. 1970), and the chain of
// the highest likelihood answers.
//
// Of a value x_t that is missing, the seen channels count with their marginal density, exactly. A missing value among
// the lags of a later step stands at its filtered mean, which is an approximation. A step with a missing value has no
// part in the estimate of W and Q.
//
// All arithmetic is float64 in a fixed order (see internal/matrix): the bits are those of every machine.
package arhmm
