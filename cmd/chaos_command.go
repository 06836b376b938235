package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/chaos"
	"github.com/switchyard-ml/switchyard/lab/fault"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// Package lab/chaos starts the processes and harms them. The command reads the flags, trains the run without faults
// and compares.

var (
	// errBits is returned when faults changed the bits, which is what chaos tests.
	errBits = errors.New("the parameters differ from the run without faults")
	// errIdle is returned when faults that were asked for did nothing, so that equal bits say nothing about them.
	errIdle = errors.New("the bits are equal, but these faults did nothing and were not tested")
)

const (
	// chaosRun is the name of the run under faults.
	chaosRun = "chaos"
	// chaosCheckpoints is the number of steps or rounds between two checkpoints of a run under faults, unless the
	// command line sets it. A killed coordinator has to compute that many again. It changes no bits.
	chaosCheckpoints = 2
)

// defaultMix is the set of faults for a command line that names none, as flags. A name in it is a flag of
// chaosFlags.add.
var defaultMix = []string{
	"--kill=5s", "--coordinator-kill=20s", "--nats-restart=30s", "--drop=2%", "--dup=1%", "--delay=200ms",
	"--corrupt=0.1%", "--nan=0.1%", "--pause=3s", "--partition=4s", "--disk-full",
}

const (
	// diskFull is the flag whose value may be left out.
	diskFull      = "disk-full"
	diskFullUsual = "3s/60s" // of the flag without a value
)

// chaosFlags are the run and its faults.
type chaosFlags struct {
	// Worker processes; with servers each runs a server of the broker's cluster.
	workers int
	servers bool
	plan    chaos.Plan
	// Time after which the run is stopped; 0: it goes on to its last step.
	duration time.Duration
	keep     bool
	// Faults of each sort whose recovery is timed; 0: the bits are compared instead.
	measure int
}

// parsed is a flag whose text a function parses. It implements pflag.Value: kind is the word for its value in help
// texts, text what was set last.
type parsed struct {
	kind, text string
	set        func(string) error
}

func (p *parsed) String() string { return p.text }
func (p *parsed) Type() string   { return p.kind }
func (p *parsed) Set(text string) error {
	if err := p.set(text); err != nil {
		return err
	}
	p.text = text
	return nil
}

// add defines the flags. Times, shares and outages are parsed by package fault, which also reads the order that a
// process gets.
func (f *chaosFlags) add(c *cobra.Command) {
	flags := c.Flags()
	times := func(to *time.Duration, name, usage string) {
		flags.Var(&parsed{kind: "time", set: reader(to, fault.ParseLength)}, name, usage)
	}
	shares := func(to *float64, name, usage string) {
		flags.Var(&parsed{kind: "share", set: reader(to, fault.ParseShare)}, name, usage)
	}
	outages := func(to *fault.Outage, name, usage string) {
		flags.Var(&parsed{kind: "time[/every]", set: reader(to, fault.ParseOutage)}, name, usage)
	}
	flags.IntVar(&f.workers, "workers", 4, "worker processes, with 1 to 4 slots each (drawn from --seed)")
	flags.BoolVar(&f.servers, "servers", false, "each worker runs a server of a NATS cluster, which dies with it")
	times(&f.plan.Kill, "kill", "kill -9 a random worker this often on average")
	times(&f.plan.CoordinatorKill, "coordinator-kill", "kill -9 the coordinator this often on average")
	times(&f.plan.BrokerRestart, "nats-restart", "kill -9 the broker this often on average")
	shares(&f.plan.Faults.Drop, "drop", "lose this share of the messages, e.g. 2%")
	shares(&f.plan.Faults.Dup, "dup", "duplicate this share of the messages")
	flags.Var(&parsed{kind: "time[/share]", set: reader(&f.plan.Faults.Delay, fault.ParseDelay)}, "delay",
		"delay a share of the messages (default 5%) by up to this time")
	shares(&f.plan.Faults.Corrupt, "corrupt", "flip a bit in this share of the messages")
	shares(&f.plan.Faults.NaN, "nan", "put a NaN into this share of the shard gradients")
	outages(&f.plan.Pause, "pause", "pause a worker for this long (by default, every ten times as long)")
	outages(&f.plan.Faults.Partition, "partition", "cut a process off for this long (by default, every ten times as long)")
	outages(&f.plan.Faults.DiskFull, diskFull, "fill the coordinator's disk for this long")
	flags.Lookup(diskFull).NoOptDefVal = diskFullUsual
	flags.Uint64Var(&f.plan.Seed, "seed", 1, "seed of the faults; the run has its own")
	flags.DurationVar(&f.duration, "duration", 0, "stop the run this long after its first step and compare the last "+
		"step reached (default: train to the last step)")
	flags.IntVar(&f.measure, "measure", 0, "measure recovery times instead, this many per fault")
	flags.BoolVar(&f.keep, "keep", false, "keep runs, logs and samples (they are always kept when something is wrong)")
}

