package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// long is a program of three chunks of parameters.
type long struct{ still }

func (long) Size() int { return 48 }

// listener is a worker "w" that is ready, at a step of whose parameters it has nothing, and what it says to "w2" and to
// the coordinator.
type listener struct {
	*Worker
	values []float32
	handed []*wire.Theta
	needs  []*wire.Need
	pulls  []*wire.Pull

	results []*wire.Result
}

func newListener(t *testing.T) *listener {
	bus := wire.NewMemory(nil)
	l := &listener{Worker: newWorker(t, bus, func([]byte, []byte, int) (Program, error) { return long{}, nil }), values: make([]float32, 48)}
	for i := range l.values {
		l.values[i] = float32(i)
	}
	l.program, l.chunk, l.welcomed, l.term, l.heartbeat = long{}, 64, true, 1, welcome.Heartbeat
	l.shape()
	l.bus = heard{bus, func(subject string, m wire.Message) {
		switch m := m.(type) {
		case *wire.Theta:
			if subject == "sy.r.peer.open.w2.open" {
				l.handed = append(l.handed, m)
			}
		case *wire.Need:
			l.needs = append(l.needs, m)
		case *wire.Pull:
			l.pulls = append(l.pulls, m)
		case *wire.Result:
			l.results = append(l.results, m)
		}
	}}
	t.Cleanup(func() {
		if l.met != nil {
			l.unsubscribe(l.met)
		}
	})
	return l
}

// heard is a bus on which is seen what is said.
type heard struct {
	wire.Bus
	see func(subject string, m wire.Message)
}

func (b heard) Publish(subject string, data []byte) error {
	m, err := wire.Decode(slices.Clone(data))
	if err != nil {
		return err
	}
	b.see(subject, m)
	return nil
}

// plan is what the coordinator says of step 3: w, w1 and w2 hand on a chunk each.
func (l *listener) plan() *wire.Relay {
	s := wire.Sections{Chunks: l.chunks, Count: 3}
	return &wire.Relay{Step: 3, Names: []string{"w", "w1", "w2", "w3"}, Digests: s.DigestsOf(0, 3, l.values)}
}

// piece is a chunk of the parameters, with a value added to the first.
func (l *listener) piece(step uint64, index int, lie float32) *wire.Theta {
	values := slices.Clone(l.values)
	values[16*index] += lie
	data := slices.Clone(l.chunks.Encode(nil, values, index))
	return &wire.Theta{Step: step, Index: index, Count: 3, CRC: wire.Checksum(data), Data: data}
}

// hears lets a worker say something to this one.
func (l *listener) hears(from string, m wire.Message) {
	*m.Head() = wire.Header{Run: "r", From: from, Term: 1}
	data, err := wire.NewEncoder().Encode(m)
	if err != nil {
		panic(err)
	}
	l.receivePeer(wire.NoKey, data)
}

