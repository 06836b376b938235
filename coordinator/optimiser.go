package coordinator

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/coordinator/exchange"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// optimiser is the state of the optimisation: the parameters, how many updates they had, and what the rule remembers.
type optimiser struct {
	rule
	theta       []float32             // the parameters; their memory is the front of run.state
	differences *exchange.Differences // nil: the rule updates the parameters themselves
	average     *vector.Average       // of the parameters over updates, which is evaluated; nil: there is none
	retreat     *vector.Retreat       // nil: there is none
	refuge      *vector.Average       // what a retreat goes back to: average, or one of its own, which is not evaluated
	retreated   bool                  // with the last update
	leftOut     *uint64               // updates so far; nil: none ever is, or it is not known
	step        uint64                // updates that the parameters had
}

// rule turns the sum of a step over its shards, which it overwrites, into new parameters.
type rule interface {
	// Update returns the norm of the mean, and the learning rate.
	Update(theta, sum []float32, shards int, step uint64) (norm, rate float64, err error)
	// LeftOut reports whether the last Update left its gradient out.
	LeftOut() bool
	// Stride is the number of updates by which the parameters are older afterwards.
	Stride() uint64
	// Moments are what is in a checkpoint beside the parameters.
	Moments() []vector.Moment
	// Resume is called after the moments were set to what they were after so many updates.
	Resume(updates uint64)
}

var _, _ rule = (*vector.Adam)(nil), (*vector.Nesterov)(nil)

// newOptimiser starts at theta, which belongs to it. cfg was validated.
func newOptimiser(cfg *Config, theta []float32) *optimiser {
	changes, err := cfg.changes(len(theta))
	if err != nil {
		panic(err) // the configuration was not validated
	}
	o := &optimiser{theta: theta, differences: exchange.NewDifferences(cfg.Parameters, changes, theta)}
	if cfg.Outer.Every > 0 {
		o.rule = vector.NewNesterov(cfg.Outer, cfg.Optimizer, len(theta))
	} else {
		adam := vector.NewAdam(cfg.Optimizer, len(theta))
		adam.Spread = true // the workers wait for it
		o.rule = adam
		if cfg.Optimizer.Outlier > 0 {
			o.retreat, o.leftOut = vector.NewRetreat(adam), new(uint64)
		}
	}
	if cfg.Average > 0 {
		o.average = vector.NewAverage(cfg.Average, o.Stride(), theta)
	}
	if o.refuge = o.average; o.retreat != nil && o.refuge == nil {
		o.refuge = vector.NewAverage(vector.RefugeMemory, o.Stride(), theta)
	}
	return o
}

// moments are what is in a checkpoint beside the parameters: the rule's, the exact parameters, and the average. Their
// order is that of checkpoints. The slices are those of the state, not copies.
func (o *optimiser) moments() []vector.Moment {
	list := o.Moments()
	if exact := o.differences.Exact(); exact != nil {
		list = append(list, vector.Moment{Name: checkpoint.Exact, Values: exact})
	}
	if o.refuge != nil {
		list = append(list, vector.Moment{Name: o.averageName(), Values: o.refuge.Values})
	}
	if o.retreat != nil {
		list = append(list, o.retreat.Moment())
	}
	return list
}

// rounds is how often the parameters have changed: with local steps once in many updates. Who is left out for a while
// is left out for so many rounds, however long they are.
func (o *optimiser) rounds() uint64 { return o.step / o.Stride() }

// averageName is the name of the average in checkpoints. That of a mere refuge differs, for it is not evaluated.
func (o *optimiser) averageName() string {
	if o.average == nil {
		return checkpoint.Refuge
	}
	return checkpoint.Average
}

// fits says what is wrong with a checkpoint's moments for this rule. It is nil for one that fits.
func (o *optimiser) fits(cp *Checkpoint) error {
	same := func(a checkpoint.Moment, b vector.Moment) bool {
		return a.Name == b.Name && len(a.Values) == len(b.Values)
	}
	// Checkpoints of earlier releases end before the retreat, and before the average that is kept for it alone.
	want := o.moments()
	later := 0
	switch {
	case o.retreat != nil && o.average == nil:
		later = 2
	case o.retreat != nil:
		later = 1
	}
	if n := len(want) - later; len(cp.Moments) == n {
		want = want[:n]
	}
	if !slices.EqualFunc(cp.Moments, want, same) {
		return fmt.Errorf("it holds %s, this run's optimiser needs %s", cp.MomentNames(), momentNames(want))
	}
	if cp.Step%o.Stride() != 0 {
		return fmt.Errorf("it is at step %d, within a round of %d local steps", cp.Step, o.Stride())
	}
	return nil
}

// momentNames lists the names of moments, for people.
func momentNames(moments []vector.Moment) []string {
	list := []string{}
	for _, m := range moments {
		list = append(list, m.Name)
	}
	return list
}

// restore continues from a checkpoint that fits, or from parameters without moments. A moment that the checkpoint
// lacks is zero.
func (o *optimiser) restore(cp *Checkpoint) {
	copy(o.theta, cp.Theta)
	o.step = cp.Step
	for i, m := range o.moments() {
		if clear(m.Values); i < len(cp.Moments) {
			copy(m.Values, cp.Moments[i].Values)
		}
	}
	// Exact parameters and the average begin at the parameters, and not at zero.
	if len(cp.Moments) == 0 {
		o.differences.Begin(cp.Theta)
	}
	if o.refuge != nil && !slices.Contains(cp.MomentNames(), o.averageName()) {
		copy(o.refuge.Values, cp.Theta)
	}
	o.Resume(cp.Step)
	if o.retreat != nil {
		o.retreat.Resume()
		if o.leftOut = copied(cp.LeftOut); cp.Step == 0 {
			o.leftOut = new(uint64)
		}
	}
}

// copied is a copy of a count that may be unknown.
func copied(n *uint64) *uint64 {
	if n == nil {
		return nil
	}
	return new(*n)
}

// save copies the state into a checkpoint, whose memory it uses.
func (o *optimiser) save(cp *Checkpoint) {
	cp.Step, cp.Theta, cp.LeftOut = o.step, append(cp.Theta[:0], o.theta...), copied(o.leftOut)
	moments := o.moments()
	cp.Moments = slices.Grow(cp.Moments[:0], len(moments))[:len(moments)]
	for i, m := range moments {
		cp.Moments[i] = checkpoint.Moment{Name: m.Name, Values: append(cp.Moments[i].Values[:0], m.Values...)}
	}
}

// update makes the step from the sum over its shards, which it overwrites. An error leaves step as it was, but maybe
// not theta: the run has to end.
func (o *optimiser) update(sum []float32, shards int) (norm, rate float64, err error) {
	target := o.differences.Target(o.theta)
	norm, rate, err = o.Update(target, sum, shards, o.step)
	o.retreated = err == nil && o.retreat != nil && o.retreat.Note(target, o.refuge.Values)
	if err == nil {
		err = o.differences.Follow(o.theta)
	}
	if err == nil {
		if o.refuge != nil {
			o.refuge.Add(o.theta, o.rounds())
		}
		if o.leftOut != nil && o.LeftOut() {
			*o.leftOut++
		}
		o.step += o.Stride()
	}
	return norm, rate, err
}
