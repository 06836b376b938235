package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
)

// yardstick is the processor time, in seconds, of a fixed computation: sorting a million numbers eight times. It says how
// much a second of this machine is worth, at this load.
func yardstick() (float64, error) {
	before, err := ownSeconds()
	if err != nil {
		return 0, err
	}
	numbers, source := make([]uint64, 1<<20), rand.New(rand.NewPCG(1, 2))
	for range 8 {
		for i := range numbers {
			numbers[i] = source.Uint64()
		}
		slices.Sort(numbers)
	}
	after, err := ownSeconds()
	return after - before, err
}

// ownSeconds is the processor time of this process until now.
func ownSeconds() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9, nil
}
