// Package rng gives every random number of a run an address: the seed, what it is for, the step, the shard, the sample
// and the place in its stream. A number is a pure function of its address (Philox4x32-10), so it does not matter which
// worker draws it, in which order, or how often.
//
// It does not know models, environments or schedules. Its arithmetic is that of package kernel, so single numbers and
// bulk ones have the same bits on every machine.
package rng
