package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/cluster"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/store"
)

// coordinatorFlags are the flags of the coordinator command.
type coordinatorFlags struct {
	// The broker at which workers and clients meet the coordinator, and the page, which is on by default.
	link connection
	page webFlags
	// Preset or file of a run to lead from the start, and its name; empty: none.
	config, name string
	// Folder of submitted sweeps; events writes event files of TensorBoard, share lets workers of this host share
	// memory.
	sweepsDir string
	events    bool
	share     memoryFlag
}

// coordinatorCommand is `coordinator`: it leads runs on workers of other processes until a signal ends it. A wrong
// address, a relative folder of shared memory and a --name without --config are usage errors.
func (a *app) coordinatorCommand() *cobra.Command {
	var flags coordinatorFlags
	c := &cobra.Command{
		Use:   "coordinator",
		Short: "Lead runs on workers in other processes",
		Long: `Lead any number of runs at the same time. Their workers are other processes, on this or
other machines, and meet the coordinator at a NATS server. Workers go where there is work.

Runs come from ` + "`submit`" + `, or from --config. When it starts, it continues all unfinished
runs in its folder that a coordinator has led before. It stays up when runs end. SIGTERM
or Ctrl-C writes a checkpoint of each run and exits, with code 3 if a run was in
progress.`,
		Example: "  " + a.invoked + " coordinator --nats nats://10.0.0.7:4222\n" +
			"  " + a.invoked + " coordinator --nats nats://10.0.0.7:4222 --config fhn --name first",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(flags.share.check(), flags.link.check(c)); err != nil {
				return err
			}
			return a.coordinate(flags)
		},
	}
	flags.link.add(c, a)
	c.Flags().StringVar(&flags.config, "config", "",
		"preset or FILE.yaml of a run to lead; an existing run is continued")
	c.Flags().StringVar(&flags.name, "name", "", "name of the run of --config (default: made from preset and model, "+
		"with -1)")
	c.Flags().StringVar(&flags.sweepsDir, "sweeps-dir", usualSweeps, "folder of submitted sweeps")
	flags.share.add(c)
	addEvents(c, &flags.events)
	flags.page.add(c)
	return c
}

// coordinate leads runs until a signal ends it. What would fail later is tried first: that the folder of runs can
// be written, that the run of --config can be prepared, that the page's address is free. It returns
// coordinator.ErrInterrupted, with exit code 3, if a run was in progress.
func (a *app) coordinate(flags coordinatorFlags) error {
	log := a.logger(a.err, hclog.Info)
	faults, err := a.injector("coordinator", log)
	if err != nil {
		return err
	}
	connect := func(party string) (*cluster.Bus, error) { return flags.link.connect(party, log.Named("broker")) }
	sweeps := a.hostedSweeps(flags.sweepsDir, log)
	flags.page.sweeps, flags.page.model = sweepsOf(flags.sweepsDir), a.portrait
	// The sweeps answer for the host, and need it to lead their trials, so that each gets the other.
	h := lead.New(lead.Config{
		Ready: sweeps.Ready, Sweep: sweeps.Answer,
		RunsDir: a.runsDir, URL: flags.link.url, Connect: connect, Faults: faults,
		Kinds:   a.kinds,
		Command: a.command, Mistaken: mistaken, Log: log, Events: flags.events, Memory: flags.share.host(),
	})
	sweeps.Leader.Host = h
	if err := writable(a.runsDir); err != nil {
		return config.Hint(err, "the runs, with their checkpoints, are kept there: give another folder with --runs-dir, "+
			"or let user %d write it", os.Getuid())
	}
	first, err := a.firstOrder(flags)
	if err != nil {
		return err
	}
	if first != nil {
		if err := h.Prepare(first); err != nil {
			return err
		}
	}
	if err := h.Connect(); err != nil {
		return err
	}
	defer h.Close()
	page, err := flags.page.open(h.Page(), a.runsDir, log)
	if err != nil {
		return err
	}
	err = a.untilSaved(a.err, "finishing the current steps, writing checkpoints", func(ctx context.Context) error {
		return h.Serve(ctx, page, first)
	})
	if errors.Is(err, errAborted) {
		return config.Hint(err, "the checkpoints are intact; start the coordinator again, and its runs continue")
	}
	return errors.Join(err, faults.Close())
}

// writable makes a folder if it is missing, and returns an error if no file can be created in it. It finds that out
// by writing an empty file, because permissions alone do not tell of a read-only or full file system.
func writable(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of runs: %w", err)
	}
	probe := filepath.Join(folder, ".writable")
	if err := errors.Join(store.WriteFile(probe, nil), os.Remove(probe)); err != nil {
		return fmt.Errorf("write to the folder of runs: %w", err)
	}
	return nil
}

// firstOrder is the run that --config and --name ask for; nil if they ask for none. --name alone and a setting in
// place of a preset or file are usage errors.
func (a *app) firstOrder(flags coordinatorFlags) (*lead.Order, error) {
	if flags.config == "" {
		if flags.name != "" {
			return nil, config.Hint(config.Usagef("--name needs --config, the run that it names"), "e.g. --config fhn --name %s",
				flags.name)
		}
		return nil, nil
	}
	if strings.Contains(flags.config, "=") {
		return nil, config.Hint(config.Usagef("--config takes a preset or a file"), "put %s into a file, or use: %s",
			flags.config, a.command("submit"))
	}
	resolved, overrides, err := a.resolve([]string{flags.config})
	if err != nil {
		return nil, err
	}
	return &lead.Order{
		Name: flags.name, Config: resolved.Config, Overrides: overrides,
		Command: []string{"coordinator", "--config", flags.config},
	}, nil
}
