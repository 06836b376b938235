package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/bench"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
	"github.com/switchyard-ml/switchyard/web"
	"github.com/switchyard-ml/switchyard/wire/shm"
	"github.com/switchyard-ml/switchyard/worker"
)

// bench wire and bench sweep measure a coordinator and workers that are all in this process, so that no network and
// no other machine is part of the result.

// sharedCarrier is TCP with shared memory for vectors.
const sharedCarrier = "memory"

// carriers are the ways to carry vectors that can be measured; train uses the first.
var carriers = []string{string(lead.Direct), string(lead.Broker), string(lead.TCP), sharedCarrier}

// carrierTexts say how vectors travel, as part of a sentence about the embedded broker.
var carrierTexts = map[lead.Carrier]string{
	lead.Direct: "handed over in this process", lead.Broker: "through it in this process",
	lead.TCP:      "through it over the loopback device",
	sharedCarrier: "in shared memory",
}

const carrierHelp = `Vectors go as --carrier says: "direct", from party to party of this process, as in
train; "broker", through NATS without leaving the process; "tcp", through NATS over
the loopback device, as for workers in processes of their own; or "memory", in memory
that they share, as for workers in processes of one host.`

// wireFlags are the flags of bench wire.
type wireFlags struct {
	benchFlags
	// Alternations of steps with messages and without, and how vectors travel: one of carriers.
	turns   int
	carrier string
	// Paths of a CPU profile of all turns and of a timeline of one more; empty: none.
	profile string
	trace   string
}

// check returns a usage error for no turns, an unknown carrier, or what benchFlags refuses.
func (f *wireFlags) check() error {
	if f.turns < 1 {
		return config.Usagef("--turns %d: at least one is needed", f.turns)
	}
	if !slices.Contains(carriers, f.carrier) {
		return config.Usagef("--carrier %q: want one of %s", f.carrier, strings.Join(carriers, ", "))
	}
	return cmp.Or(f.benchFlags.check(), tooMany("threads", f.threads))
}

// benchWireCommand is `bench wire`: what messages add to a step.
func (a *app) benchWireCommand() *cobra.Command {
	var f wireFlags
	c := &cobra.Command{
		Use:   "wire PRESET|FILE.yaml [key=value]...",
		Short: "Time steps with messages, against the same arithmetic without",
		Long: `Time updates of a preset with a coordinator and one worker per core over an embedded
broker, alternating with the same arithmetic on as many cores without messages. If there
are more workers than cores, they share the cores in both cases.

` + carrierHelp,
		Args:              atLeastOne("PRESET or FILE.yaml"),
		ValidArgsFunction: a.completeConfig,
		RunE: func(c *cobra.Command, args []string) error {
			return a.benchWire(c, args, f)
		},
	}
	f.add(c, a.cores)
	a.jsonFlag(c)
	c.Flags().IntVar(&f.turns, "turns", 5, "number of alternations")
	c.Flags().StringVar(&f.profile, "cpuprofile", "", "write a CPU profile of all turns to this file, for go tool pprof")
	c.Flags().StringVar(&f.trace, "trace", "", "write a timeline of one more turn to this file, for ui.perfetto.dev or "+
		"chrome://tracing")
	c.Flags().StringVar(&f.carrier, "carrier", carriers[0], "how vectors travel: "+strings.Join(carriers, ", "))
	c.RegisterFlagCompletionFunc("carrier", completeWords(carriers))
	return c
}

