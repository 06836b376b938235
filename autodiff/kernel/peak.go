package kernel

// Peak runs a loop of fused multiply-adds on registers alone and returns the
// floating-point operations done, two per FMA. Divided by the time it took, that is
// the most that this core can do with the active instruction set. 100,000
// iterations take a fraction of a millisecond on AVX2 and AVX-512.
func Peak(iterations int) (flops float64) {
	const step = 1 << 14
	for done := 0; done < iterations; done += step {
		flops += peak(min(step, iterations-done))
	}
	return flops
}

// peakPortable is 12 FMAs per iteration, like the assembly.
func peakPortable(iterations int) float64 {
	var c [12]float32
	for range iterations {
		for i := range c {
			c[i] = FMA(c[i], 0.5, 1)
		}
	}
	return 2 * 12 * float64(iterations)
}
