package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// sameRelease is what helps a worker whose program is not the run's.
const sameRelease = "run coordinator and workers from the same release"

// receiveBanned refuses a message of a worker that was cut off. If it wants to join, it is sent a refusal once more.
func (m *machine) receiveBanned(a *trust.Account, msg wire.Message) {
	m.out.reject(a.ID, ReasonQuarantined, "it was cut off: %s", a.Banned)
	if _, hello := msg.(*wire.Hello); hello && msg.Head().From == a.ID {
		m.members.turnAway(a.ID, a.Token, a.Banned, quarantineRemedy)
	}
}

// admit checks what is common to all messages: run, term, membership and direction; and says whether what it refuses
// is an offence. An empty reason lets the message through.
func (m *machine) admit(w *member, msg wire.Message) (reason Reason, detail string, offence bool) {
	h := msg.Head()
	if err := wire.CheckWorker(h.From); err != nil {
		return ReasonMalformed, fmt.Sprintf("worker id: %v", err), true
	}
	if h.Run != m.cfg.Run {
		return ReasonRun, fmt.Sprintf("message for run %q", h.Run), true
	}
	// A Hello, and a heartbeat of a stranger, may come from one who does not know the term yet. All else is of a
	// member and of the term under way.
	switch msg := msg.(type) {
	case *wire.Hello:
		if msg.Slots < 1 {
			return ReasonMalformed, fmt.Sprintf("hello from %s with %d slots", h.From, msg.Slots), true
		}
		return "", "", false
	case *wire.Heartbeat: // a stranger's heartbeat is answered: it may have been here before
		if w == nil {
			return "", "", false
		}
	case exchange.Stored:
		return m.admit(w, msg.Chunk)
	case *wire.Fetch, *wire.Ready, *wire.Need, *wire.Result, *wire.Chunk, *wire.Bye, *wire.Share, *wire.ChunksAt:
		switch {
		case w == nil && m.members.taken(h.From, h.Token):
			return ReasonToken, fmt.Sprintf("%T from %s with another token than the member's of that id", msg, h.From), false
		case w == nil:
			return ReasonWorker, fmt.Sprintf("%T from %s, which is no member", msg, h.From), false
		}
	default:
		return ReasonMalformed, fmt.Sprintf("%T is not for a coordinator", msg), true
	}
	if h.Term != m.term {
		return ReasonTerm, fmt.Sprintf("%T of term %d, now %d", msg, h.Term, m.term), false
	}
	return "", "", false
}

// hello takes a worker in, if its arithmetic is that of the run, and sends it a Welcome, and an Offer if memory is
// shared. A known one may have been started anew in its process. A worker with other arithmetic is sent a Refusal.
func (m *machine) hello(now time.Duration, w *member, msg *wire.Hello) {
	if differing := m.cfg.differingKernels(msg.Numerics); len(differing) > 0 {
		detail := fmt.Sprintf("the worker's arithmetic is not the run's: %s", strings.Join(differing, ", "))
		m.deny(now, w, msg.Head(), ReasonNumerics, detail,
			sameRelease+"; if they are, set SWITCHYARD_ISA=portable at the worker and report the processor's model")
		return
	}
	if w == nil {
		if w = m.join(now, msg); w == nil {
			return
		}
	}
	if w.ready && w.slots != msg.Slots {
		w.slots = msg.Slots
		m.out.add(m.members.report())
	}
	// It begins anew: whom it heard, and what it shared, is over.
	w.slots, w.fresh, w.met, w.shares = msg.Slots, true, false, false
	welcome := &wire.Welcome{
		Size: len(m.run.opt.theta), Chunk: 4 * m.run.chunks.Elements, Heartbeat: m.timing.heartbeat(), Job: m.cfg.Job,
		DataHash: m.transfer.data.hash, DataSize: m.transfer.data.pieces.Size,
	}
	m.cfg.offer(welcome, len(m.run.opt.theta))
	m.out.send(w, welcome)
	m.offer(w)
}

// differingKernels names the kernels of the run's fingerprint that a worker's does not have, or has otherwise.
func (c *Config) differingKernels(got []wire.Numeric) []string {
	var names []string
	for _, want := range c.Numerics {
		i := slices.IndexFunc(got, func(n wire.Numeric) bool { return n.Kernel == want.Kernel })
		switch {
		case i < 0:
			names = append(names, "kernel "+want.Kernel+" is missing")
		case got[i].Sum != want.Sum:
			names = append(names, "kernel "+want.Kernel+" differs")
		}
	}
	return names
}

// join makes a worker a member; it returns nil if there is no room. The longest in preparation makes room; ready
// members never do.
func (m *machine) join(now time.Duration, msg *wire.Hello) *member {
	if other, full := m.members.full(); full {
		if other == nil {
			m.out.reject("", ReasonWorker, "there are %d workers already", maxMembers)
			return nil
		}
		m.run.remove(now, other, "made room for another")
	}
	w := &member{Account: m.accounts.Of(msg.Token, msg.From), id: msg.From, lastSeen: now}
	m.members.add(w)
	return w
}

// deny turns a worker away because of what it is, with the reason and what to do. If it is a member, its leases go to
// others.
func (m *machine) deny(now time.Duration, w *member, h *wire.Header, reason Reason, detail, help string) {
	known := ""
	if w != nil {
		known = w.id
	}
	m.out.reject(known, reason, "%s", detail)
	m.members.turnAway(h.From, h.Token, detail, help)
	if w != nil {
		m.run.remove(now, w, "its program differs from the run's")
	}
}

// unfit says why a worker's program is not the run's, if so. The run has so many parameters, and a job of that hash.
// The reason is empty for one that fits.
func (c *Config) unfit(msg *wire.Ready, size int, job string) (reason Reason, detail, help string) {
	switch {
	case msg.Size != size || !slices.Equal(msg.Terms, c.TermNames):
		return ReasonLength, fmt.Sprintf("the worker's program has %d parameters and terms %q, the run %d and %q",
			msg.Size, msg.Terms, size, c.TermNames), sameRelease
	case job != "" && msg.Job != job:
		return ReasonJob, fmt.Sprintf("the worker has built the program of job %.8s, the run's is %.8s", msg.Job+"(none)",
				job),
			"restart the worker; " + sameRelease
	case c.Golden != "" && msg.Golden != c.Golden:
		return ReasonGolden, fmt.Sprintf("the worker's golden shard, the first gradient at the initial parameters, has "+
			"hash %.8s, the run's %.8s",
			msg.Golden+"(none)", c.Golden), sameRelease + "; if they are, check the machine's memory"
	}
	return "", "", ""
}

// becomeReady gives a worker that has built its program the parameters and work. One whose program is not the run's
// is sent a Refusal.
func (m *machine) becomeReady(now time.Duration, w *member, msg *wire.Ready) {
	if reason, detail, help := m.cfg.unfit(msg, len(m.run.opt.theta), m.job); reason != "" {
		m.deny(now, w, msg.Head(), reason, detail, help)
		return
	}
	// A Ready is repeated until a lease comes.
	if !w.fresh {
		return
	}
	w.fresh = false
	m.transfer.endFetch(&w.fetch)
	m.members.name(w.id, w.Token)
	if !w.ready {
		w.ready = true
		w.Pace.Start(now)
		report := m.members.report()
		report.Joined = w.id
		m.out.add(report)
	}
	m.offer(w)
	m.run.sendTo(w)
	m.leasing.assign(now)
}