// reader returns a function that parses a text into to. to is set even if the text is wrong; the error then ends
// the command.
func reader[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*to, err = parse(text)
		return err
	}
}

// mix sets the default faults for a command line that names none. One fault on the command line switches all
// defaults off, so that a single sort of fault can be looked at.
func (f *chaosFlags) mix(c *cobra.Command) error {
	for _, setting := range defaultMix {
		name, _, _ := strings.Cut(strings.TrimPrefix(setting, "--"), "=")
		if c.Flags().Changed(name) {
			return nil
		}
	}
	return c.ParseFlags(defaultMix)
}

// detached takes the value of --disk-full from the arguments if it stands behind the flag without an equals sign, as
// with all other flags: "--disk-full 2s/9s". It returns the other arguments.
func (f *chaosFlags) detached(c *cobra.Command, args []string) []string {
	flag := c.Flags().Lookup(diskFull)
	if !flag.Changed || flag.Value.String() != diskFullUsual {
		return args
	}
	for i, text := range args {
		if o, err := fault.ParseOutage(text); err == nil {
			f.plan.Faults.DiskFull = o
			return slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

// Bounds of what chaos is asked for.
const (
	maxChaosWorkers  = 64 // that a machine can start
	maxChaosMeasured = 1000
)

// check returns what is wrong with the numbers of a command line, as a usage error: numbers that the machine cannot
// start or measure, and faults so frequent that a run has no chance to go on.
func (f *chaosFlags) check() error {
	switch {
	case f.workers < 1 || f.workers > maxChaosWorkers:
		return config.Usagef("--workers %d: must be at least 1, and at most %d fit on a machine", f.workers,
			maxChaosWorkers)
	case f.duration < 0:
		return config.Usagef("--duration %v: a length of time, such as 5m", f.duration)
	case f.measure < 0 || f.measure > maxChaosMeasured:
		return config.Usagef("--measure %d: between 0 and %d", f.measure, maxChaosMeasured)
	}
	if err := f.plan.Check(); err != nil {
		return config.Usage(err)
	}
	return nil
}

// chaosCommand is `chaos`: it trains under faults with real processes and compares the bits.
func (a *app) chaosCommand() *cobra.Command {
	var flags chaosFlags
	c := &cobra.Command{
		Use:   "chaos PRESET|FILE.yaml [key=value]...",
		Short: "Train under faults and compare the bits",
		Long: `Train with real processes (a broker, a coordinator and workers) while they are killed,
paused, cut off and sent corrupt messages, and compare the parameters with those of a
single-process run without faults. If any bit differs, the exit code is 1.

The default faults are:
  ` + strings.Join(defaultMix, " ") + `
Intervals between kills and restarts are means. The first worker is never killed, so
that leaks show. The coordinator is killed only when there is a checkpoint that no
coordinator has continued from yet. The report counts each fault and its consequences
(checkpoints restored, logged steps recomputed, blocks reassigned, ...) and gives the
goodput: the share of computed shards that were used. A requested fault that had no
effect is an error too. Everything happens on this machine.

With --servers, the broker and a server in each worker form one NATS cluster. A worker
that is killed takes its server down with it. One that is cut off or paused has its
server cut off or paused too, and falls back to the broker if that lasts (--partition
8s). Messages are lost, duplicated, delayed or corrupted on their way from a process to
its server. No memory is shared, as if each worker were on its own host. With
cluster.exchange=sharded, workers sum the gradient; the report says in how many steps.`,
		Example: "  " + a.invoked + " chaos fhn/smoke train.steps=2000\n" +
			"  " + a.invoked + " chaos fhn train.steps=100000 --duration 1h --kill 15s --drop 2%\n" +
			"  " + a.invoked + " chaos fhn/smoke train.steps=2000 cluster.exchange=sharded --servers\n" +
			"  " + a.invoked + " chaos fhn/smoke train.steps=10000000 --measure 20",
		Args:              atLeastOne("PRESET or FILE.yaml"),
		ValidArgsFunction: a.completeConfig,
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.mix(c); err != nil {
				return err
			}
			return a.chaos(flags.detached(c, args), flags)
		},
	}
	flags.add(c)
	a.jsonFlag(c)
	return c
}

// chaos trains under the faults of the flags, or measures how long a run needs to recover if --measure is given. It
// returns errBits if a bit differs and errIdle if a fault that was asked for did nothing, both with exit code 1.
// Everything is in a temporary folder, which is removed only if nothing is wrong and --keep is not given.
func (a *app) chaos(args []string, flags chaosFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	resolved, _, err := a.resolve(args)
	if err != nil {
		return err
	}
	// The setting goes before those of the command line, which so override it; the configuration has to be read
	// once before, because the number of steps between two exchanges depends on it.
	every := fmt.Sprintf("train.checkpoint_every=%d", chaosCheckpoints*job.Stride(resolved.Config))
	if resolved, _, err = a.resolve(slices.Insert(slices.Clone(args), 1, every)); err != nil {
		return err
	}
	if flags.plan.CoordinatorKill > 0 && resolved.Config.Train.CheckpointEvery == 0 {
		return config.Usagef("--coordinator-kill %v: with train.checkpoint_every=0 there is no checkpoint from which "+
			"a killed coordinator could continue; omit that setting", flags.plan.CoordinatorKill)
	}
	folder, err := os.MkdirTemp(a.getenv("TMPDIR"), "switchyard-chaos-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	screen := a.screen()
	job := &chaosJob{
		app: a, flags: flags, config: resolved.Config, folder: folder, screen: screen,
		log: a.logger(screen, hclog.Warn),
	}
	err = a.untilSaved(screen, "ending all processes", job.run)
	screen.Finish()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted: nothing was compared")
	}
	if err != nil || flags.keep { // a hint would take the place of what the error advises
		fmt.Fprintln(a.err, "runs, logs and samples are in", folder)
		return err
	}
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("remove the folder: %w", err)
	}
	return nil
}

// chaosJob is a run under faults, with the run without faults that it is compared with.
type chaosJob struct {
	app    *app
	flags  chaosFlags
	config config.Config
	folder string
	screen *terminal.Screen
	log    hclog.Logger
}

// run trains under faults and, up to the step that was reached, without; then it prints the report and compares.
// Its context ends at the first signal, which leaves nothing to compare.
func (j *chaosJob) run(ctx context.Context) error {
	// The broker, the coordinator and the workers are this program again, with the commands of these names.
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	settings := filepath.Join(j.folder, "config.yaml")
	if err := os.WriteFile(settings, j.config.YAML(), 0o644); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	cfg := chaos.Config{
		Program: program, Environ: j.environ(), Folder: j.folder, Settings: settings, Name: chaosRun,
		Shards: job.RoundShards(j.config), Stride: job.Stride(j.config), Validation: j.config.Train.Shards,
		Workers: j.flags.workers, Servers: j.flags.servers,
		Sums: j.config.Cluster.Exchange == "sharded", Audit: j.config.Cluster.Audit,
		Detection: j.config.Cluster.FailureDetection, Plan: j.flags.plan, Duration: j.flags.duration,
		Log: j.log.Named("chaos"), Progress: j.progress,
	}
	if j.flags.measure > 0 {
		return j.measure(ctx, cfg)
	}
	result, err := chaos.Run(ctx, cfg)
	if err != nil {
		return err
	}
	reference, err := j.reference(ctx, result.Step)
	if err != nil {
		return fmt.Errorf("run without faults: %w", err)
	}
	if err := j.report(result, reference); err != nil {
		return err
	}
	switch {
	case result.SHA256 != reference:
		return errBits
	// Equal bits say nothing about a fault that did not happen.
	case len(result.Idle) > 0:
		return config.Hint(fmt.Errorf("%w:\n  %s", errIdle, strings.Join(result.Idle, "\n  ")),
			"give the run more steps (train.steps=%d), or shorter times to the faults; or leave out the flags of these faults",
			4*j.config.Train.Steps)
	}
	return nil
}

// environ is the environment of the started processes: that of this process, without the variables that would connect
// them to another cluster.
func (j *chaosJob) environ() []string {
	return slices.DeleteFunc(slices.Clone(j.app.environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, config.Prefix) && name != isaVariable
	})
}

