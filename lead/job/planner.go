package job

import (
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/switchyard-ml/switchyard/config"
)

// Planner plans runs, and builds a program once for those that begin with the same one: the parts of a training that
// pauses, and trials that differ in the settings of the optimiser alone. Its zero value is ready, and several
// goroutines may use it.
type Planner struct {
	mu    sync.Mutex
	plans []kept // the last used one last
	bytes int
}

// kept is a plan under the hash of what decided it. Its parameters are never changed.
type kept struct {
	key  [sha256.Size]byte
	plan *Plan
}

// maxKept is the most space, in bytes, that the plans of a Planner take. Beyond it, those that were not used for
// longest are dropped.
const maxKept = 64 << 20

// Plan is NewPlan. The result belongs to the caller. Runs on own data, with local steps or of models that fit
// themselves are planned anew each time. Copies of one plan share its start, which is fitted once.
func (l *Planner) Plan(c config.Config, data *Data, slots int) (*Plan, error) {
	if data != nil || Sweeping(c) || LocalSteps(c) {
		return NewPlan(c, data, slots)
	}
	key := first(c, slots)
	if p := l.find(key); p != nil {
		p.Config = c
		return p, checkFactors(c, p.Layout)
	}
	p, err := NewPlan(c, data, slots)
	if err == nil {
		l.keep(kept{key, p.copy()})
	}
	return p, err
}

// first is the hash of what decides the program at the beginning of a run: everything but the optimiser, which belongs
// to the coordinator, and the cluster.
func first(c config.Config, slots int) [sha256.Size]byte {
	c.Preset, c.Optim, c.Cluster = "", config.Optim{}, config.Cluster{}
	return sha256.Sum256(append(c.YAML(), byte(slots), byte(slots>>8)))
}

// find returns a copy of the plan with that key, nil if there is none, and makes it the last used one.
func (l *Planner) find(key [sha256.Size]byte) *Plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.plans, func(k kept) bool { return k.key == key })
	if at < 0 {
		return nil
	}
	k := l.plans[at]
	l.plans = append(slices.Delete(l.plans, at, at+1), k)
	return k.plan.copy()
}

// keep remembers a plan. Two goroutines may have made the same one; then both are kept, until the space is needed.
func (l *Planner) keep(k kept) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plans, l.bytes = append(l.plans, k), l.bytes+k.size()
	for l.bytes > maxKept {
		l.bytes -= l.plans[0].size()
		l.plans = slices.Delete(l.plans, 0, 1)
	}
}

func (k kept) size() int { return 8*len(k.plan.Theta) + 1024 } // also after a start

// copy is a plan whose parameters may be changed.
func (p *Plan) copy() *Plan {
	q := *p
	q.Theta = slices.Clone(p.Theta)
	return &q
}
