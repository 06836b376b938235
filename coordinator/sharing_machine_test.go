package coordinator

import (
	"fmt"
	"testing"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// told is what the machine wants done, as far as it is about shared memory and parameters.
func told(m *machine) (list []string) {
	for _, c := range m.take() {
		switch c := c.(type) {
		case sendCommand:
			switch msg := c.message.(type) {
			case *wire.Offer:
				list = append(list, fmt.Sprintf("offer %s %q", c.to, msg.Place))
			case *wire.Pull:
				list = append(list, fmt.Sprintf("pull %s %d+%d", c.to, msg.First, msg.Count))
			}
		case layCommand:
			list = append(list, "lay "+c.to.ID)
		case thetaCommand:
			list = append(list, fmt.Sprintf("theta %s %d", c.To, c.Count))
		case sharedCommand:
			list = append(list, fmt.Sprintf("shared %s %v", c.worker, c.on))
		}
	}
	return list
}

// The machine offers memory to who joins, sends parameters by it to who says that he shares, and to all others as chunks,
// and pulls again what was not found there, from who then shares no more.
func TestMachine_SharedMemory(t *testing.T) {
	cfg := Config{
		Run: "r", Steps: 10, Shards: 2, FailureDetection: 5e9, Chunk: 64, Credit: 128, TermNames: []string{"loss"}, Dir: t.TempDir(),
		Optimizer: Optimizer{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}
	m := newMachine(cfg, make([]float32, 48), 64)
	m.place = "0123456789abcdef"
	m.start(0)
	head := func(id string, token uint64) wire.Header {
		return wire.Header{Run: "r", From: id, Term: 1, Token: token}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if got := told(m); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	told(m)
	const offer = `offer a "0123456789abcdef"`
	m.receive(1, &wire.Hello{Header: head("a", 1), Slots: 1})
	expect("hello", offer)
	m.receive(2, &wire.Share{Header: head("a", 1), On: true})
	expect("share", "shared a true")
	m.receive(2, &wire.Share{Header: head("a", 1), On: true})
	expect("share again")
	m.receive(3, &wire.Ready{Header: head("a", 1), Size: 48, Terms: cfg.TermNames})
	expect("ready", "lay a")
	m.receive(4, &wire.Hello{Header: head("b", 2), Slots: 1})
	m.receive(4, &wire.Ready{Header: head("b", 2), Size: 48, Terms: cfg.TermNames})
	expect("a worker elsewhere", `offer b "0123456789abcdef"`, `offer b "0123456789abcdef"`, "theta b 3")
	m.run.publish(exchange.Version{})
	expect("both", "lay a", "theta  3")
	m.receive(5, &wire.Need{Header: head("a", 1), Ranges: []wire.Range{{First: 0, Count: 3}}})
	expect("what is asked for comes as chunks", "theta a 3")

	l := m.leasing.leases[0]
	if l.owner.id != "a" {
		t.Fatalf("the lease is %s's", l.owner.id)
	}
	m.receive(6, &wire.Result{
		Header: head("a", 1), Lease: l.id, Attempt: 1, Work: wire.Gradient, First: l.Block.First, Count: l.Block.Count, Terms: []float32{1}, Length: 48,
	})
	expect("result", "pull a 0+2")
	m.distrust(head("a", 7), "another token")
	expect("nobody is meant")
	m.distrust(head("a", 1), "it is not there")
	expect("distrust", "shared a false", `offer a ""`, "pull a 0+2")
	m.receive(7, &wire.Share{Header: head("a", 1), On: true})
	expect("share no more", `offer a ""`)
	m.receive(7, &wire.ChunksAt{Header: head("a", 1), Lease: l.id, Count: 2})
	expect("chunks that nobody reads", `offer a ""`)
	m.run.publish(exchange.Version{})
	expect("all as chunks", "theta  3")
	m.receive(8, &wire.Bye{Header: head("a", 1)})
	told(m)
	m.receive(9, &wire.Hello{Header: head("a", 1), Slots: 1})
	expect("a hello after that")

	m.receive(10, &wire.Share{Header: head("b", 2), On: true})
	m.receive(10, &wire.Share{Header: head("b", 2), Why: "no room"})
	expect("a worker that ends it", "shared b true", "shared b false")
}