// benchWire times the step of a configuration with a coordinator and workers of one slot in this process, by turns
// with the same arithmetic without messages, so that a machine whose speed drifts slows both. Checkpoints go into a
// folder that is removed at the end.
func (a *app) benchWire(c *cobra.Command, args []string, f wireFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	p, err := a.benchPlan(args)
	if err != nil {
		return err
	}
	dir, remove, err := a.benchFolder()
	if err != nil {
		return err
	}
	defer remove()
	way := lead.Carrier(f.carrier)
	if f.carrier == sharedCarrier {
		way = lead.TCP // for messages
	}
	link, err := lead.Embed(way, a.logger(a.err, hclog.Warn))
	if err != nil {
		return err
	}
	defer link.Close()
	cfg := bench.WireConfig{
		Run: p.Step(), Theta: p.Theta, Workers: f.threads, Connect: link.Connect, Dir: dir, Turns: f.turns,
		Carrier: f.carrier, Steps: f.steps,
		Program: func(slots int) (worker.Program, error) { return p.Shards(slots) },
	}
	if f.carrier == sharedCarrier {
		cfg.Memory = shm.Directory(dir)
	}
	// Files that cannot be made end the command before minutes of measuring.
	for _, output := range []struct {
		what, path string
		to         *io.Writer
	}{{"profile", f.profile, &cfg.Profile}, {"timeline", f.trace, &cfg.Trace}} {
		if output.path == "" {
			continue
		}
		file, failed := os.Create(output.path)
		if failed != nil {
			return fmt.Errorf("write the %s: %w", output.what, failed)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		*output.to = file
	}
	w, err := bench.MeasureWire(c.Context(), cfg)
	if err != nil {
		return fmt.Errorf("measure the messages of %s: %w", p.Config.Preset, err)
	}
	return a.printWire(p, w, f)
}

// benchFolder makes a folder for the runs of a measurement, and returns the function that removes it. A signal removes
// it, too.
func (a *app) benchFolder() (dir string, remove func(), err error) {
	dir, forget, err := a.leftovers.make(func() (string, error) { return os.MkdirTemp("", "switchyard-bench-*") })
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the measurement: %w", err)
	}
	return dir, func() {
		_ = os.RemoveAll(dir) // it is a temporary one
		forget()
	}, nil
}

// printWire prints the times with and without messages, their difference per step, and the bytes that the
// coordinator received and sent.
func (a *app) printWire(p *job.Plan, w bench.Wire, f wireFlags) error {
	if a.asJSON {
		return a.printJSON(struct {
			Preset     string `json:"preset"`
			Parameters int    `json:"parameters"`
			bench.Wire
		}{p.Config.Preset, len(p.Theta), w})
	}
	t := terminal.NewTable("messages of "+p.Config.Preset, terminal.Group(len(p.Theta))+" parameters").Left(1)
	t.Row("workers", terminal.Count(w.Workers, "worker")+" of one slot, embedded NATS, vectors "+
		carrierTexts[lead.Carrier(f.carrier)])
	t.Row("with messages", fmt.Sprintf("%s (%s to %s, %d steps)", milliseconds(w.Seconds.Median),
		milliseconds(w.Seconds.Min), milliseconds(w.Seconds.Max), w.Steps))
	t.Row("without", fmt.Sprintf("%s (%s to %s)", milliseconds(w.PlainSeconds.Median), milliseconds(w.PlainSeconds.Min),
		milliseconds(w.PlainSeconds.Max)))
	t.Row("cost", fmt.Sprintf("%s per step, %+.1f %%", milliseconds(w.MessageCost), 100*w.Overhead))
	t.Row("bytes", fmt.Sprintf("%s in and %s out per step, %s for each worker", terminal.Bytes(int64(w.BytesIn)),
		terminal.Bytes(int64(w.BytesOut)), terminal.Bytes(int64(w.PerWorker))))
	_, err := t.WriteTo(a.out)
	return err
}

// sweepBench are the flags of bench sweep.
type sweepBench struct {
	// Workers of one slot each, trials of the sweep, and updates of a trial that reaches its end.
	workers, trials, steps int
	// Time that a shard takes: slots wait for so long and compute nothing.
	shard                 time.Duration
	preset, stop, profile string
}

