package lead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/scaling"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
	"github.com/switchyard-ml/switchyard/wire"
)

// WatchConfig describes the run to be watched.
type WatchConfig struct {
	Plan   *job.Plan
	Run    *store.Run
	From   *checkpoint.Checkpoint  // nil: from the initial parameters
	Show   func(terminal.Progress) // called after each change, one call at a time; it must not call the watch
	Events bool                    // whether to write event files of TensorBoard beside the metrics
	Advise bool                    // whether to log what would help if steps wait for messages to other machines
	Log    hclog.Logger
}

// Watch records the coordinator's reports: metrics and state, in the folder of the run. What cannot be written is
// kept and tried again; meanwhile the run continues. The reports come from the coordinator's goroutine; the other
// methods may be called from any.
type Watch struct {
	run    *store.Run
	config config.Config
	log    hclog.Logger
	terms  []model.Term
	start  time.Time
	show   func(terminal.Progress)
	// Whether the model fits itself, so that updates are sweeps.
	sweeping bool

	// mu guards the fields below, and the methods of run, which are not safe for concurrent use.
	mu         sync.Mutex
	metrics    trouble
	state      trouble
	counts     trouble // of the file of magnitudes
	magnitudes store.Magnitudes
	uncounted  bool // whether the file lacks some of them
	meter      terminal.Meter
	progress   terminal.Progress
	saved      time.Time // time of the last write of run.json
	latest     store.Values
	moved      float64          // bytes to and from each worker, in all steps
	steps      int              // number of these steps
	adviser    *scaling.Adviser // nil: no advice
	live       *store.Live      // event files; nil: none
	doubted    bool             // whether it was said that an estimate cannot be true
	// Whether it was said that the switch is of no use.
	collapsed bool
}

var _ coordinator.Observer = (*Watch)(nil)

// The time between two writes of run.json, besides those at checkpoints, and between two attempts to write after a
// failure.
const (
	saveInterval  = 5 * time.Second
	retryInterval = 2 * time.Second
)

// NewWatch returns a watch for a run that begins or continues. The run is held, and its metrics end at the
// checkpoint.
func NewWatch(cfg WatchConfig) *Watch {
	w := &Watch{
		run: cfg.Run, config: cfg.Plan.Config, log: cfg.Log, terms: cfg.Plan.Terms, start: time.Now(), show: cfg.Show,
		progress: terminal.Progress{Steps: cfg.Plan.Config.Train.Steps, FLOPsPerStep: cfg.Plan.FLOPs},
		latest:   store.Values{},
		sweeping: job.Sweeping(cfg.Plan.Config),
	}
	maps.Copy(w.latest, cfg.Run.Info().Metrics)
	w.goOn(cmp.Or(cfg.From, &checkpoint.Checkpoint{BestLoss: math.Inf(1), LeftOut: new(uint64)}))
	if cp := cfg.From; cp != nil {
		// A process that was killed behind its checkpoint has not said so in run.json. There may be no other
		// checkpoint.
		w.state.note(w.log, w.run.Update(func(i *store.Info) {
			i.Checkpoint, i.ParametersSHA256, i.Metrics = cp.Step, cp.ParamsSHA256, w.latest
		}))
	}
	w.beginMagnitudes(cfg.Plan)
	if cfg.Events {
		w.live = store.NewLive(cfg.Run.Folder(), cfg.Plan.Config.Train.Steps, w.progress.Step)
	}
	if cfg.Advise {
		w.adviser = newAdviser(cfg.Plan.Config)
	}
	return w
}

// Step implements coordinator.Observer. Metrics get one record; run.json is written every few seconds.
func (w *Watch) Step(r coordinator.StepReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.meter.Add(now, r.Step)
	p := &w.progress
	p.Step, p.Workers, p.StepRate, p.Note = r.Step, r.Workers, w.meter.Rate(), ""
	p.Objective = -float64(r.Loss[0])
	p.Terms = p.Terms[:0]
	for i, t := range w.terms[1:] {
		if t.Validation {
			continue
		}
		p.Terms = append(p.Terms, terminal.Term{Name: cmp.Or(t.Short, t.Name), Value: float64(r.Loss[i+1])})
	}
	w.doubt(r)
	w.noteLeftOut(r)
	w.noteMagnitudes(r)
	values := w.values(r.Loss, false)
	if !w.sweeping { // there is neither gradient nor rate
		values["gradient_norm"], values["learning_rate"] = float64(float32(r.GradNorm)), r.Rate
	}
	values["step_seconds"] = measured(r.Seconds / float64(r.Updates))
	values["compute_seconds"] = measured(r.Compute / float64(r.Updates))
	values["workers"], values["bytes_in"], values["bytes_out"] = float64(r.Workers), float64(r.BytesIn),
		float64(r.BytesOut)
	p.WorkerBytes = r.WorkerBytes()
	values["bytes_per_worker"] = math.Round(p.WorkerBytes)
	w.moved, w.steps = w.moved+p.WorkerBytes, w.steps+1
	w.latest["bytes_per_worker"] = math.Round(w.moved / float64(w.steps)) // the last step sends no parameters
	w.advise(r)
	w.record(store.Record{
		Step: r.Step, Split: "train", Time: now.UTC(), Seconds: now.Sub(w.start).Seconds(),
		Values: values,
	})
	if now.Sub(w.saved) > saveInterval {
		w.events((*store.Live).Flush)
		w.save(func(*store.Info) {})
	}
	w.show(w.progress)
}

