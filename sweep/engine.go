package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Leg is a part of a run: from where it stands to a rung. It is the unit of work that a Runner is given. The
// result of a leg that is done is in the journal; one that was cut short goes on from the last checkpoint of the
// run.
type Leg struct {
	Trial, Replicate int      // from 1
	Replicates       int      // of the trial
	Settings         Settings // with that of the seed
	Step             uint64   // the update at which it ends
	From             uint64   // that at which the leg before it ended; 0: it is the first of its run
	Rung             int      // from 0
	Last             bool     // the training ends there
}

// Errors of a Runner.
var (
	// ErrDiverged is returned by Lead when the run has no finite parameters. It does not go on.
	ErrDiverged = errors.New("sweep: the run diverged")
	// ErrPreempted is returned by Lead when somebody stopped the run. It goes on later.
	ErrPreempted = errors.New("sweep: the run was stopped")
	// ErrInterrupted is returned by Lead when ctx ended, and by Run.
	ErrInterrupted = errors.New("sweep: interrupted")
)

// Runner does the work of trials. Lead and Drop are called by several goroutines.
type Runner interface {
	// Check returns the updates at which a configuration is judged, one for each rung of the spec, or why it is not
	// valid. The answer depends on the settings alone.
	Check(Settings) (steps []uint64, err error)
	// Lead takes a run to the end of a leg, from the last checkpoint, to the same bits as if it had never stopped. When
	// ctx ends it writes a checkpoint and returns ErrInterrupted.
	Lead(context.Context, Leg) (Result, error)
	// Capacity is how many legs should be under way so that no worker waits; at least 1.
	Capacity() int
	// Drop is told that a run goes no further, so that its checkpoints may be deleted.
	Drop(trial, replicate, replicates int)
}

// Observer is told what has happened. Its methods are called by one goroutine at a time and must not keep the state.
type Observer interface {
	// Changed is called after records were applied.
	Changed(*State, []Record)
}

// Engine runs a sweep. Its state is touched by the goroutine of Run alone: legs run in goroutines of their own
// and report through done.
//
// Invariant: what the state says is in the journal. A record is written first and applied then, in one order for
// both.
type Engine struct {
	state    *State
	journal  *Journal
	runner   Runner
	observer Observer
	order    func() Order
	parallel int // the most legs at the same time; 0: the capacity of the runner

	done    chan ended    // not buffered: each leg hands its end over to Run
	running int           // legs whose end has not been received; Run never returns before it is 0
	orders  time.Duration // time between two looks at the order
}

// ended is a leg that has come back.
type ended struct {
	leg    leg
	rung   int
	result Result
	err    error
}

// Options of an engine.
type Options struct {
	Observer Observer
	Order    func() Order // what the user wants; nil: to proceed
	Parallel int          // the most legs at the same time; 0: as many as the runner takes
}

// NewEngine makes the engine of a sweep from the records of its journal. An empty journal begins with the spec.
// The caller has compared the specs of a journal that is not empty. It returns ErrJournal for records that
// contradict each other, and the errors of writing the journal.
func NewEngine(spec *Spec, journal *Journal, records []Record, runner Runner, o Options) (*Engine, error) {
	state, err := NewState(records)
	if err != nil {
		return nil, err
	}
	if o.Order == nil {
		o.Order = func() Order { return Proceed }
	}
	e := &Engine{
		state: state, journal: journal, runner: runner, observer: o.Observer, order: o.Order, parallel: o.Parallel,
		done: make(chan ended), orders: 100 * time.Millisecond,
	}
	if state.Spec == nil {
		return e, e.write(Record{Kind: KindOpen, Spec: spec})
	}
	return e, e.takeUp()
}

// State is the state of the sweep. It must not be used while Run is running, other than by the observer.
func (e *Engine) State() *State { return e.state }

// Extend allows more trials. A cap that is not greater than the present one is ErrSpec. It must not be called
// while Run is running.
func (e *Engine) Extend(trials int) error {
	if trials <= e.state.Spec.Trials {
		return fmt.Errorf("%w: the sweep has %d trials already", ErrSpec, e.state.Spec.Trials)
	}
	return e.write(Record{Kind: KindExtend, Trials: trials})
}

