package coordinator

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// Vectors of workers on the coordinator's host go by memory that both share, see package shm: the parameters are
// written once for all of them, and gradients are read where their workers have put them. Only what says where they lie
// is a message. The machine knows which workers share; the shell reads and writes. A worker whose memory does not hold
// what it says, once, shares no more in this run: its vectors travel as chunks, and everything that is decided about
// chunks is decided about them. What was read counts as if chunks with these bytes had come, so that a worker that
// shares can do no more than one that does not.

// offer tells a worker where memory is shared. The worker answers with a Share, or not at all.
func (m *machine) offer(w *member) {
	if m.place != "" && !w.Unshared && !w.shares {
		m.out.send(w, &wire.Offer{Place: m.place})
	}
}

// share handles what a worker says about shared memory. The shell has looked that it is there.
func (m *machine) share(w *member, msg *wire.Share) {
	switch {
	case !msg.On:
		m.unshare(w, "worker: "+msg.Why)
	// It shares no more, but has not heard that: an empty Offer says so.
	case w.Unshared:
		m.out.send(w, &wire.Offer{})
	case !w.shares:
		w.shares = true
		m.out.add(sharedCommand{worker: w.id, on: true})
	}
}

// unshare lets the vectors of a worker travel as chunks for the rest of the run. That is noted in its account, so it
// holds for a worker that comes again.
func (m *machine) unshare(w *member, why string) {
	if w.shares {
		m.out.add(sharedCommand{worker: w.id, why: why})
	}
	w.shares, w.Unshared = false, true
}

// distrust handles memory that does not hold what its worker says. What lies there is pulled. h names a worker that
// may have gone meanwhile.
func (m *machine) distrust(h wire.Header, why string) {
	w := m.members.get(h.From, h.Token)
	if w == nil || !m.life.active() || h.Term != m.term {
		return
	}
	m.unshare(w, why)
	m.out.send(w, &wire.Offer{})
	for _, l := range m.leasing.leases {
		if l.owner == w && l.state == pulling {
			m.transfer.askAgain(l)
		}
	}
}

// refuseChunksAt refuses chunks in shared memory that were not read, and says why.
func (m *machine) refuseChunksAt(w *member, msg *wire.ChunksAt) {
	l, reason, detail := m.leasing.find(w, msg.Lease, msg.Step)
	if reason == "" {
		reason, detail = ReasonUnrequested, fmt.Sprintf("chunks %d+%d of shards %s in shared memory were not asked for, "+
			"or are there already", msg.First, msg.Count, l.Block)
	}
	m.refuse(w, reason, reason == ReasonLease && m.leasing.neverGave(msg.Lease), detail)
	if w.Unshared { // which it has not heard
		m.out.send(w, &wire.Offer{})
	}
}

// publish sends the parameters to all that are ready: by memory to those who share it, and as chunks to all if there
// are others. base is that of the differences; zero: values are sent.
func (r *run) publish(base exchange.Version) {
	remote := false
	for _, w := range r.members.list {
		switch {
		case !w.ready:
		case w.shares:
			r.sendTo(w)
		default:
			remote = true
		}
	}
	if !remote {
		return
	}
	cmd := exchange.Theta{Count: r.chunks.Count(), Base: base}
	// Only what stands behind the parameters is new: a Stay takes the place of all chunks before it.
	if r.stays(base) {
		first := len(r.opt.theta) / r.chunks.Elements
		r.out.broadcast(&wire.Stay{Step: r.opt.step, Pass: r.leasing.pass, BasePass: base.Pass, Count: first})
		cmd = exchange.Theta{First: first, Count: r.chunks.Count() - first}
	}
	r.out.add(thetaCommand{cmd})
	for _, w := range r.members.list {
		// They could do nothing with differences, and would ask for everything.
		if w.ready && w.owed && !w.shares && base.Step > 0 {
			r.sendTo(w)
		}
	}
}

// stays reports whether the parameters are those of the base, and only the exponents behind them are not: no update has
// been made since.
func (r *run) stays(base exchange.Version) bool { return base.Step == r.opt.step+1 }

// sendTo sends the parameters to one worker.
func (r *run) sendTo(w *member) {
	if w.shares {
		r.out.add(layCommand{exchange.Recipient{ID: w.id, Mark: w.Mark}})
		return
	}
	r.out.add(thetaCommand{exchange.Theta{To: w.id, Count: r.chunks.Count()}})
}
