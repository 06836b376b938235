package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/fit"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/web"
)

// fitFlags are the flags of the fit command.
type fitFlags struct {
	read readFlags
	// Time that the plan may take on the workers by the cost model, not by a clock.
	budget time.Duration
	// Workers of this process, and steps to predict; horizon 0: a season of more than ten steps, or up to ten.
	workers, horizon int
	seed             uint64
	families         []string
	name, dir        string
	dry              bool
	// What the flags and arguments ask for, the folder of the sweep, and the plan that was made of them.
	asked   *fit.Request
	folder  trials.Folder
	fitting *fit.Fit
	screen  *terminal.Screen
}

// fitCommand is `fit`: it finds the model that predicts recordings best.
func (a *app) fitCommand() *cobra.Command {
	flags := &fitFlags{}
	c := &cobra.Command{
		Use:   "fit FILE... [key=value...]",
		Short: "Find the model that predicts recordings best",
		Long: `Read recordings, decide how to use them, try simple rules, autoregressions, models with
regimes, and networks of sizes that suit the data, and keep the one that predicts best as
a run. It ends with a verdict: whether the model beats the simple rules, and whether its
regimes are stable over seeds.

Each decision about the data is printed with the flag that changes it. A fixed cost model
turns the budget into a plan, which is stored. If fit is interrupted, the same command
continues it, with the same result on any number of workers.`,
		Example: "  " + a.invoked + " fit sales.csv\n  " + a.invoked +
			" fit 'runs/*.csv' --observe speed,torque --control volt --budget 20m --name motor",
		Args:              atLeastOne("FILE"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(atLeast(c, 1, "workers"), tooMany("workers", flags.workers), atLeast(c, 0, "horizon")); err != nil {
				return err
			}
			return a.fit(args, flags)
		},
	}
	flags.read.add(c, false)
	c.Flags().StringVar(&flags.read.transform, "transform", "", "transform of the observations before scaling: log, "+
		"diff, log-diff12, NAME=log ... (default: try those that suit)")
	c.Flags().DurationVar(&flags.budget, "budget", fit.DefaultBudget, "time for the plan on the workers, according to a "+
		"fixed cost model")
	c.Flags().IntVar(&flags.workers, "workers", a.cores, "workers in this process; with more of them, a new fit tries "+
		"more candidates")
	c.Flags().IntVar(&flags.horizon, "horizon", 0, "time steps to predict (default: the "+
		"season if it is longer than 10 steps, else up to 10)")
	c.Flags().Uint64Var(&flags.seed, "seed", 1, "seed of all candidates")
	c.Flags().StringSliceVar(&flags.families, "families", nil, "`KINDS` of models to try beside the simple rules "+
		"(default: those that suit)")
	c.Flags().StringVar(&flags.name, "name", "", "name of the fit and of the run that it keeps (default: that of the "+
		"file)")
	c.Flags().BoolVar(&flags.dry, "dry-run", false, "print what would be done, and do nothing")
	c.Flags().StringVar(&flags.dir, "sweeps-dir", usualSweeps, "folder of the sweep of the candidates")
	a.jsonFlag(c)
	c.RegisterFlagCompletionFunc("families", completeWords(a.kinds.Families()))
	return c
}

// request sets f.asked and f.folder to what the arguments ask for: those with = are settings, the others paths.
// A budget that is not positive, unknown families, no file, and the standard input, which can be read once, are usage
// errors.
func (f *fitFlags) request(a *app, args []string) error {
	if f.budget <= 0 {
		return config.Usagef("--budget %v: must be positive", f.budget)
	}
	for _, family := range f.families {
		if _, err := a.family(family); err != nil {
			return config.Hint(config.Usagef("--families %s: there is no such family of models", family), "%s",
				config.HintOf(err))
		}
	}
	how, err := f.read.options()
	if err != nil {
		return err
	}
	f.asked = &fit.Request{
		Kinds: a.kinds, Read: how, Families: f.families, Budget: f.budget, Workers: f.workers, Seed: f.seed,
	}
	for _, arg := range args {
		if strings.Contains(arg, "=") {
			f.asked.Settings = append(f.asked.Settings, arg)
		} else {
			f.asked.Paths = append(f.asked.Paths, arg)
		}
	}
	if len(f.asked.Paths) == 0 {
		return config.Usagef("fit needs a FILE")
	}
	if slices.Contains(f.asked.Paths, stdin) {
		return config.Hint(config.Usagef("fit reads its files again and again, and the standard input once"),
			"%s data convert - own.npz keeps it", a.invoked)
	}
	if f.horizon > 0 {
		for _, s := range f.asked.Settings {
			if strings.HasPrefix(s, "eval.horizon=") {
				return config.Usagef("--horizon %d and %s: give one of them", f.horizon, s)
			}
		}
		f.asked.Settings = append(f.asked.Settings, fmt.Sprintf("eval.horizon=%d", f.horizon))
	}
	f.folder = trials.Folder{Dir: f.dir, Name: f.name}
	if f.name == "" {
		f.folder.Name = nameOf(f.asked.Paths[0])
	}
	return nil
}

// nameOf is a name for what comes from a file: its stem, with hyphens for what a name cannot have; own if nothing
// is left.
func nameOf(path string) string {
	base := filepath.Base(path)
	stem, _, _ := strings.Cut(base, ".")
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, stem)
	if name = strings.Trim(name, "-"); name == "" {
		return "own"
	}
	return name
}

