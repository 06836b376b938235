package paper

import (
	"context"
	"errors"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// train brings a trial to its last step: it begins it, continues it, or finds it finished. When ctx ends it writes
// a checkpoint and returns nil.
func (s *Study) train(ctx context.Context, i int, b *board) error {
	t := s.Trials[i]
	info, err := s.state(t)
	if err != nil || info.State == store.Finished {
		return err
	}
	r, err := s.open(t, info)
	if err != nil {
		return err
	}
	b.training(i, terminal.Progress{Step: r.Run.Info().Step})
	err = s.lead(ctx, r, func(p terminal.Progress) { b.training(i, p) })
	if errors.Is(err, coordinator.ErrInterrupted) {
		return nil // Run returns the reason
	}
	return err
}

// open begins the run of a trial, or opens it to continue. On an error nothing is left open. The caller closes the
// run.
func (s *Study) open(t Trial, info store.Info) (*lead.Reopened, error) {
	if info.Name != "" {
		r, err := lead.Reopen(lead.Place{Kinds: s.Kinds, RunsDir: s.RunsDir, Command: s.Command}, t.Name, 1)
		if err != nil {
			return nil, err
		}
		if err := r.Begin(); err != nil {
			return nil, errors.Join(err, r.Run.Close())
		}
		return r, nil
	}
	p, err := job.Prepare(t.Config, nil, 1)
	if err != nil {
		return nil, err
	}
	run, err := p.MakeRun(s.RunsDir, job.Origin{Name: t.Name, Overrides: t.Overrides})
	if err != nil {
		return nil, err
	}
	return &lead.Reopened{Run: run, Plan: p}, nil
}

// lead trains an open run with one worker, records how it ended and closes it. The run is closed on every path;
// errors of all three are joined. show is called after steps, as the trainer reports them.
func (s *Study) lead(ctx context.Context, r *lead.Reopened, show func(terminal.Progress)) error {
	transport, err := lead.Embed(lead.Direct, s.Log)
	if err != nil {
		return errors.Join(err, r.Run.Close())
	}
	one := &lead.Session{
		Plan: r.Plan, Transport: transport, From: r.From, Workers: 1, Slots: 1, Version: s.Version,
		Log: s.Log, WorkerLog: s.Log,
	}
	err = one.Train(ctx, r.Run, show)
	return errors.Join(err, lead.End(r.Run, err), r.Run.Close())
}
