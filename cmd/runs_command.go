package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/ops"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/web"
	"github.com/switchyard-ml/switchyard/wire"
)

// runsCommand is the group `runs`. Commands with --nats ask a coordinator; all others work on the local folder.
func (a *app) runsCommand() *cobra.Command {
	c := group("runs", "List, show, compare, label, rename, remove and export runs", `List, show, stop, compare, label, rename, remove, prune and export runs. With --nats the runs
are those of the coordinator at that broker, not those in the local folder.`)
	c.AddCommand(a.runsListCommand(), a.runsShowCommand(), a.runsStopCommand(), a.runsCompareCommand(),
		a.runsRenameCommand(), a.runsLabelCommand(), a.runsRemoveCommand(), a.runsPruneCommand(), a.runsExportCommand())
	return c
}

// runsListCommand is `runs ls`: the runs, and below them the banned keys; with --json the runs alone.
func (a *app) runsListCommand() *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the runs, latest first",
		Args:  exactly(),
		RunE: func(c *cobra.Command, _ []string) (err error) {
			list, bans, where, err := a.listRuns(c, link)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(append([]store.Info{}, list...)) // an empty JSON list, not null
			}
			defer func() { err = errors.Join(err, a.listBans(bans)) }()
			if len(list) == 0 {
				return a.printf("no runs %s\n", where)
			}
			waiting := a.waiting(list, link)
			table := terminal.NewTable("name", "state", "step", "best objective", "disk", "preset", "started").Left(1, 5, 6)
			for _, r := range list {
				table.Row(r.Name, cmp.Or(waiting[r.Name], string(r.State)), terminal.Group(r.Step)+"/"+terminal.Group(r.Steps),
					metric(r, "best_validation_objective"), a.diskOf(r.Name, link), r.Preset, r.Started.Local().Format(time.DateTime))
			}
			_, err = table.WriteTo(a.out)
			return err
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// waiting are the runs of a coordinator that go on without a worker, as "waiting".
func (a *app) waiting(list []store.Info, link connection) map[string]string {
	found := map[string]string{}
	if link.url == "" {
		return found
	}
	err := a.ask(link, func(ctx context.Context, client *ops.Client) error {
		for _, r := range list {
			if r.State != store.Running {
				continue
			}
			if now, err := showRun(ctx, client, r.Name); err == nil && now.Live != nil && len(now.Live.Workers) == 0 {
				found[r.Name] = "waiting"
			}
		}
		return nil
	})
	if err != nil { // the list is right without it
		return nil
	}
	return found
}

// diskOf is the room that a run takes; that of a run elsewhere is not known here.
func (a *app) diskOf(name string, link connection) string {
	size, err := store.Size(a.runsDir, name)
	if err != nil || link.url != "" {
		return "-"
	}
	return terminal.Bytes(size)
}

