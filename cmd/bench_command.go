package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/bench"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/trained"
	"github.com/switchyard-ml/switchyard/worker"
)

// benchCommand is the group `bench`: measurements of this machine. None of them changes a run.
func (a *app) benchCommand() *cobra.Command {
	c := group("bench", "Measure kernels, the training step and the cost of messages", `Measure on this machine: medians with their spread, compared with the peak of its FMA
units, which is measured in between. Run nothing else at the same time.`)
	c.AddCommand(a.benchStepCommand(), a.benchKernelsCommand(), a.benchWireCommand(), a.benchScaleCommand(),
		a.benchServeCommand(), a.benchSweepCommand(), a.benchReportCommand())
	return c
}

// benchFlags are the flags of the measurements of steps.
type benchFlags struct {
	// Cores to use, and the least number of steps and of seconds that are measured; bench wire has no least time.
	threads int
	steps   int
	seconds float64
}

// add defines the flags that bench step and bench wire share.
func (f *benchFlags) add(c *cobra.Command, cores int) {
	c.Flags().IntVar(&f.threads, "threads", cores, "cores to use")
	c.Flags().IntVar(&f.steps, "steps", 10, "least number of steps to measure")
}

// check returns a usage error unless there is at least one thread and one step.
func (f *benchFlags) check() error {
	if f.threads < 1 || f.steps < 1 {
		return config.Usagef("%d steps on %d threads: at least one of each is needed", f.steps, f.threads)
	}
	return nil
}

// benchPlan is the plan of the step to be measured; there is no run. A configuration with local steps, and a family
// of models that is not trained by gradient, are usage errors: they have no such step.
func (a *app) benchPlan(args []string) (*job.Plan, error) {
	resolved, _, err := a.resolve(args)
	if err != nil {
		return nil, err
	}
	c := resolved.Config
	if job.LocalSteps(c) {
		return nil, config.Usagef("train.method=%s: what is measured is the step of a synchronous run, and the local step "+
			"of all replicas is the same arithmetic; leave it synchronous", c.Train.Method)
	}
	if job.Sweeping(c) {
		return nil, config.Usagef("model.kind=%s: what is measured is a step of training by gradient, and this family has "+
			"none; choose another", c.Model.Kind)
	}
	return job.Prepare(c, nil, 1)
}

// benchStepCommand is `bench step`: the time of a training step without messages.
func (a *app) benchStepCommand() *cobra.Command {
	var f benchFlags
	var profile string
	c := &cobra.Command{
		Use:   "step PRESET|FILE.yaml [key=value]...",
		Short: "Time the training step without messages",
		Long: `Time updates of a preset without messages: gradients of all shards on the given
cores, their sum in the fixed tree, clipping and Adam.`,
		Args:              atLeastOne("PRESET or FILE.yaml"),
		ValidArgsFunction: a.completeConfig,
		RunE:              func(_ *cobra.Command, args []string) error { return a.benchStep(args, f, profile) },
	}
	f.add(c, a.cores)
	a.jsonFlag(c)
	c.Flags().Float64Var(&f.seconds, "seconds", 3, "least time to measure, in seconds")
	c.Flags().StringVar(&profile, "cpuprofile", "", "write a CPU profile of the measured steps to this file, for go "+
		"tool pprof")
	return c
}

