package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// leaseState is where a lease stands.
type leaseState uint8

const (
	leased    leaseState = iota // the worker computes
	announced                   // it has, and the block is here, or is pulled from another
	pulling                     // announced, chunks are being pulled
	delivered                   // all is here, and waits to be confirmed
	keeping                     // announced, and its owner keeps the block for those who sum
	settled                     // nothing more is expected of it
	revoked                     // taken back; its messages are refused
)

// lease is a task in the hands of a worker.
//
// Invariant: a lease that is out, or delivered, is listed at its task.
type lease struct {
	*task
	id       uint64
	owner    *member
	audit    bool // only the digest is wanted
	shadow   bool // its owner is on trial: another one computes the block, too
	attempt  int
	state    leaseState
	givenAt  time.Duration
	sentAt   time.Duration // the last time
	nudgedAt time.Duration // when it, or its missing chunks, were last asked for in passing
	nudges   int           // times that it was sent again in passing
	lackedAt time.Duration // when its worker last said what it has in hand, and that it is not that
	reminded int           // times that it was sent again because of that
	strikes  int           // times that it had to be asked for again
	done     int           // of its parts that the worker has computed, as its heartbeats say
	grewAt   time.Duration // when that last grew, or the lease was given

	said *trust.Claim // from the announcement on
	delivery
}

// out reports whether something is still expected of the lease.
func (l *lease) out() bool { return l.state == leased || l.state == announced || l.state == pulling }

// partial takes the sum that the lease has delivered. The values are the tree's from then on.
func (l *lease) partial() vector.Partial {
	p := vector.Partial{Values: l.values, Terms: slices.Clone(l.said.Terms)}
	l.values = nil
	return p
}

// batches is how many shards a worker computes one after the other for a lease. A slot computes one shard at a time.
func (l *lease) batches() int {
	if l.round.work == wire.Sum {
		return 1
	}
	slots := min(l.owner.slots, l.Block.Count)
	return (l.Block.Count + slots - 1) / slots
}

// load is the number of shards that a worker computes for the lease. A sum keeps no slot busy: the worker's own
// goroutine forms it.
func (l *lease) load() int {
	if l.round.work == wire.Sum {
		return 0
	}
	return l.Block.Count
}

// message is what the worker is sent. The same message is sent again when it was lost.
func (l *lease) message(step uint64, pass int) wire.Message {
	if r := l.round; r.work == wire.Sum {
		return &wire.Reduce{
			ID: l.id, Step: step, Pass: pass, Attempt: l.attempt, Number: r.number, Sections: r.sections.Count,
			First: l.Block.First, Count: l.Block.Count, Audit: l.audit, Sources: r.sources(l.Block),
		}
	}
	return &wire.Lease{
		ID: l.id, Step: step, Pass: pass, Attempt: l.attempt, Work: l.round.work,
		First: l.Block.First, Count: l.Block.Count, Audit: l.audit, Sections: l.round.sections.Count,
	}
}

// check says why a Result is not the answer to the lease, if so. terms is the number of loss terms of the run.
func (l *lease) check(msg *wire.Result, terms int) (Reason, string) {
	if l.state != leased {
		return ReasonDuplicate, fmt.Sprintf("shards %s were announced before", l.Block)
	}
	if msg.First != l.Block.First || msg.Count != l.Block.Count || msg.Work != l.round.work || msg.Attempt != l.attempt {
		return ReasonBlock, fmt.Sprintf("%s of shards %d+%d, attempt %d; leased were shards %s, attempt %d",
			msg.Work, msg.First, msg.Count, msg.Attempt, l.Block, l.attempt)
	}
	if msg.Fault != "" {
		return "", ""
	}
	// What is announced depends on the work: values for what is pulled, a digest for an audit, digests of sections
	// for what is shared out.
	want, digest, digests := 0, 0, 0
	if l.round.work != wire.Validate && !l.audit {
		want = l.chunks.Size
	}
	if l.round.work == wire.Sum {
		terms = 0
	}
	switch {
	case l.round.work == wire.Gradient && l.round.sections.Count > 0:
		digests = wire.DigestLength(l.round.sections.Count)
	case l.audit:
		digest = wire.HashLength
	}
	if msg.Length != want || len(msg.Terms) != terms {
		return ReasonLength, fmt.Sprintf("%d values and %d terms, want %d and %d", msg.Length, len(msg.Terms), want, terms)
	}
	if len(msg.Digest) != digest || len(msg.Digests) != digests {
		return ReasonLength, fmt.Sprintf("a digest of %d characters and digests of sections of %d, want %d and %d",
			len(msg.Digest), len(msg.Digests), digest, digests)
	}
	return "", ""
}
