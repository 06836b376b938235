package coordinator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/wire"
)

// Whatever members ask for, confirm, forget and repeat, what is on its way stays within the credit, the books agree
// with the pieces that are out, and in the end everybody has everything.
func TestMachine_FetchesStayWithinCredit(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		p := &player{cfg: Config{
			Run: "r", Steps: 1 << 40, Shards: 8, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 128 + r.IntN(1024),
			Optimizer: Optimizer{Rate: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Data: make([]byte, 1+r.IntN(4000)),
		}, leases: map[uint64]*wire.Lease{}, receiver: exchange.NewReceiver()}
		p.m = newMachine(p.cfg, make([]float32, 40), p.cfg.Chunk)
		p.m.start(0)
		f := &fetchers{player: p, r: r, has: map[string][]bool{}}
		for !f.done() {
			f.act()
			if err := f.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if p.now > 10*time.Hour {
				t.Fatalf("seed %d: after %v not everybody has the data set", seed, p.now)
			}
		}
		if p.m.run.opt.step == 0 {
			t.Errorf("seed %d: no step was made meanwhile", seed)
		}
	}
}

// fetchers are members that fetch while one of them computes.
type fetchers struct {
	*player
	r    *rand.Rand
	has  map[string][]bool // by member and piece
	left int
}

func (f *fetchers) done() bool {
	whole := 0
	for _, id := range fetcherNames {
		if w := f.m.members.get(id, token(id)); w != nil && w.ready {
			whole++
		}
	}
	return whole == len(fetcherNames)
}

var fetcherNames = []string{"a", "b", "c", "d"}

// act lets one thing happen, and delivers what the machine sends, or loses it.
func (f *fetchers) act() {
	id := fetcherNames[f.r.IntN(len(fetcherNames))]
	switch x := f.r.IntN(100); {
	case x < 2 && f.left < 5:
		f.left++
		f.say(id, &wire.Bye{})
		delete(f.has, id)
	case x < 10:
		f.say(id, &wire.Hello{Slots: 1})
	case x < 30:
		f.now += time.Duration(f.r.IntN(400)) * time.Millisecond
		f.m.dismiss(f.now)
		f.m.tick(f.now)
	case x < 40:
		f.say(id, &wire.Heartbeat{})
	default:
		f.ask(id)
	}
	for _, c := range append([]command(nil), f.m.take()...) {
		f.store(c)
		switch c := c.(type) {
		case pieceCommand:
			if f.has[c.to] != nil && f.r.IntN(5) > 0 {
				f.has[c.to][c.index] = true
			}
		case sendCommand:
			f.obey(c.to, c.message)
		}
	}
}

// obey plays a member: it is prepared for the Welcome, and computes at once what it is given.
func (f *fetchers) obey(id string, msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.Welcome:
		if f.has[id] == nil {
			f.has[id] = make([]bool, f.m.transfer.data.pieces.Count())
		}
	case *wire.Lease:
		f.leases[msg.ID] = msg
		f.say(id, f.result(msg, arguments{}))
	case *wire.Pull:
		for i := msg.First; i < msg.First+msg.Count; i++ {
			data := piece(f.leases[msg.Lease], i, arguments{})
			f.say(id, &wire.Chunk{Lease: msg.Lease, Step: f.leases[msg.Lease].Step, Index: i, CRC: wire.Checksum(data), Data: data})
		}
	}
}

func (f *fetchers) ask(id string) {
	has := f.has[id]
	if has == nil {
		return
	}
	msg := &wire.Fetch{Hash: f.m.transfer.data.hash}
	for i := range has {
		if !has[i] {
			msg.Ranges = append(msg.Ranges, wire.Range{First: i, Count: 1})
		}
	}
	f.say(id, msg)
	if len(msg.Ranges) == 0 {
		f.say(id, &wire.Ready{Size: 40, Terms: []string{"loss"}})
	}
}

func (f *fetchers) say(id string, msg wire.Message) {
	*msg.Head() = wire.Header{Run: "r", From: id, Term: 1, Token: token(id)}
	f.receive(msg)
}

// check compares the machine's books with what is out.
func (f *fetchers) check() error {
	total := 0
	for _, w := range f.m.members.list {
		seen := map[int]bool{}
		for _, i := range w.fetch.sent {
			if seen[i] || !w.fetch.isSent[i] {
				return fmt.Errorf("piece %d is out to %s twice, or is not noted", i, w.id)
			}
			seen[i] = true
			total += f.m.transfer.data.pieces.Bytes(i)
		}
	}
	switch d := f.m.transfer.data.inFlight; {
	case d != total:
		return fmt.Errorf("%d bytes are out, the machine counts %d", total, d)
	case d > f.m.cfg.Credit/2, d+f.m.transfer.inFlight > f.m.cfg.Credit:
		return fmt.Errorf("%d bytes of data and %d of gradients are out, the credit is %d", d, f.m.transfer.inFlight, f.m.cfg.Credit)
	}
	return nil
}

// A list of as many ranges as a message may hold says nothing of the pieces after it.
func TestArrived(t *testing.T) {
	full := make([]wire.Range, wire.MaxRanges)
	for i := range full {
		full[i] = wire.Range{First: 3*i + 1, Count: 2}
	}
	end := 3 * wire.MaxRanges
	for _, c := range []struct {
		lacking []wire.Range
		piece   int
		want    bool
	}{
		{nil, 0, true},
		{full[:2], 0, true},
		{full[:2], 1, false},
		{full[:2], 2, false},
		{full[:2], 3, true},
		{full[:2], 5, false},
		{full[:2], 6, true},
		{full, end - 1, false},
		{full, end - 3, true},
		{full, end, false},
		{full[1:], end, true},
	} {
		if got := arrived(c.lacking, c.piece); got != c.want {
			t.Errorf("piece %d, %d ranges: got %v", c.piece, len(c.lacking), got)
		}
	}
}
