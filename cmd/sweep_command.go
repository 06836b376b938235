package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/web"
	"github.com/switchyard-ml/switchyard/wire"
)

// usualSweeps is the folder of sweeps where --sweeps-dir is not given.
const usualSweeps = "sweeps"

// sweepFlags are the flags of the sweep command.
type sweepFlags struct {
	// Flags of the workers and the broker of this process, and of the page; pageSaid: --web was given.
	train     trainFlags
	page      webFlags
	pageSaid  bool
	name, dir string
	// -m and --dry-run.
	many, dry bool
}

// sweepCommand is `sweep`: it leads a sweep in this process. Its subcommands ask or change sweeps of a folder or of
// a coordinator.
func (a *app) sweepCommand() *cobra.Command {
	flags := &sweepFlags{}
	c := &cobra.Command{
		Use:   "sweep FILE.yaml | -m PRESET key=value,value...",
		Short: "Search for good settings on this machine",
		Long: `Search for good settings with many runs, most of which are stopped early, on the workers
of this machine and of others that join (--listen). The file has the keys of a W&B
sweep (see docs/sweeps.md); -m makes a grid from the command line instead.

It first says what it will do. If it is interrupted, nothing is lost: the same command
continues, and the trials and their results are the same as without the interruption,
on any number of workers.`,
		Example: "  " + a.invoked + " sweep rates.yaml --dry-run\n  " + a.invoked +
			" sweep rates.yaml --name first --workers 8\n" +
			"  " + a.invoked + " sweep -m fhn/smoke optim.rate=1e-3,1e-2 'seed=range(0,3)'\n  " + a.invoked +
			" sweep best first",
		Args:              atLeastOne("FILE.yaml, or -m PRESET key=value,value"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE: func(c *cobra.Command, args []string) error {
			flags.pageSaid = c.Flags().Changed("web")
			return a.sweep(args, *flags)
		},
	}
	flags.train.add(c, a.cores)
	flags.page.add(c)
	c.Flags().StringVar(&flags.name, "name", "", "name of the sweep (default: from the file name)")
	c.Flags().BoolVarP(&flags.many, "multirun", "m", false, "try a grid of values, given as key=value,value, "+
		"key=range(0,3) or key=choice(a,b)")
	c.Flags().BoolVar(&flags.dry, "dry-run", false, "print what would be done, and do nothing")
	a.jsonFlag(c)
	c.PersistentFlags().StringVar(&flags.dir, "sweeps-dir", usualSweeps, "folder of sweeps")
	c.AddCommand(a.sweepListCommand(flags), a.sweepShowCommand(flags), a.sweepBestCommand(flags),
		a.sweepExtendCommand(flags), a.sweepSubmitCommand(flags))
	for _, o := range orders {
		c.AddCommand(a.sweepOrderCommand(flags, o))
	}
	return c
}

// sweepRequest is the sweep that the arguments ask for: a file, or with -m a grid of the command line, under the
// name of --name or one made of the first argument. Arguments behind a file, and a file that cannot be read, are
// usage errors.
func (a *app) sweepRequest(args []string, flags sweepFlags) (trials.Request, error) {
	r := trials.Request{
		Kinds: a.kinds, Environment: a.settings(), Folder: trials.Folder{Dir: flags.dir, Name: flags.name},
		Line: a.linesAbout(flags.dir),
	}
	if flags.many {
		text, err := trials.FromArguments(args)
		if err != nil {
			return r, err
		}
		r.Path, r.Text = "command line", text
		if r.Folder.Name == "" {
			r.Folder.Name = manyName(args[0])
		}
		return r, nil
	}
	r.Path = args[0]
	if len(args) > 1 {
		return r, config.Hint(config.Usagef("a sweep file takes no further arguments: %q", args[1]),
			"fixed settings: write them into the file, as `parameters: {key: value}`; a grid from the command line: -m "+
				"PRESET key=value,value")
	}
	data, err := os.ReadFile(r.Path)
	if err != nil {
		hint := "a sweep file is YAML, see docs/sweeps.md; a grid without a file: " + a.invoked +
			" sweep -m PRESET key=value,value"
		if near := setting.Nearest(r.Path, []string{
			"ls", "show", "best", "stop", "pause", "resume", "extend",
			"submit",
		}); near != "" {
			hint = "did you mean sweep " + near + "?"
		}
		return r, config.Hint(config.Usagef("read the sweep: %w", err), "%s", hint)
	}
	r.Text = data
	if r.Folder.Name == "" {
		r.Folder.Name = strings.TrimSuffix(filepath.Base(r.Path), filepath.Ext(r.Path))
	}
	return r, nil
}

// manyName is the name of a grid of the command line around a preset, or a file.
func manyName(base string) string {
	if trials.IsFile(base) {
		return nameOf(base) + "-sweep"
	}
	return strings.ReplaceAll(base, "/", "-") + "-sweep"
}

// sweep leads a new sweep, or continues the one of this name, and prints its best trials. A sweep whose trials all
// failed is an error after that. With --dry-run it prints the plan alone.
func (a *app) sweep(args []string, flags sweepFlags) error {
	if err := flags.train.check(); err != nil {
		return err
	}
	request, err := a.sweepRequest(args, flags)
	if err != nil {
		return err
	}
	j, err := trials.Continue(request)
	if err != nil {
		return err
	}
	if flags.dry {
		return a.planned(j, flags)
	}
	if err := a.leadSweep(j, flags, 0); err != nil {
		return err
	}
	state, err := j.Folder.State()
	if err != nil {
		return err
	}
	found := j.Folder.Shown(state)
	return errors.Join(a.result(found, func() error { return writeSweep(a.out, found) }), state.Fruitless())
}

// leadSweep leads a sweep with workers of this process until its end. extend is the number of trials that the sweep
// then has; 0 leaves it as it is. After the first signal the running trials write checkpoints, and it returns
// sweep.ErrInterrupted, with exit code 3.
func (a *app) leadSweep(j *trials.Job, flags sweepFlags, extend int) error {
	screen := a.screen()
	if !a.quiet { // the plan takes measurements
		plan, err := sweepPlan(j, flags)
		if err == nil {
			err = a.introduce(plan, screen)
		}
		if err != nil {
			return err
		}
	}
	log := a.logger(screen, hclog.Warn) // the screen says what runs do
	transport, err := brokerFlags{
		listen: flags.train.listen, keys: flags.train.keys,
		join: flags.train.join,
	}.transport(a.logger(screen, hclog.Info), a.invoked+" init")
	if err != nil {
		return err
	}
	defer transport.Close()
	show := newSweepScreen(screen, j, a)
	// The broker listens by now: an address in use leaves no folder behind.
	h, err := j.Host(lead.Config{Command: a.command, Mistaken: mistaken, Memory: flags.train.share.host()}, transport,
		trials.Leader{
			Page: web.SweepFile, Show: show.changed, Program: a.invoked, Line: a.linesAbout(flags.dir),
			Word: terminal.Quoted, Threads: a.cores, Log: log,
		}, extend)
	if err != nil {
		return err
	}
	defer h.Close()
	page, err := a.sweepPage(h.Host, j, flags, screen)
	if err != nil {
		return err
	}
	build := job.Build(a.kinds)
	dismiss, err := a.hire(transport.Connect, flags.train, func(int) lead.Builder { return build }, log)
	if err != nil {
		return err
	}
	err = a.untilSaved(screen, "writing checkpoints of the running trials",
		func(interrupted context.Context) error {
			defer screen.Finish()
			return h.Lead(interrupted, page)
		})
	// The workers are not dismissed: that would wait for them.
	if errors.Is(err, errAborted) {
		return config.Hint(err, "nothing is lost: the same command continues it")
	}
	dismiss()
	if errors.Is(err, sweep.ErrInterrupted) {
		return config.Hint(err, "the same command continues it; results so far: %s",
			a.aboutSweeps(flags.dir, "sweep", "show", j.Folder.Name))
	}
	return err
}

// hire starts the workers of this process, which go where there is work. build makes the builder of worker n, from
// 0. dismiss ends them and waits for them.
func (a *app) hire(connect func(string) (wire.Bus, error), flags trainFlags, build func(n int) lead.Builder,
	log hclog.Logger,
) (dismiss func(), err error) {
	return lead.Crew{Connect: connect, Workers: flags.workers, Slots: flags.slots, Build: build, Log: log}.Hire()
}

// sweepPage listens for the page of the sweep. Where the usual port is taken, and no other one was asked for, it takes
// a free one.
func (a *app) sweepPage(h *lead.Host, j *trials.Job, flags sweepFlags, screen *terminal.Screen) (*web.Server, error) {
	log := a.logger(screen, hclog.Warn)
	flags.page.sweeps = sweepsOf(j.Folder.Dir)
	server, err := flags.page.open(h.Page(), j.Folder.Runs(), log)
	if err != nil && !flags.pageSaid && errors.Is(err, syscall.EADDRINUSE) {
		flags.page.listen = "127.0.0.1:0"
		server, err = flags.page.open(h.Page(), j.Folder.Runs(), log)
	}
	if err != nil || server == nil || a.quiet {
		return server, err
	}
	url := server.URL() + "sweeps.html#/" + j.Folder.Name
	if a.logFormat == "json" {
		a.logger(screen, hclog.Info).Info("page", "url", url)
		return server, nil
	}
	_, err = fmt.Fprintf(screen, "page      %s\n\n", url)
	return server, err
}
