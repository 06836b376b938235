package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// Where workers sum the gradient they hand on the parameters, too: the coordinator sends each section of them to one
// worker, which sends it to all others, so that one copy leaves the coordinator's link and about one that of each
// worker. All are told the SHA-256 of each section, so that a worker that hands on something else, or nothing, is found
// out by those that hear it: they ask with a Need as for what was lost, and get it from the coordinator. What follows
// from that decides which workers hand on, and no bit:
//
//   - a worker that asks is sent the parameters by the coordinator itself for some steps, so that no worker can slow
//     down another;
//   - a worker that two asked about in a step, or the only other one, hands nothing on for some steps;
//   - both for twice as many steps each time. A liar so makes the coordinator do what it does in a star.

const (
	// accusers is how many have to ask for what a worker was to hand on.
	accusers = 2
)

// relays is how the parameters of a step and pass go out by way of workers: to the first sections.Count of the list,
// each of which hands a section on to all others in it. It is kept as run.before while the next parameters are under
// way, as requests come late.
type relays struct {
	step     uint64
	sections wire.Sections
	list     []*member
	asked    []request
	about    [][]*member // by section: who asked for something of it that was not sent to themselves
}

// request is what is noted when a worker asked for what it was to hear from others.
type request struct {
	by     *member
	before trust.Exclusion // of the worker from what is handed on, before it asked
}

// sendOut sends the parameters of a step to all. Who lacks something of those before gets them whole. It decides
// between the coordinator's own link and those of workers. base is zero if no differences can go out.
func (r *run) sendOut(now time.Duration, base exchange.Version, shared bool) {
	r.before, r.relays = r.relays, nil
	if shared && !r.stays(base) {
		r.relays = r.members.relays(now, r.opt, r.chunks)
	}
	switch {
	case r.members.ready() == 0:
	case r.relays != nil:
		r.handOut(base)
	default:
		r.publish(base)
	}
	for _, w := range r.members.list {
		w.owed = false
	}
}

// handOut sends the parameters to those who hand them on, and to those who are not to hear them from others. Those in
// Direct are sent values by the coordinator, one copy each.
func (r *run) handOut(base exchange.Version) {
	cmd := exchange.Relay{Sections: r.relays.sections, Base: base}
	for _, w := range r.relays.list {
		cmd.To = append(cmd.To, exchange.Recipient{ID: w.id, Mark: w.Mark})
	}
	for _, w := range r.members.list {
		switch {
		case !w.ready || slices.Contains(r.relays.list, w):
		case w.shares:
			r.sendTo(w)
		default:
			cmd.Direct = append(cmd.Direct, w.id)
		}
	}
	r.out.add(relayCommand{cmd})
	r.figures.Relayed++
}

// relays chooses who hands the parameters of a step on: those who deliver. The others in the list hear it from them.
// In it are those who are known to hear other workers. nil: it does not pay. Fewer than two who can hand on, or more
// in the list than a message holds, do not pay.
func (ms *members) relays(now time.Duration, opt *optimiser, chunks wire.Chunking) *relays {
	round := opt.rounds()
	var able, others []*member
	for _, w := range ms.list {
		switch {
		// Those of them that are ready are sent everything by the coordinator.
		case !w.ready || !w.met || w.owed || w.shares || round < w.Deaf.Until():
		case !w.doubted() && w.Sound(now) && round >= w.Mute.Until():
			able = append(able, w)
		default:
			others = append(others, w)
		}
	}
	list := append(able, others...)
	n := min(len(able), chunks.Count(), wire.MaxSections)
	if n < 2 || len(list) > wire.MaxListed {
		return nil
	}
	return &relays{
		step: opt.step, sections: wire.Sections{Chunks: chunks, Count: n}, list: list, about: make([][]*member, n),
	}
}

// missed notes which chunks of the parameters a worker asks for that others were to hand on to it. The worker counts
// as owed: it is sent values at the next step.
func (r *run) missed(w *member, msg *wire.Need) {
	for _, x := range []*relays{r.before, r.relays} {
		if x == nil || x.step != msg.Step || !slices.Contains(x.list, w) {
			continue
		}
		// Its first request in this pass; however much it asks for, it is left out once.
		if !slices.ContainsFunc(x.asked, func(p request) bool { return p.by == w }) {
			x.asked = append(x.asked, request{w, w.Deaf})
			w.Deaf.Extend(r.opt.rounds())
		}
		w.owed = true
		for _, part := range msg.Ranges {
			r.figures.Unrelayed += part.Count
			for i := x.sections.Of(part.First); i <= x.sections.Of(part.First+part.Count-1); i++ {
				r.accuse(x, w, i)
			}
		}
	}
}

// accuse notes that a worker asks for something of a section. If several do, they are not the ones to be left out.
func (r *run) accuse(x *relays, w *member, section int) {
	by := x.list[section]
	if by == w || slices.Contains(x.about[section], w) {
		return
	}
	x.about[section] = append(x.about[section], w)
	switch n := min(accusers, len(x.list)-1); {
	// As many as are needed: the one that was to hand on is left out, once.
	case len(x.about[section]) == n:
		by.Mute.Extend(r.opt.rounds())
		r.out.add(eventCommand{Event{
			Kind: EventAside, Step: x.step, Worker: by.id,
			Reason: fmt.Sprintf("it was to hand on parameters, which others asked for; until step %d it hands on none",
				by.Mute.Until()*r.opt.Stride()),
		}})
		fallthrough
	// Those who asked were right, so they go on hearing others.
	case len(x.about[section]) > n:
		for _, p := range x.asked {
			if slices.Contains(x.about[section], p.by) {
				p.by.Deaf = p.before
			}
		}
	}
}