// What other workers hand on is kept if the coordinator has said that it is theirs, in whatever order that comes, and if
// it is what the coordinator has sent. Nobody else can make a worker keep anything, or leave its step.
func TestRelay_WhatIsKept(t *testing.T) {
	for _, c := range []struct {
		name  string
		act   func(l *listener)
		got   []bool
		needs int
	}{
		{"its own section", func(l *listener) { l.takeRelay(l.plan()); l.hears("w1", l.piece(3, 1, 0)) }, []bool{false, true, false}, 0},
		{"before it is known", func(l *listener) { l.turn(2, 0); l.hears("w1", l.piece(3, 1, 0)); l.takeRelay(l.plan()) }, []bool{false, true, false}, 0},
		{"the section of another", func(l *listener) { l.takeRelay(l.plan()); l.hears("w1", l.piece(3, 2, 0)) }, []bool{false, false, false}, 0},
		{"a stranger", func(l *listener) { l.takeRelay(l.plan()); l.hears("w9", l.piece(3, 1, 0)) }, []bool{false, false, false}, 0},
		{"who only listens", func(l *listener) { l.takeRelay(l.plan()); l.hears("w3", l.piece(3, 1, 0)) }, []bool{false, false, false}, 0},
		{"other values", func(l *listener) { l.takeRelay(l.plan()); l.hears("w1", l.piece(3, 1, 1)) }, []bool{false, false, false}, 1},
		{"other values, and then the right ones", func(l *listener) {
			l.takeRelay(l.plan())
			l.hears("w1", l.piece(3, 1, 1))
			l.hears("w1", l.piece(3, 1, 0))
		}, []bool{false, false, false}, 1},
		{"what was asked for", func(l *listener) {
			l.takeRelay(l.plan())
			l.hears("w1", l.piece(3, 1, 1))
			l.takeTheta(l.piece(3, 1, 0))
		}, []bool{false, true, false}, 1},
		{"an older step", func(l *listener) { l.takeRelay(l.plan()); l.hears("w1", l.piece(2, 1, 0)) }, []bool{false, false, false}, 0},
		{"a later step", func(l *listener) { l.takeRelay(l.plan()); l.hears("w1", l.piece(1<<40, 1, 0)) }, []bool{false, false, false}, 0},
		{"too few digests", func(l *listener) {
			m := l.plan()
			m.Digests = m.Digests[1:]
			l.turn(3, 0)
			l.takeRelay(m)
			l.hears("w1", l.piece(3, 1, 0))
		}, []bool{false, false, false}, 0},
		{"too few names", func(l *listener) {
			m := l.plan()
			m.Names = m.Names[:2]
			l.turn(3, 0)
			l.takeRelay(m)
			l.hears("w1", l.piece(3, 1, 0))
		}, []bool{false, false, false}, 0},
	} {
		l := newListener(t)
		c.act(l)
		got := make([]bool, l.theta.got.Count())
		for i := range got {
			got[i] = l.theta.got.Has(i)
		}
		if !slices.Equal(got, c.got) || l.theta.step != 3 || len(l.needs) != c.needs {
			t.Errorf("%s: at step %d it has %v, and asked %d times, want %v and %d", c.name, l.theta.step, got, len(l.needs), c.got, c.needs)
		}
		if c.got[1] && !slices.Equal(l.theta.values[16:32], l.values[16:32]) {
			t.Errorf("%s: other values", c.name)
		}
	}
}

// What comes too early is bounded.
func TestRelay_EarlyIsBounded(t *testing.T) {
	l := newListener(t)
	l.turn(2, 0)
	for range 2 * l.maxEarly() / 64 {
		l.takeRelayed(l.piece(1<<40, 1, 0))
	}
	if n := len(l.early); n != l.maxEarly()/64 {
		t.Errorf("%d messages are kept", n)
	}
	if l.takeRelay(l.plan()); len(l.early) != 0 {
		t.Errorf("%d messages are still kept", len(l.early))
	}
}

// A worker hands on what is its own, once, and nothing else; also what it had before it was told.
func TestRelay_HandsOn(t *testing.T) {
	for _, before := range []bool{false, true} {
		l := newListener(t)
		if before {
			l.takeTheta(l.piece(3, 0, 0))
		}
		l.takeRelay(l.plan())
		for range 2 {
			for i := range 3 {
				l.takeTheta(l.piece(3, i, 0))
			}
		}
		if len(l.handed) != 1 || l.handed[0].Index != 0 || l.handed[0].Step != 3 || l.handed[0].From != "w" || l.handed[0].Token != 0 {
			t.Errorf("it handed on %+v", l.handed)
		}
	}
}

