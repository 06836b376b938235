//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// detect returns the instruction sets beside Portable.
func detect() []ISA {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return nil
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL:
		return []ISA{AVX2, AVX512}
	}
	return []ISA{AVX2}
}

//go:noinline
func peak(iterations int) float64 {
	const perIteration = 2 * 12 // operations on each lane
	switch active {
	case AVX512:
		peakAVX512(iterations)
		return perIteration * 16 * float64(iterations)
	case AVX2:
		peakAVX2(iterations)
		return perIteration * 8 * float64(iterations)
	}
	return peakPortable(iterations)
}
