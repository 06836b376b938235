package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/coordinator/trust"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// An announcement is good for what the phase of its block says.
func TestTask_Purpose(t *testing.T) {
	one, two := &member{Account: &trust.Account{Token: 1}}, &member{Account: &trust.Account{Token: 2}}
	for _, c := range []struct {
		name  string
		phase trust.Phase
		work  wire.Work
		lease lease
		want  purpose
	}{
		{"open", trust.Open, wire.Gradient, lease{owner: one}, deliver},
		{"audit", trust.Open, wire.Gradient, lease{owner: one, audit: true}, compare},
		{"held", trust.Held, wire.Gradient, lease{owner: one}, reserve},
		{"held validation", trust.Held, wire.Validate, lease{owner: one}, deliver},
		{"refereed", trust.Refereed, wire.Gradient, lease{owner: one}, compare},
		{"merged", trust.Merged, wire.Gradient, lease{owner: one}, compare},
		{"contested, a party", trust.Contested, wire.Gradient, lease{owner: two}, compare},
		{"contested, a third", trust.Contested, wire.Gradient, lease{owner: one}, deliver},
		{"disputed, a party", trust.Disputed, wire.Gradient, lease{owner: two}, compare},
		{"disputed, a third", trust.Disputed, wire.Gradient, lease{owner: one}, deliver},
	} {
		task := taskAt(newRound(c.work, 4), c.phase, two)
		c.lease.task = task
		if got := task.purpose(&c.lease); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
	task := taskAt(newRound(wire.Gradient, 4), trust.Merged, two)
	new(trust.Judgement).Refer(&task.Case)
	if got := task.purpose(&lease{owner: one, task: task}); task.Phase() != trust.Contested || got != compare {
		t.Errorf("contested, with a referee: got %d in phase %v", got, task.Phase())
	}
}

// taskAt is a task in a phase; if it is in dispute, the worker is a party.
func taskAt(r *round, phase trust.Phase, party *member) *task {
	t := &task{Case: trust.NewCase(vector.Block{Count: 2}, &r.broken), round: r}
	t.Reopen()
	judgement := trust.Judgement{}
	said := &trust.Claim{Account: party.Account}
	switch phase {
	case trust.Held:
		t.Hold(party.Account)
	case trust.Refereed:
		judgement.Refer(&t.Case)
	case trust.Merged, trust.Contested:
		t.Merge()
	}
	if phase == trust.Disputed || phase == trust.Contested {
		t.Say(said)
		t.Dispute(false)
		t.Unsay(said)
	}
	return t
}

// testMachine has the member w with one slot, and has given it the shards of its first step.
func testMachine(t *testing.T, change func(*Config)) (*machine, *lease) {
	t.Helper()
	cfg := Config{
		Run: "r", Steps: 2, Shards: 1, FailureDetection: 5 * time.Second, Chunk: 64, Credit: 256,
		Optimizer: Optimizer{Rate: 0.5, Beta1: 0.5, Beta2: 0.5, Epsilon: 1}, TermNames: []string{"loss"}, Dir: "d",
	}
	if change != nil {
		change(&cfg)
	}
	m := newMachine(cfg, make([]float32, 40), 64)
	m.start(0)
	for _, msg := range []wire.Message{&wire.Hello{Slots: 1}, &wire.Ready{Size: 40, Terms: []string{"loss"}}} {
		*msg.Head() = wire.Header{Run: "r", From: "w", Term: 1, Token: 7}
		m.receive(0, msg)
	}
	if len(m.leasing.leases) != 1 {
		t.Fatalf("%d leases", len(m.leasing.leases))
	}
	return m, m.leasing.leases[0]
}

// A task that is to go where it cannot ends the run, with the parameters of the last step.
func TestMachine_EndsWhenATaskGoesOutOfOrder(t *testing.T) {
	m, l := testMachine(t, nil)
	l.task.Decide()
	m.take()
	m.tick(time.Second)
	if m.life.active() {
		t.Fatal("the run goes on")
	}
	commands := m.take()
	end, ok := commands[len(commands)-1].(finishCommand)
	if !ok || !errors.Is(end.err, trust.ErrPhase) {
		t.Errorf("got %v", commands)
	}
	if m.run.opt.step != 0 {
		t.Error("a step was made")
	}
}

// A block that nobody audits and nobody contradicts never comes before the judgement.
func TestMachine_UndoubtedBlocksAreNotJudged(t *testing.T) {
	p := play(t, []byte(`config steps=2 shards=2 credit=4096
start
hello a
ready a
result a lease=1
chunk a lease=1 index=0
chunk a lease=1 index=1
chunk a lease=1 index=2
result a lease=2
chunk a lease=2 index=0
chunk a lease=2 index=1
chunk a lease=2 index=2
`))
	if p.m.run.opt.step == 0 {
		t.Fatal("no step was made")
	}
	if p.m.judgement.pending != nil {
		t.Error("a block is pending")
	}
}
