package rng

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Purpose separates the uses of randomness within a run: streams of different purposes never share a number,
// whatever their steps, shards and samples. Their numbers are part of the results of every run: a new one goes to
// the end.
type Purpose uint32

// The purposes of a run.
const (
	Init       Purpose = 1 + iota // initial parameters
	Episode                       // simulation of training episodes
	Batch                         // choice of episodes and windows
	Noise                         // noise of the model in training
	Validation                    // all of validation
	Evaluation                    // all of evaluation
	Fault                         // injected faults, which never touch a run's own numbers
	Rounding                      // of gradients to integers
	Search                        // of a sweep: configurations to try
)

// Key is the generator key of one purpose of one run. It is a value that any number of goroutines may use.
type Key struct{ k uint64 }

const gamma = 0x9e3779b97f4a7c15 // 2⁶⁴ over the golden ratio, odd

// New returns the key of purpose p under the given seed:
//
//	k = mix(mix(seed + γ) + γ·p)
//
// where mix is the finaliser of splitmix64 (Steele, Lea and Flood 2014), a bijection: different purposes of one seed,
// and different seeds of one purpose, have different keys.
func New(seed uint64, p Purpose) Key {
	return Key{mix(mix(seed+gamma) + gamma*uint64(p))}
}

// mix is the finaliser of splitmix64: each bit of z changes about half of those of the result.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// At returns the stream of one sample of one shard of one step, at its start. The words of the Philox counter are
// (block of the stream, sample, shard, step), of 32 bits each: only the low 32 bits of step count, and a stream has
// 2³² blocks of four words. Nothing is drawn before the stream is read.
func (k Key) At(step uint64, shard, sample uint32) Stream {
	return Stream{
		philox: kernel.NewPhilox(k.k, step<<32|uint64(shard)),
		sample: uint64(sample) << 32,
	}
}
