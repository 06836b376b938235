package switchyard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/fit"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/web"
)

// FitOptions say what Fit reads, and within what. A plan depends on all of them but Registry, the folders, Log and
// Progress.
type FitOptions struct {
	Registry *Registry // nil: only what comes with Switchyard

	Files    []string      // files, folders or globs
	Read     files.Options // what is known of the files; the rest is guessed
	Settings []string      // key=value of the sections env and eval, for all candidates
	Families []string      // that are tried beside the simple rules; nil: those that suit
	Budget   time.Duration // 0: five minutes
	Seed     uint64        // 0: 1
	Name     string        // of the fit, and of the run that it keeps

	RunsDir, SweepsDir string // empty: runs, and sweeps
	Workers            int    // in this process; 0: one per core
	Log                hclog.Logger
	Progress           func(line string) // called with a line for each candidate that has its score; may be nil
}

// FitResult is what Fit came to: the run that was kept, the verdict, and the candidates with their scores.
type FitResult = fit.Result

// Fit reads recordings, decides how they are used, tries simple rules, autoregressions, models with regimes and
// networks, and keeps the one that predicts best as a run, which Open opens. When ctx ends it returns ErrInterrupted,
// and the same call goes on, to the same bits on any number of workers. It returns config.ErrUsage if the name belongs
// to another fit or run, and files.ErrData for data that cannot be used.
func Fit(ctx context.Context, o FitOptions) (FitResult, error) {
	// o is a copy: the options of the caller stay as they are.
	o.fill()
	// Everything that the plan depends on; where it is kept and who is told is not part of it.
	request := &fit.Request{
		Kinds: o.Registry.Kinds(), Paths: o.Files, Read: o.Read, Settings: o.Settings, Families: o.Families,
		Budget: o.Budget, Workers: o.Workers, Seed: o.Seed,
	}
	f, err := request.Prepare(trials.Folder{Dir: o.SweepsDir, Name: o.Name}, o.RunsDir)
	if err != nil {
		return FitResult{}, fmt.Errorf("plan the fit: %w", err)
	}
	// The candidates are trials of a sweep, which a later call continues.
	err = f.Try(ctx, fit.Place{
		Workers: o.Workers, Command: resumeAdvice, Leader: trials.Leader{
			Threads: o.Workers, Page: web.SweepFile, Program: "switchyard", Log: o.Log,
			Show: func(s *sweep.State, list []sweep.Record) {
				for _, line := range fit.News(s, list) {
					o.Progress(line)
				}
			},
		},
	})
	if errors.Is(err, sweep.ErrInterrupted) {
		return FitResult{}, fmt.Errorf("fit %s: %w", o.Name, ErrInterrupted)
	}
	if err != nil {
		return FitResult{}, fmt.Errorf("fit %s: %w", o.Name, err)
	}
	// The choice is made anew each time, from what the sweep has kept.
	r, err := f.Finish(o.RunsDir, o.Workers)
	if err != nil {
		return FitResult{}, fmt.Errorf("choose a model of fit %s: %w", o.Name, err)
	}
	return *r, nil
}

// fill sets the defaults that FitOptions documents.
func (o *FitOptions) fill() {
	if o.Registry == nil {
		o.Registry = config.Builtin()
	}
	o.RunsDir = cmp.Or(o.RunsDir, "runs")
	o.SweepsDir = cmp.Or(o.SweepsDir, "sweeps")
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Budget = cmp.Or(o.Budget, fit.DefaultBudget)
	o.Seed = cmp.Or(o.Seed, 1)
	if o.Log == nil {
		o.Log = hclog.NewNullLogger()
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}