// measured is a measured time with four significant digits, which is more than a clock is good for: digits take room in
// metrics.jsonl.
func measured(seconds float64) float64 {
	if seconds <= 0 || math.IsInf(seconds, 0) || math.IsNaN(seconds) {
		return seconds
	}
	scale := math.Pow10(3 - int(math.Floor(math.Log10(seconds))))
	return math.Round(seconds*scale) / scale
}

// newAdviser returns an adviser for a run of this configuration. What the run cannot have counts as a habit.
func newAdviser(c config.Config) *scaling.Adviser {
	return &scaling.Adviser{Habits: scaling.Habits{
		Integers:    job.Coding(c) != wire.Float32,
		ManyShards:  c.Train.Shards > vector.Int16.MaxShards(),
		Differences: job.ParametersCoding(c) != wire.Float32,
		LocalSteps:  job.LocalSteps(c) || !c.Uses("train.method"),
	}}
}

// advise logs what would help if steps wait for messages.
func (w *Watch) advise(r coordinator.StepReport) {
	if w.adviser == nil || r.Sharing > 0 { // then steps do not wait for a link alone
		return
	}
	advice, ok := w.adviser.Step(scaling.Sample{
		Seconds: r.Seconds, Compute: r.Compute, Work: r.Work, BytesIn: float64(r.BytesIn), BytesOut: float64(r.BytesOut),
		Workers: r.Workers,
	})
	if ok {
		w.log.Info(advice)
	}
}

// Validation implements coordinator.Observer.
func (w *Watch) Validation(r coordinator.ValidationReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	values := w.values(r.Loss, true)
	fields := []any{"step", r.Step, "objective", rounded(values["objective"])}
	if bound, known := model.ELBO(w.terms, r.Loss); known {
		values["elbo"] = bound
		fields = append(fields, "elbo", rounded(bound))
	}
	for i, t := range w.terms {
		if t.Validation && !t.Detail {
			fields = append(fields, t.Name, rounded(float64(r.Loss[i])))
		}
	}
	if inUse, known := w.usage(r, values); known {
		fields = append(fields, "regimes_in_use", rounded(inUse))
	}
	w.validated(values)
	w.record(store.Record{
		Step: r.Step, Split: "validation", Time: now.UTC(), Seconds: now.Sub(w.start).Seconds(),
		Values: values,
	})
	w.events((*store.Live).Flush)
	if r.Best {
		w.progress.Best, w.progress.BestStep = values["objective"], r.Step
		w.latest["best_validation_objective"], w.latest["best_step"] = values["objective"], float64(r.Step)
	}
	w.log.Info("validation", append(fields, "best", r.Best)...)
	w.show(w.progress)
}

// Checkpoint implements coordinator.Observer. Metrics are flushed to the disk first; then run.json names the
// checkpoint.
func (w *Watch) Checkpoint(r coordinator.CheckpointReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.metrics.note(w.log, w.run.Sync())
	w.save(func(i *store.Info) { i.Checkpoint, i.ParametersSHA256 = r.Step, r.ParamsSHA256 })
	w.log.Debug("checkpoint", "step", r.Step, "path", r.Path, "params_sha256", r.ParamsSHA256)
}

// Membership implements coordinator.Observer.
func (w *Watch) Membership(r coordinator.MembershipReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Workers, w.progress.Note = r.Workers, r.Waiting
	switch {
	case r.Joined != "":
		w.log.Debug("worker joined", "worker", r.Joined, "workers", r.Workers)
	case r.Left != "":
		w.log.Warn("worker left", "worker", r.Left, "reason", r.Reason, "workers", r.Workers)
	}
	w.retry() // a run that waits makes no steps, which would retry
	w.show(w.progress)
}

