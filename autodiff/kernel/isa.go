package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ISA is an instruction set that the kernels are written for.
type ISA uint8

// The instruction sets. Those of one processor are in ascending order of speed.
const (
	Portable ISA = iota // plain Go, on any machine
	AVX2                // x86-64 with AVX2 and FMA
	AVX512              // x86-64 with AVX-512 F, DQ, BW and VL
	NEON                // 64-bit Arm
)

// Errors of ParseISA and Use.
var (
	// ErrUnknownISA is returned for a name that no instruction set has.
	ErrUnknownISA = errors.New("kernel: unknown instruction set")
	// ErrNoISA is returned when the processor or the build lacks an instruction set.
	ErrNoISA = errors.New("kernel: instruction set not available")
)

// isaNames are in the order of the constants.
var isaNames = [...]string{"portable", "avx2", "avx512", "neon"}

// active is the instruction set in use. It is written by Use alone.
var active = Best()

// String returns the name that ParseISA reads.
func (i ISA) String() string {
	if int(i) < len(isaNames) {
		return isaNames[i]
	}
	return fmt.Sprintf("ISA(%d)", uint8(i))
}

// ParseISA returns the instruction set called name: portable, avx2, avx512 or neon.
func ParseISA(name string) (ISA, error) {
	for i, s := range isaNames {
		if s == name {
			return ISA(i), nil
		}
	}
	return Portable, fmt.Errorf("%w %q (here: %s)", ErrUnknownISA, name, availableNames())
}

// Available returns the instruction sets of this processor and build, in ascending
// order of speed. Portable is the first; with the tag purego, and on processors that
// are neither x86-64 nor 64-bit Arm, it is the only one.
func Available() []ISA { return append([]ISA{Portable}, detect()...) }

// Best returns the fastest instruction set of this processor and build.
func Best() ISA {
	all := Available()
	return all[len(all)-1]
}

// Active returns the instruction set in use: Best, until Use changes it.
func Active() ISA { return active }

// Use makes isa the instruction set of the whole process. It must not run
// concurrently with any other function of this package: call it at start-up.
// It changes speed, never results. The error is ErrNoISA.
func Use(isa ISA) error {
	if !slices.Contains(Available(), isa) {
		return fmt.Errorf("%w: %v (here: %s)", ErrNoISA, isa, availableNames())
	}
	active = isa
	return nil
}

// availableNames lists the instruction sets for a message.
func availableNames() string {
	var names []string
	for _, isa := range Available() {
		names = append(names, isa.String())
	}
	return strings.Join(names, ", ")
}
