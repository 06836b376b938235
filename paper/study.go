package paper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// Trial is a run to train and the protocols that measure it. Its name is that of the run's folder in
// Study.RunsDir.
type Trial struct {
	Name      string        // of the run
	Config    config.Config // resolved
	Overrides []string      // settings on top of the preset
	Protocols []string
}

// Study is a list of trials in a folder of runs.
type Study struct {
	Kinds    *config.Kinds
	RunsDir  string
	KeepDir  string // the numbers of each trial, see Kept; empty: they are in the folders of the runs alone
	Trials   []Trial
	Parallel int // runs at a time, with one worker each
	Threads  int // of one measurement
	Episodes int // of each test; 0: as many as the protocol is made for
	Log      hclog.Logger
	Command  config.Command
	Show     func(Progress) // after each change, one call at a time
}

// Errors of studies.
var (
	// ErrDiffers is returned when a folder holds a run of another configuration under the name of a trial, or what was
	// measured of one.
	ErrDiffers = errors.New("the run is of another configuration")
	// ErrFailed is returned, after all trials, when some could not be trained.
	ErrFailed = errors.New("failed")
)

// Check reports a trial whose folder holds another run, or of which other numbers were kept, before anything is
// trained and replaces them. The error is ErrDiffers, with what differs, or that of reading.
func (s *Study) Check() error {
	for _, t := range s.Trials {
		if _, err := s.state(t); err != nil {
			return err
		}
		if err := s.checkKept(t); err != nil {
			return err
		}
	}
	return nil
}

// state reads what exists of a trial; the zero Info is that of a run that has not begun. A run of another
// configuration is ErrDiffers.
func (s *Study) state(t Trial) (store.Info, error) {
	info, err := store.Load(s.RunsDir, t.Name)
	if errors.Is(err, store.ErrNotFound) {
		return store.Info{}, nil
	}
	if err != nil {
		return store.Info{}, err
	}
	c, err := job.ReadConfig(s.Kinds, s.RunsDir, t.Name)
	if err != nil {
		return store.Info{}, err
	}
	if !c.Equal(t.Config) {
		return store.Info{}, config.Hint(fmt.Errorf("run %s in %s: %w: %v", t.Name, s.RunsDir, ErrDiffers,
			job.Differences(c, t.Config)),
			"choose another folder, or remove %s", t.Name)
	}
	return info, nil
}

// Remaining is the number of updates of a trial that are not done. It is 0 where the trial is finished, kept, or
// cannot be read: Check reports the latter.
func (s *Study) Remaining(t Trial) uint64 {
	info, err := s.state(t)
	if err != nil || info.State == store.Finished {
		return 0
	}
	if kept, err := s.ReadKept(t); err == nil && kept.whole(t) {
		return 0
	}
	return t.Config.Train.Steps - min(info.Checkpoint, t.Config.Train.Steps)
}

// Run trains and measures all trials, those with the greatest cost first. A trial that fails does not stop the
// others: the error, of kind ErrFailed, names all that failed. When ctx ends, Run writes checkpoints and returns
// its error. costs has one number for each trial, in any unit. A trial that was done before is only looked at, and
// its numbers are kept. store.ErrHeld is returned where another process runs a study in this folder.
func (s *Study) Run(ctx context.Context, costs []float64) error {
	// Two would measure the same run at the same time, and each write over what the other one keeps.
	lock, err := store.Lock(filepath.Join(s.RunsDir, "study.lock"))
	if err != nil {
		return config.Hint(fmt.Errorf("run a study in %s: %w", s.RunsDir, err),
			"wait for the other process, or choose another folder and copy what it measured here later")
	}
	defer lock.Close() // it has no data
	// The longest first, so that none is left over at the end while other cores rest.
	order := make([]int, len(s.Trials))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	b := newBoard(s)
	// The channel holds all trials and is closed: nobody waits where a worker stops early.
	waiting := make(chan int, len(order))
	for _, i := range order {
		waiting <- i
	}
	close(waiting)
	var crew sync.WaitGroup
	failed := make([]error, len(s.Trials))
	for range s.Parallel {
		crew.Go(func() {
			for i := range waiting {
				if ctx.Err() != nil {
					return
				}
				if err := s.one(ctx, i, b); err != nil {
					failed[i] = fmt.Errorf("run %s: %w", s.Trials[i].Name, err)
				}
			}
		})
	}
	crew.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	all := slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(all) > 0 {
		return fmt.Errorf("%d of %d runs %w: %w", len(all), len(s.Trials), ErrFailed, errors.Join(all...))
	}
	return nil
}

// one trains a trial, if it is not trained, measures what is not measured, and keeps the numbers. Of a trial without a
// finished run the kept numbers count.
func (s *Study) one(ctx context.Context, i int, b *board) error {
	defer b.done(i)
	t := s.Trials[i]
	info, err := s.state(t)
	if err != nil {
		return err
	}
	if info.State != store.Finished {
		if kept, err := s.ReadKept(t); err != nil || kept.whole(t) {
			return err
		}
		if err := s.train(ctx, i, info, b); err != nil {
			return err
		}
	}
	for _, p := range t.Protocols {
		if ctx.Err() != nil {
			return nil
		}
		b.measuring(i, p)
		measured := make(chan error, 1)
		go func() { measured <- s.measure(t, p) }()
		select {
		case err := <-measured:
			if err != nil {
				return err
			}
		case <-ctx.Done(): // a measurement is not waited for: the next call makes it anew
			return nil
		}
	}
	return s.keep(t)
}

// train begins the run of a trial, or continues what there is of it, to its last step. When ctx ends it writes a
// checkpoint and returns nil: Run returns the reason.
func (s *Study) train(ctx context.Context, i int, before store.Info, b *board) error {
	t := s.Trials[i]
	var r *lead.Opened
	var err error
	if before.Name == "" {
		r, err = lead.Make(t.Config, s.RunsDir, job.Origin{Name: t.Name, Overrides: t.Overrides}, 1)
	} else {
		r, err = lead.Reopen(lead.Place{Kinds: s.Kinds, RunsDir: s.RunsDir, Command: s.Command}, t.Name, 1)
	}
	if err != nil {
		return err
	}
	b.training(i, terminal.Progress{Step: before.Checkpoint})
	err = r.Train(ctx, 1, 1, s.Log, func(p terminal.Progress) { b.training(i, p) })
	if errors.Is(err, coordinator.ErrInterrupted) {
		return nil
	}
	return err
}
