package lead

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// Restore reads the newest valid checkpoint of a run, and returns why it skipped newer ones. For a run that ended
// before its first checkpoint, or that has gone back to its initial parameters, it returns none. If run.json names a
// checkpoint and the folder has none at all, it returns store.ErrDamaged; if none can be read,
// checkpoint.ErrCorrupt.
func Restore(run *store.Run, command config.Command) (*checkpoint.Checkpoint, []error, error) {
	from, skipped, err := checkpoint.Restore(run.Path(store.Checkpoints))
	written := run.Info().Checkpoint
	again := command("train", run.Path("config.yaml"))
	switch {
	case errors.Is(err, checkpoint.ErrVoid):
		return nil, nil, nil
	case errors.Is(err, checkpoint.ErrNotFound) && written > 0:
		return nil, nil, config.Hint(fmt.Errorf("%w: %w, and run.json names one of step %d", store.ErrDamaged, err, written),
			"put the folder checkpoints back, or start again with: %s", again)
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil, nil, nil
	case err != nil:
		return nil, nil, config.Hint(err, "no checkpoint can be used; start again with: %s", again)
	}
	return from, skipped, nil
}

// Opened is a run that this process holds: a new one, or one that is to continue. Whoever has it closes Run in the
// end, which releases the folder, unless Train does.
type Opened struct {
	Run     *store.Run
	Plan    *job.Plan
	From    *checkpoint.Checkpoint // nil: it is new, or ended before its first checkpoint
	Skipped []error                // newer checkpoints that cannot be used
	begun   bool                   // run.json says that it is running
}

// Make plans a new run and makes its folder, see job.Plan.MakeRun. slots is that of Reopen. A configuration with faults
// leaves nothing behind.
func Make(c config.Config, runsDir string, o job.Origin, slots int) (*Opened, error) {
	p, err := job.Prepare(c, nil, slots)
	if err != nil {
		return nil, err
	}
	run, err := p.MakeRun(runsDir, o)
	if err != nil {
		return nil, err
	}
	return &Opened{Run: run, Plan: p, begun: true}, nil
}

// ErrFinished is returned for a run that has made its last step.
var ErrFinished = errors.New("is finished")

// Place says where runs are, and what is needed to open them.
type Place struct {
	Kinds   *config.Kinds
	RunsDir string
	Command config.Command // makes the command lines in hints
}

// Reopen holds a run, and reads its newest valid checkpoint and the scaling of its data. Begin has to be called before
// the run continues. slots is how many shards a worker computes at the same time; the plan's memory follows from it.
// Errors match store.ErrHeld if another process works on the run, and ErrFinished if it has made its last step. The
// trial of a sweep is refused: its sweep alone knows after which update it waits to be compared. After an error the
// run is not held.
func Reopen(p Place, name string, slots int) (*Opened, error) {
	c, err := job.ReadConfig(p.Kinds, p.RunsDir, name)
	if err != nil {
		return nil, err
	}
	run, err := store.Open(p.RunsDir, name)
	if err != nil {
		return nil, err
	}
	r := &Opened{Run: run}
	if err := r.prepare(p, c, slots); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return r, nil
}

// prepare reads checkpoint and data of a run that is held, and plans it.
func (r *Opened) prepare(p Place, c config.Config, slots int) error {
	info := r.Run.Info()
	if info.State == store.Finished {
		return fmt.Errorf("run %s %w at step %d", r.Run.Name(), ErrFinished, info.Step)
	}
	if info.Sweep != "" {
		return config.Hint(
			config.Usage(fmt.Errorf("run %w", trialOf(r.Run.Name(), info.Sweep))),
			"to train its configuration as a run of its own: %s",
			p.Command("train", r.Run.Path("config.yaml"), "--name", "NAME"))
	}
	var err error
	if r.From, r.Skipped, err = Restore(r.Run, p.Command); err != nil {
		return fmt.Errorf("resume %s: %w", r.Run.Name(), err)
	}
	r.Plan, err = job.PrepareAgain(c, r.Run.Folder(), slots)
	return err
}

// trialOf is the error of who would continue a trial in place of its sweep.
func trialOf(name, sweep string) error {
	return fmt.Errorf("%s is a trial of sweep %s, which alone continues it", name, sweep)
}

// Begin records that a reopened run continues. Metrics after the checkpoint are dropped. A run that has begun stays as
// it is.
func (r *Opened) Begin() error {
	if r.begun {
		return nil
	}
	r.begun = true
	return r.Run.Begin(stepOf(r.From))
}

// Train leads the run to its last step with workers of this process alone, records how it ended and releases its
// folder, whatever happens. A run that was reopened begins. workers, show and most errors are those of a Session.
func (r *Opened) Train(ctx context.Context, workers, slots int, log hclog.Logger, show func(terminal.Progress)) error {
	for _, s := range r.Skipped {
		log.Warn("checkpoint skipped", "run", r.Run.Name(), "reason", s)
	}
	if err := r.Begin(); err != nil {
		return errors.Join(err, r.Run.Close())
	}
	transport, err := Embed(Direct, log)
	if err != nil {
		return errors.Join(err, r.Run.Close())
	}
	s := &Session{
		Plan: r.Plan, Transport: transport, From: r.From, Workers: workers, Slots: slots, Log: log, WorkerLog: log,
	}
	err = s.Train(ctx, r.Run, show)
	return errors.Join(err, End(r.Run, err), r.Run.Close())
}

// Shutdown is the reason of a run that was interrupted by the end of its coordinator, whose next start continues it.
const Shutdown = "the coordinator was stopped"

// Reasons why a run is interrupted. One that was stopped on request is not continued when a host starts; one that
// ended with the host is, and one of a sweep by that alone.
var (
	errUser     = errors.New("stopped by the user")
	errStop     = errors.New("stopped on request")
	errShutdown = errors.New(Shutdown)
	errSweep    = errors.New("its sweep was interrupted")
)

// End records how a run that no host leads ended. A nil error means that it made its last step.
func End(run *store.Run, err error) error {
	info := run.Info()
	return run.End(ending(&info, err, errUser))
}

// ending is the state of a run after the end of its coordinator, and the reason: why is that of an interruption. A run
// whose configuration or data do not fit its checkpoint has computed nothing: it can go on when they are put back. So
// can one whose disk took no checkpoint: its coordinator returns that error only when it is told to end.
func ending(i *store.Info, err, why error) (store.State, string) {
	switch {
	case err == nil:
		return store.Finished, i.Early()
	case errors.Is(err, coordinator.ErrInterrupted):
		return store.Interrupted, why.Error()
	case errors.Is(err, coordinator.ErrMismatch), errors.As(err, new(syscall.Errno)):
		return store.Interrupted, err.Error()
	}
	return store.Failed, err.Error()
}

// DiskHint adds to an error of a full disk what is left of the run; run is nil if its folder was not made. It returns
// other errors unchanged.
func DiskHint(err error, run *store.Run, command config.Command) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	if run == nil || run.Info().Checkpoint == 0 {
		return config.Hint(err, "the disk is full and holds no checkpoint of this run: free some space and start again")
	}
	return config.Hint(err, "the disk is full; the checkpoint of step %d is intact: free some space, then %s",
		run.Info().Checkpoint, command("resume", run.Name()))
}
