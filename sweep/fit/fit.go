package fit

import (
	"context"
	"errors"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// Fit is a fit that can be led.
type Fit struct {
	Plan   *Plan
	Folder trials.Folder // of its sweep
	Begun  bool          // it goes on

	record record
	sweep  *trials.Job
	kinds  *config.Kinds
}

// Prepare plans a fit, or takes up the plan of one that has begun under the name. An error that is a config.ErrUsage
// says that the name is taken by another one.
func (r *Request) Prepare(folder trials.Folder, runsDir string) (*Fit, error) {
	f := &Fit{Folder: folder, kinds: r.Kinds}
	if err := f.free(runsDir); err != nil {
		return nil, err
	}
	d, err := r.read()
	if err != nil {
		return nil, err
	}
	rec, err := r.record(d.set)
	if err != nil {
		return nil, err
	}
	old, found, err := begun(folder)
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
	text := f.Plan.spec()
	if found {
		if text, err = os.ReadFile(folder.Path(trials.SpecFile)); err != nil {
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

// Place is where a fit works.
type Place struct {
	Workers int
	Threads int // of an evaluation
	Page    func(title string, report any) ([]byte, error)
	Show    func(*sweep.State, []sweep.Record) // called after each change; nil: nobody looks
	Program string                             // how the program is called
	Command config.Command
	Log     hclog.Logger
}

// Try leads the sweep of the candidates to its end. When ctx ends it returns sweep.ErrInterrupted, and goes on when it
// is called again.
func (f *Fit) Try(ctx context.Context, p Place) error {
	if state, err := f.Folder.State(); err == nil && state.Done {
		return nil
	}
	if err := f.record.keep(f.Folder); err != nil {
		return err
	}
	if err := f.sweep.Begin(); err != nil {
		return err
	}
	transport, err := lead.Embed(lead.Direct, p.Log)
	if err != nil {
		return err
	}
	defer transport.Close()
	var leading error
	over, done := context.WithCancel(context.Background())
	defer done()
	var host *lead.Host
	host = lead.New(lead.Config{
		RunsDir: f.Folder.Runs(), URL: "embedded", Kinds: f.kinds, Command: p.Command, Log: p.Log,
		Mistaken: func(err error) bool { return errors.Is(err, config.ErrUsage) },
		Connect:  transport.Plain, Direct: transport.Direct,
		Ready: func(ready context.Context) {
			leading = f.sweep.Lead(ready, trials.Leader{
				Host: host, RunsDir: f.Folder.Runs(), Page: p.Page, Show: p.Show, Program: p.Program, Threads: p.Threads,
				Log: p.Log,
			}, 0)
			done()
		},
	})
	if err := host.Connect(); err != nil {
		return err
	}
	defer host.Close()
	build := job.Build(f.kinds)
	dismiss, err := lead.Crew{
		Connect: transport.Connect, Workers: p.Workers, Slots: 1, Build: func(int) lead.Builder { return build }, Log: p.Log,
	}.Hire()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, done)
	defer stop()
	err = host.Serve(over, nil, nil)
	dismiss()
	return errors.Join(err, leading)
}
