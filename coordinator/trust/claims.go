package trust

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Claim is what a worker says that a block is. The answer to an audit has the digest, any other announcement the
// checksum; the digest of what was pulled is formed when it is needed. The slices belong to the message that it came
// with, and are not written.
type Claim struct {
	Account  *Account
	ID       string
	Terms    []float32 // loss terms; they are compared bit by bit
	Checksum uint32
	Summed   bool // there is a checksum
	Digest   string
	Digests  string // of the sections of a gradient that is shared out, which Digest is made of
}

// Agrees reports whether two claims may be about the same bits. What one of them does not say is not compared.
func (c *Claim) Agrees(o *Claim) bool {
	same := slices.EqualFunc(c.Terms, o.Terms,
		func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	return same && (!c.Summed || !o.Summed || c.Checksum == o.Checksum) &&
		(c.Digest == "" || o.Digest == "" || c.Digest == o.Digest)
}

// text is what stands in an error about the claim.
func (c *Claim) text() string {
	switch {
	case c.Digest != "":
		return fmt.Sprintf("digest %.8s", c.Digest)
	case c.Summed:
		return fmt.Sprintf("checksum %08x", c.Checksum)
	}
	return fmt.Sprintf("terms %v", c.Terms)
}

// Say adds a claim.
func (c *Case) Say(o *Claim) {
	o.Account.spoke = true
	c.claims = append(c.claims, o)
}

// Claimed reports whether anybody has said what the block is.
func (c *Case) Claimed() bool { return len(c.claims) > 0 }

// ClaimedBy reports whether a worker has.
func (c *Case) ClaimedBy(a *Account) bool {
	return slices.ContainsFunc(c.claims, func(o *Claim) bool { return o.Account == a })
}

// Undoubted reports whether a copy of the block can be used as it is: nobody is to confirm it, and nobody else has said
// anything about it.
func (c *Case) Undoubted() bool { return c.phase == Open && !c.Audited && len(c.claims) == 1 }

// Contradicted reports whether two workers say different things about the block. It takes a comparison for each pair
// of claims, which are few.
func (c *Case) Contradicted() bool {
	for i, o := range c.claims {
		for _, before := range c.claims[:i] {
			if !o.Agrees(before) {
				return true
			}
		}
	}
	return false
}

// Inconsistent returns a worker that says two different things about the block; nil if there is none.
func (c *Case) Inconsistent() *Account {
	for i, o := range c.claims {
		for _, before := range c.claims[:i] {
			if o.Account == before.Account && !o.Agrees(before) {
				return o.Account
			}
		}
	}
	return nil
}

// confirmed reports whether another worker than the one whose copy is here has computed the block to the same digest.
func (c *Case) confirmed() bool {
	return slices.ContainsFunc(c.claims, func(o *Claim) bool { return o.Digest != "" && o.Account != c.deliverer })
}

// Vouched reports whether another one, in good standing, has computed what a worker has announced. So a worker on
// trial shows that it computes what others do.
func (c *Case) Vouched(now time.Duration, a *Account) bool {
	return !c.Contradicted() && slices.ContainsFunc(c.claims, func(o *Claim) bool {
		return o.Account != a && o.Account.Sound(now)
	})
}

// Unsay drops a claim that is known to be worth nothing.
func (c *Case) Unsay(said *Claim) {
	c.claims = slices.DeleteFunc(c.claims, func(o *Claim) bool { return o == said })
}

// UnsayAll drops all claims of a worker.
func (c *Case) UnsayAll(a *Account) {
	c.claims = slices.DeleteFunc(c.claims, func(o *Claim) bool { return o.Account == a })
}

// Positions says who says what.
func (c *Case) Positions() string {
	text := ""
	for i, o := range c.claims {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("worker %s says %s", o.ID, o.text())
	}
	return text
}