// benchSweepCommand is `bench sweep`: how busy a sweep of short trials keeps the workers.
func (a *app) benchSweepCommand() *cobra.Command {
	var f sweepBench
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Measure how busy a sweep of short trials keeps the workers",
		Long: `Lead a sweep of short trials in a temporary folder, and report how long the workers'
slots had a shard to compute, and how much processor time everything else took.

The slots do not compute. They wait for the time given by --shard instead, so that the
workers need not share the cores of this machine: the scheduling is what is measured.
Processor time is attributed to goroutines by 100 samples per second.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.benchSweep(c, f) },
	}
	flags := c.Flags()
	flags.IntVar(&f.workers, "workers", 8, "workers, of one slot each")
	flags.IntVar(&f.trials, "trials", 300, "trials")
	flags.IntVar(&f.steps, "steps", 135, "updates of a trial that is not stopped early")
	flags.DurationVar(&f.shard, "shard", 2*time.Millisecond, "time that a shard takes; 8 of them are an update")
	flags.StringVar(&f.preset, "preset", "fhn", "preset, whose parameters are sent and updated")
	flags.StringVar(&f.stop, "stop", "halving", "how trials are stopped early: "+listOf(sweep.StopTypes()))
	flags.StringVar(&f.profile, "cpuprofile", "", "write a CPU profile to this file, for go tool pprof")
	a.jsonFlag(c)
	c.RegisterFlagCompletionFunc("stop", completeWords(sweep.StopTypes()))
	c.RegisterFlagCompletionFunc("preset", completePresets)
	return c
}

// check returns a usage error for numbers without a sweep, and for names that text must not write, as nobody has seen
// its lines. Nine updates are the fewest that the rungs of early stopping divide: text sets min_iter to a ninth.
func (f sweepBench) check() error {
	if !slices.Contains(sweep.StopTypes(), sweep.StopType(f.stop)) {
		return config.Usagef("--stop %s: must be %s", f.stop, listOf(sweep.StopTypes()))
	}
	if !slices.ContainsFunc(config.Presets(), func(p config.Preset) bool { return p.Name == f.preset }) {
		return config.Hint(config.Usagef("--preset %s: there is no such preset", f.preset),
			"switchyard train --help lists them")
	}
	if err := tooMany("workers", f.workers); err != nil {
		return err
	}
	if f.workers < 1 || f.trials < 1 || f.steps < 9 || f.shard < 0 {
		return config.Usagef("%d trials of %d updates on %d workers, %s for a shard: at least 1, 9, 1 and 0s are needed",
			f.trials, f.steps, f.workers, f.shard)
	}
	return nil
}

// text is the file of the sweep that is measured: a random search for a learning rate, with validation after each
// third of a trial and without checkpoints, since neither the disk nor the model is what is measured.
func (f sweepBench) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "preset: %s\nmethod: random\nrun_cap: %d\n", f.preset, f.trials)
	fmt.Fprintf(&b, "parameters:\n  optim.rate: {min: 1e-4, max: 1e-2, distribution: log_uniform_values}\n")
	fmt.Fprintf(&b, "  train.steps: %d\n  train.validate_every: %d\n  train.checkpoint_every: 0\n", f.steps, (f.steps+2)/3)
	fmt.Fprintf(&b, "early_terminate: {type: %s", f.stop)
	if f.stop != "none" {
		fmt.Fprintf(&b, ", min_iter: %d", f.steps/9)
	}
	return b.String() + "}\n"
}

// benchSweep leads the sweep to its end in a temporary folder and prints how the time of the slots was spent.
// Broker, coordinator and workers are each started under the label of their part, which the goroutines that they
// start inherit; that is how a profile of one process tells them apart.
func (a *app) benchSweep(c *cobra.Command, f sweepBench) error {
	if err := f.check(); err != nil {
		return err
	}
	dir, remove, err := a.benchFolder()
	if err != nil {
		return err
	}
	defer remove()
	folder := trials.Folder{Dir: dir, Name: "bench"}
	j, err := trials.Prepare(trials.Request{
		Kinds: a.kinds, Folder: folder, Path: filepath.Join(dir, "bench.yaml"),
		Text: []byte(f.text()),
	})
	if err != nil {
		return err
	}
	log := a.logger(a.err, hclog.Error)
	var transport *lead.Transport
	bench.As(partBroker, func() { transport, err = lead.Embed(lead.Direct, log) })
	if err != nil {
		return err
	}
	defer transport.Close()
	var h *trials.Host
	bench.As(partCoordinator, func() {
		h, err = j.Host(lead.Config{Command: a.command, Mistaken: mistaken}, transport,
			trials.Leader{Page: web.SweepFile, Program: a.invoked, Threads: 1, Log: log}, 0)
	})
	if err != nil {
		return err
	}
	defer h.Close()
	occupancy := &bench.Occupancy{Shard: f.shard}
	var dismiss func()
	bench.As(partWorkers, func() {
		dismiss, err = a.hire(transport.Connect, trainFlags{workers: f.workers, slots: 1},
			watched(occupancy, job.Build(a.kinds)), log)
	})
	if err != nil {
		return err
	}
	var shares bench.Shares
	parts, err := profiled(f.profile, func() (err error) {
		meter := occupancy.Begin()
		bench.As(partCoordinator, func() { err = h.Lead(c.Context(), nil) })
		measured, unmeasured := meter.End(f.workers)
		shares = measured
		return errors.Join(err, unmeasured)
	})
	dismiss()
	if err != nil {
		return err
	}
	return a.printSweepBench(f, shares, parts)
}

// The parts of the program whose processor time is told apart.
const (
	partCoordinator = "coordinator"
	partWorkers     = "workers"
	partBroker      = "broker"
)

// watched are the builders of workers whose programs are watched: they wait in place of computing, and their slots
// are counted as busy meanwhile. n is the number of the worker.
func watched(o *bench.Occupancy, build lead.Builder) func(n int) lead.Builder {
	return func(n int) lead.Builder {
		return func(text, data []byte, slots int) (worker.Program, error) {
			p, err := build(text, data, slots)
			if err != nil {
				return nil, err
			}
			return o.Watch(p, n, slots), nil
		}
	}
}

// profiled profiles a call, to a file unless the path is empty, and returns the share of each part of the program
// in the processor time. The shares add up to one, unless the call was too short for a sample. The part "" is
// shared work.
func profiled(path string, call func() error) (parts map[string]float64, err error) {
	if path == "" {
		return bench.Profile(io.Discard, call)
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write the profile: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return bench.Profile(file, call)
}

// printSweepBench prints the shares of the time of all slots: busy, idle for three reasons, and the processor time
// of this process, divided among its parts.
func (a *app) printSweepBench(f sweepBench, s bench.Shares, parts map[string]float64) error {
	of := func(part string) float64 { return s.Cost * parts[part] }
	if a.asJSON {
		return a.printJSON(struct {
			Preset       string  `json:"preset"`
			Trials       int     `json:"trials"`
			Stop         string  `json:"stop"`
			Steps        int     `json:"steps"`
			ShardSeconds float64 `json:"shard_seconds"`
			bench.Shares
			Coordinator float64 `json:"cost_of_coordinator"` // these four add up to the cost
			Workers     float64 `json:"cost_of_workers"`
			Broker      float64 `json:"cost_of_broker"`
			Shared      float64 `json:"cost_shared"`
		}{
			f.preset, f.trials, f.stop, f.steps, f.shard.Seconds(), s, of(partCoordinator), of(partWorkers), of(partBroker),
			of(""),
		})
	}
	percent := func(x float64) string { return fmt.Sprintf("%.2f %%", 100*x) }
	t := terminal.NewTable("sweep", fmt.Sprintf("%d trials of up to %d updates, %s", f.trials, f.steps, f.stop)).Left(1)
	t.Row("slots", fmt.Sprintf("%d, for %.1f s, with %s shards of %s", s.Slots, s.Seconds, terminal.Group(s.Shards),
		f.shard))
	t.Row("busy", percent(s.Busy)+" of the time of the slots")
	t.Row("idle in a run", percent(s.InRun)+", between two shards: messages, and updates of the parameters")
	t.Row("idle between", percent(s.Between)+", between two runs")
	t.Row("idle at ends", percent(s.Ends)+", before the first shard and after the last of each slot")
	t.Row("cost", percent(s.Cost)+" of the time of the slots: processor time of this process. By samples, of these")
	t.Row("coordinator", percent(of(partCoordinator))+", decisions, runs, their updates, files, and messages to workers")
	t.Row("workers", percent(of(partWorkers))+", programs, and messages to coordinators")
	t.Row("broker", percent(of(partBroker)))
	t.Row("shared", percent(of(""))+", the collection of garbage of all of them")
	_, err := t.WriteTo(a.out)
	return err
}
