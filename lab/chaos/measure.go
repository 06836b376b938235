package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/store"
)

// Recovery has the times that a run needed to recover from faults of one kind, in seconds, one for each fault, in
// their order.
type Recovery struct {
	Fault string    `json:"fault"`
	First []float64 `json:"first_step_seconds"` // from each fault to the first step beyond the last one before the fault
	Pace  []float64 `json:"usual_pace_seconds"` // from each fault to the end of the last conspicuously long step
	Step  float64   `json:"step_seconds"`       // median before the faults
}

const (
	// settle is the shortest time without trouble before a fault. Up to a second is added, so that faults hit all
	// phases of heartbeats.
	settle = 2 * time.Second
	// watch is how long the run is watched after a fault, in addition to the time of failure detection.
	watch = 3 * time.Second
	// A step is conspicuous if it takes longer than stallSteps usual steps and longer than stallTime.
	stallSteps = 5
	stallTime  = 100 * time.Millisecond
	// giveUp is the longest wait for the first step after a fault.
	giveUp = 2 * time.Minute
	poll   = 5 * time.Millisecond
)

// Measure runs a training without other faults. It kills a worker, the coordinator and the broker, n times each,
// and waits between them until the run makes steps as usual. Coordinator and broker are started again at once,
// the worker after the run has continued without it. It returns ErrNoRecovery if the run does not go on, ErrOver if it
// has no steps left, and the cause of ctx when that ends.
func Measure(ctx context.Context, cfg Config, n int) ([]Recovery, error) {
	cfg.Plan = Plan{Seed: cfg.Plan.Seed}
	c, err := newFleet(cfg)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := c.begin(); err != nil {
		return nil, err
	}
	w := &watcher{fleet: c, file: tail{dir: filepath.Join(cfg.Folder, "runs"), name: cfg.Name}}
	victims := []struct {
		act    act
		target func(i int) *child
	}{
		{killWorker, func(i int) *child { return c.workers[i%len(c.workers)] }},
		{killCoordinator, func(int) *child { return c.coordinator }},
		{restartBroker, func(int) *child { return c.broker }},
	}
	var list []Recovery
	for _, v := range victims {
		r := Recovery{Fault: v.act.String()}
		for i := range n {
			if err := w.measure(ctx, v.target(i), &r); err != nil {
				return nil, fmt.Errorf("%s %d of %d: %w", r.Fault, i+1, n, err)
			}
			if cfg.Progress != nil {
				cfg.Progress(Status{
					Elapsed: time.Since(w.began), Step: w.steps[len(w.steps)-1].step, Workers: len(c.workers),
					Faults: map[string]int64{r.Fault: int64(i + 1)},
				})
			}
		}
		list = append(list, r)
	}
	return list, c.end()
}

// step is the time at which an update was done.
type step struct {
	step uint64
	at   time.Time
}

// watcher follows the steps of a run.
type watcher struct {
	*fleet
	began time.Time
	file  tail
	steps []step // since the last reset
	// when run.json was last read
	looked time.Time
}

// measure kills a child and adds the times until the run has recovered. The time of the fault is spread over a
// second by the golden ratio, so that n faults hit its phases evenly.
func (w *watcher) measure(ctx context.Context, x *child, r *Recovery) error {
	if w.began.IsZero() {
		w.began = time.Now()
	}
	phase := math.Mod(float64(len(r.First))*math.Phi, 1)
	if err := w.flow(ctx, settle+time.Duration(phase*float64(time.Second))); err != nil {
		return err
	}
	// Steps beyond the last one before the fault are new; those that a restored coordinator makes again are not.
	usual, last := w.usual(), w.steps[len(w.steps)-1].step
	down := time.Duration(0)
	if x.role == "worker" {
		down = w.cfg.Detection + watch
	}
	struck := time.Now()
	if err := w.kill(x, down); err != nil {
		return err
	}
	var first time.Time
	for until := struck.Add(w.cfg.Detection + watch); first.IsZero() || time.Now().Before(until); {
		if err := w.turn(ctx); err != nil {
			return err
		}
		for _, s := range w.steps {
			if first.IsZero() && s.step > last && s.at.After(struck) {
				first = s.at
			}
		}
		if time.Since(struck) > giveUp {
			return fmt.Errorf("%w within %v", ErrNoRecovery, giveUp)
		}
	}
	r.First = append(r.First, first.Sub(struck).Seconds())
	r.Pace = append(r.Pace, pace(w.steps, struck, first, usual).Seconds())
	r.Step = usual.Seconds()
	return nil
}

