// Package kernel holds the float32 arithmetic of training: matrix products,
// element-wise functions, reductions, the LSTM cell, Adam and bulk random numbers.
//
// It knows vectors, matrices and instruction sets. It does not know tapes,
// models, steps or who asked: no allocation (beyond workspaces that grow once), no
// goroutine, no state but the active instruction set.
//
// # Same bits everywhere
//
// Every function gives the same bits on every instruction set, for every length,
// alignment and blocking; the portable Go code defines them. The rules:
//
//   - A matrix element is one chain c = fma(a[i,k], b[k,j], c) over ascending k,
//     started from 0, from C or from the bias. Blocking stores and reloads the
//     float32 chain, so tiles, packing and tails cannot change a bit.
//   - A sum over a row or vector adds element i into lane i mod 16, ascending,
//     and then the lanes by halves: 8, 4, 2, 1. A sum over columns is one chain
//     over ascending rows.
//   - Exp, Log, Tanh and the rest are this package's own polynomials, the same
//     sequence of IEEE operations and FMAs in Go and in assembly.
//   - No flush to zero, no approximate reciprocal; division and square root are
//     the correctly rounded ones.
//
// A NaN is only equal as a NaN: its sign and payload are not part of the rule.
//
// # Arguments
//
// Destinations come first. Unless a function says otherwise, vectors have equal
// lengths, a destination may be the very same slice as an operand but must not
// overlap it otherwise, and empty arguments are legal. A shape that does not fit
// is a programmer's error and panics. All functions may run concurrently on
// different destinations.
//
// # Instruction sets
//
// AVX2 and AVX-512 on x86-64, NEON on 64-bit Arm, and portable Go, which is also all
// there is with the build tag purego. Every function is in assembly on each of them.
// The NEON kernels were tested under emulation; their speed was measured nowhere.
//
// # From a call to the processor
//
// An exported function checks its arguments and cuts long vectors into chunks, of which each is one call of the
// function with the same name in lower case. That one is generated, or in partial.go: it tells the race detector what
// is touched and calls the assembly of the active instruction set, or the portable loop. Assembly gets addresses and
// counts, is never called with nothing to do, and takes what is left behind the last whole vector apart.
//
//	Exp -> exp -> expAVX512 | expAVX2 | expNEON | expPortable
//
// A product goes through gemm.go, which describes the operands by strides, and gemm_blocks.go, which cuts it into
// tiles; a tile is one call of a micro-kernel with a fixed number of rows. The chains of a tile stay in registers.
//
// # Generators
//
// _asm/formula has the sequences of operations of the element-wise functions, for any Machine; _asm/vector emits them
// for AVX2 and AVX-512 through avo, _asm/neon for NEON with an assembler of its own. _asm/gemm emits the micro-kernels
// for x86-64, _asm/dispatch the choice among instruction sets. To add a function: write the portable loop, its
// formula, a line in both generators and in the table of dispatch, and a probe for the fingerprint
// with its golden line.
//
// # Files
//
// elementwise.go, reduce.go, outer.go, softmax.go, lstm.go, adam.go, philox.go, pack.go and
// gemm.go hold the functions and their checks; portable_*.go the loops that define
// the bits; gemm_blocks.go and tile.go the blocking of products; partial.go what is
// half in assembly; processor_*.go what the processor has; dispatch_*.go, generated, the
// choice of the instruction set; fingerprint.go hashes what each function
// computes, so that machines can be compared; the .s files come from the generators in
// _asm, a module of its own.
package kernel

//go:generate ./_asm/generate.sh