// reference trains up to a step in this process, without faults, and returns the hex SHA-256 of the parameters. It
// writes no checkpoints but the last: they change no bits.
func (j *chaosJob) reference(ctx context.Context, steps uint64) (string, error) {
	c := j.config
	c.Train.Steps, c.Train.CheckpointEvery = steps, 0
	r, err := lead.Make(c, j.folder, job.Origin{Name: "reference"}, 1)
	if err != nil {
		return "", err
	}
	err = r.Train(ctx, j.app.cores, 1, j.log, j.app.progress(j.screen, j.log))
	j.screen.Finish()
	return r.Run.Info().ParametersSHA256, err
}

// progress shows how far the run under faults is: its step, and how often each fault has been injected.
func (j *chaosJob) progress(s chaos.Status) {
	done := terminal.Group(s.Step) + "/" + terminal.Group(s.Steps)
	if j.flags.duration > 0 {
		done = fmt.Sprintf("%s, %s of %s", terminal.Group(s.Step), terminal.Short(s.Elapsed),
			terminal.Short(j.flags.duration))
	}
	line := fmt.Sprintf("under faults: step %s  %s", done, terminal.Count(s.Workers, "worker"))
	for _, name := range slices.Sorted(maps.Keys(s.Faults)) {
		if n := s.Faults[name]; n > 0 {
			line += fmt.Sprintf("  %s %s", name, terminal.Group(n))
		}
	}
	j.screen.Status(line)
}
