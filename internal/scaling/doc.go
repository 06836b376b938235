// Package scaling predicts how long a training step takes on a cluster, from measurements on one machine. It says what
// limits the step and what to choose instead, and it advises a run from measurements of its steps. It measures nothing
// and knows no network: its input and output are numbers.
//
// A step has four parts, one after the other,
//
//	T = T_down + T_compute + T_up + T_update
//
// and each lasts as long as its busiest resource. With W workers of s slots on H machines of K cores, S shards of c
// core seconds each, P parameters in D bytes (4P, or 2P or P as differences), n = ⌈4P/M⌉ messages of at most M bytes,
// links of b bytes per second in each direction, a latency of ℓ in one direction, κ core seconds to hand a message to
// the broker, and δ core seconds to bring one copy of it to its receiver, half of that at each of the two:
//
//	T_down    = ℓ + max( x·D/b, x_m·D/b, n·κ, (n·κ + x·n·δ/2)/K, (W/H)·n·δ/2/K ) + i
//	T_compute = Σ_waves ⌈shards of a lease / s⌉ · c · max(1, busy slots of a machine / K)
//	T_up      = 3ℓ + max( N·D'/b, N·D'·2ℓ/C, N·(n'·δ/2 + μ) )
//	T_update  = a
//
// x copies of the parameters leave the machine of coordinator and broker: W in a star, which is the default; H with a
// leaf node on each machine, which passes one copy to all its workers (x_m = 1, otherwise W/H); ⌈W/B⌉ + B − 1 with B
// brokers in a cluster; 1 where workers hand the parameters on, which takes one latency more. N blocks of D' bytes in
// n' messages come back; the blocks of all waves but the last travel while the next wave is computed. C is the credit;
// a round trip of 2ℓ carries one credit. μ is the coordinator's work for each block: copy, checks, sum. i is the time
// in which a worker installs parameters. a is the coordinator's work between the last block and the next parameters. On
// one machine there is no link, and the same K cores do all work of a part.
//
// The blocks are those that the coordinator makes: each of W equal workers gets a lease of 2^⌊log₂(r/W)⌋ of the r
// remaining shards, and when all have one, the rest is divided in the same way. So more workers help up to W = S.
//
// Stragglers multiply the time of each lease by an independent factor, lognormal or Pareto. For them there is a seeded
// simulation of the leases, blocks and speculation.
package scaling
