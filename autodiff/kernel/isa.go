package kernel

import (
	"errors"
	"fmt"
)

// ISA is an instruction set that the kernels are written for.
type ISA uint8

// The instruction sets, in ascending order of speed.
const (
	Portable ISA = iota // plain Go, on any machine
	AVX2                // x86-64 with AVX2 and FMA
	AVX512              // x86-64 with AVX-512 F, DQ, BW and VL
)

// Errors of ParseISA and Use.
var (
	// ErrUnknownISA is returned for a name that no instruction set has.
	ErrUnknownISA = errors.New("kernel: unknown instruction set")
	// ErrNoISA is returned when the processor or the build lacks an instruction set.
	ErrNoISA = errors.New("kernel: instruction set not available")
)

var isaNames = [...]string{"portable", "avx2", "avx512"}

// active is the instruction set in use. It is written by Use alone.
var active = Best()

// String returns the name that ParseISA reads.
func (i ISA) String() string {
	if int(i) < len(isaNames) {
		return isaNames[i]
	}
	return fmt.Sprintf("ISA(%d)", uint8(i))
}

// ParseISA returns the instruction set called name: portable, avx2 or avx512.
func ParseISA(name string) (ISA, error) {
	for i, s := range isaNames {
		if s == name {
			return ISA(i), nil
		}
	}
	return Portable, fmt.Errorf("%w %q (want portable, avx2 or avx512)", ErrUnknownISA, name)
}

// Best returns the fastest instruction set of this processor and build. Builds
// with the tag purego, and processors other than x86-64, have Portable alone.
func Best() ISA { return detect() }

// Active returns the instruction set in use: Best, until Use changes it.
func Active() ISA { return active }

// Use makes isa the instruction set of the whole process. It must not run
// concurrently with any other function of this package: call it at start-up.
// It changes speed, never results. The error is ErrNoISA.
func Use(isa ISA) error {
	if isa > Best() {
		return fmt.Errorf("%w: %v (best here: %v)", ErrNoISA, isa, Best())
	}
	active = isa
	return nil
}
