// Package switchyard is the door for Go programs: it trains models on environments, those that come with it and those of its
// user, goes on with runs, and answers questions with what they have learned. The same runs can be trained, resumed, watched
// and compared with the commands: a program gets them, for its own environments and models too, by calling Main of
// package cmd.
//
// A model is a Family of package model, an environment a Kind of package envs; the examples show one of each, and the
// folder docs/example is a program that has both and every command.
package switchyard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/host"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/registry"
	"github.com/switchyard-ml/switchyard/internal/release"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/session"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Registry lists the environments and families of models that there are to choose from.
type Registry = registry.Registry

// Own are the environments and families that a program adds to a registry.
type Own = registry.Own

// NewRegistry returns what comes with Switchyard and own kinds. It returns an error if a name or a key is taken, or a key is
// described wrongly.
func NewRegistry(own Own) (*Registry, error) { return registry.New(own) }

// What ends training before its last step.
var (
	// ErrInterrupted is returned when the context ended; the run has a checkpoint, from which Resume goes on.
	ErrInterrupted = coordinator.ErrInterrupted
	// ErrDiverged is returned when a gradient or a parameter is not finite.
	ErrDiverged = coordinator.ErrDiverged
	// ErrFinished is returned by Resume for a run that has made its last step.
	ErrFinished = session.ErrFinished
)

// Options say what is trained and how. Only Preset, Config and Settings decide what is learned.
type Options struct {
	Registry *Registry // nil: what comes with Switchyard
	Preset   string    // e.g. fhn/smoke; empty: the one that Config names, or fhn
	Config   []byte    // a configuration file in YAML, on top of the preset; may be nil
	Settings []string  // key=value, on top of both

	RunsDir string // folder of the runs; empty: runs
	Name    string // of the run; empty: made from preset and model

	Workers  int            // in this process; 0: one per core
	Slots    int            // sequences that each computes at the same time; 0: one
	Log      hclog.Logger   // nil: nothing is logged
	Progress func(Progress) // called after each step, not concurrently; nil: nobody is told
}

// Progress is how far a run is.
type Progress struct {
	Step, Steps    uint64
	Objective      float64 // minus the loss of the last step
	BestValidation float64 // minus the lowest loss of a validation; meaningless where BestStep is 0
	BestStep       uint64
	StepsPerSecond float64
	Workers        int
	Waiting        string // what the run waits for; empty: nothing
}

// Train trains a new run to its last step, by workers in this process that meet at an embedded NATS server, and opens what
// was learned. When ctx ends it finishes the step, writes a checkpoint and returns ErrInterrupted.
func Train(ctx context.Context, o Options) (*Run, error) {
	o.fill()
	resolved, err := o.resolve()
	if err != nil {
		return nil, err
	}
	p, err := job.Prepare(resolved.Config, nil, o.Slots)
	if err != nil {
		return nil, err
	}
	run, err := p.MakeRun(o.RunsDir, job.Origin{Name: o.Name, Overrides: o.Settings})
	if err != nil {
		return nil, err
	}
	if err := p.Data.Keep(run); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	return o.lead(ctx, &session.Reopened{Run: run, Plan: p})
}

// Resume goes on with a run from its newest checkpoint, to the same bits as without the interruption. Of the options it uses
// those that do not decide what is learned. It returns ErrFinished for a run that is at its end.
func Resume(ctx context.Context, o Options) (*Run, error) {
	o.fill()
	r, err := session.Reopen(session.Place{
		Kinds: o.Registry.Kinds(), RunsDir: o.RunsDir, Data: host.NewStore(o.RunsDir), Command: resumeAdvice,
	}, o.Name, o.Slots)
	if err != nil {
		return nil, err
	}
	for _, s := range r.Skipped {
		o.Log.Warn("checkpoint skipped", "reason", s)
	}
	if err := r.Begin(); err != nil {
		return nil, errors.Join(err, r.Run.Close())
	}
	return o.lead(ctx, r)
}

// resumeAdvice is what hints of package session name in place of a command line.
func resumeAdvice(arguments ...string) string { return fmt.Sprintf("switchyard %v", arguments) }

var _ advice.Command = resumeAdvice

// fill puts defaults in place of what is not said.
func (o *Options) fill() {
	if o.Registry == nil {
		o.Registry = registry.Builtin()
	}
	if o.RunsDir == "" {
		o.RunsDir = "runs"
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Slots == 0 {
		o.Slots = 1
	}
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
}

func (o *Options) resolve() (*config.Resolved, error) {
	s := config.Sources{Preset: o.Preset, Arguments: o.Settings}
	if o.Config != nil {
		s.Files = []config.File{{Name: "Options.Config", Data: o.Config}}
	}
	return o.Registry.Kinds().Resolve(s)
}

// lead trains a run of a plan, records how it ended and opens it.
func (o *Options) lead(ctx context.Context, r *session.Reopened) (*Run, error) {
	transport, err := session.Embed(session.Direct, o.Log)
	if err != nil {
		return nil, errors.Join(err, r.Run.Close())
	}
	s := &session.Session{
		Plan: r.Plan, Transport: transport, From: r.From, Workers: o.Workers, Slots: o.Slots, Version: release.Version(), Log: o.Log, WorkerLog: o.Log,
	}
	err = s.Train(ctx, r.Run, func(p terminal.Progress) {
		o.Progress(Progress{
			Step: p.Step, Steps: p.Steps, Objective: p.ELBO, BestValidation: p.Best, BestStep: p.BestStep,
			StepsPerSecond: p.StepRate, Workers: p.Workers, Waiting: p.Note,
		})
	})
	if err := errors.Join(err, session.End(r.Run, err), r.Run.Close()); err != nil {
		return nil, fmt.Errorf("train run %s: %w", r.Run.Name(), err)
	}
	return Open(filepath.Join(o.RunsDir, r.Run.Name()), o.Registry)
}

// Info is what a run folder says of its run, the content of run.json.
type Info = runs.Info