// takeUp notes that the legs of a process that was killed are not under way, and repeats to the runner which runs
// go no further: the process may have died between the decision and the deletion of their checkpoints.
func (e *Engine) takeUp() error {
	var list []Record
	for _, t := range e.state.Trials {
		for i := range t.Runs {
			if t.Status.Final() && t.Status != StatusComplete { // it may have been killed before it was told so
				e.runner.Drop(t.ID, i+1, len(t.Runs))
			}
			if t.Runs[i].Leading {
				list = append(list, e.fault(leg{t, i}, Interrupted, "the process ended"))
			}
		}
	}
	return e.write(list...)
}

// write puts records into the journal and then into the state, tells the runner whose runs they end, and at last
// the observer. If the journal cannot be written the state stays as it was. A record that the state refuses is
// ErrJournal: it would be refused by every later process, too.
func (e *Engine) write(list ...Record) error {
	if len(list) == 0 {
		return nil
	}
	if err := e.journal.Append(list...); err != nil {
		return err
	}
	for _, r := range list {
		if err := e.state.apply(r); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrJournal, r.Kind, err)
		}
		e.drop(r)
	}
	if e.observer != nil {
		e.observer.Changed(e.state, list)
	}
	return nil
}

// drop tells the runner which runs a decision has ended. The decision is on the disk by then, so nothing is
// deleted that a restart would still want. Runs of complete trials keep what they have.
func (e *Engine) drop(r Record) {
	if r.Kind != KindDecision {
		return
	}
	for _, id := range append(append([]int(nil), r.Kept...), r.Pruned...) {
		t := e.state.Trial(id)
		for i := range t.Runs {
			if t.Status.Final() && t.Status != StatusComplete {
				e.runner.Drop(id, i+1, len(t.Runs))
			}
		}
	}
}

// Run tries trials until all have ended, ctx ends or the user stops the sweep. In the last two cases it returns
// ErrInterrupted, when every leg under way has come back. An order to pause interrupts the legs as well, but then
// Run waits for the next order. A trial that fails does not end the sweep; an error of the journal, or of the
// runner about a configuration, does. Run blocks, and runs once at a time.
func (e *Engine) Run(ctx context.Context) error {
	now := newShift(ctx)
	defer func() { now.end() }()
	ticker := time.NewTicker(e.orders)
	defer ticker.Stop()
	var failure error
	for {
		// An order is obeyed as soon as it is seen, and is in the journal before anything follows from it.
		order := e.order()
		if failure == nil && order != e.state.Order {
			failure = e.write(Record{Kind: KindOrder, Order: order})
		}
		proceed := failure == nil && ctx.Err() == nil && order == Proceed
		// A shift ends with the permission to work. The next one begins when all legs of the old have come back:
		// a run is never led twice at the same time.
		if !proceed {
			now.end()
		} else if now.ctx.Err() != nil && e.running == 0 {
			now = newShift(ctx)
		}
		if proceed && now.ctx.Err() == nil {
			failure = e.begin(now.ctx)
		}
		// Nothing is under way: this is the only place at which Run ends.
		if e.running == 0 {
			switch {
			case failure != nil:
				return failure
			case ctx.Err() != nil || order == Halt:
				return ErrInterrupted
			case e.state.Done:
				return nil
			}
		}
		select {
		case d := <-e.done:
			e.running--
			if err := e.back(d); failure == nil {
				failure = err
			}
		case <-ticker.C:
		case <-ctx.Done():
			if e.running > 0 { // wait for the legs
				d := <-e.done
				e.running--
				if err := e.back(d); failure == nil {
					failure = err
				}
			}
		}
	}
}

// shift is the time between two orders of the user: its end interrupts the legs.
type shift struct {
	ctx context.Context
	end context.CancelFunc
}

// newShift begins a shift that ends with ctx at the latest.
func newShift(ctx context.Context) shift {
	inner, cancel := context.WithCancel(ctx)
	return shift{inner, cancel}
}

