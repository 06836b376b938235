package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/bench"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/wire/shm"
	"github.com/switchyard-ml/switchyard/worker"
)

// sharedCarrier is TCP with shared memory for vectors.
const sharedCarrier = "memory"

// carriers are the ways to carry vectors that can be measured; train uses the first.
var carriers = []string{string(lead.Direct), string(lead.Broker), string(lead.TCP), sharedCarrier}

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
	turns   int
	carrier string
	profile string
	trace   string
}

func (f *wireFlags) check() error {
	if f.turns < 1 {
		return config.Usagef("--turns %d: at least one is needed", f.turns)
	}
	if !slices.Contains(carriers, f.carrier) {
		return config.Usagef("--carrier %q: want one of %s", f.carrier, strings.Join(carriers, ", "))
	}
	return f.benchFlags.check()
}

func (a *app) benchWireCommand() *cobra.Command {
	var f wireFlags
	c := &cobra.Command{
		Use:   "wire PRESET|FILE.yaml [key=value]...",
		Short: "Time steps with messages beside the same arithmetic without",
		Long: `Time updates of a preset with a coordinator and one worker per core over an embedded
broker, by turns with the same arithmetic on as many cores without messages. More
workers than there are cores take turns on them, with messages and without.

` + carrierHelp,
		Args:              atLeastOne("PRESET or FILE.yaml"),
		ValidArgsFunction: a.completeConfig,
		RunE: func(c *cobra.Command, args []string) error {
			return a.benchWire(c, args, f)
		},
	}
	f.add(c, a.cores)
	a.jsonFlag(c)
	c.Flags().IntVar(&f.turns, "turns", 5, "turns of steps with and without messages")
	c.Flags().StringVar(&f.profile, "cpuprofile", "", "write a CPU profile of all turns to this file, for go tool pprof")
	c.Flags().StringVar(&f.trace, "trace", "", "write a timeline of one more turn to this file, for ui.perfetto.dev or "+
		"chrome://tracing")
	c.Flags().StringVar(&f.carrier, "carrier", carriers[0], "how vectors go: "+strings.Join(carriers, ", "))
	c.RegisterFlagCompletionFunc("carrier", completeWords(carriers))
	return c
}

func (a *app) benchWire(c *cobra.Command, args []string, f wireFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	p, err := a.benchPlan(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "switchyard-bench-*")
	if err != nil {
		return fmt.Errorf("make a folder for checkpoints: %w", err)
	}
	defer os.RemoveAll(dir)
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
