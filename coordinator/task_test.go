package coordinator

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

var phases = []phase{free, open, held, refereed, disputed, decided, merged, contested}

// A task goes from phase to phase as it should, and in no other way. A move that is refused changes nothing, and is
// noted.
func TestTask_EntersOnlyWhatFollows(t *testing.T) {
	follows := map[phase][]phase{
		free:      {open},
		open:      {free, held, refereed, disputed, merged},
		held:      {open, held, refereed, disputed, merged},
		refereed:  {decided},
		disputed:  {decided},
		decided:   {merged},
		merged:    {contested, open},
		contested: {merged},
	}
	for _, from := range phases {
		for _, to := range phases {
			task := &task{round: newRound(wire.Gradient, 4), block: vector.Block{Count: 2}, phase: from}
			want := slices.Contains(follows[from], to)
			if got := task.enter(to); got != want {
				t.Errorf("from %v to %v: got %v", from, to, got)
			}
			if task.phase == to != (want || from == to) || errors.Is(task.round.broken, errPhase) == want {
				t.Errorf("from %v to %v: it is %v, the round says %v", from, to, task.phase, task.round.broken)
			}
		}
	}
}

// What moves a task by a method leads to the phase that it names, whether the block is in the tree or not.
func TestTask_Moves(t *testing.T) {
	copied := &lease{}
	for _, c := range []struct {
		name     string
		from, to phase
		move     func(*task)
	}{
		{"reopen", free, open, (*task).reopen},
		{"release", open, free, (*task).release},
		{"hold", open, held, func(t *task) { t.hold(1, copied) }},
		{"hold meanwhile", refereed, refereed, func(t *task) { t.hold(1, copied) }},
		{"drop the copy", held, open, (*task).dropCopy},
		{"drop the copy of what is in the tree", merged, merged, (*task).dropCopy},
		{"refer", held, refereed, func(t *task) { t.refer(1) }},
		{"refer what is in the tree", merged, contested, func(t *task) { t.refer(1) }},
		{"dispute", open, disputed, (*task).dispute},
		{"dispute what is in the tree", merged, contested, (*task).dispute},
		{"decide", disputed, decided, (*task).decide},
		{"decide what is in the tree", contested, merged, (*task).decide},
		{"merge", decided, merged, func(t *task) { t.merge() }},
	} {
		task := &task{round: newRound(wire.Gradient, 4), phase: c.from}
		if c.move(task); task.phase != c.to || task.round.broken != nil {
			t.Errorf("%s: got %v, want %v; %v", c.name, task.phase, c.to, task.round.broken)
		}
	}
}

// An announcement is good for what the phase of its block says.
func TestTask_Purpose(t *testing.T) {
	one, two := &member{account: &account{token: 1}}, &member{account: &account{token: 2}}
	for _, c := range []struct {
		name  string
		phase phase
		work  wire.Work
		lease lease
		want  purpose
	}{
		{"open", open, wire.Gradient, lease{owner: one}, deliver},
		{"audit", open, wire.Gradient, lease{owner: one, audit: true}, compare},
		{"held", held, wire.Gradient, lease{owner: one}, reserve},
		{"held validation", held, wire.Validate, lease{owner: one}, deliver},
		{"refereed", refereed, wire.Gradient, lease{owner: one}, compare},
		{"merged", merged, wire.Gradient, lease{owner: one}, compare},
		{"contested", contested, wire.Gradient, lease{owner: one}, compare},
		{"disputed, a party", disputed, wire.Gradient, lease{owner: two}, compare},
		{"disputed, a third", disputed, wire.Gradient, lease{owner: one}, deliver},
	} {
		task := &task{round: newRound(c.work, 4), phase: c.phase, parties: []*account{two.account}}
		c.lease.task = task
		if got := task.purpose(&c.lease); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
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
	l.task.enter(contested)
	m.take()
	m.tick(time.Second)
	if m.life.active() {
		t.Fatal("the run goes on")
	}
	commands := m.take()
	end, ok := commands[len(commands)-1].(finishCommand)
	if !ok || !errors.Is(end.err, errPhase) {
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
	if p.m.judgement.docket != nil {
		t.Error("a block was put on the docket")
	}
}
