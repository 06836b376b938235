package cmd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/web"
)

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
	return a.remoteSweeps(link, func(sweeps trials.Remote) error {
		u, err := sweeps.Submit(ops.SweepRequest{
			Name: r.Folder.Name, Spec: string(r.Text), Files: files, Environment: trials.KeyVariables(a.kinds, r.Environment),
		})
		if err != nil {
			return err
		}
		return a.result(u, func() error {
			return a.printf("submitted  sweep %s: it is under way\n\nnext\n  %s\n", u.Name,
				a.remotely(link, "sweep", "show", u.Name))
		})
	})
}

// onSweeps calls do with the sweeps of a command: those of a coordinator if a broker is named and no folder, or else
// those of the folder.
func (a *app) onSweeps(c *cobra.Command, link connection, flags *sweepFlags, do func(trials.Operations) error) error {
	if link.url == "" || c.Flags().Changed("sweeps-dir") {
		sweeps := &trials.Sweeps{Dir: flags.dir, Kinds: a.kinds, Leader: trials.Leader{Program: a.invoked}}
		return do(folderSweeps{sweeps, a, *flags})
	}
	if err := link.check(c); err != nil {
		return err
	}
	return a.remoteSweeps(link, func(sweeps trials.Remote) error { return do(sweeps) })
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
		Leader: trials.Leader{RunsDir: a.runsDir, Page: web.SweepFile, Program: a.invoked, Threads: a.cores, Log: log},
	}
}

// sweepsOf are the sweeps of a folder, for the page.
func sweepsOf(dir string) *web.Sweeps {
	shelf := trials.NewShelf(dir)
	return &web.Sweeps{List: func() any { return shelf.Sweeps() }, Show: func(name string) (any, error) {
		return shelf.Sweep(name)
	}}
}
