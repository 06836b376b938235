package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// sweepOrder is a subcommand that tells a sweep what to do.
type sweepOrder struct {
	name, short, long, done string
	order                   sweep.Order
}

var orders = []sweepOrder{
	{"stop", "End a sweep, with checkpoints of the trials under way", "The process that leads it ends with exit code " +
		"3; the command that began it goes on with it.", "is stopped", sweep.Halt},
	{"pause", "Let the workers of a sweep go, with checkpoints", "The process that leads it stays, and waits for: " +
		"sweep resume.", "pauses", sweep.Pause},
	{"resume", "Let a sweep go on that was paused", "A sweep whose process has ended goes on with the command that " +
		"began it.", "goes on", sweep.Proceed},
}

func (a *app) sweepOrderCommand(flags *sweepFlags, o sweepOrder) *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use: o.name + " NAME", Short: o.short, Long: o.short + ". " + o.long, Args: exactly("NAME"),
		ValidArgsFunction: a.completeSweeps(flags),
		RunE: func(c *cobra.Command, args []string) error {
			if remote, err := a.remoteSweep(c, &link); remote || err != nil {
				if err != nil {
					return err
				}
				return a.orderRemote(link, args[0], o)
			}
			return a.orderSweep(trials.Folder{Dir: flags.dir, Name: args[0]}, o)
		},
	}
	a.jsonFlag(c)
	link.add(c, a)
	return c
}

func (a *app) orderSweep(f trials.Folder, o sweepOrder) error {
	state, err := f.State()
	if err != nil {
		return err
	}
	led := f.Led()
	switch {
	case state.Done:
		return config.Hint(config.Usagef("sweep %s is done", f.Name), "more trials: %s sweep extend %s", a.invoked, f.Name)
	case !led && o.order != sweep.Proceed:
		return config.Usagef("sweep %s is not under way: no process leads it", f.Name)
	case !led:
		return config.Hint(config.Usagef("no process leads sweep %s any more", f.Name),
			"the command that began it goes on: %s sweep %s --name %s", a.invoked, f.Path(trials.SpecFile), f.Name)
	}
	if err := f.SetOrder(o.order); err != nil {
		return err
	}
	for f.Led() {
		if state, err = f.State(); err != nil {
			return err
		}
		if state.Order == o.order && (o.order != sweep.Halt) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return a.result(sweepAnswer{f.Name, sweepWord(f, state), sweepSum(state)},
		func() error { return a.printf("sweep %s %s: %s\n", f.Name, o.done, sweepSum(state)) })
}

// sweepAnswer is what orders about sweeps print with --json.
type sweepAnswer struct {
	Name  string `json:"name"`
	State string `json:"state,omitempty"` // a coordinator says it in its text
	Said  string `json:"said"`
}

func (a *app) sweepListCommand(flags *sweepFlags) *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use: "ls", Short: "List the sweeps", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if remote, err := a.remoteSweep(c, &link); remote || err != nil {
				if err != nil {
					return err
				}
				return a.listRemote(link)
			}
			list := trials.List(flags.dir)
			if a.asJSON {
				return a.printJSON(trials.NewShelf(flags.dir).Sweeps())
			}
			if len(list) == 0 {
				return a.printf("no sweeps in %s\n", flags.dir)
			}
			table := terminal.NewTable("sweep", "state", "trials").Left(1, 2)
			for _, f := range list {
				state, err := f.State()
				if errors.Is(err, trials.ErrNotFound) {
					continue // it has just begun
				}
				if err != nil {
					return err
				}
				table.Row(f.Name, sweepWord(f, state), sweepSum(state))
			}
			_, err := table.WriteTo(a.out)
			return err
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// sweepWord says in one word where a sweep stands.
func sweepWord(f trials.Folder, s *sweep.State) string {
	switch {
	case s.Done:
		return "done"
	case !f.Led():
		return "interrupted"
	case s.Order == sweep.Pause:
		return "paused"
	}
	return "running"
}

func (a *app) sweepShowCommand(flags *sweepFlags) *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use: "show NAME", Short: "Show the trials of a sweep, the best first", Args: exactly("NAME"),
		ValidArgsFunction: a.completeSweeps(flags),
		RunE: func(c *cobra.Command, args []string) error {
			if remote, err := a.remoteSweep(c, &link); remote || err != nil {
				if err != nil {
					return err
				}
				return a.showRemote(link, args[0])
			}
			f := trials.Folder{Dir: flags.dir, Name: args[0]}
			state, err := f.State()
			if err != nil {
				return err
			}
			return a.result(f.Report(state), func() error { return writeSweep(a.out, f, state) })
		},
	}
	a.jsonFlag(c)
	link.add(c, a)
	return c
}