// benchStep measures the step of the configuration that args name, for as many steps as f.steps and as long as
// f.seconds, whichever is more, and prints it. A profile, if its path is not empty, covers the measured steps
// alone.
func (a *app) benchStep(args []string, f benchFlags, profile string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	p, err := a.benchPlan(args)
	if err != nil {
		return err
	}
	// One program with a slot for each thread, as a worker has it.
	program, err := p.Shards(f.threads)
	if err != nil {
		return err
	}
	// The measurement ends when both are reached.
	budget := bench.Budget{Steps: f.steps, Time: time.Duration(f.seconds * float64(time.Second))}
	if profile != "" {
		file, failed := os.Create(profile)
		if failed != nil {
			return fmt.Errorf("write the profile: %w", failed)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		budget.Profile = file
	}
	s, err := bench.MeasureStep(program, p.Theta, p.Config.Train.Shards, f.threads, program.Flops, budget)
	if err != nil {
		return fmt.Errorf("measure the step of %s: %w", p.Config.Preset, err)
	}
	return a.printStep(p, s, program.Memory(f.threads))
}

// printStep prints time, speed and allocations of a step, and the memory that a worker with all shards would need.
func (a *app) printStep(p *job.Plan, s bench.Step, memory worker.Memory) error {
	if a.asJSON {
		return a.printJSON(struct {
			Preset    string        `json:"preset"`
			Switching string        `json:"switching"`
			Kernels   string        `json:"kernels"`
			Bytes     int           `json:"memory_bytes"`
			Memory    worker.Memory `json:"memory"`
			bench.Step
		}{p.Config.Preset, config.Describe(p.Config).Variant, kernel.Active().String(), memory.Total(), memory, s})
	}
	t := terminal.NewTable("step of "+p.Config.Preset, config.Describe(p.Config).Variant).Left(1)
	t.Row("on", fmt.Sprintf("%s, %s kernels", terminal.Count(s.Threads, "thread"), kernel.Active()))
	t.Row("time", fmt.Sprintf("%s (%s to %s, %d steps)", milliseconds(s.Seconds.Median), milliseconds(s.Seconds.Min),
		milliseconds(s.Seconds.Max), s.Steps))
	t.Row("speed", fmt.Sprintf("%.1f GFLOP/s, %.1f %% of the peak of %.1f", s.GFLOPS, 100*s.PeakFraction, s.PeakGFLOPS))
	t.Row("allocated", fmt.Sprintf("%.1f times, %.0f bytes per step", s.AllocsPerStep, s.BytesPerStep))
	size := func(n int) string { return terminal.Bytes(int64(n)) }
	t.Row("memory", fmt.Sprintf("%s for a worker with all shards: %s tensors, %s sums of gradients, %s parameters, %s "+
		"episodes, %s batches",
		size(memory.Total()), size(memory.Tensors), size(memory.Gradients), size(memory.Parameters), size(memory.Episodes),
		size(memory.Batches)))
	_, err := t.WriteTo(a.out)
	return err
}

// milliseconds writes seconds as milliseconds with three significant digits.
func milliseconds(seconds float64) string { return terminal.Digits(1e3*seconds) + " ms" }

// benchKernelsCommand is `bench kernels`: the speed of matrix products and functions by shape on one core, as a
// share of the peak of the FMA units. No samples, and an operation that does not exist, are usage errors.
func (a *app) benchKernelsCommand() *cobra.Command {
	var samples int
	var only []string
	c := &cobra.Command{
		Use:   "kernels",
		Short: "Time matrix products and functions by shape on one core",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			if samples < 1 {
				return config.Usagef("--samples %d: at least one is needed", samples)
			}
			// All operations, unless some are named.
			operations := bench.Operations()
			for _, name := range only {
				if !slices.Contains(operations, name) {
					return config.Usagef("--only %s: no such operation; there are %s", name, strings.Join(operations, ", "))
				}
			}
			if len(only) > 0 {
				operations = only
			}
			list := bench.MeasureKernels(operations, samples)
			if a.asJSON {
				return a.printJSON(list)
			}
			t := terminal.NewTable("op", "m", "n", "k", "GFLOP/s", "of peak", "ns/value")
			for _, k := range list {
				// A function of single values has no shape, only a time per value.
				if k.M == 0 {
					t.Row(k.Op, "", "", "", "", "", fmt.Sprintf("%.2f", k.Nanoseconds))
					continue
				}
				t.Row(k.Op, fmt.Sprint(k.M), fmt.Sprint(k.N), fmt.Sprint(k.K), fmt.Sprintf("%.1f", k.GFLOPS),
					fmt.Sprintf("%.0f %%", 100*k.PeakFraction), "")
			}
			for _, g := range bench.Summary(list) {
				t.Row(g.Op, fmt.Sprint(g.M), "all", "all", "", fmt.Sprintf("%.1f %%", 100*g.PeakFraction), "")
			}
			_, err := t.WriteTo(a.out)
			return err
		},
	}
	c.Flags().IntVar(&samples, "samples", 5, "samples per operation; the median is reported")
	c.Flags().StringSliceVar(&only, "only", nil, "operations to measure, e.g. nn,tanh (default: all)")
	c.RegisterFlagCompletionFunc("only", completeWords(bench.Operations()))
	a.jsonFlag(c)
	return c
}

