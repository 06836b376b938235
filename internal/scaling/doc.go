// Package scaling predicts how long a training step takes on a cluster, from what was measured on one machine; says what
// holds the step up, and what to choose instead; and advises a run from what was measured in it. It measures nothing and
// knows no network: numbers go in and numbers come out.
//
// A step has four parts, one after the other,
//
//	T = T_down + T_compute + T_up + T_update
//
// and each lasts as long as its busiest resource. With W workers of s slots on H machines of K cores, S shards of c core
// seconds each, P parameters in D = 4P bytes, n = ⌈D/M⌉ messages of M bytes, links of b bytes per second each way, a
// latency of ℓ one way, κ core seconds to hand a message to the broker, and δ to bring one copy of it to its receiver,
// half of that at each of the two:
//
//	T_down    = ℓ + max( x·D/b, x_m·D/b, n·κ, (n·κ + x·n·δ/2)/K, (W/H)·n·δ/2/K ) + i
//	T_compute = Σ_waves ⌈shards of a lease / s⌉ · c · max(1, busy slots of a machine / K)
//	T_up      = 3ℓ + max( N·D'/b, N·D'·2ℓ/C, N·(n'·δ/2 + μ) )
//	T_update  = a
//
// x copies of the parameters leave the machine of coordinator and broker: W in a star, which is the default; H with a leaf
// node on each machine, which passes one copy to all its workers (x_m = 1, else W/H); ⌈W/B⌉ + B − 1 with B brokers in a
// cluster. N blocks of D' bytes in n' messages come back; those of all waves but the last travel while the next is
// computed. C is the credit, of which a round trip of 2ℓ carries one; μ what the coordinator does for each block: copy,
// checks, sum; i what a worker needs to install parameters; a what the coordinator does between the last block and the
// next parameters. On one machine there is no link, and all work of a part is done by the same K cores.
//
// The blocks are those that the coordinator cuts: of W workers alike each gets a lease of 2^⌊log₂(r/W)⌋ of the r shards
// that are left, and when all have one, the rest is cut likewise. So W up to S helps, and no more.
//
// Stragglers multiply the time of each lease by an independent factor, lognormal or Pareto. For these there is a seeded
// simulation of the leases, blocks and speculation; for one wave without speculation, E[max] in closed form.
package scaling
