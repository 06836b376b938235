//go:build (amd64 || arm64) && !purego

package kernel

import "unsafe"

// geometry tells a micro-kernel how its operands lie: strides in bytes, then counts. _asm/gemm/tile.go and
// _asm/neon/tile.go have the same list; NEON does not read the last three words, as it fetches nothing ahead. A
// micro-kernel may count panels down in place, and moves ahead on if it fetches anything.
type geometry = [12]uintptr

const (
	aRow   = iota // from one row of A to the next
	aCol          // from one column of A to the next
	bRow          // from one row of a panel of B to the next
	bPanel        // from one panel to the next
	cRow          // from one row of C to the next
	depth         // K
	panels        // how many panels of B to multiply with
	width         // columns of each panel that exist
	flags
	ahead     // address of what comes after this tile, to be fetched meanwhile
	aheadStep // bytes of it for each step of k
	cAhead    // from the C of the last panel to the C that comes next
)

// What flags says.
const (
	fromC    = 1 // start the chains from C
	fromBias = 2 // start the chains from the bias
	withReLU = 4
)

// offset returns the address bytes after p.
func offset(p *float32, bytes uintptr) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), bytes))
}
