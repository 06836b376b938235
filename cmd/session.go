package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/pool"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/internal/wire"
	"github.com/switchyard-ml/switchyard/worker"
)

// session is a run under way in this process: broker, coordinator and workers.
type session struct {
	plan       *job.Plan
	flags      trainFlags
	link       *transport
	run        *runs.Run
	checkpoint *coordinator.Checkpoint // to continue from; nil: from the beginning
	screen     *terminal.Screen
	log        hclog.Logger
	workerLog  hclog.Logger // the coordinator tells most of what workers here would say
	json       bool         // logs are JSON, and so is progress
	quiet      bool
}

// errNoWorkers is the cause of a run that stops because its workers are gone.
var errNoWorkers = errors.New("all workers ended")

// introduce says what the run is, before it begins.
func (s *session) introduce() error {
	facts := planFacts(s.plan, s.flags, s.run.Folder())
	if !s.json {
		if s.quiet {
			return nil
		}
		return writeFacts(s.screen, facts)
	}
	var fields []any
	for _, f := range facts {
		fields = append(fields, f.name, f.text)
	}
	s.log.Info("plan", fields...)
	return nil
}

// train leads the run to its last step. It returns coordinator.ErrInterrupted after
// ctx ended, when the checkpoint is written.
func (s *session) train(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer s.link.close()
	w := s.watch()
	if s.flags.listen != "" {
		w.adviser = newAdviser(s.plan.Config)
	}
	bus, err := s.link.connect("coordinator")
	if err != nil {
		return err
	}
	lead, err := s.coordinator(w, bus)
	if err != nil {
		return err
	}
	if s.flags.listen != "" {
		defer s.dispatch(ctx, lead, bus)()
	}
	crew, err := s.hire(s.link, s.run.Name(), func(err error) { stop(err) })
	if err != nil {
		return err
	}
	err = lead.Run(ctx)
	crew.dismiss()
	err = errors.Join(err, w.finish(ctx))
	s.screen.Finish()
	if cause := context.Cause(ctx); errors.Is(cause, errNoWorkers) && errors.Is(err, coordinator.ErrInterrupted) {
		return cause
	}
	return err
}

func (s *session) watch() *watch {
	c := s.plan.Config
	w := &watch{
		run: s.run, screen: s.screen, log: s.log, terms: s.plan.Terms, start: time.Now(), json: s.json,
		progress: terminal.Progress{Steps: c.Train.Steps, FLOPsPerStep: s.plan.FLOPs},
		latest:   runs.Values{},
	}
	if cp := s.checkpoint; cp != nil {
		w.progress.Step = cp.Step
		w.progress.Best, w.progress.BestStep = -cp.BestLoss, cp.BestStep
	}
	for name, v := range s.run.Info().Metrics {
		w.latest[name] = v
	}
	return w
}

// dispatch sends workers from outside, who seek a run, to this one, until the function that it returns is called.
func (s *session) dispatch(ctx context.Context, lead *coordinator.Coordinator, bus wire.Bus) (end func()) {
	d := pool.NewDispatcher(pool.Config{
		Numerics: job.Numerics(), Log: s.log.Named("pool"),
		View: func() pool.View { return viewOf(s.run.Name(), lead.Stats()) },
	}, bus)
	d.Open(pool.Run{Name: s.run.Name(), Limit: job.RoundShards(s.plan.Config)}, s.checkpoint != nil)
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			s.log.Warn("workers from outside do not find this run", "error", err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// viewOf is what a run knows of its workers.
func viewOf(run string, s coordinator.Stats) pool.View {
	var v pool.View
	for _, m := range s.Members {
		v.Members = append(v.Members, pool.Member{Run: run, ID: m.ID, Slots: m.Slots})
	}
	for _, id := range s.Quarantined {
		v.Banned = append(v.Banned, pool.Ban{Run: run, ID: id})
	}
	return v
}

func (s *session) coordinator(w *watch, bus wire.Bus) (*coordinator.Coordinator, error) {
	lead, err := coordinator.New(s.plan.Lead(s.run.Name(), s.run.Folder()), s.plan.Theta, bus, w, s.log.Named("coordinator"))
	if err != nil {
		return nil, fmt.Errorf("prepare the run: %w", err)
	}
	if s.checkpoint == nil {
		return lead, nil
	}
	if err := lead.Resume(s.checkpoint); err != nil {
		return nil, fmt.Errorf("continue from %s: %w", s.checkpoint.Path, err)
	}
	return lead, nil
}

// build makes the program of a job, which is a resolved configuration. Workers here share the data set
// of the plan.
func (s *session) build(text, data []byte, slots int) (worker.Program, error) {
	c, err := config.Parse("job", text)
	if err != nil {
		return nil, err
	}
	if own := s.plan.Data; own != nil && c.Env.Hash == s.plan.Config.Env.Hash {
		return job.NewProgram(c, own.Dataset(), slots)
	}
	return job.Build(text, data, slots)
}

// local hands over the data set of the plan.
func (s *session) local(hash string) []byte {
	if hash != s.plan.Config.Env.Hash {
		return nil
	}
	return s.plan.Data.Bytes()
}

// crew are the workers of this process.
type crew struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu   sync.Mutex
	left int
	err  error
}

// hire starts the workers of the plan for the run of that name. If all of them end
// with an error, and no other worker can join, gone is called with the first.
func (s *session) hire(link *transport, run string, gone func(error)) (*crew, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &crew{cancel: cancel, left: s.flags.workers}
	for i := range s.flags.workers {
		bus, err := link.connect(fmt.Sprintf("worker %d", i+1))
		if err == nil {
			var w *worker.Worker
			w, err = worker.New(worker.Config{
				Run: run, ID: fmt.Sprintf("local-%d", i+1), Slots: s.flags.slots, Info: version, Numerics: job.Numerics(), Build: s.build, Local: s.local,
			}, bus, s.workerLog.Named("worker"))
			if err == nil {
				c.all.Go(func() { c.ended(w.Run(ctx), s.flags.listen == "", gone) })
			}
		}
		if err != nil {
			c.dismiss()
			return nil, fmt.Errorf("start worker %d: %w", i+1, err)
		}
	}
	return c, nil
}

func (c *crew) ended(err error, alone bool, gone func(error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	if err != nil && c.err == nil {
		c.err = err
	}
	if c.left == 0 && c.err != nil && alone {
		gone(fmt.Errorf("%w: %w", errNoWorkers, c.err))
	}
}

// dismiss ends the workers and waits for them.
func (c *crew) dismiss() {
	c.cancel()
	c.all.Wait()
}
