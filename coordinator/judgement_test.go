package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/switchyard-ml/switchyard/wire"
)

// What becomes of a task follows from its phase and from what was said about it.
func TestJudgement_Rules(t *testing.T) {
	one, two := &account{token: 1}, &account{token: 2, examined: true}
	says := func(a *account, digest string) *claim { return &claim{account: a, digest: digest} }
	for _, c := range []struct {
		name    string
		phase   phase
		audited bool
		here    bool
		claims  []*claim
		want    ruling
	}{
		{"nobody doubts it", held, false, false, []*claim{says(one, "")}, believe},
		{"it is not there", open, true, false, []*claim{says(one, "x")}, stay},
		{"it is in the tree", merged, true, false, []*claim{says(one, "x"), says(two, "x")}, stay},
		{"another worker says the same", held, true, false, []*claim{says(one, "x"), says(two, "x")}, approve},
		{"the same worker says the same", held, true, false, []*claim{says(one, "x"), says(one, "x")}, inquire},
		{"nobody else has spoken", held, true, false, []*claim{says(one, "x")}, inquire},
		{"the referee confirms", held, true, true, []*claim{says(one, "x")}, appeal},
		{"they contradict each other", open, false, false, []*claim{says(one, "x"), says(two, "y")}, challenge},
		{"they contradict what is in the tree", merged, false, false, []*claim{says(one, "x"), says(two, "y")}, challenge},
		{"one contradicts itself", held, true, false, []*claim{says(one, "x"), says(one, "y")}, dismiss},
		{"the referee computes it", refereed, true, false, []*claim{says(one, "x"), says(two, "y")}, stay},
		{"a third is asked", disputed, true, false, []*claim{says(one, "x"), says(two, "y")}, stay},
	} {
		j := &judgement{hasReferee: true, auditing: &auditing{here: c.here}}
		task := &task{round: newRound(wire.Gradient, 4), phase: c.phase, audited: c.audited, claims: c.claims}
		task.copy = &lease{owner: &member{account: one}}
		if got := j.rule(task); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// Two workers of whom the referee has seen neither do not confirm each other, unless there is no referee.
func TestJudgement_StrangersDoNotVouch(t *testing.T) {
	task := &task{
		round: newRound(wire.Gradient, 4), phase: held, audited: true,
		claims: []*claim{{account: &account{}, digest: "x"}, {account: &account{}, digest: "x"}},
	}
	task.copy = &lease{owner: &member{account: task.claims[0].account}}
	for hasReferee, want := range map[bool]ruling{true: appeal, false: approve} {
		j := &judgement{hasReferee: hasReferee, auditing: &auditing{}}
		if got := j.rule(task); got != want {
			t.Errorf("with a referee %v: got %d, want %d", hasReferee, got, want)
		}
	}
}

// A question is found while the referee computes its block, and not when the work has begun anew.
func TestJudgement_QuestionsEndWithTheirRounds(t *testing.T) {
	m, l := testMachine(t, func(cfg *Config) { cfg.Audit = 1 })
	m.judgement.ask(l.task)
	if m.judgement.question(1) != l.task || m.judgement.question(2) != nil || l.task.phase != refereed {
		t.Error("the question is not found")
	}
	if m.run.beginAnew(time.Second); m.judgement.question(1) != nil {
		t.Error("a question about what was thrown away is found")
	}
}

// Where there is no referee, the bits of a third worker decide only if one of the others has them, too.
func TestJudgement_ThirdIsSeconded(t *testing.T) {
	m, l := testMachine(t, nil)
	for third, want := range map[string]bool{"x": true, "y": true, "z": false} {
		parties := []*claim{{account: &account{token: 1}, digest: "x"}, {account: &account{token: 2}, digest: "y"}}
		known := &claim{account: &account{token: 3}, digest: third}
		task := &task{round: l.round, block: l.block, phase: disputed, claims: append(parties, known)}
		liars, err := m.judgement.convict(task, truth{judge: "third"}, known)
		if (err == nil) != want || err != nil && !errors.Is(err, ErrDisputed) {
			t.Errorf("the third says %s: got %v", third, err)
		}
		if want && (len(liars) != 1 || liars[0] == known.account) {
			t.Errorf("the third says %s: liars are %v", third, liars)
		}
	}
}
