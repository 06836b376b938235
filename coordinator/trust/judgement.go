package trust

import "slices"

// Judgement says what becomes of blocks where workers are not simply believed: blocks that are audited, blocks about
// which workers say different things, and blocks that failed twice.
//
// A dispute is a block about which workers contradict each other. The step does not close while there is one. The
// referee, which computes in the coordinator's own process, decides it. Without a referee a worker decides that has not
// computed the block before. If there is none, the run ends, because it is not known which bits are right.
type Judgement struct {
	HasReferee   bool
	Audits       *Auditing
	lastQuestion uint64 // number of the last question to the referee
}

// Ruling is what becomes of a block after something was learnt about it.
type Ruling uint8

// The rulings.
const (
	Stay      Ruling = iota // nothing: somebody else is to speak first
	Dismiss                 // a worker has contradicted itself
	Challenge               // workers contradict each other
	Believe                 // the copy that is here is used as it is
	Approve                 // the copy that is here is confirmed
	Appeal                  // the referee is to compute the block
	Inquire                 // somebody is to confirm the copy that is here
)

// Rule decides what becomes of a block. It changes nothing.
func (j *Judgement) Rule(c *Case) Ruling {
	switch {
	case c.phase != Open && c.phase != Held && c.phase != Merged:
		return Stay
	case c.Inconsistent() != nil:
		return Dismiss
	case c.Contradicted():
		return Challenge
	case c.phase != Held:
		return Stay
	case !c.Audited:
		return Believe
	case j.Audits.Here:
		return Appeal
	case c.confirmed() && j.vouched(c):
		return Approve
	case c.confirmed():
		return Appeal
	}
	return Inquire
}

// vouched reports whether the referee has found one of the workers right that agree about a block. Otherwise somebody
// with two identities could confirm his own blocks. This does not find somebody who is right once and lies under a
// second identity later. Audits by the referee do: see Auditing.Here.
func (j *Judgement) vouched(c *Case) bool {
	return !j.HasReferee || slices.ContainsFunc(c.claims, func(o *Claim) bool { return o.Account.Examined })
}

// Refer leaves a block to the referee, and returns the number of the question.
func (j *Judgement) Refer(c *Case) uint64 {
	j.lastQuestion++
	c.refer(j.lastQuestion)
	return j.lastQuestion
}

// Convict compares what workers said of a block with what is known, as the judge says: a worker, or the referee if it
// is empty. It returns those that said otherwise, and whether the judge is believed: if it is a worker, a second one
// must agree with it, or nobody knows which bits are right. A worker of which several claims agree counts once.
func (c *Case) Convict(judge string, known *Claim) (liars []*Account, believed bool) {
	liars, agreed := c.compare(known)
	if judge == "" {
		examine(agreed)
	}
	return liars, judge == "" || len(agreed) >= 2
}

// Try compares what workers said of a block with what is known for certain, and returns those that said otherwise.
// All who agree count as Examined, as they would by the referee.
func (c *Case) Try(known *Claim) (liars []*Account) {
	liars, agreed := c.compare(known)
	examine(agreed)
	return liars
}

// examine notes that these workers were right where it is known for certain.
func examine(list []*Account) {
	for _, a := range list {
		a.Examined = true
	}
}

// compare returns, without repetition, the workers that said otherwise than what is known, and those that said so.
func (c *Case) compare(known *Claim) (liars, agreed []*Account) {
	for _, o := range c.claims {
		list := &liars
		if o.Agrees(known) {
			list = &agreed
		}
		if !slices.Contains(*list, o.Account) {
			*list = append(*list, o.Account)
		}
	}
	return liars, agreed
}