// pace is the time from a fault to the end of the last conspicuous step of the record, and at least to the first
// new step: when the run has its usual pace again.
func pace(steps []step, struck, first time.Time, usual time.Duration) time.Duration {
	end := first
	for i := 1; i < len(steps); i++ {
		a, b := steps[i-1], steps[i]
		if b.at.After(end) && b.at.Sub(a.at) > stallSteps*usual+stallTime {
			end = b.at
		}
	}
	return end.Sub(struck)
}

// flow waits until all processes run and steps have been made for a while. A process that does not run makes it
// begin anew. After giveUp it is ErrNoRecovery.
func (w *watcher) flow(ctx context.Context, length time.Duration) error {
	w.steps = nil
	for began, since := time.Now(), time.Now(); time.Since(since) < length || len(w.steps) < 10; {
		if err := w.turn(ctx); err != nil {
			return err
		}
		for _, x := range w.children() {
			if !x.running() {
				since = time.Now()
				w.steps = w.steps[:0]
			}
		}
		if time.Since(began) > giveUp {
			return fmt.Errorf("%w: %d steps in %v; the log of its coordinator ends:\n%s", ErrNoRecovery, len(w.steps), giveUp,
				w.fleet.tail(w.coordinator))
		}
	}
	return nil
}

// turn waits a moment, tends the processes and reads new steps. A run that has ended makes none: see look.
func (w *watcher) turn(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(poll):
	}
	if err := w.tend(time.Now()); err != nil {
		return err
	}
	records, err := w.file.read()
	if err != nil {
		return err
	}
	w.steps = append(w.steps, records...)
	return w.look(time.Now())
}

// look returns ErrOver for a run that has finished, and ErrFailed for one that has failed. It reads run.json once a
// second.
func (w *watcher) look(now time.Time) error {
	if now.Sub(w.looked) < statusEvery {
		return nil
	}
	w.looked = now
	info, err := readRun(w.cfg)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the coordinator has not made it yet
		return nil
	case err != nil:
		return err
	case info.State == store.Finished:
		return fmt.Errorf("%w: it ended at step %d; give it more, such as train.steps=10000000", ErrOver, info.Step)
	case info.State == store.Failed:
		return fmt.Errorf("%w: %s", ErrFailed, info.ExitReason)
	}
	return nil
}

// usual is the median time of a step, of which there are enough after flow.
func (w *watcher) usual() time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(w.steps); i++ {
		gaps = append(gaps, w.steps[i].at.Sub(w.steps[i-1].at))
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// tail reads the steps that are appended to the metrics of a run. If the run went back, it continues at the new end.
type tail struct {
	dir, name string
	file      *store.Tail // nil: the run is not there yet
}

// read returns the steps since the last call; none before the run has a folder.
func (t *tail) read() (steps []step, err error) {
	if t.file == nil {
		t.file, err = store.Follow(t.dir, t.name, store.Position{})
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the steps: %w", err)
		}
	}
	for {
		_, back, err := t.file.Rows(math.MaxInt, func(r *store.Row) {
			if r.Split == "train" {
				steps = append(steps, step{r.Step, r.Time})
			}
		})
		if err != nil {
			return nil, fmt.Errorf("read the steps: %w", err)
		}
		if !back {
			return steps, nil
		}
	}
}

// Median is the median of some times; of an even number, the upper of the two in the middle.
func Median(seconds []float64) float64 {
	sorted := slices.Sorted(slices.Values(seconds))
	return sorted[len(sorted)/2]
}