// Storage implements coordinator.Observer. It shows that files cannot be written.
func (w *Watch) Storage(r coordinator.StorageReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Note = ""
	if r.Err != nil {
		w.progress.Note = r.What + " cannot be written: " + r.Err.Error()
	}
	w.save(func(*store.Info) {}) // no checkpoint will save it
	w.show(w.progress)
}

// Rollback implements coordinator.Observer. It drops the records of the steps that are to be made again.
func (w *Watch) Rollback(r coordinator.RollbackReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.goOn(r.Checkpoint)
	w.metrics.note(w.log, w.run.Cut(r.Step))
	w.cutMagnitudes(r.Step)
	w.events(func(l *store.Live) error { return l.Back(r.Step) })
	w.save(func(i *store.Info) { i.Checkpoint, i.ParametersSHA256 = r.Step, r.Checkpoint.ParamsSHA256 })
	w.show(w.progress)
}

// leastDivergence is what the Monte Carlo estimate of a divergence falls below only if something is wrong, or if the
// samples are far too few: a divergence is not negative, and this is the mean of a batch.
const leastDivergence = -1

// doubt warns once of an estimate that cannot be true.
func (w *Watch) doubt(r coordinator.StepReport) {
	for i, t := range w.terms {
		if t.Remedy == "" || w.doubted || !(r.Loss[i] < leastDivergence) {
			continue
		}
		w.doubted = true
		w.log.Warn(fmt.Sprintf("%s is estimated at %.3g in the mean of a batch, but a divergence is never negative: the "+
			"objective is not to be trusted", t.Label, r.Loss[i]),
			"term", t.Name, "step", r.Step, "do", t.Remedy)
	}
}

// noteLeftOut counts an update that was left out, and logs the first, second, fourth, eighth and so on.
func (w *Watch) noteLeftOut(r coordinator.StepReport) {
	if !r.LeftOut {
		return
	}
	w.latest["left_out"]++
	if n := uint64(w.latest["left_out"]); n&(n-1) == 0 {
		w.log.Warn("the update was skipped: the norm of its gradient is far larger than that of earlier updates",
			"step", r.Step, "norm", float32(r.GradNorm), "left_out", w.latest["left_out"])
	}
	if r.Retreated {
		w.latest["retreats"]++
		w.log.Warn("too many updates in a row were skipped: the parameters go back to their average, and the learning "+
			"rate is halved", "step", r.Step, "retreats", w.latest["retreats"])
	}
}

// values are the terms of a loss by name, and minus the loss as "objective". Terms of a validation are left out of a
// step.
func (w *Watch) values(loss []float32, validation bool) store.Values {
	values := store.Values{"objective": -float64(loss[0])}
	for i, t := range w.terms {
		if validation || !t.Validation {
			values[t.Name] = float64(loss[i])
		}
	}
	return values
}

// save writes run.json with the current step and metrics, after change, and magnitudes before it. A failure is noted,
// and retry tries again.
func (w *Watch) save(change func(*store.Info)) {
	w.saved = time.Now()
	w.writeMagnitudes()
	w.state.note(w.log, w.run.Update(func(i *store.Info) {
		i.Step, i.Metrics = w.progress.Step, w.latest
		change(i)
	}))
}

// retry writes what could not be written before.
func (w *Watch) retry() {
	if w.metrics.err != nil {
		w.metrics.note(w.log, w.run.Sync())
	}
	if w.counts.err != nil {
		w.writeMagnitudes()
	}
	if w.state.err != nil && time.Since(w.saved) > retryInterval {
		w.save(func(*store.Info) {})
	}
}

// Finish writes everything that is left. It tries again after failures, until ctx ends.
func (w *Watch) Finish(ctx context.Context) error {
	for {
		w.mu.Lock()
		w.metrics.note(w.log, w.run.Sync())
		w.save(func(*store.Info) {})
		err := errors.Join(w.metrics.err, w.state.err)
		w.mu.Unlock()
		if err == nil || ctx.Err() != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events((*store.Live).Close)
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

// Info is the content that run.json would have if it were written at this moment.
func (w *Watch) Info() store.Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.run.Info()
	i.Step, i.Metrics = w.progress.Step, maps.Clone(w.latest)
	return i
}

// Ended records the end of the run, by change of run.json. Unlike the other records it is not tried again.
func (w *Watch) Ended(change func(*store.Info)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.run.Update(change)
}

// Waiting shows the number of workers and what the run waits for. The coordinator of such a run logs all other news of
// its members itself.
func (w *Watch) Waiting(workers int, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress.Workers, w.progress.Note = workers, what
	w.retry()
}
