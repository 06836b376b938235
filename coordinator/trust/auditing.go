package trust

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Auditing chooses the blocks that are computed twice. The choice is a hash with a secret key, so that workers cannot
// predict it. The worker that is given the block first does not know whether it is audited.
type Auditing struct {
	Key   [32]byte // drawn by each coordinator; not written anywhere
	Run   string
	Share float64 // of the blocks
	Sums  float64 // of sums by workers, and of the blocks that they sum; Share if that is more
	Here  bool    // the referee confirms, and no worker is asked
	// allBelow is the step below which all blocks are audited. Steps that were undone, or begun anew, because of a lie are
	// confirmed block by block when they are made again. If that worker comes back under another name, it can delay the
	// run, but not stop it.
	// Invariant: it never falls.
	allBelow uint64
}

// Undone notes that the steps up to this one were undone.
func (a *Auditing) Undone(step uint64) { a.allBelow = max(a.allBelow, step+1) }

// Any reports whether there may be audits in this run.
func (a *Auditing) Any() bool { return a.Share > 0 || a.Sums > 0 || a.allBelow > 0 }

// Repeats reports whether a step is one that was undone.
func (a *Auditing) Repeats(step uint64) bool { return step < a.allBelow }

// Draws decides whether a block is to be computed twice; shared says that workers sum it, or that it is such a sum.
// The choice does not depend on who gets the block.
func (a *Auditing) Draws(step uint64, work wire.Work, b vector.Block, shared bool) bool {
	share := a.Share
	if shared {
		share = max(share, a.Sums)
	}
	if a.Repeats(step) {
		share = 1
	}
	if share <= 0 {
		return false
	}
	text := append([]byte(nil), a.Key[:]...)
	text = append(text, a.Run...)
	for _, n := range []uint64{step, uint64(work), uint64(b.First), uint64(b.Count)} {
		text = binary.BigEndian.AppendUint64(text, n)
	}
	sum := sha256.Sum256(text)
	// The first 53 bits of the hash, as a number in [0, 1), which float64 holds without rounding.
	return float64(binary.BigEndian.Uint64(sum[:])>>11)/(1<<53) < share
}