// listBans prints the banned keys, if there are any.
func (a *app) listBans(bans []wire.Ban) error {
	if len(bans) == 0 {
		return nil
	}
	table := terminal.NewTable("banned key", "since", "reason").Left(1, 2)
	for _, b := range bans {
		table.Row(b.Key, b.Since.Local().Format(time.DateTime), b.Reason)
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	_, err := table.WriteTo(a.out)
	return err
}

// listRuns returns the runs of a coordinator, or of the local folder, with the banned keys, and says where to find them
// and how to start one.
func (a *app) listRuns(c *cobra.Command, link connection) (list []store.Info, bans []wire.Ban, where string,
	err error,
) {
	if err := link.unnamed(c); err != nil {
		return nil, nil, "", err
	}
	if link.url == "" {
		list, err = store.List(a.runsDir)
		if err == nil {
			bans, err = cluster.Load(a.runsDir)
		}
		return list, bans, fmt.Sprintf("in %s; start one with: %s", a.runsDir, a.command("train", "fhn")), err
	}
	if err := link.check(c); err != nil {
		return nil, nil, "", err
	}
	err = a.ask(link, func(ctx context.Context, client *ops.Client) error {
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		all, err := client.Runs(ctx)
		for _, r := range all.Runs {
			list = append(list, r.Info)
		}
		for _, b := range all.Bans {
			bans = append(bans, wire.Ban(b))
		}
		if all.LeftOut > 0 {
			a.remark("note", fmt.Sprintf("the oldest are left out: %s", terminal.Count(all.LeftOut, "run")))
		}
		return err
	})
	return list, bans, fmt.Sprintf("at the coordinator; start one with: %s", a.remotely(link, "submit", "fhn")), err
}

// runsShowCommand is `runs show`: what is known of one run, here or at a coordinator.
func (a *app) runsShowCommand() *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show state, metrics and files of a run",
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			r, folder, err := a.findRun(c, link, args[0])
			switch {
			case err != nil:
				return err
			case a.asJSON:
				return a.printJSON(r)
			}
			var labels store.Labels
			if link.url == "" { // a coordinator does not tell those of its runs
				labels, _ = store.ReadLabels(a.runsDir, r.Name) // what is damaged is in the list of damage
			}
			return a.showRun(r, labels, folder)
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// findRun returns a run of a coordinator, or of the local folder, and the path of its folder.
func (a *app) findRun(c *cobra.Command, link connection, name string) (r web.Run, folder string, err error) {
	if err := link.unnamed(c); err != nil {
		return r, "", err
	}
	if link.url == "" {
		r, err = web.Folder(a.runsDir).Run(name)
		return r, filepath.Join(a.runsDir, name), a.missingRun(err)
	}
	if err := link.check(c); err != nil {
		return r, "", err
	}
	err = a.ask(link, func(ctx context.Context, client *ops.Client) error {
		r, err = showRun(ctx, client, name)
		return err
	})
	return r, "at the coordinator", err
}

// runsStopCommand is `runs stop`. It needs a broker: a run of this machine is stopped by a signal to its process.
func (a *app) runsStopCommand() *cobra.Command {
	var link connection
	c := &cobra.Command{
		Use:   "stop NAME",
		Short: "Stop a run of a coordinator, with a checkpoint",
		Long: `Stop a run of a coordinator. It finishes its current step and writes a checkpoint, from
which it continues to the same bits when it is submitted again under the same name.`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if err := link.check(c); err != nil {
				return err
			}
			return a.ask(link, func(ctx context.Context, client *ops.Client) error { return a.stopRun(ctx, client, args[0]) })
		},
	}
	link.add(c, a)
	a.jsonFlag(c)
	return c
}

