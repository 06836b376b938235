package fit

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// Fit is a fit that can be led. Prepare makes it, Try leads its sweep, Finish chooses.
type Fit struct {
	Plan   *Plan
	Folder trials.Folder // of its sweep
	Begun  bool          // it goes on

	// What is kept beside the sweep, the sweep, and the kinds that configurations are resolved with.
	record record
	sweep  *trials.Job
	kinds  *config.Kinds
}

// Prepare plans a fit, or takes up the plan of one that has begun under the name. An error that is a
// config.ErrUsage says that the name is taken by another one.
//
// A fit that has begun keeps the number of workers that its budget was counted for, which the request then has, so
// that its plan stays the same. Nothing is written before Try.
func (r *Request) Prepare(folder trials.Folder, runsDir string) (*Fit, error) {
	f := &Fit{Folder: folder, kinds: r.Kinds}
	d, err := r.read()
	if err != nil {
		return nil, err
	}
	// What was asked for tells whether the fit under the name is this one.
	rec, err := r.record(d.set)
	if err != nil {
		return nil, err
	}
	if err := rec.free(filepath.Join(runsDir, folder.Name)); err != nil {
		return nil, err
	}
	old, found, err := begun(folder.Path())
	if err != nil {
		return nil, err
	}
	if found && !old.same(rec) {
		return nil, errOther(folder)
	}
	if f.Begun = found; found {
		r.Workers = old.Workers
	}
	if f.Plan, err = r.plan(d); err != nil {
		return nil, err
	}
	// A sweep that has begun goes on with the file that it began with.
	text := f.Plan.spec()
	if found {
		if text, err = store.ReadFile(folder.Path(trials.SpecFile)); err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			text = f.Plan.spec() // it was killed before it began
		}
	}
	rec.Plan, rec.Workers = f.Plan, r.Workers
	f.record = rec
	f.sweep, err = trials.Prepare(trials.Request{
		Folder: folder, Path: folder.Path(trials.SpecFile), Text: text, Kinds: r.Kinds,
	})
	return f, err
}

// Place is where a fit works: what leads its sweep, but the host, which it makes itself.
type Place struct {
	trials.Leader
	Workers int
	Command config.Command
}

// Try leads the sweep of the candidates to its end. When ctx ends it returns sweep.ErrInterrupted, and goes on when it
// is called again. A sweep at its end writes its best trial and its tables again: a kill may have cut them short.
func (f *Fit) Try(ctx context.Context, p Place) error {
	// The record comes first: a fit that is killed from here on can be taken up again.
	if err := f.record.keep(f.Folder); err != nil {
		return err
	}
	transport, err := lead.Embed(lead.Direct, p.Log)
	if err != nil {
		return err
	}
	defer transport.Close()
	host, err := f.sweep.Host(lead.Config{
		Command: p.Command, Mistaken: func(err error) bool { return errors.Is(err, config.ErrUsage) },
	}, transport, p.Leader, 0)
	if err != nil {
		return err
	}
	defer host.Close()
	build := job.Build(f.kinds)
	// Workers of this process, which end before Try returns.
	dismiss, err := lead.Crew{
		Connect: transport.Connect, Workers: p.Workers, Slots: 1, Build: func(int) lead.Builder { return build }, Log: p.Log,
	}.Hire()
	if err != nil {
		return err
	}
	err = host.Lead(ctx, nil)
	dismiss()
	return err
}
