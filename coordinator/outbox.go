package coordinator

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/wire"
)

// outbox collects what the machine wants done, in order. All parts of the machine write to the same one. Its memory
// is used again, so an event allocates no list.
type outbox struct{ commands []command }

func (o *outbox) add(c command) { o.commands = append(o.commands, c) }

// take returns what is to be done, and forgets it. The slice is valid until the next event.
func (o *outbox) take() []command {
	commands := o.commands
	o.commands = o.commands[:0]
	return commands
}

// broadcast sends a message to all workers.
func (o *outbox) broadcast(msg wire.Message) { o.add(sendCommand{message: msg}) }

// send sends a message to a worker alone: it bears the mark of the worker's token. Another worker under the same id
// drops it.
func (o *outbox) send(w *member, msg wire.Message) { o.add(sendCommand{w.id, w.Mark, msg}) }

// sendMarked sends a message to one who is no member, and whose token is known.
func (o *outbox) sendMarked(id string, token uint64, msg wire.Message) {
	o.add(sendCommand{id, wire.Mark(token), msg})
}

// reject counts a message that was refused. The sender is empty if it is no member.
func (o *outbox) reject(worker string, reason Reason, format string, args ...any) {
	o.add(rejectCommand{worker, reason, fmt.Sprintf(format, args...)})
}

// refuse counts a message of a member that was refused, and whether it is an offence.
func (o *outbox) refuse(w *member, reason Reason, offence bool, detail string) {
	o.add(rejectCommand{w.id, reason, detail})
	w.Account.Refuse(offence)
}

// used notes that what a worker contributed to a sum of a step is used, and that nobody confirmed it. It is written
// to the log, too: the worker may stay longer than this coordinator. The event comes only where that is news: see
// trust.Account.Taint.
func (o *outbox) used(a *trust.Account, step uint64, work wire.Work) {
	if since, news := a.Taint(step, work); news {
		o.add(eventCommand{Event{Kind: EventContributor, Step: since, Worker: a.ID, Mark: a.Mark}})
	}
}