// fit plans, tries the candidates, and keeps the best as a run. A name that belongs to another fit is a usage
// error. Each of the three parts can be interrupted: the plan is stored, the sweep has checkpoints, and the end is
// repeated, so that the same command continues to the same result.
func (a *app) fit(args []string, flags *fitFlags) error {
	if err := flags.request(a, args); err != nil {
		return err
	}
	err := a.atOnce(func() (err error) {
		flags.fitting, err = flags.asked.Prepare(flags.folder, a.runsDir)
		return dataFault(err)
	})
	if err != nil {
		return err
	}
	f := flags.fitting
	if flags.dry {
		return a.result(f.Plan, func() error { return a.printf("%s", fitPlan(f)) })
	}
	flags.screen = a.screen()
	if err := a.beginFit(f, flags.screen); err != nil {
		return err
	}
	err = a.untilSignal(flags.screen, "writing checkpoints of the running candidates",
		func(ctx context.Context) error {
			defer flags.screen.Finish()
			return f.Try(ctx, fit.Place{
				Workers: flags.workers, Command: a.command, Leader: trials.Leader{
					Threads: a.cores, Page: web.SweepFile, Program: a.invoked, Show: flags.changed(a),
					Line: a.linesAbout(flags.dir), Word: terminal.Quoted,
					Log: a.logger(flags.screen, hclog.Warn),
				},
			})
		})
	var r *fit.Result
	if err == nil {
		err = a.atOnce(func() (err error) { // it begins anew with the same command
			r, err = f.Finish(a.runsDir, a.cores)
			return dataFault(err)
		})
	}
	switch {
	case errors.Is(err, errAborted), errors.Is(err, sweep.ErrInterrupted), errors.Is(err, errInterrupted):
		return config.Hint(fmt.Errorf("fit %s: %w", f.Folder.Name, switchyard.ErrInterrupted),
			"nothing is lost: the same command continues it")
	case err != nil:
		return err
	}
	return a.result(r, func() error { return a.tellFit(f, r) })
}

// beginFit prints the plan of a fit that begins, as introduce does that of a run.
func (a *app) beginFit(f *fit.Fit, screen *terminal.Screen) error {
	if a.logFormat != "json" && !a.quiet {
		_, err := fmt.Fprint(screen, fitPlan(f),
			"\nerrors in the validation part, each from all starts that the candidate has\n")
		return err
	}
	plan := terminal.Facts{{"candidates", fmt.Sprint(len(f.Plan.Candidates))}}
	for _, d := range f.Plan.Decisions {
		plan = append(plan, terminal.Fact{d.Name, d.Value})
	}
	for _, note := range f.Plan.Notes {
		plan = append(plan, terminal.Fact{"note", note})
	}
	return a.introduce(plan, screen)
}

// fitPlan is the plan in words: each decision with the flag that changes it, notes about the files, the candidates
// with their cost, and those that the budget does not pay for, of which it names six.
func fitPlan(f *fit.Fit) string {
	var b strings.Builder
	table := terminal.NewTable("decided", "", "otherwise").Left(1, 2)
	for _, d := range f.Plan.Decisions {
		table.Row(d.Name, d.Value, d.By)
	}
	_, _ = table.WriteTo(&b)
	for _, note := range f.Plan.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	verb := "tries"
	if f.Begun {
		verb = "continues with"
	}
	fmt.Fprintf(&b, "\n%s %s, about %s of one core by the cost model\n", verb,
		terminal.Count(len(f.Plan.Candidates), "candidate"), terminal.Short(f.Plan.Time(1)))
	if n := len(f.Plan.Left); n > 0 {
		names := make([]string, 0, n)
		for _, c := range f.Plan.Left {
			names = append(names, c.Name())
		}
		fmt.Fprintf(&b, "left out, as the budget does not pay for them: %s\n", strings.Join(names[:min(n, 6)], "; "))
	}
	return b.String()
}

// changed returns a function that prints each candidate that has its score; nil with --quiet.
func (f *fitFlags) changed(a *app) func(*sweep.State, []sweep.Record) {
	if a.quiet {
		return nil
	}
	log := a.logger(f.screen, hclog.Info)
	return func(s *sweep.State, list []sweep.Record) {
		for _, line := range fit.News(s, list) {
			if a.logFormat == "json" {
				log.Info("candidate ended", "result", strings.Join(strings.Fields(line), " "))
				continue
			}
			fmt.Fprintf(f.screen, "%s\n", line)
		}
	}
}

// tellFit prints the ten best candidates, the verdict and what can be done with the model. Segments are offered
// only if the regimes are stable over seeds and the model is not worse than the simple rules, and of the run that has
// the regimes of the training part where the model has none that hold.
func (a *app) tellFit(f *fit.Fit, r *fit.Result) error {
	table := terminal.NewTable("candidate", "error").Left(0)
	scores := r.Scores()
	for _, c := range scores[:min(len(scores), 10)] {
		table.Row(c.Name(), terminal.Number(c.Score, 3))
	}
	if _, err := table.WriteTo(a.out); err != nil {
		return err
	}
	// What anybody wants of such a model; segment only where there are regimes that mean something.
	next := []string{a.command("forecast", r.Run), a.command("backtest", r.Run)}
	if _, standing := r.Report.Beaten(); r.Regimes != nil && r.Regimes.Stable && standing != eval.Behind {
		next = append(next, a.command("segment", r.Run))
	}
	if r.Dividing != "" {
		next = append(next, a.line("segment", r.Dividing, "--runs-dir", f.Folder.Runs()))
	}
	next = append(next, a.aboutSweeps(f.Folder.Dir, "sweep", "show", f.Folder.Name))
	starts := ""
	if r.Common {
		starts = "; all from the same starts, unlike the errors printed on the way, which are from each one's own"
	}
	return a.printf("error: mean absolute error of predictions of the validation part, over that of the last season "+
		"or value in training%s\n\n%s\n\nkept as %s\nnext\n  %s\n", starts, r.Verdict,
		filepath.Join(a.runsDir, r.Run), strings.Join(next, "\n  "))
}
