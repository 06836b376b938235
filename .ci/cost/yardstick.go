package main

import (
	"math/rand/v2"
	"os"
	"slices"
)

// yardstick is the processor time, in seconds, of a fixed computation: sorting a million numbers eight times. It says
// how much a second of this machine is worth, at this load.
func yardstick() float64 {
	before := processorSeconds(os.Getpid())
	numbers, source := make([]uint64, 1<<20), rand.New(rand.NewPCG(1, 2))
	for range 8 {
		for i := range numbers {
			numbers[i] = source.Uint64()
		}
		slices.Sort(numbers)
	}
	return processorSeconds(os.Getpid()) - before
}