// shownTrials is the number of trials that are listed.
const shownTrials = 12

// writeSweep writes the best trials, what mattered, and what to read with care.
func writeSweep(w io.Writer, f trials.Folder, s *sweep.State) error {
	report := f.Report(s)
	out := &printer{w: w}
	out.printf("%s\n\n", sweepSum(s))
	header := []string{"trial", "state", "update"}
	for _, m := range s.Spec.Metrics {
		header = append(header, m.Name)
	}
	table := terminal.NewTable(append(header, "settings")...).Left(1, len(header))
	for _, t := range s.Ranked()[:min(shownTrials, len(s.Trials))] {
		row := []string{strconv.Itoa(t.ID), string(t.Status), terminal.Group(t.Step())}
		for _, m := range s.Spec.Metrics {
			row = append(row, estimateText(t.Values(m.Name, t.Reached())))
		}
		settings := strings.Join(t.Settings.Arguments(), " ")
		if t.Of > 0 {
			settings += fmt.Sprintf(" (trial %d with fresh seeds)", t.Of)
		}
		table.Row(append(row, settings)...)
	}
	if _, err := table.WriteTo(w); err != nil {
		return err
	}
	for _, i := range report.Importance {
		if len(i.Keys) == 0 {
			continue
		}
		var parts []string
		for _, k := range i.Keys {
			parts = append(parts, fmt.Sprintf("%s %.2f ± %.2f", k.Key, k.Share, k.Error))
		}
		out.printf("\nwhat mattered for %s (share of the variance, by permutation in a forest that explains %.0f %%)\n  %s\n",
			i.Metric, 100*i.Explained, strings.Join(parts, "\n  "))
	}
	for _, n := range report.Notes {
		out.printf("\nnote: %s\n", n)
	}
	if len(report.Best) == 0 {
		return out.err
	}
	out.printf("\nfiles\n  %s  the page\n  %s\n  %s\n", f.Path(trials.PageFile), f.Path(trials.TableFile),
		f.Path(trials.BestFolder))
	return out.err
}

// estimateText is the mean of a few runs with its interval, or the value of one.
func estimateText(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	e := sweep.NewEstimate(values)
	if e.N == 1 {
		return metricText(e.Mean)
	}
	return fmt.Sprintf("%s [%s, %s]", metricText(e.Mean), metricText(e.Low), metricText(e.High))
}

func (a *app) sweepBestCommand(flags *sweepFlags) *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use: "best NAME", Short: "Print the best trial, and the command that trains it again", Args: exactly("NAME"),
		ValidArgsFunction: a.completeSweeps(flags),
		RunE: func(c *cobra.Command, args []string) error {
			if remote, err := a.remoteSweep(c, &link); remote || err != nil {
				if err != nil {
					return err
				}
				return a.bestRemote(link, args[0])
			}
			f := trials.Folder{Dir: flags.dir, Name: args[0]}
			state, err := f.State()
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.bestJSON(f, state)
			}
			return a.writeBest(a.out, f, state)
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// bestTrials is what sweep best --json prints.
type bestTrials struct {
	Trials    []sweep.ReportTrial `json:"trials"` // one, or a Pareto front
	Confirmed bool                `json:"confirmed"`
	Command   string              `json:"command,omitempty"` // trains the same again; it is there when the sweep has ended
}

