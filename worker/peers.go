package worker

import (
	"slices"

	"github.com/switchyard-ml/switchyard/wire"
)

// Workers speak with each other where the gradient is shared out: who sums a section pulls it from those who keep it.
// The broker says which key speaks, and what is said to a worker is heard by its key alone. So nobody can let a worker
// send anything to somebody else, and what the holders of one key let it send is bounded.

// servings is how often the holders of one key may pull what this worker keeps, in a pass of a step: once is usual;
// more where messages are lost, or a sum is formed twice.
const servings = 4

// meet lets other workers be heard. It is called when there is something to say to them: where keys are older than
// that, the broker lets nobody hear others, and nobody needs it. It does nothing the second time.
func (w *Worker) meet() {
	if w.met != nil {
		return
	}
	subject := w.subjects.Peer(w.name())
	sub, err := w.bus.Hear(subject, func(key string, data []byte) {
		if w.gate.Admit(key, data) {
			w.enqueue(delivery{data: data, peer: key})
		}
	})
	if err != nil {
		w.log.Warn("other workers cannot be heard", "subject", subject, "error", err)
		return
	}
	w.met = sub
}

// name is what other workers, and leases, call this one.
func (w *Worker) name() string { return wire.Name(w.cfg.ID, w.bus.Key()) }

// tell sends a message to another worker. The token is the coordinator's business. Nothing tells whether it came.
func (w *Worker) tell(name string, msg wire.Message) {
	w.send(wire.By(w.subjects.Peer(name), w.bus.Key()), wire.Header{Run: w.cfg.Run, From: w.cfg.ID, Term: w.term}, msg)
}

// receivePeer handles a message of another worker. It reacts to a Pull of what this worker keeps, a Chunk that it
// asked for, and parameters that are handed on. All else is dropped.
func (w *Worker) receivePeer(key string, data []byte) {
	msg, err := wire.DecodeFrom(key, data)
	if err != nil {
		w.log.Debug("message of a worker dropped", "key", key, "error", err)
		return
	}
	h := msg.Head()
	if h.Run != w.cfg.Run || h.Term != w.term || !w.welcomed || wire.CheckWorker(h.From) != nil {
		return
	}
	switch msg := msg.(type) {
	case *wire.Pull:
		w.servePeer(key, msg)
	case *wire.Chunk:
		w.takePeerChunk(msg)
	case *wire.Theta:
		w.takeRelayed(msg)
	}
}

// servePeer records the chunks that another worker pulls.
func (w *Worker) servePeer(key string, msg *wire.Pull) {
	// Ranges come from another worker, so they are compared with what there is without adding them up.
	l := w.keeps(msg.Lease)
	if l == nil || msg.First > len(l.crcs) || msg.Count > len(l.crcs)-msg.First {
		return
	}
	share := w.share()
	for i := msg.First; i < msg.First+msg.Count; i++ {
		c := chunkOf{l, i, msg.From}
		// Each chunk once at a time, and all that a key pulls within its share.
		if w.gave[key] >= share || slices.Contains(w.sending, c) {
			continue
		}
		w.gave[key]++
		w.sending = append(w.sending, c)
	}
}

// share is how many chunks the holders of one key may pull in this pass.
func (w *Worker) share() int {
	kept := 0
	for _, l := range w.leases {
		if l.Sections > 0 && l.finished() { // until then it belongs to the slots
			kept += len(l.crcs)
		}
	}
	return servings * kept
}
