// Package switchyard is the entry for Go programs. It trains models on environments, continues runs, answers questions
// with what they have learned, writes the answers into files and serves models to many clients. Environments and models
// may be those that come with Switchyard or the program's own. The commands can train, resume, show and compare the
// same runs; a program offers these commands, with its own environments and models, by calling Main of package cmd.
//
// A model is a Family of package model, an environment is a Kind of package envs. The examples show one of each, and
// the folder docs/example is a program with both and with all commands.
package switchyard

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// Registry lists the environments and families of models that a configuration may name.
type Registry = config.Registry

// Own are the environments and families that a program adds to a registry.
type Own = config.Own

// NewRegistry returns a registry of what comes with Switchyard and of own kinds. It returns an error if a name or a key
// is taken, or if a key is described wrongly.
func NewRegistry(own Own) (*Registry, error) { return config.New(own) }

// Reasons why Train or Resume returns without a finished run.
var (
	// ErrInterrupted is returned when the context has ended. The run has a checkpoint, and Resume continues it.
	ErrInterrupted = coordinator.ErrInterrupted
	// ErrDiverged is returned when a gradient or a parameter is not finite.
	ErrDiverged = coordinator.ErrDiverged
	// ErrFinished is returned by Resume for a run that has made its last step.
	ErrFinished = lead.ErrFinished
)

// Options say what is trained and how. What is learned depends on Preset, Config and Settings alone.
type Options struct {
	Registry *Registry // nil: only what comes with Switchyard
	Preset   string    // e.g. fhn/smoke; empty: the preset that Config names, or fhn
	Config   []byte    // a configuration file in YAML, which overrides the preset; may be nil
	Settings []string  // key=value; they override both

	RunsDir string // folder of the runs; empty: runs
	Name    string // of the run; empty: made from preset and model

	Workers  int            // in this process; 0: one per core
	Slots    int            // shards that each worker computes at the same time; 0: one
	Log      hclog.Logger   // nil: nothing is logged
	Progress func(Progress) // called after each step, one call at a time; may be nil
}

// Progress is the progress of a run, after a step or while it waits for one.
type Progress struct {
	// Steps that are made, and steps of the whole run.
	Step, Steps    uint64
	Objective      float64 // minus the loss of the last step
	BestValidation float64 // minus the lowest validation loss; meaningless if BestStep is 0
	BestStep       uint64
	// 0 if it is not known yet. Waiting says what the run waits for, where it does.
	StepsPerSecond float64
	Workers        int
	Waiting        string // what the run waits for; empty: nothing
}

// Train trains a new run to its last step and opens it at its best checkpoint. Its workers run in this process and
// communicate through an embedded NATS server. When ctx ends, Train finishes the step, writes a checkpoint and
// returns ErrInterrupted. It returns a *config.Error for a configuration with faults, store.ErrOccupied for a name
// that is taken, and ErrDiverged.
func Train(ctx context.Context, o Options) (*Run, error) {
	o.fill()
	resolved, err := o.resolve()
	if err != nil {
		return nil, err
	}
	r, err := lead.Make(resolved.Config, o.RunsDir, job.Origin{Name: o.Name, Overrides: o.Settings}, o.Slots)
	if err != nil {
		return nil, err
	}
	return o.lead(ctx, r)
}

// Resume continues a run from its newest checkpoint, to the same bits as without the interruption. It ignores
// Preset, Config and Settings; Name and RunsDir say which run it is. It returns ErrFinished if the run has made its
// last step. A damaged checkpoint is skipped, which is logged as a warning.
func Resume(ctx context.Context, o Options) (*Run, error) {
	o.fill()
	r, err := lead.Reopen(lead.Place{
		Kinds: o.Registry.Kinds(), RunsDir: o.RunsDir, Command: resumeAdvice,
	}, o.Name, o.Slots)
	if err != nil {
		return nil, err
	}
	return o.lead(ctx, r)
}

// resumeAdvice writes the command lines in hints of packages lead and fit: a Go program has no name of a command.
func resumeAdvice(arguments ...string) string {
	return strings.Join(append([]string{"switchyard"}, arguments...), " ")
}

var _ config.Command = resumeAdvice

// fill sets the defaults.
func (o *Options) fill() {
	if o.Registry == nil {
		o.Registry = config.Builtin()
	}
	o.RunsDir = cmp.Or(o.RunsDir, "runs")
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Slots = cmp.Or(o.Slots, 1)
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
}

// resolve is the configuration that the options describe. Environment variables do not take part.
func (o *Options) resolve() (*config.Resolved, error) {
	s := config.Sources{Preset: o.Preset, Arguments: o.Settings}
	if o.Config != nil {
		s.Files = []config.File{{Name: "Options.Config", Data: o.Config}}
	}
	return o.Registry.Kinds().Resolve(s)
}

// lead trains a run, which it owns, and opens it.
func (o *Options) lead(ctx context.Context, r *lead.Opened) (*Run, error) {
	err := r.Train(ctx, o.Workers, o.Slots, o.Log, func(p terminal.Progress) {
		o.Progress(Progress{
			Step: p.Step, Steps: p.Steps, Objective: p.Objective, BestValidation: p.Best, BestStep: p.BestStep,
			StepsPerSecond: p.StepRate, Workers: p.Workers, Waiting: p.Note,
		})
	})
	if err != nil { // also an interruption
		return nil, fmt.Errorf("train run %s: %w", r.Run.Name(), err)
	}
	return Open(filepath.Join(o.RunsDir, r.Run.Name()), o.Registry)
}

// Info is the content of run.json, which describes a run.
type Info = store.Info
