package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/wire"
)

// sameRelease is what helps a worker whose program is not the run's.
const sameRelease = "run coordinator and workers from the same release"

// receive handles a message of a worker. What fails a check is refused and changes nothing.
func (m *machine) receive(now time.Duration, msg wire.Message) {
	if m.finished || m.suspended {
		return
	}
	h := msg.Head()
	w := m.member(h.From, h.Token)
	if a := m.accounts[h.Token]; a != nil && a.banned != "" {
		m.receiveBanned(a, msg)
		return
	}
	if reason, detail, offence := m.admit(w, msg); reason != "" {
		if w != nil {
			m.refuse(w, reason, offence, "%s", detail)
			m.cutOff(now)
		} else {
			m.reject("", reason, "%s", detail)
		}
		return
	}
	noise := 0
	if w != nil {
		w.lastSeen, noise = now, w.noise
	}
	m.handle(now, w, msg)
	if w != nil && w.noise == noise {
		w.allow(1)
	}
	m.cutOff(now)
}

func (m *machine) handle(now time.Duration, w *member, msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.Hello:
		m.hello(now, w, msg)
	case *wire.Fetch:
		m.fetch(now, w, msg)
	case *wire.Ready:
		m.becomeReady(now, w, msg)
	case *wire.Heartbeat:
		m.beat(now, w, msg)
	case *wire.Need:
		m.resendTheta(w, msg)
	case *wire.Result:
		m.announce(now, w, msg)
	case *wire.Chunk:
		m.arrive(now, w, msg)
	case *wire.Bye:
		m.remove(now, w, "said goodbye")
	}
}

// receiveBanned refuses one who was cut off, and tells it again if it wants to join.
func (m *machine) receiveBanned(a *account, msg wire.Message) {
	m.reject(a.id, ReasonQuarantined, "it was cut off: %s", a.banned)
	if _, hello := msg.(*wire.Hello); hello && msg.Head().From == a.id {
		m.turnAway(a.id, a.token, a.banned, quarantineRemedy)
	}
}

// admit checks what is common to all messages: run, term, membership and direction; and says whether what it refuses is
// an offence.
func (m *machine) admit(w *member, msg wire.Message) (reason Reason, detail string, offence bool) {
	h := msg.Head()
	if err := wire.CheckName(h.From); err != nil {
		return ReasonMalformed, fmt.Sprintf("worker id: %v", err), true
	}
	if h.Run != m.cfg.Run {
		return ReasonRun, fmt.Sprintf("message for run %q", h.Run), true
	}
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
	case *wire.Fetch, *wire.Ready, *wire.Need, *wire.Result, *wire.Chunk, *wire.Bye:
		switch {
		case w == nil && m.taken(h.From, h.Token):
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

// hello takes a worker in, if its arithmetic is that of the run. A known one may have been started anew in its process.
func (m *machine) hello(now time.Duration, w *member, msg *wire.Hello) {
	if differing := m.differingKernels(msg.Numerics); len(differing) > 0 {
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
		m.emit(MembershipReport{Workers: m.ready(), Slots: m.slots()})
	}
	w.slots, w.fresh = msg.Slots, true
	welcome := &wire.Welcome{
		Size: len(m.opt.theta), Chunk: 4 * m.chunks.Elements, Heartbeat: m.heartbeat(), Job: m.cfg.Job,
		DataHash: m.data.hash, DataSize: m.data.pieces.Size,
	}
	m.offer(welcome)
	m.tell(w.id, w.mark, welcome)
}

// differingKernels names the kernels of the run's fingerprint that a worker's does not have, or has otherwise.
func (m *machine) differingKernels(got []wire.Numeric) []string {
	var names []string
	for _, want := range m.cfg.Numerics {
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

// join makes a worker a member. Where there are too many, the one that has prepared itself longest has to go.
func (m *machine) join(now time.Duration, msg *wire.Hello) *member {
	if len(m.members) >= maxMembers {
		i := slices.IndexFunc(m.members, func(w *member) bool { return !w.ready })
		if i < 0 {
			m.reject("", ReasonWorker, "there are %d workers already", maxMembers)
			return nil
		}
		m.remove(now, m.members[i], "made room for another")
	}
	w := &member{account: m.account(msg.Token, msg.From), id: msg.From, lastSeen: now}
	m.members = append(m.members, w)
	m.byKey[key{w.id, w.token}] = w
	return w
}

// deny turns a worker away because of what it is, with the reason and what to do.
func (m *machine) deny(now time.Duration, w *member, h *wire.Header, reason Reason, detail, help string) {
	known := ""
	if w != nil {
		known = w.id
	}
	m.reject(known, reason, "%s", detail)
	m.turnAway(h.From, h.Token, detail, help)
	if w != nil {
		m.remove(now, w, "its program differs from the run's")
	}
}

// unfit says why a worker's program is not the run's, if so.
func (m *machine) unfit(msg *wire.Ready) (reason Reason, detail, help string) {
	switch {
	case msg.Size != len(m.opt.theta) || !slices.Equal(msg.Terms, m.cfg.TermNames):
		return ReasonLength, fmt.Sprintf("the worker's program has %d parameters and terms %q, the run %d and %q",
			msg.Size, msg.Terms, len(m.opt.theta), m.cfg.TermNames), sameRelease
	case m.job != "" && msg.Job != m.job:
		return ReasonJob, fmt.Sprintf("the worker has built the program of job %.8s, the run's is %.8s", msg.Job+"(none)", m.job),
			"start the worker anew; " + sameRelease
	case m.cfg.Golden != "" && msg.Golden != m.cfg.Golden:
		return ReasonGolden, fmt.Sprintf("the worker's golden shard, the first gradient at the initial parameters, has hash %.8s, the run's %.8s",
			msg.Golden+"(none)", m.cfg.Golden), sameRelease + "; if they are, check the machine's memory"
	}
	return "", "", ""
}

func (m *machine) becomeReady(now time.Duration, w *member, msg *wire.Ready) {
	if reason, detail, help := m.unfit(msg); reason != "" {
		m.deny(now, w, msg.Head(), reason, detail, help)
		return
	}
	if !w.fresh {
		return
	}
	w.fresh = false
	m.ground(&w.fetch)
	m.name(w.id, w.token)
	if !w.ready {
		w.ready = true
		w.pace.mark = now
		m.emit(MembershipReport{Workers: m.ready(), Slots: m.slots(), Joined: w.id})
	}
	m.emit(thetaCommand{to: w.id, count: m.chunks.Count()})
	m.assign(now)
}
