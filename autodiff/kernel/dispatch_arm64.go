//go:build !purego

package kernel

// detect returns the instruction sets beside Portable: every 64-bit Arm processor that
// Go runs on has NEON.
func detect() []ISA { return []ISA{NEON} }

//go:noinline
func peak(iterations int) float64 {
	if active == Portable {
		return peakPortable(iterations)
	}
	peakNEON(iterations)
	return 2 * 24 * 4 * float64(iterations) // 24 FMAs of 4 lanes each
}
