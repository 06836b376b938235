package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/paper"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

// paperFlags are the flags of the paper command: asIs trains nothing, dry only says what would be trained.
type paperFlags struct {
	// Size of the runs, seeds of each model, and the parts to reproduce; none: all parts.
	size  string
	seeds int
	only  []string
	out   string
	// Runs that are trained at the same time, with one worker each.
	parallel int
	dry      bool
	asIs     bool
}

// Limits of flags: larger numbers are taken for slips.
const (
	maxSeeds    = 1000
	maxParallel = 1024
)

// paperCommand is `paper`: it trains the models of the paper, evaluates them and writes a report.
func (a *app) paperCommand() *cobra.Command {
	var f paperFlags
	c := &cobra.Command{
		Use:   "paper",
		Short: "Reproduce the tables, figures and claims of the paper",
		Long: `Train every model of the paper on every environment, evaluate them and write one report: index.html, which
opens from disk, report.md, numbers.csv, runs.csv and figures. It first says what it will train and how long that
takes on this machine. If it is stopped, the same command continues where it was. The numbers of each run are also
kept in the folder measured, and are used if the run itself is gone.

Sizes:
  smoke     minutes: every table and figure is written, but the models learn nothing
  quick     hours on two cores
  standard  20 hours on two cores: quick's models with four times the batch and 60,000 updates
  faithful  the paper's sizes and schedules, weeks on two cores

Parts: ` + listOf(paper.Parts()) + `; also parts of one, e.g. table1/reacher or table1/reacher/normal`,
		Example: "  " + a.invoked + " paper --size smoke -o report\n  " + a.invoked +
			" paper --size quick --only table1,fhn -o report --dry-run",
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.paper(f) },
	}
	c.Flags().StringVar(&f.size, "size", string(paper.Smoke), "size of the runs: "+listOf(paper.Sizes()))
	c.Flags().IntVar(&f.seeds, "seeds", 3, "seeds per model: 1, 2, …")
	c.Flags().StringSliceVar(&f.only, "only", nil, "parts to reproduce (default: all)")
	c.Flags().StringVarP(&f.out, "out", "o", "paper", "output folder of the report, with its runs in runs and "+
		"their numbers in measured")
	c.Flags().IntVar(&f.parallel, "parallel", a.cores, "runs trained at the same time, with one worker each")
	c.Flags().BoolVar(&f.asIs, "as-is", false, "train nothing; report what has been measured")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "print what would be trained and for how long, and exit")
	a.jsonFlag(c)
	c.RegisterFlagCompletionFunc("size", completeWords(paper.Sizes())) // they fail for a flag that does not exist
	c.RegisterFlagCompletionFunc("only", completeWords(paper.Parts()))
	return c
}

// listOf writes words in a row.
func listOf[T ~string](words []T) string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return strings.Join(list, ", ")
}