// When the run goes on without a worker that waits for others, it says who let it wait.
func TestRelay_Complains(t *testing.T) {
	l := newListener(t)
	l.takeRelay(l.plan())
	l.takeTheta(l.piece(3, 0, 0))
	l.hears("w2", l.piece(3, 2, 0))
	l.turn(4, 0)
	if len(l.needs) != 1 || l.needs[0].Step != 3 || !slices.Equal(l.needs[0].Ranges, []wire.Range{{First: 1, Count: 1}}) {
		t.Errorf("it said %+v", l.needs)
	}
	l.turn(5, 0)
	if len(l.needs) != 1 {
		t.Errorf("it said %+v", l.needs)
	}
}

// A pass that keeps the parameters of the one before keeps of what others handed on only what has its digest: here w1
// lies in its first chunk, and withholds the last one, so that its section is never compared.
func TestRelay_AStayKeepsWhatWasCompared(t *testing.T) {
	l := newListener(t)
	s := wire.Sections{Chunks: l.chunks, Count: 1}
	l.takeRelay(&wire.Relay{Step: 3, Names: []string{"w1", "w"}, Digests: s.DigestsOf(0, 1, l.values)})
	l.hears("w1", l.piece(3, 0, 100))
	l.hears("w1", l.piece(3, 1, 0))
	l.takeStay(&wire.Stay{Step: 3, Pass: 1, BasePass: 0, Count: 3})
	for i := range 3 {
		if l.theta.got.Has(i) {
			t.Errorf("chunk %d is kept", i)
		}
	}
	// What was compared stays.
	l = newListener(t)
	l.takeRelay(l.plan())
	l.hears("w1", l.piece(3, 1, 0))
	l.hears("w2", l.piece(3, 2, 100))
	l.takeStay(&wire.Stay{Step: 3, Pass: 1, BasePass: 0, Count: 3})
	if !l.theta.got.Has(1) || l.theta.got.Has(2) {
		t.Errorf("the sound chunk is kept: %t; the wrong one: %t", l.theta.got.Has(1), l.theta.got.Has(2))
	}
}

// What the coordinator says later shows what was lost of what it sent itself. What others hand on comes over links of
// their own: it was lost if they have handed on something later, and is late otherwise.
func TestRelay_AsksForWhatIsLost(t *testing.T) {
	one := func(l *listener) *wire.Relay { // w1 hands on everything
		s := wire.Sections{Chunks: l.chunks, Count: 1}
		return &wire.Relay{Step: 3, Names: []string{"w1", "w"}, Digests: s.DigestsOf(0, 1, l.values)}
	}
	behind := func(l *listener) { l.theta.follows(l.theta.movedAt) }
	prompt, all := welcome.Heartbeat/promptBeats, []wire.Range{{First: 0, Count: 3}}
	for _, c := range []struct {
		name  string
		act   func(l *listener)
		after time.Duration
		want  []wire.Range
	}{
		{"a lease overtakes its own section", func(l *listener) { l.takeRelay(l.plan()); behind(l) }, prompt, []wire.Range{{First: 0, Count: 1}}},
		{"it does not overtake those of others", func(l *listener) { l.takeRelay(l.plan()); l.takeTheta(l.piece(3, 0, 0)); behind(l) }, prompt, nil},
		{"its own section is late", func(l *listener) { l.takeRelay(l.plan()) }, prompt, nil},
		{"a chunk overtakes others of its section", func(l *listener) { l.takeRelay(one(l)); l.hears("w1", l.piece(3, 2, 0)) }, prompt, []wire.Range{{First: 0, Count: 1}, {First: 1, Count: 1}}},
		{"a chunk overtakes none", func(l *listener) { l.takeRelay(one(l)); l.hears("w1", l.piece(3, 0, 0)) }, prompt, nil},
		{"too soon", func(l *listener) { l.takeRelay(one(l)); l.hears("w1", l.piece(3, 2, 0)) }, prompt / 2, nil},
		{"nothing comes", func(l *listener) { l.takeRelay(one(l)) }, welcome.Heartbeat / 4, all},
		{"nothing comes for no longer than lately", func(l *listener) { l.theta.longest = welcome.Heartbeat / 4; l.takeRelay(one(l)) }, welcome.Heartbeat / 3, nil},
		{"nothing comes for longer than lately", func(l *listener) { l.theta.longest = welcome.Heartbeat / 4; l.takeRelay(one(l)) }, welcome.Heartbeat / 2, all},
		{"no relay: a lease overtakes everything", func(l *listener) { l.turn(3, 0); behind(l) }, prompt, all},
		{"no relay: everything is late", func(l *listener) { l.turn(3, 0) }, prompt, nil},
	} {
		l := newListener(t)
		c.act(l)
		got := l.lacking(l.theta.movedAt.Add(c.after))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: it asks for %v, want %v", c.name, got, c.want)
		}
		if again := l.lacking(l.theta.movedAt.Add(c.after)); c.after == prompt && l.relay.sections.Count > 0 && again != nil {
			t.Errorf("%s: it asks once more for %v", c.name, again)
		}
	}
}