// benchServeCommand is `bench serve`: the answers of a served model under load. It prints how many there were and,
// for each sort of answer that occurred, the median, the tail and the longest time.
func (a *app) benchServeCommand() *cobra.Command {
	var load bench.ServingLoad
	c := &cobra.Command{
		Use:   "serve NAME",
		Short: "Measure filter steps of a served model over HTTP under load",
		Long: `Serve the model of a run on a loopback address while clients send observations, one per
request, each as soon as the previous one is answered; then filter without HTTP. A client
that is refused because too many requests are in progress waits as long as the service
asks. --forecasts adds clients that ask for large forecasts, one after the other. Server
and clients share the cores. Other work on the machine shows in the tail of the times.`,
		Example: "  " + a.invoked + " bench serve maze-1 --clients 1 --duration 1m --cores 1\n" +
			"  " + a.invoked + " bench serve maze-1 --clients 16 --forecasts 1 --duration 20s --cores 2",
		Args: exactly("NAME"), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(atLeast(c, 1, "clients", "cores"), atLeast(c, 0, "forecasts")); err != nil {
				return err
			}
			if load.Duration <= 0 {
				return config.Usagef("--duration %v: must be positive", load.Duration)
			}
			r, err := bench.MeasureServing(func() (*trained.Run, error) {
				return a.open(args[0], trained.Best)
			}, load)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printJSON(r)
			}
			if err := a.printf("filter steps of %s over HTTP, %s on %s, %.0f s: %s answered, %s a second\n",
				r.Run, terminal.Count(r.Clients, "client"), terminal.Count(r.Cores, "core"), r.Seconds,
				terminal.Group(r.Filtered.Count), terminal.Digits(r.PerSecond)); err != nil {
				return err
			}
			t := terminal.NewTable("", "answers", "p50", "p99", "p99.9", "longest")
			// A sort of answer that did not occur has no row.
			for _, row := range []struct {
				name string
				took bench.Latency
			}{{"filtered", r.Filtered}, {"refused", r.Refused}, {"forecast", r.Forecasts}, {"step alone", r.Step}} {
				if l := row.took; l.Count > 0 {
					t.Row(row.name, terminal.Group(l.Count), milliseconds(l.P50), milliseconds(l.P99), milliseconds(l.P999),
						milliseconds(l.Longest))
				}
			}
			_, err = t.WriteTo(a.out)
			return err
		},
	}
	c.Flags().IntVar(&load.Clients, "clients", 1, "number of clients")
	c.Flags().IntVar(&load.Forecasts, "forecasts", 0, "number of clients that ask for large forecasts")
	c.Flags().IntVar(&load.Cores, "cores", 1, "cores that this process uses")
	c.Flags().DurationVar(&load.Duration, "duration", time.Minute, "length of the measurement")
	a.jsonFlag(c)
	return c
}

// benchReportCommand is `bench report`: it prints kept measurements in Markdown. A file that cannot be opened is a
// usage error.
func (a *app) benchReportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report RECORDS.json",
		Short: "Write a report of kept measurements in Markdown",
		Long: `Write in Markdown what docs/bench/run.sh or docs/bench/scaling.sh measured. Both keep
their measurements as a JSON list of records.`,
		Example: "  " + a.invoked + " bench report docs/bench/2026-12-01.json",
		Args:    exactly("RECORDS.json"),
		RunE: func(_ *cobra.Command, args []string) error {
			records, err := os.Open(args[0])
			if err != nil {
				return config.Usagef("%v", err)
			}
			defer records.Close()
			if err := bench.WriteReport(a.out, records); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return nil
		},
	}
}
