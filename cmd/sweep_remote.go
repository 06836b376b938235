package cmd

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"

	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/web"
)

// remoteSweep reports whether a command is about the sweeps of a coordinator rather than those of a folder here: a
// broker is named, and no folder.
func (a *app) remoteSweep(c *cobra.Command, link *connection) (bool, error) {
	if link.url == "" || c.Flags().Changed("sweeps-dir") {
		return false, nil
	}
	return true, link.check(c)
}

func (a *app) sweepSubmitCommand(flags *sweepFlags) *cobra.Command {
	var link connection
	var name string
	var dry, many bool
	c := &cobra.Command{
		Use: "submit FILE.yaml | -m PRESET key=value,value...", Short: "Hand a sweep to the coordinator at a broker",
		Long: `Hand a sweep to the coordinator at a broker. It leads the trials with all its workers, beside its other
runs, and goes on with the sweep when it was restarted. Submitting twice is submitting once.`,
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
	c.Flags().StringVar(&name, "name", "", "name of the sweep (default: that of the file)")
	c.Flags().BoolVarP(&many, "multirun", "m", false, "a grid of the values that are given as key=value,value")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
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
	r.Read = func(path string) ([]byte, error) {
		data, err := os.ReadFile(path)
		if err == nil {
			files[filepath.Base(path)] = string(data)
		}
		return data, err
	}
	j, err := trials.Prepare(r)
	if err != nil {
		return err
	}
	if flags.dry {
		return a.sweepPlan(j, flags, a.out)
	}
	return a.askSweep(link, ops.SweepRequest{
		Act: ops.SweepSubmit, Name: r.Folder.Name, Spec: string(r.Text), Files: files,
		Environment: trials.KeyVariables(a.kinds, r.Environment),
	}, a.remotely(link, "sweep", "show", r.Folder.Name))
}

// askSweep sends a request and prints the answer, and what to do next unless that is empty.
func (a *app) askSweep(link connection, r ops.SweepRequest, next string) error {
	return a.ask(link, func(ctx context.Context, client *ops.Client) error {
		limited, cancel := context.WithTimeout(ctx, openLimit)
		defer cancel()
		answer, err := client.Sweep(limited, r)
		if err != nil {
			return err
		}
		if next != "" {
			answer.Text += "\nnext\n  " + next + "\n"
		}
		said, _, _ := strings.Cut(answer.Text, "\n\nnext\n")
		return a.result(sweepAnswer{Name: r.Name, Said: strings.TrimSpace(said)},
			func() error { return a.printf("%s", answer.Text) })
	})
}

func (a *app) orderRemote(link connection, name string, o sweepOrder) error {
	act := map[sweep.Order]ops.SweepAct{
		sweep.Halt: ops.SweepStop, sweep.Pause: ops.SweepPause,
		sweep.Proceed: ops.SweepResume,
	}[o.order]
	return a.askSweep(link, ops.SweepRequest{Act: act, Name: name}, "")
}

func (a *app) listRemote(link connection) error {
	return a.askSweep(link, ops.SweepRequest{Act: ops.SweepList}, "")
}

func (a *app) showRemote(link connection, name string) error {
	if a.asJSON {
		return config.Hint(config.Usagef("--json is for a folder of sweeps here"),
			"the coordinator's page has it at api/sweeps/%s", name)
	}
	return a.askSweep(link, ops.SweepRequest{Act: ops.SweepShow, Name: name}, "")
}

func (a *app) bestRemote(link connection, name string) error {
	return a.askSweep(link, ops.SweepRequest{Act: ops.SweepBest, Name: name}, "")
}

func (a *app) extendRemote(link connection, name string, more int) error {
	return a.askSweep(link, ops.SweepRequest{Act: ops.SweepExtend, Name: name, Trials: more}, "")
}

// hostedSweeps leads the sweeps of a coordinator.
func (a *app) hostedSweeps(dir string, log hclog.Logger) *trials.Sweeps {
	return &trials.Sweeps{
		Dir: dir, Kinds: a.kinds,
		Leader:   trials.Leader{RunsDir: a.runsDir, Page: web.SweepFile, Program: a.invoked, Threads: a.cores, Log: log},
		Describe: a.describeSweep,
	}
}

// describeSweep writes what a sweep has found.
func (a *app) describeSweep(w io.Writer, f trials.Folder, s *sweep.State, best bool) error {
	if best {
		return a.writeBest(w, f, s)
	}
	return writeSweep(w, f, s)
}

// sweepsOf are the sweeps of a folder, for the page.
func sweepsOf(dir string) *web.Sweeps {
	shelf := trials.NewShelf(dir)
	return &web.Sweeps{List: func() any { return shelf.Sweeps() }, Show: func(name string) (any,
		error,
	) {
		return shelf.Sweep(name)
	}}
}
