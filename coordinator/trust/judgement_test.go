package trust

import "testing"

func says(a *Account, digest string) *Claim { return &Claim{Account: a, Digest: digest} }

// What becomes of a block follows from its phase and from what was said about it.
func TestJudgement_Rules(t *testing.T) {
	one, two := &Account{Token: 1}, &Account{Token: 2, Examined: true}
	for _, c := range []struct {
		name    string
		phase   Phase
		audited bool
		here    bool
		claims  []*Claim
		want    Ruling
	}{
		{"nobody doubts it", Held, false, false, []*Claim{says(one, "")}, Believe},
		{"it is not there", Open, true, false, []*Claim{says(one, "x")}, Stay},
		{"it is in the tree", Merged, true, false, []*Claim{says(one, "x"), says(two, "x")}, Stay},
		{"another worker says the same", Held, true, false, []*Claim{says(one, "x"), says(two, "x")}, Approve},
		{"the same worker says the same", Held, true, false, []*Claim{says(one, "x"), says(one, "x")}, Inquire},
		{"nobody else has spoken", Held, true, false, []*Claim{says(one, "x")}, Inquire},
		{"the referee confirms", Held, true, true, []*Claim{says(one, "x")}, Appeal},
		{"they contradict each other", Open, false, false, []*Claim{says(one, "x"), says(two, "y")}, Challenge},
		{"they contradict what is in the tree", Merged, false, false, []*Claim{says(one, "x"), says(two, "y")}, Challenge},
		{"one contradicts itself", Held, true, false, []*Claim{says(one, "x"), says(one, "y")}, Dismiss},
		{"the referee computes it", Refereed, true, false, []*Claim{says(one, "x"), says(two, "y")}, Stay},
		{"a third is asked", Disputed, true, false, []*Claim{says(one, "x"), says(two, "y")}, Stay},
	} {
		j := &Judgement{HasReferee: true, Audits: &Auditing{Here: c.here}}
		if got := j.Rule(&Case{phase: c.phase, Audited: c.audited, claims: c.claims, deliverer: one}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// Two workers of whom the referee has seen neither do not confirm each other, unless there is no referee.
func TestJudgement_StrangersDoNotVouch(t *testing.T) {
	one, two := &Account{}, &Account{}
	c := &Case{phase: Held, Audited: true, deliverer: one, claims: []*Claim{says(one, "x"), says(two, "x")}}
	for hasReferee, want := range map[bool]Ruling{true: Appeal, false: Approve} {
		j := &Judgement{HasReferee: hasReferee, Audits: &Auditing{}}
		if got := j.Rule(c); got != want {
			t.Errorf("with a referee %v: got %d, want %d", hasReferee, got, want)
		}
	}
}

// Where there is no referee, the bits of a third worker decide only if one of the others has them, too.
func TestJudgement_ThirdIsSeconded(t *testing.T) {
	for third, want := range map[string]bool{"x": true, "y": true, "z": false} {
		known := says(&Account{Token: 3}, third)
		c := &Case{phase: Disputed, claims: []*Claim{says(&Account{Token: 1}, "x"), says(&Account{Token: 2}, "y"), known}}
		liars, believed := c.Convict("third", known)
		if believed != want {
			t.Errorf("the third says %s: believed %v", third, believed)
		}
		if want && (len(liars) != 1 || liars[0] == known.Account) {
			t.Errorf("the third says %s: liars are %v", third, liars)
		}
	}
}

// What the referee has found right is known to be examined, and what a worker has is not.
func TestJudgement_RefereeExamines(t *testing.T) {
	for judge, want := range map[string]bool{"": true, "third": false} {
		a, b := &Account{Token: 1}, &Account{Token: 2}
		c := &Case{phase: Refereed, claims: []*Claim{says(a, "x"), says(b, "y")}}
		if liars, _ := c.Convict(judge, says(nil, "x")); a.Examined != want || b.Examined || len(liars) != 1 || liars[0] != b {
			t.Errorf("judge %q: examined %v and %v, liars %v", judge, a.Examined, b.Examined, liars)
		}
	}
}