func (a *app) bestJSON(f trials.Folder, s *sweep.State) error {
	best, confirmed := s.Best()
	if len(best) == 0 {
		return a.writeBest(io.Discard, f, s) // it says why
	}
	b := bestTrials{Confirmed: confirmed}
	for _, t := range f.Report(s).Trials {
		if slices.ContainsFunc(best, func(o *sweep.Trial) bool { return o.ID == t.ID }) {
			b.Trials = append(b.Trials, t)
		}
	}
	if text, err := os.ReadFile(f.Path(trials.BestFolder, "command.txt")); err == nil {
		b.Command = strings.TrimSpace(string(text))
	}
	return a.printJSON(b)
}

// writeBest writes the best trials, and the command that trains the same again.
func (a *app) writeBest(w io.Writer, f trials.Folder, s *sweep.State) error {
	out := &printer{w: w}
	best, confirmed := s.Best()
	if len(best) == 0 {
		return config.Hint(fmt.Errorf("no trial of sweep %s is complete yet", f.Name), "%s sweep show %s lists what there is",
			a.invoked, f.Name)
	}
	for _, t := range best {
		out.printf("trial %d  %s\n", t.ID, strings.Join(t.Settings.Arguments(), " "))
		for _, m := range s.Spec.Metrics {
			of := ""
			if n := len(t.Runs); n > 1 {
				of = fmt.Sprintf("  mean of %d seeds, with its 95 %% interval", n)
			}
			out.printf("  %s %s%s\n", m.Name, estimateText(t.Values(m.Name, t.Reached())), of)
		}
		if o := s.Trial(t.Of); o != nil {
			out.printf("  in the search it had %s: the best of many is lucky\n",
				estimateText(o.Values(s.Spec.Metrics[0].Name, o.Reached())))
		}
	}
	if !confirmed {
		out.printf("\nnote: this is the best of %d trials, and expected to be worse with other seeds; confirm: {top: 3, "+
			"seeds: 5} in the sweep file runs the best again\n", len(s.Trials))
	}
	command, err := os.ReadFile(f.Path(trials.BestFolder, "command.txt"))
	if err != nil {
		return out.err // it is written when the sweep ends
	}
	out.printf("\nagain, to the same bits\n  %s", command)
	return out.err
}

func (a *app) sweepExtendCommand(flags *sweepFlags) *cobra.Command {
	more := 0
	var link connection
	c := &cobra.Command{
		Use: "extend NAME", Short: "Try more configurations in a sweep", Args: exactly("NAME"),
		ValidArgsFunction: a.completeSweeps(flags),
		RunE: func(c *cobra.Command, args []string) error {
			if remote, err := a.remoteSweep(c, &link); remote || err != nil {
				if err != nil {
					return err
				}
				return a.extendRemote(link, args[0], more)
			}
			return a.extendSweep(args[0], more, *flags)
		},
	}
	c.Flags().IntVar(&more, "trials", 0, "number of further trials; whole cohorts give the same result as a longer sweep")
	flags.train.add(c, a.cores)
	flags.page.add(c)
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

func (a *app) extendSweep(name string, more int, flags sweepFlags) error {
	f := trials.Folder{Dir: flags.dir, Name: name}
	state, err := f.State()
	if err != nil {
		return err
	}
	if err := flags.train.check(); err != nil {
		return err
	}
	if more < 1 {
		return config.Hint(config.Usagef("--trials %d: at least 1", more), "a cohort has %d", state.Spec.Stop.Cohort)
	}
	if f.Led() {
		return config.Hint(config.Usagef("sweep %s is led by another process", name),
			"end it with sweep stop, and extend it then")
	}
	text, err := os.ReadFile(f.Path(trials.SpecFile))
	if err != nil {
		return fmt.Errorf("read the spec of the sweep: %w", err)
	}
	j, err := trials.Again(trials.Request{
		Kinds: a.kinds, Environment: a.settings(), Folder: f,
		Path: f.Path(trials.SpecFile), Text: text,
	})
	if err != nil {
		return err
	}
	return a.leadSweep(j, flags, state.Spec.Trials+more)
}

// completeSweeps completes the names of sweeps.
func (a *app) completeSweeps(flags *sweepFlags) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var words []cobra.Completion
		for _, f := range trials.List(flags.dir) {
			words = append(words, f.Name)
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// printer writes lines until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
