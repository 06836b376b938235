// Package vector is the arithmetic of long vectors, gradients and parameters, to the same bits on every instruction
// set, for every number of cores and every order in which parts arrive.
//
//	reduce      the fixed reduction of a step: the complete binary tree over its shards. A node is the float32 sum of its two
//	            halves, left plus right.
//	optimise    Adam, which computes new parameters from a gradient; Nesterov's momentum, which computes them from the local
//	            steps of replicas (DiLoCo); and the average of the parameters over updates
//	quantize    gradients that are summed as integers of 16 or 8 bits with shared scales. The parameters are divided into
//	            blocks. Before a step, each block has a scale, 2^exponent, which is the same for all shards. Each shard's
//	            gradient is rounded once to integer multiples of the scale, at random and without bias. Sums of integers are
//	            exact, so they have the same bits in any order and grouping; the sum over all shards fits into the bits.
//	            Workers use Grid and Rounder, coordinators use Scales.
//	difference  parameters that travel as integers with scales of their own, which the coordinator alone computes, rounded to
//	            the nearest, with what is rounded off kept for the next one
//	exact       states of Markov chains as parameters. A run adds, subtracts and scales parameters as float32; a chain goes
//	            on with the same bits only if each bit of its float64 state comes back. So a state is written in integers
//	            below 2²², which float32 holds, and which the update of a round of local steps leaves exact: see Layout.
//	parallel    work on long vectors, over the cores
//
// The package knows neither messages nor workers, models nor files.
package vector
