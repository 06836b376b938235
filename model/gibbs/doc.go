// Package gibbs fits switching linear dynamical systems whose regime depends on the state: the tree-structured SLDS
// (TrSLDS, Nassar et al. 2019) and the recurrent SLDS (rSLDS, Linderman et al. 2017; recurrent-only, stick-breaking),
// by Gibbs sampling with Pólya-gamma variables (Polson, Scott and Windle 2013). An rSLDS is a TrSLDS on a caterpillar
// tree whose nodes have no common prior, so there is one sampler for both.
//
// Generative model, for step t of a recording with control u (u_{t+1} acts between steps t and t+1):
//
//	x_0 ~ N(0, v₀ I)
//	z_t ~ π(x_t):  at node n of a binary tree, go left with probability σ(R_n·x_t + r_n); z_t is the leaf arrived at
//	x_{t+1} = A_z x_t + B_z u_{t+1} + b_z + N(0, Q_z),  z = z_t
//	y_t = C x_t + d + N(0, diag S)
//
// Prior, with W_k = [A_k B_k b_k] (of D rows and P = D+Du+1 columns), node 0 the root and pa(n) the parent of n:
//
//	(R_n, r_n) ~ N(0, v_R I)
//	TrSLDS: W_root ~ N(W̄, v I),  W_n ~ N(W_pa(n), λ^depth(n) v I) at inner nodes, W̄ = [a I, 0, 0]
//	        W_k | Q_k ~ MN(W_pa(k), Q_k, λ^depth(k) v I) at leaves
//	rSLDS:  W_k | Q_k ~ MN(W̄, Q_k, v I)
//	Q_k ~ IW(D+1, ψ I)
//	(C_i, d_i) | S_i ~ N(0, S_i v_C I),  S_i ~ IW(2, ψ_S) on S_i ≥ s_i  for each observed dimension i
//
// One sweep draws, each given all the rest:
//
//	z_t               categorical, with the Pólya-gamma variables summed out        regimes.go
//	ω_tn ~ PG(1, ν)   for the nodes n above z_t, ν = R_n·x_t + r_n                  regimes.go, polyagamma.go
//	(R_n, r_n)        Gaussian                                                      hyperplanes.go
//	W_k, Q_k          matrix normal, inverse Wishart                                dynamics.go
//	W_n               Gaussian, inner nodes of a TrSLDS                             dynamics.go
//	x                 forward filter, backward sample                               states.go
//	C, d, S           normal, inverse gamma per observed dimension                  emission.go
//
// A value of y that is NaN is missing: its dimension is skipped at that step. The last step of a recording has no
// regime, as no transition follows it.
//
// A Chain is a pure function of configuration, data, key and chain index. Random numbers are addressed by sweep, chain,
// conditional and recording, so a chain that was saved and restored goes on with the same bits. All arithmetic is
// float64 in a fixed order, without fused operations and with elementary functions of its own: the bits are those of
// every machine.
//
// The package does not know where data comes from, how chains are spread over processes or where their state is kept.
//
// It differs from the papers' published code in this: the noise covariance S of the observations is diagonal, which
// makes a missing value a matter of its own dimension, and has a least value (see Prior.Resolution); z and ω are one
// block, so that ω always belongs to the nodes above the present z; an inner node weighs a leaf below it by Q_k⁻¹,
// without which it would not be a conditional of the model.
package gibbs
