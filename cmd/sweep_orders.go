package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/web"
)

// Subcommands of sweep. They ask trials.Operations, which the sweeps of a folder and those of a coordinator
// implement.

// sweepOrder is a subcommand that tells a sweep what to do.
type sweepOrder struct {
	name, short, long, done string
	order                   sweep.Order
}

// orders are the subcommands that give an order; done is the word for what has happened.
var orders = []sweepOrder{
	{"stop", "Stop a sweep, with checkpoints of the running trials", "The process that leads it exits with code 3; the " +
		"command that started it continues it.", "is stopped", sweep.Halt},
	{"pause", "Pause a sweep and release its workers, with checkpoints", "The process that leads it waits for: " +
		"sweep resume.", "is paused", sweep.Pause},
	{"resume", "Continue a paused sweep", "If its process has ended, use the command that started the sweep " +
		"instead.", "continues", sweep.Proceed},
}

// sweepAsk is a subcommand that asks something of sweeps, those of a folder or those of a coordinator: ask returns the
// answer and what writes it for people.
type sweepAsk struct {
	command cobra.Command
	ask     func(o trials.Operations, args []string) (answer any, tell func() error, err error)
}

// sweepAskCommand makes the command of a question. Unless q says otherwise, its argument is the name of a sweep.
func (a *app) sweepAskCommand(flags *sweepFlags, q sweepAsk) *cobra.Command {
	var link connection
	c := &q.command
	if c.Args == nil {
		c.Args, c.ValidArgsFunction = exactly("NAME"), a.completeSweeps(flags)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.onSweeps(c, link, flags, func(o trials.Operations) error {
			answer, tell, err := q.ask(o, args)
			if err != nil {
				return err
			}
			return a.result(answer, tell)
		})
	}
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// sweepOrderCommand is `sweep stop`, `sweep pause` or `sweep resume`.
func (a *app) sweepOrderCommand(flags *sweepFlags, o sweepOrder) *cobra.Command {
	return a.sweepAskCommand(flags, sweepAsk{
		cobra.Command{Use: o.name + " NAME", Short: o.short, Long: o.short + ". " + o.long},
		func(sweeps trials.Operations, args []string) (any, func() error, error) {
			u, err := sweeps.Order(args[0], o.order)
			return u, func() error { return a.printf("sweep %s %s: %s\n", u.Name, o.done, sweepSum(*u)) }, err
		},
	})
}

// sweepListCommand is `sweep ls`.
func (a *app) sweepListCommand(flags *sweepFlags) *cobra.Command {
	return a.sweepAskCommand(flags, sweepAsk{
		cobra.Command{Use: "ls", Short: "List the sweeps", Args: exactly()},
		func(sweeps trials.Operations, _ []string) (any, func() error, error) {
			list, err := sweeps.List()
			return list, func() error { return a.writeSweeps(list) }, err
		},
	})
}

// writeSweeps writes a table of sweeps.
func (a *app) writeSweeps(list []trials.Summary) error {
	if len(list) == 0 {
		return a.printf("no sweeps\n")
	}
	table := terminal.NewTable("sweep", "state", "trials").Left(1, 2)
	for _, u := range list {
		table.Row(u.Name, u.State, sweepSum(u))
	}
	_, err := table.WriteTo(a.out)
	return err
}

// sweepShowCommand is `sweep show`: the best trials and what mattered.
func (a *app) sweepShowCommand(flags *sweepFlags) *cobra.Command {
	return a.sweepAskCommand(flags, sweepAsk{
		cobra.Command{Use: "show NAME", Short: "Show the trials of a sweep, best first"},
		func(sweeps trials.Operations, args []string) (any, func() error, error) {
			v, err := sweeps.Show(args[0])
			return v, func() error { return writeSweep(a.out, v) }, err
		},
	})
}

// shownTrials is the number of trials that are listed.
const shownTrials = 12

// writeSweep writes the best trials, what mattered, and what to read with care.
func writeSweep(w io.Writer, v *trials.Shown) error {
	out := &printer{w: w}
	out.printf("%s\n\n", sweepSum(v.Summary))
	header := []string{"trial", "state", "update"}
	for _, m := range v.Metrics {
		header = append(header, m.Name)
	}
	table := terminal.NewTable(append(header, "settings")...).Left(1, len(header))
	for _, id := range v.Ranked[:min(shownTrials, len(v.Ranked))] {
		t := v.Trial(id)
		row := []string{strconv.Itoa(t.ID), string(t.State), terminal.Group(t.Update)}
		for i := range v.Metrics {
			row = append(row, estimateText(t, i, v.Replicates.Aggregate))
		}
		settings := settingsText(t, v.Keys())
		if t.Confirms > 0 {
			settings += fmt.Sprintf(" (trial %d with fresh seeds)", t.Confirms)
		}
		table.Row(append(row, settings)...)
	}
	if _, err := table.WriteTo(w); err != nil {
		return err
	}
	for _, i := range v.Importance {
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
	for _, n := range v.Notes {
		out.printf("\nnote: %s\n", n)
	}
	if len(v.Files) > 0 {
		out.printf("\nfiles\n  %s  the page\n  %s\n", v.Files[0], strings.Join(v.Files[1:], "\n  "))
	}
	return out.err
}

// settingsText are the settings of a trial in the form key=value.
func settingsText(t *sweep.ReportTrial, keys []string) string {
	var list []string
	for _, k := range keys {
		if value, ok := t.Settings[k]; ok {
			list = append(list, k+"="+value)
		}
	}
	return strings.Join(list, " ")
}

// estimateText is the mean of a few runs with its interval, or the value of one, of a metric of a trial. Another value
// of the runs that ranks trials comes before it, with its name.
func estimateText(t *sweep.ReportTrial, metric int, by sweep.Aggregate) string {
	if metric >= len(t.Values) {
		return "-"
	}
	e := t.Values[metric]
	if e.N == 1 {
		return metricText(e.Mean)
	}
	text := fmt.Sprintf("%s [%s, %s]", metricText(e.Mean), metricText(e.Low), metricText(e.High))
	if ranksByMean(by) || metric >= len(t.Score) {
		return text
	}
	return fmt.Sprintf("%s %s, mean %s", by, metricText(t.Score[metric]), text)
}

// ranksByMean reports whether trials are ranked by the mean of their runs; an older release does not say by what.
func ranksByMean(by sweep.Aggregate) bool { return by == "" || by == sweep.Mean }

// sweepExtendCommand is `sweep extend`. It leads a sweep of the folder itself; a coordinator continues its own.
func (a *app) sweepExtendCommand(flags *sweepFlags) *cobra.Command {
	more := 0
	var led *trials.Folder // the sweep that was led here to its end; nil: a coordinator leads it
	c := a.sweepAskCommand(flags, sweepAsk{
		cobra.Command{Use: "extend NAME", Short: "Add trials to a sweep"},
		func(sweeps trials.Operations, args []string) (any, func() error, error) {
			v, err := sweeps.Extend(args[0], more)
			if here, ok := sweeps.(folderSweeps); ok && err == nil {
				led = &trials.Folder{Dir: here.Dir, Name: args[0]}
			}
			return v, func() error {
				if led != nil {
					return writeSweep(a.out, v)
				}
				return a.printf("sweep %s continues with %s\n", args[0], terminal.Count(more, "more trial"))
			}, err
		},
	})
	ask := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := ask(c, args); err != nil || led == nil {
			return err
		}
		state, err := led.State()
		if err != nil {
			return err
		}
		return state.Fruitless() // as the command that began it
	}
	c.Flags().IntVar(&more, "trials", 0, "number of trials to add; whole cohorts give the same result as a longer sweep")
	flags.train.add(c, a.cores)
	flags.page.add(c)
	return c
}

// folderSweeps are the sweeps of a folder, for a command that leads those that it extends to their end.
type folderSweeps struct {
	*trials.Sweeps
	app   *app
	flags sweepFlags
}

// Extend implements trials.Operations.
func (s folderSweeps) Extend(name string, more int) (*trials.Shown, error) {
	if err := s.flags.train.check(); err != nil {
		return nil, err
	}
	f, to, err := s.Extension(name, more)
	if err != nil {
		return nil, err
	}
	j, err := trials.Again(trials.Request{
		Kinds: s.app.kinds, Environment: s.app.settings(), Folder: f, Path: f.Path(trials.SpecFile),
	})
	if err != nil {
		return nil, err
	}
	if err := s.app.leadSweep(j, s.flags, to); err != nil {
		return nil, err
	}
	return s.Show(name)
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

// printf writes, unless there was an error, which stays in err.
func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// sweepSubmitCommand is `sweep submit`: it gives a sweep to a coordinator.
func (a *app) sweepSubmitCommand(flags *sweepFlags) *cobra.Command {
	var link connection
	var name string
	var dry, many bool
	c := &cobra.Command{
		Use: "submit FILE.yaml | -m PRESET key=value,value...", Short: "Submit a sweep to a coordinator",
		Long: `Submit a sweep to the coordinator at a broker. It runs the trials on all its workers, beside its other
runs, and continues the sweep after a restart. Submitting twice is safe.`,
		Args: atLeastOne("FILE.yaml, or -m PRESET key=value,value"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := link.check(c); err != nil {
				return err
			}
			own := sweepFlags{train: trainFlags{workers: 1, slots: 1}, name: name, dir: flags.dir, many: many, dry: dry}
			return a.submitSweep(args, link, own)
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	c.Flags().StringVar(&name, "name", "", "name of the sweep (default: from the file name)")
	c.Flags().BoolVarP(&many, "multirun", "m", false, "try a grid of values, given as key=value,value")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be done, and do nothing")
	return c
}

// submitSweep checks a sweep here, as sweep does, and sends it with the files that it names.
func (a *app) submitSweep(args []string, link connection, flags sweepFlags) error {
	r, err := a.sweepRequest(args, flags)
	if err != nil {
		return err
	}
	r.Folder.Dir = filepath.Join(os.TempDir(), "switchyard-no-sweeps") // what the coordinator has is its own matter
	files := map[string]string{}
	// The coordinator gets the same bytes as Prepare here, under their base names.
	r.Read = func(path string) ([]byte, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		if other, known := files[name]; known && other != string(data) {
			return nil, fmt.Errorf("another file is called %s, too: the coordinator knows files by their names alone", name)
		}
		files[name] = string(data)
		return data, nil
	}
	j, err := trials.Prepare(r)
	if err != nil {
		return err
	}
	if flags.dry {
		j.Folder.Dir = "" // it has none here
		return a.planned(j, flags)
	}
	return a.remoteSweeps(link, func(sweeps trials.Remote) error {
		u, err := sweeps.Submit(ops.SweepRequest{
			Name: r.Folder.Name, Spec: string(r.Text), Files: files, Environment: trials.KeyVariables(a.kinds, r.Environment),
		})
		if err != nil {
			return err
		}
		return a.result(u, func() error {
			return a.printf("submitted  sweep %s: it is running\n\nnext\n  %s\n", u.Name,
				a.remotely(link, "sweep", "show", u.Name))
		})
	})
}

// onSweeps calls do with the sweeps of a command: those of a coordinator if a broker is named and no folder, or else
// those of the folder.
func (a *app) onSweeps(c *cobra.Command, link connection, flags *sweepFlags, do func(trials.Operations) error) error {
	if !remote(c, link) {
		if err := link.unnamed(c); err != nil {
			return err
		}
		sweeps := &trials.Sweeps{Dir: flags.dir, Kinds: a.kinds, Leader: trials.Leader{
			Program: a.invoked, Line: a.linesAbout(flags.dir),
		}}
		return do(folderSweeps{sweeps, a, *flags})
	}
	const why = "means nothing with --nats: the coordinator leads the sweep"
	if err := cmp.Or(link.check(c), unused(c, why, leadNames()...)); err != nil {
		return err
	}
	return a.remoteSweeps(link, func(sweeps trials.Remote) error { return do(sweeps) })
}

// remote reports whether a command asks for the sweeps of a coordinator.
func remote(c *cobra.Command, link connection) bool {
	return link.url != "" && !c.Flags().Changed("sweeps-dir")
}

// remoteSweeps calls do with the sweeps of the coordinator at a broker.
func (a *app) remoteSweeps(link connection, do func(trials.Remote) error) error {
	return a.ask(link, func(ctx context.Context, client *ops.Client) error {
		return do(trials.Remote{Ask: func(r ops.SweepRequest) (ops.SweepAnswer, error) {
			limited, cancel := context.WithTimeout(ctx, openLimit)
			defer cancel()
			return client.Sweep(limited, r)
		}})
	})
}

// hostedSweeps leads the sweeps of a coordinator.
func (a *app) hostedSweeps(dir string, log hclog.Logger) *trials.Sweeps {
	return &trials.Sweeps{
		Dir: dir, Kinds: a.kinds,
		Leader: trials.Leader{
			RunsDir: a.runsDir, Page: web.SweepFile, Program: a.invoked, Word: terminal.Quoted, Threads: a.cores, Log: log,
		},
	}
}

// sweepsOf are the sweeps of a folder, for the page.
func sweepsOf(dir string) *web.Sweeps {
	shelf := trials.NewShelf(dir)
	return &web.Sweeps{List: func() any { return shelf.Sweeps() }, Show: func(name string) (any, error) {
		return shelf.Sweep(name)
	}}
}
