package coordinator

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// claim is what a worker says that a block is. The answer to an audit has the digest, any other announcement the
// checksum; the digest of what was pulled is formed when it is needed.
type claim struct {
	account  *account
	id       string
	terms    []float32
	checksum uint32
	summed   bool // there is a checksum
	digest   string
	digests  string // of the sections of a gradient that is shared out, which digest is made of
}

// agrees reports whether two claims may be about the same bits.
func (c *claim) agrees(o *claim) bool {
	same := slices.EqualFunc(c.terms, o.terms,
		func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	return same && (!c.summed || !o.summed || c.checksum == o.checksum) &&
		(c.digest == "" || o.digest == "" || c.digest == o.digest)
}

// text is what stands in an error about the claim.
func (c *claim) text() string {
	switch {
	case c.digest != "":
		return fmt.Sprintf("digest %.8s", c.digest)
	case c.summed:
		return fmt.Sprintf("checksum %08x", c.checksum)
	}
	return fmt.Sprintf("terms %v", c.terms)
}

// contradicted reports whether two workers say different things about a block.
func (t *task) contradicted() bool {
	for i, c := range t.claims {
		for _, o := range t.claims[:i] {
			if !c.agrees(o) {
				return true
			}
		}
	}
	return false
}

// inconsistent returns a worker that says two different things about a block; nil if there is none.
func (t *task) inconsistent() *account {
	for i, c := range t.claims {
		for _, o := range t.claims[:i] {
			if c.account == o.account && !c.agrees(o) {
				return c.account
			}
		}
	}
	return nil
}

// confirmed reports whether another worker than the one whose copy is here has computed the block to the same digest.
func (t *task) confirmed() bool {
	return slices.ContainsFunc(t.claims, func(c *claim) bool {
		return c.digest != "" &&
			c.account != t.copy.owner.account
	})
}

// unsay drops claims that are known to be worth nothing.
func (t *task) unsay(worthless func(*claim) bool) { t.claims = slices.DeleteFunc(t.claims, worthless) }

// positions says who says what.
func (t *task) positions() string {
	text := ""
	for i, c := range t.claims {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("worker %s says %s", c.id, c.text())
	}
	return text
}

// truth is what a block is, and who says so: the id of a worker with whom others agree, or the referee if it is empty.
type truth struct {
	vector.Partial
	judge string
	lease *lease // which it was announced for; nil: the referee computed it
}

// claim is the truth in the form of a claim. The checksum is formed over chunks of the given length. What a holder
// keeps is what it said.
func (p truth) claim(r *round, chunks wire.Chunking) *claim {
	if p.lease != nil && r.shared() {
		return p.lease.said
	}
	return &claim{
		terms: p.Terms, checksum: chunks.ChecksumOf(p.Values), summed: r.work == wire.Gradient,
		digest: r.digest(p.Partial),
	}
}

// blame says why a worker is believed not to compute what was asked for.
func (p truth) blame(step uint64, t *task) string {
	judge := "the referee"
	if p.judge != "" {
		judge = "worker " + p.judge + " and others"
	}
	return fmt.Sprintf("at step %d its %s of shards %s differs from what %s computed", step, t.round.work, t.block, judge)
}