// completeWords completes one of the words.
func completeWords[T ~string](words []T) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var list []cobra.Completion
		for _, w := range words {
			list = append(list, string(w))
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// choices checks the flags and returns the parts that are asked for; nil means all. An unknown size or part, a
// number out of range, and --dry-run with --as-is are usage errors.
func (f paperFlags) choices() ([]paper.Choice, error) {
	if !slices.Contains(paper.Sizes(), paper.Size(f.size)) {
		return nil, config.Usagef("--size %s: must be %s", f.size, listOf(paper.Sizes()))
	}
	if f.seeds < 1 || f.seeds > maxSeeds {
		return nil, config.Usagef("--seeds %d: must be 1 to %d", f.seeds, maxSeeds)
	}
	if f.parallel < 1 || f.parallel > maxParallel {
		return nil, config.Usagef("--parallel %d: must be 1 to %d", f.parallel, maxParallel)
	}
	if f.dry && f.asIs {
		return nil, config.Usagef("--dry-run and --as-is: one of them")
	}
	var choices []paper.Choice
	for _, name := range f.only {
		c := paper.Choice(name)
		if !c.Exists() {
			return nil, config.Usagef("--only %s: there are %s, and parts of them, e.g. table1/reacher or table1/reacher/normal",
				name, listOf(paper.Parts()))
		}
		choices = append(choices, c)
	}
	return choices, nil
}

// paper trains what is missing and writes the report. It writes it also if some trials could not be trained, and
// then returns paper.ErrFailed; if it is interrupted, it writes none and returns an error with exit code 3.
func (a *app) paper(f paperFlags) error {
	choices, err := f.choices()
	if err != nil {
		return err
	}
	plan, err := paper.NewPlan(a.kinds, paper.Size(f.size), f.seeds, choices)
	if err != nil {
		return err
	}
	screen := a.screen()
	log := a.logger(screen, hclog.Warn)
	s := &paper.Study{
		Kinds: a.kinds, RunsDir: filepath.Join(f.out, "runs"), KeepDir: filepath.Join(f.out, "measured"), Trials: plan.Trials,
		Parallel: f.parallel, Threads: max(1, a.cores/f.parallel),
		Log: log, Command: a.command, Show: func(paper.Progress) {},
	}
	if plan.Size == paper.Smoke {
		s.Episodes = smokeEpisodes
	}
	// A folder with runs of another study, or with files of the user, is found before hours of training.
	if err := s.Check(); err != nil {
		return err
	}
	if err := paper.Spare(f.out, "runs.csv"); err != nil {
		return err
	}
	began := time.Now()
	if f.asIs {
		return a.writePaper(plan, s, f, began)
	}
	left := 0
	err = a.untilSaved(screen, "finishing the steps, writing checkpoints", func(ctx context.Context) error {
		defer screen.Finish()
		// The estimate is made here, too, so that a signal ends it: it times updates.
		var costs []float64
		var err error
		if costs, left, err = a.estimate(s, plan); err != nil || f.dry {
			return err
		}
		s.Show = func(p paper.Progress) { screen.Status(p.Line(lineWidth(screen))) }
		return s.Run(ctx, costs)
	})
	if err == nil && f.dry && a.asJSON {
		return a.printJSON(paperPlan{string(plan.Size), len(plan.Trials), left, s.RunsDir})
	}
	switch {
	case errors.Is(err, context.Canceled):
		return config.Hint(fmt.Errorf("the runs have checkpoints: %w", coordinator.ErrInterrupted),
			"the same command continues it")
	case err != nil && !errors.Is(err, paper.ErrFailed), f.dry:
		return err
	}
	return errors.Join(a.writePaper(plan, s, f, began), err)
}

// smokeEpisodes is the number of test episodes where nothing is to be learned.
const smokeEpisodes = 40

// measuring limits how long configurations are timed before anything is trained.
const measuring = 5 * time.Second

// estimate prints on stderr what is left to train, and returns the cost of each trial: in seconds of one core, or
// in updates where all take seconds. A smoke study is not timed, because timing would take as long as its trials.
func (a *app) estimate(s *paper.Study, plan *paper.Plan) (costs []float64, left int, err error) {
	costs = make([]float64, len(plan.Trials))
	for i, t := range plan.Trials {
		if costs[i] = float64(s.Remaining(t)); costs[i] > 0 {
			left++
		}
	}
	text := "minutes in all"
	switch {
	case left == 0:
		text = "all are trained"
	case plan.Size != paper.Smoke:
		c, err := s.Costs(measuring)
		if err != nil {
			return nil, 0, err
		}
		costs = c.Seconds
		total := 0.0
		for _, seconds := range costs {
			total += seconds
		}
		// The runs share the cores, but none can be divided: the longest is a lower bound.
		long := max(total/float64(s.Parallel), slices.Max(costs)) * float64(time.Second)
		text = fmt.Sprintf("about %s of training here with %s at a time, by an update of %d of %s; the measurements of each "+
			"come on top", terminal.Short(time.Duration(long)), terminal.Count(s.Parallel, "run"), c.Measured,
			terminal.Count(c.Configurations, "configuration"))
	}
	if a.logFormat == "json" {
		a.logger(a.err, hclog.Info).Info("plan", "size", string(plan.Size), "runs", len(plan.Trials), "to_train", left,
			"time", text, "folder", s.RunsDir)
		return costs, left, nil
	}
	_, err = fmt.Fprintf(a.err, "plan     size %s, %s, %d to train: %s\nfolder   %s\n", plan.Size,
		terminal.Count(len(plan.Trials), "run"), left, text, s.RunsDir)
	return costs, left, err
}

// paperPlan is what paper --dry-run --json prints.
type paperPlan struct {
	Size    string `json:"size"`
	Runs    int    `json:"runs"`
	ToTrain int    `json:"to_train"`
	Folder  string `json:"folder"`
}

// judged is what paper --json prints.
type judged struct {
	Report string            `json:"report"`
	Claims map[string]string `json:"claims"`
}

// writePaper writes the report and prints the judgement of each claim that can be judged; began is the time at
// which the command was started. The report's own line of command has no path of this machine, so that the same
// results give the same files.
func (a *app) writePaper(plan *paper.Plan, s *paper.Study, f paperFlags, began time.Time) error {
	results, err := paper.Read(plan, s)
	if err != nil {
		return err
	}
	// The command that makes this report, for its first page.
	words := []string{"paper", "--size", f.size, "--seeds", fmt.Sprint(f.seeds)}
	if len(f.only) > 0 {
		words = append(words, "--only", strings.Join(f.only, ","))
	}
	command := append([]string{"switchyard"}, words...)
	if err := results.Write(f.out, []paper.Fact{{Name: "command", Text: strings.Join(append(command, "-o", "DIR"),
		" ")}}); err != nil {
		return err
	}
	table, claims := terminal.NewTable("claim", "judgement").Left(1), map[string]string{}
	for _, c := range paper.Claims() {
		if v := results.Judge(c); v.Judgement != paper.NotMeasured {
			table.Row(c.ID, string(v.Judgement))
			claims[c.ID] = string(v.Judgement)
		}
	}
	page := filepath.Join(f.out, "index.html")
	return a.result(judged{page, claims}, func() error {
		if len(claims) == 0 {
			return a.printf("no claim of the paper can be judged: each is about more models than are measured\n\nreport   "+
				"%s, after %s\n", page, terminal.Short(time.Since(began)))
		}
		_, err := table.WriteTo(a.out)
		return errors.Join(err, a.printf("\nreport   %s, after %s\n", page, terminal.Short(time.Since(began))))
	})
}

// reportCommand is `report`: one page about runs of the local folder.
func (a *app) reportCommand() *cobra.Command {
	var out string
	var wanted []string
	c := &cobra.Command{
		Use:   "report NAME...",
		Short: "Write settings, training, results and figures as one page",
		Long: `Write one report of runs: index.html, which opens from disk, report.md, numbers.csv and figures. It shows the
evaluations that the runs have, and their spread over runs that differ in their seed alone; --protocol adds one
where it is missing.`,
		Args:              atLeastOne("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE:              func(_ *cobra.Command, args []string) error { return a.reportRuns(args, wanted, out) },
	}
	a.jsonFlag(c)
	c.Flags().StringVarP(&out, "out", "o", "report", "output folder")
	c.Flags().StringSliceVar(&wanted, "protocol", nil, "evaluation protocols to include")
	c.RegisterFlagCompletionFunc("protocol", a.completeProtocols) // it fails for a flag that does not exist
	return c
}

// reportRuns adds the evaluations that are asked for and missing, and writes the report. A run that is named twice,
// or that does not exist, and files of the user or of a run that the report would replace, are usage errors.
func (a *app) reportRuns(names, protocols []string, out string) error {
	var list []paper.Run
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return config.Usagef("run %s is named twice", name)
		}
		// All runs are looked at before the first is measured.
		info, err := store.Load(a.runsDir, name)
		if err != nil {
			return a.missingRun(err)
		}
		if err := a.spare(name, []string{filepath.Join(out, "numbers.csv")}, nil); err != nil {
			return err
		}
		overrides, err := store.Overrides(a.runsDir, name)
		if err != nil {
			return fmt.Errorf("read the settings of run %s: %w", name, err)
		}
		list = append(list, paper.Run{Info: info, Overrides: overrides})
	}
	if err := paper.Spare(out); err != nil {
		return err
	}
	if err := a.untilSignal(a.err, "ending the measurement", func(ctx context.Context) error {
		return a.evaluateMissing(ctx, names, protocols)
	}); err != nil {
		return err
	}
	if err := paper.Write(out, a.runsDir, list); err != nil {
		return err
	}
	page := filepath.Join(out, "index.html")
	return a.result(written{[]string{page}}, func() error { return a.printf("report   %s\n", page) })
}

// evaluateMissing measures runs by the protocols whose tables they lack, until a signal ends its context.
func (a *app) evaluateMissing(ctx context.Context, names, protocols []string) error {
	for _, name := range names {
		for _, p := range protocols {
			if ctx.Err() != nil {
				return errSignal
			}
			if _, err := os.Stat(filepath.Join(a.runsDir, name, "tables", p+".json")); err == nil {
				continue
			}
			if _, err := a.evaluateRun(name, trained.Best, eval.Question{Protocol: p}); err != nil {
				return err
			}
		}
	}
	return nil
}
