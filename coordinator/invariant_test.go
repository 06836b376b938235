package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Whatever members say, also wrong, twice and late, no shard is lost, none is counted twice, and what is on its way
// stays within the credit.
func TestMachine_KeepsItsBooks(t *testing.T) {
	steps, summed, doubted := uint64(0), 0, 0
	for seed := range uint64(fleets) {
		b := newBedlam(seed)
		for range 1500 {
			b.act()
			if err := b.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if b.m.life.state == finished {
				break
			}
		}
		steps += b.m.run.opt.step
		summed += b.m.figures.Summed
		doubted += b.m.figures.Doubted
	}
	if steps < fleets || summed < fleets/2 || doubted < fleets/8 {
		t.Errorf("%d steps in all, %d summed by workers, %d such sums doubted", steps, summed, doubted)
	}
}

// bedlam is a machine among members of which some lie and fail.
type bedlam struct {
	*player
	r     *rand.Rand
	born  int
	names []string
	sent  []*wire.Lease // to whom is in to
	to    []string
	asked []refereeCommand
}

func newBedlam(seed uint64) *bedlam {
	r := rand.New(rand.NewPCG(seed, 0))
	b := &bedlam{r: r, player: &player{leases: map[uint64]*wire.Lease{}, receiver: exchange.NewReceiver(), cfg: Config{
		Run: "r", Steps: 1 << 40, Shards: 8, ValidationShards: 4, ValidateEvery: 2, FailureDetection: 5 * time.Second,
		Chunk: 64, Credit: 64 + r.IntN(256), Optimizer: Optimizer{Rate: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}}}
	if seed%2 == 1 {
		b.cfg.Exchange = Sharded
	}
	b.cfg.Audit = []float64{0, 0.5, 1}[r.IntN(3)]
	if r.IntN(4) > 0 {
		b.cfg.Referee = func(context.Context, uint64, []float32, wire.Work, vector.Block) ([]float32, []float32, error) {
			return nil, nil, nil
		}
	}
	b.m = newMachine(b.cfg, make([]float32, 40), b.cfg.Chunk)
	b.m.start(0)
	return b
}

// act lets one thing happen.
func (b *bedlam) act() {
	switch x := b.r.IntN(100); {
	case x < 4 || len(b.names) == 0:
		b.born++
		b.names = append(b.names, fmt.Sprint([]string{"good", "liar", "nan", "out"}[b.r.IntN(4)], b.born))
		b.join(b.names[len(b.names)-1])
	case x < 5:
		b.say(b.names[b.r.IntN(len(b.names))], &wire.Bye{})
	case x < 8:
		b.join(b.names[b.r.IntN(len(b.names))])
	case x < 35:
		b.now += time.Duration(b.r.IntN(600)) * time.Millisecond
		for _, w := range slices.Clone(b.m.members.list) {
			if b.r.IntN(30) > 0 {
				b.say(w.id, &wire.Heartbeat{Step: b.m.run.opt.step})
			}
		}
		b.m.dismiss(b.now)
		b.m.remind(b.now, 0)
		b.m.tick(b.now)
	case x < 45 && len(b.asked) > 0:
		q := b.asked[0]
		b.asked = b.asked[1:]
		v := trust.Verdict{ID: q.ID}
		if v.Values, v.Terms = partial(&wire.Lease{Work: q.Work, Count: q.Block.Count}, nil); b.r.IntN(200) == 0 {
			v.Err = errors.New("no luck")
		}
		b.m.verdict(b.now, v)
	case len(b.sent) > 0:
		i := len(b.sent) - 1 - b.r.IntN(min(8, len(b.sent)))
		b.answer(b.to[i], b.sent[i])
	}
	b.obey()
}

// obey notes what the machine wants done, and does what cannot wait.
func (b *bedlam) obey() {
	for again := true; again; {
		again = false
		for _, c := range append([]command(nil), b.m.take()...) {
			b.store(c)
			switch c := c.(type) {
			case refereeCommand:
				b.asked = append(b.asked, c)
			case rollbackCommand:
				x := make([]float32, 40)
				b.m.term++
				b.m.rewind(b.now, &Checkpoint{Step: c.step - min(c.step, uint64(b.r.IntN(3))), Theta: x, BestLoss: math.Inf(1)})
				again = true
			case sendCommand:
				switch m := c.message.(type) {
				case *wire.Lease:
					b.sent, b.to = append(b.sent, m), append(b.to, c.to)
				case *wire.Reduce:
					b.sent, b.to = append(b.sent, asLease(m)), append(b.to, c.to)
				}
			}
		}
	}
}

func (b *bedlam) join(id string) {
	b.say(id, &wire.Hello{Slots: 1 + len(id)%3})
	b.say(id, &wire.Ready{Size: 40, Terms: []string{"loss"}})
}

// answer announces a lease, or sends its chunks.
func (b *bedlam) answer(id string, l *wire.Lease) {
	args := arguments{}
	switch bad := b.r.IntN(5) == 0; {
	case bad && id[0] == 'l':
		args["lie"] = ""
	case bad && id[0] == 'n':
		args["nan"] = ""
	case bad && id[0] == 'o':
		args["fault"] = "out of luck"
	}
	if b.r.IntN(2) == 0 {
		b.say(id, b.result(l, args))
	}
	for i := range 3 {
		if b.r.IntN(10) > 0 {
			data := b.piece(l, i, arguments{})
			if _, lie := args["lie"]; lie {
				data = b.piece(l, i, args)
			}
			b.say(id, &wire.Chunk{Lease: l.ID, Step: l.Step, Index: i, CRC: wire.Checksum(data), Data: data})
		}
	}
}

func (b *bedlam) say(id string, msg wire.Message) {
	*msg.Head() = wire.Header{Run: "r", From: id, Term: b.m.term, Token: token(id)}
	b.receive(msg)
	b.obey()
}

// check compares the books with what is out.
func (b *bedlam) check() error {
	m := b.m
	if m.life.state == finished {
		return nil
	}
	flying := 0
	for _, l := range m.leasing.leases {
		for i := range l.asked.Next() {
			if l.state == pulling && !l.asked.Has(i) {
				flying += l.chunks.Bytes(i)
			}
		}
	}
	if flying != m.transfer.inFlight || flying > max(m.cfg.Credit, m.run.chunks.Bytes(0)) {
		return fmt.Errorf("%d bytes are asked for, the machine counts %d, the credit is %d", flying, m.transfer.inFlight, m.cfg.Credit)
	}
	for _, w := range m.members.list {
		busy := 0
		for _, l := range m.leasing.leases {
			if l.owner == w && l.state == leased {
				busy += l.load()
			}
		}
		if busy != w.busy {
			return fmt.Errorf("%s has %d shards in its hands, the machine counts %d", w.id, busy, w.busy)
		}
	}
	for _, r := range m.leasing.rounds {
		if r.work == wire.Sum {
			if r.broken != nil {
				return r.broken
			}
			continue
		}
		if err := errors.Join(checkShards(r), checkTasks(r), m.members.checkKept(r)); err != nil {
			return err
		}
	}
	if len(m.judgement.pending) > 0 {
		return errors.New("a task is pending")
	}
	return nil
}

// checkKept looks at what is kept by holders: those are members, and have a lease of it.
func (ms *members) checkKept(r *round) error {
	for _, t := range r.kept {
		switch l := t.holder; {
		case !t.InTree():
			return fmt.Errorf("shards %s are kept, and %v", t.Block, t.Phase())
		case l == nil && t.partial.Values == nil, l != nil && (l.state != keeping || l.task != t || !slices.Contains(ms.list, l.owner)):
			return fmt.Errorf("nobody keeps shards %s", t.Block)
		}
	}
	return nil
}

// checkTasks looks at what must hold of each task in its phase.
func checkTasks(r *round) error {
	if r.broken != nil {
		return r.broken
	}
	for _, t := range r.tasks {
		pulled := 0
		for _, l := range t.leases {
			if l.state == pulling {
				pulled++
			}
		}
		doubted := slices.Contains(r.disputes, t)
		switch {
		case pulled > 1:
			return fmt.Errorf("shards %s are pulled %d times", t.Block, pulled)
		case t.arrived != nil || t.Phase() == trust.Decided:
			return fmt.Errorf("shards %s are %v between two events", t.Block, t.Phase())
		case t.Phase() == trust.Refereed != (t.Question() > 0) && t.Phase() != trust.Contested:
			return fmt.Errorf("shards %s are %v, question %d", t.Block, t.Phase(), t.Question())
		case (t.Phase() == trust.Disputed || t.Phase() == trust.Contested) && !doubted, doubted && (t.Phase() == trust.Merged || t.Phase() == trust.Open):
			return fmt.Errorf("shards %s are %v, in dispute: %v", t.Block, t.Phase(), doubted)
		case t.Phase() == trust.Held && t.copy == nil:
			return fmt.Errorf("shards %s are held without a copy", t.Block)
		case t.Phase() == trust.Open && t.regular() > 0 == r.queued(t):
			return fmt.Errorf("shards %s are open: %d leases, queued %v", t.Block, t.regular(), r.queued(t))
		}
	}
	return nil
}

// checkShards looks where each shard of a round is: in one place.
func checkShards(r *round) error {
	places := make([][]string, 8)
	put := func(b vector.Block, place string) {
		for s := b.First; s < b.First+b.Count; s++ {
			places[s] = append(places[s], place)
		}
	}
	for _, b := range r.free {
		put(b, "free")
	}
	for _, t := range r.tasks {
		waits := r.queued(t)
		switch {
		case t.InTree():
			put(t.Block, "tree")
		case t.copy != nil || t.Judged() || t.regular() > 0 || waits:
			put(t.Block, fmt.Sprintf("task %v leases %d waits %v", t.Phase(), t.regular(), waits))
		}
	}
	for s, where := range places {
		if n := map[wire.Work]int{wire.Gradient: 8, wire.Validate: 4}[r.work]; s < n && len(where) != 1 {
			return fmt.Errorf("%s: shard %d is in %d places: %q", r.work, s, len(where), where)
		}
	}
	return nil
}