// begin makes all decisions that can be made, and starts legs up to the capacity. If nothing is under way,
// nothing can begin and the sweep is not done, the journal is inconsistent: it returns ErrJournal rather than
// waiting for ever.
func (e *Engine) begin(ctx context.Context) error {
	capacity := max(e.runner.Capacity(), 1)
	if e.parallel > 0 {
		capacity = min(capacity, e.parallel)
	}
	for {
		list, err := e.derive(capacity - e.running)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		if err := e.write(list...); err != nil {
			return err
		}
	}
	legs := e.state.legs()
	if len(legs) == 0 && e.running == 0 && !e.state.Done {
		return fmt.Errorf("%w: no trial can go on, and not all have ended", ErrJournal)
	}
	for _, l := range legs {
		if e.running >= capacity {
			return nil
		}
		if err := e.start(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// start notes in the journal that a leg begins, and hands it to the runner. The seed of the replicate becomes one
// more setting.
func (e *Engine) start(ctx context.Context, l leg) error {
	t := l.trial
	rung := t.rung()
	err := e.write(Record{Kind: KindStart, Trial: t.ID, Replicate: l.replicate + 1, Rung: rung})
	if err != nil {
		return err
	}
	work := Leg{
		Trial: t.ID, Replicate: l.replicate + 1, Replicates: len(t.Runs), Rung: rung, Step: t.Steps[rung], Last: t.last(rung),
		Settings: append(append(Settings(nil), t.Settings...), Setting{
			e.state.Spec.Replicates.Key,
			fmt.Sprint(t.Seeds[l.replicate]),
		}),
	}
	if before := t.Runs[l.replicate].Results; len(before) > 0 {
		work.From = before[len(before)-1].Step
	}
	e.running++
	go func() {
		r, err := e.runner.Lead(ctx, work)
		e.done <- ended{l, rung, r, err}
	}()
	return nil
}

// back records how a leg ended: a result if it has every metric of the sweep, and otherwise a fault whose fate
// follows from the error. Values that are not finite and that the sweep does not ask for are left out, because
// JSON has no form for them.
func (e *Engine) back(d ended) error {
	maps.DeleteFunc(d.result.Values, func(name string, v float64) bool {
		return !finite(v) && !slices.ContainsFunc(e.state.Spec.Metrics, func(m Metric) bool { return m.Name == name })
	})
	if d.err == nil {
		d.err = e.measured(d.result)
	}
	t := d.leg.trial
	switch {
	case d.err == nil:
		return e.write(Record{Kind: KindResult, Trial: t.ID, Replicate: d.leg.replicate + 1, Rung: d.rung, Result: &d.result})
	case errors.Is(d.err, ErrDiverged):
		return e.write(e.fault(d.leg, Diverged, d.err.Error()))
	case errors.Is(d.err, ErrInterrupted):
		return e.write(e.fault(d.leg, Interrupted, ""))
	case errors.Is(d.err, ErrPreempted):
		return e.write(e.fault(d.leg, Preempted, d.err.Error()))
	}
	return e.write(e.fault(d.leg, Failed, d.err.Error()))
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// measured checks that the metrics of the sweep are there, and are finite. One that is not makes the run diverge
// (ErrDiverged), one that is missing is a failure, which is tried again.
func (e *Engine) measured(r Result) error {
	for _, m := range e.state.Spec.Metrics {
		v, ok := r.Values[m.Name]
		if !ok {
			return fmt.Errorf("the run has no metric %s", m.Name)
		}
		if !finite(v) {
			return fmt.Errorf("%w: %s is %g at update %d", ErrDiverged, m.Name, v, r.Step)
		}
	}
	return nil
}

// fault is the record of a leg that did not reach its rung.
func (e *Engine) fault(l leg, fate Fate, reason string) Record {
	t := l.trial
	return Record{
		Kind: KindFault, Trial: t.ID, Replicate: l.replicate + 1, Rung: t.First + len(t.Runs[l.replicate].Results),
		Fate: fate, Reason: reason,
	}
}