// Who sums asks a holder again for what was overtaken, and tries the last chunk alone if nothing comes, ever more seldom:
// a link that is slow does not carry a gradient twice.
func TestReduce_AsksForWhatIsLost(t *testing.T) {
	l := newListener(t)
	l.turn(3, 0)
	digests := wire.Sections{Chunks: l.sums, Count: 1}.DigestsOf(0, 1, l.values)
	l.takeReduce(&wire.Reduce{ID: 9, Step: 3, Number: 1, Sections: 1, Count: 1, Sources: []wire.Source{
		{Holder: wire.Name("w1", wire.NoKey), Lease: 5, First: 0, Count: 1, Digests: digests},
		{Holder: wire.Name("w2", wire.NoKey), Lease: 6, First: 1, Count: 1, Digests: digests},
	}})
	asked := func(what string, now time.Time, want ...wire.Pull) {
		t.Helper()
		if l.pulls = nil; !now.IsZero() {
			l.askPeersAgain(now)
		}
		var got []wire.Pull
		for _, p := range l.pulls {
			got = append(got, wire.Pull{Lease: p.Lease, First: p.First, Count: p.Count})
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: it asks for %v, want %v", what, got, want)
		}
	}
	sends := func(from string, lease uint64, index int) {
		data := slices.Clone(l.sums.Encode(nil, l.values, index))
		l.hears(from, &wire.Chunk{Lease: lease, Step: 3, Index: index, CRC: wire.Checksum(data), Data: data})
	}
	if len(l.pulls) != 2 || l.pulls[0].Count != 3 || l.pulls[1].Count != 3 {
		t.Fatalf("it pulls %+v", l.pulls)
	}
	sends("w1", 5, 0)
	sends("w1", 5, 2)
	last := time.Now()
	asked("chunk 1 was overtaken", last, wire.Pull{Lease: 5, First: 1, Count: 1})
	asked("nothing more", last)
	silence := last.Add(2 * l.prompt())
	asked("nothing comes", silence, wire.Pull{Lease: 5, First: 1, Count: 1}, wire.Pull{Lease: 6, First: 2, Count: 1})
	asked("twice as long is waited now", silence.Add(3*l.prompt()/2))
	asked("nothing comes still", silence.Add(5*l.prompt()/2), wire.Pull{Lease: 5, First: 1, Count: 1}, wire.Pull{Lease: 6, First: 2, Count: 1})
	sends("w2", 6, 2)
	asked("the probe shows what was lost", time.Now(), wire.Pull{Lease: 6, First: 0, Count: 2})
	for _, c := range []struct {
		from  string
		lease uint64
		chunk int
	}{{"w1", 5, 1}, {"w2", 6, 0}, {"w2", 6, 1}} {
		sends(c.from, c.lease, c.chunk)
	}
	if k := slices.IndexFunc(l.leases, func(l *lease) bool { return l.ID == 9 && l.finished() && l.err == nil }); k < 0 {
		t.Error("the sum is not done")
	}
}