// stopRun stops a run and waits until it has stopped, for openLimit at most, as its step may take long.
func (a *app) stopRun(ctx context.Context, client *ops.Client, name string) error {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if err := client.Stop(ctx, name); err != nil {
		return err
	}
	for {
		r, err := client.Run(ctx, name)
		switch {
		case err != nil:
			return err
		case r.State == store.Interrupted:
			return a.result(r.Info, func() error {
				return a.printf("run %s is stopped, with a checkpoint of step %s\n", name, terminal.Group(r.Checkpoint))
			})
		case r.State != store.Running:
			return a.result(r.Info, func() error {
				return a.printf("run %s is %s at step %s\n", name, r.State,
					terminal.Group(r.Step))
			})
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("run %s is being stopped, and has not stopped yet", name)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// showRun prints a table about a run with its labels; none: it has none, or they are not known. folder is the path of
// its folder, or says where it is.
func (a *app) showRun(r web.Run, l store.Labels, folder string) error {
	info := r.Info
	table := terminal.NewTable("run", info.Name).Left(1)
	state := string(info.State)
	if info.ExitReason != "" {
		state += ": " + info.ExitReason
	}
	table.Row("state", state)
	for _, d := range r.Damage {
		table.Row("damaged", fmt.Sprintf("%s: %s; %s", d.File, d.What, d.Remedy))
	}
	if info.State == store.Damaged { // nothing else is known
		table.Row("folder", folder)
		table.Row("remove", a.command("runs", "rm", info.Name))
		_, err := table.WriteTo(a.out)
		return err
	}
	if info.Was != "" {
		table.Row("renamed", "it began as "+info.Was)
	}
	if !reflect.DeepEqual(l, store.Labels{}) {
		table.Row("labels", labelled(l))
	}
	table.Row("step", terminal.Group(info.Step)+" of "+terminal.Group(info.Steps))
	table.Row("preset", info.Preset+", seed "+strconv.FormatUint(info.Seed, 10))
	table.Row("parameters", terminal.Group(info.Parameters))
	table.Row("checkpoint", checkpointOf(info))
	table.Row("validation", validationOf(info))
	table.Row("time", fmt.Sprintf("started %s, updated %s", info.Started.Local().Format(time.DateTime),
		info.Updated.Local().Format(time.DateTime)))
	table.Row("program", fmt.Sprintf("%s, revision %s, %s kernels", info.Versions["switchyard"],
		cmp.Or(info.GitRevision, "unknown"), info.Versions["kernels"]))
	if r.Live != nil {
		table.Row("workers", workersOf(*r.Live))
		if len(r.Live.Workers) > 0 {
			table.Row("shared memory", sharersOf(*r.Live))
		}
		if e := r.Live.Exchange; e != "" && e != "star" {
			table.Row("exchange", e)
		}
	}
	table.Row("folder", folder)
	_, err := table.WriteTo(a.out)
	return err
}

// checkpointOf describes the newest checkpoint of a run.
func checkpointOf(info store.Info) string {
	switch {
	case info.Checkpoint == 0:
		return "none yet"
	case info.ParametersSHA256 == "":
		return "step " + terminal.Group(info.Checkpoint)
	}
	return fmt.Sprintf("step %s, params_sha256 %s", terminal.Group(info.Checkpoint), info.ParametersSHA256)
}

// validationOf describes the last validation and the best; the bounds and the regimes where the model has them.
func validationOf(info store.Info) string {
	if _, validated := info.Metrics["validation_objective"]; !validated {
		return "none yet"
	}
	text := fmt.Sprintf("objective %s, best %s at step %s", metric(info, "validation_objective"),
		metric(info, "best_validation_objective"), terminal.Group(uint64(info.Metrics["best_step"])))
	if _, bounded := info.Metrics["validation_elbo"]; bounded {
		text += "; elbo " + metric(info, "validation_elbo")
	}
	if _, weighted := info.Metrics["validation_importance_elbo"]; weighted {
		text += ", importance-weighted " + metric(info, "validation_importance_elbo")
	}
	if _, switches := info.Metrics["validation_regimes_in_use"]; switches {
		text += ", regimes in use " + metric(info, "validation_regimes_in_use")
	}
	return text
}

// workersOf describes the workers of a run, or what the run waits for.
func workersOf(live web.Live) string {
	slots, speed := 0, 0.0
	for _, w := range live.Workers {
		slots, speed = slots+w.Slots, speed+w.Speed
	}
	text := "none"
	if len(live.Workers) > 0 {
		text = fmt.Sprintf("%d with %s, %s shards/s", len(live.Workers), terminal.Count(slots, "slot"),
			strconv.FormatFloat(speed, 'f', max(0, 2-int(math.Log10(max(speed, 1)))), 64))
	}
	if live.Waiting != "" {
		text += "; it waits: " + live.Waiting
	}
	if len(live.Quarantined) > 0 {
		text += "; cut off: " + strings.Join(live.Quarantined, ", ")
	}
	return text
}

// sharersOf names the workers whose parameters and gradients go by memory that they share with the coordinator.
func sharersOf(live web.Live) string {
	var list []string
	for _, w := range live.Workers {
		if w.Shares {
			list = append(list, w.ID)
		}
	}
	switch len(list) {
	case 0:
		return "with none of the workers"
	case len(live.Workers):
		return "with all workers"
	}
	return "with " + strings.Join(list, ", ")
}

// metric is a metric of a run with five digits, or - if the run does not have it.
func metric(info store.Info, name string) string {
	v, ok := info.Metrics[name]
	if !ok {
		return "-"
	}
	return terminal.Number(v, 5)
}

// missingRun adds the most similar name of a run to an error that there is no such run.
func (a *app) missingRun(err error) error {
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	list, listErr := store.List(a.runsDir)
	if listErr != nil || len(list) == 0 {
		return config.Hint(err, "there are no runs in %s yet", a.runsDir)
	}
	var words []string
	for _, r := range list {
		words = append(words, r.Name)
	}
	if near := setting.Nearest(filepath.Base(err.Error()), words); near != "" {
		return config.Hint(err, "did you mean %s?", near)
	}
	return config.Hint(err, "%s lists them", a.command("runs", "ls"))
}
