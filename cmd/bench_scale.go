package cmd

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/scaling"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/bench"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// scaleFlags describe the clusters of a prediction.
type scaleFlags struct {
	// Numbers of workers, one row of the table each.
	workers []int
	// Speed of each machine's link, as "1Gbit/s", and its latency one way.
	link    string
	latency time.Duration
	// Cores of a worker, which are also its slots, and workers that share a machine with its link.
	cores      int
	perMachine int
	// oneMachine ignores the link: everything is on this machine. With servers each worker carries a server of the
	// broker.
	oneMachine bool
	servers    bool
	// Distribution of the factor on the time of each lease, and the file of earlier measurements; empty: measure.
	stragglers string
	measured   string
}

// Number of simulated updates for each row with stragglers, and the seed of the simulation: the same measurements
// give the same table.
const (
	scaleUpdates = 400
	scaleSeed    = 1
)

// benchScaleCommand is `bench scale`: it predicts the time of a step on clusters from what one core of this machine
// takes.
func (a *app) benchScaleCommand() *cobra.Command {
	var f scaleFlags
	c := &cobra.Command{
		Use:   "scale PRESET|FILE.yaml [key=value]...",
		Short: "Predict the step on more machines and slower links",
		Long: `Measure what a step of a preset costs on a core of this machine, and predict how long it
takes on clusters: its parts, what limits it, and which settings would be faster. The
model is described in docs/scaling.md.`,
		Example: "  " + a.invoked + " bench scale maze --workers 1,2,4,8,64,256 --link 1Gbit/s\n" +
			"  " + a.invoked + " bench scale maze train.shards=256 --link 100Mbit/s --latency 20ms --stragglers lognormal:0.3",
		Args:              atLeastOne("PRESET or FILE.yaml"),
		ValidArgsFunction: a.completeConfig,
		RunE:              func(_ *cobra.Command, args []string) error { return a.benchScale(args, f) },
	}
	flags := c.Flags()
	flags.IntSliceVar(&f.workers, "workers", []int{1, 2, 4, 8, 16, 64, 256}, "numbers of workers, one row each")
	flags.StringVar(&f.link, "link", "1Gbit/s", "bandwidth of each machine's link, each way")
	flags.DurationVar(&f.latency, "latency", 200*time.Microsecond, "latency of the link, one way")
	flags.IntVar(&f.cores, "cores-per-worker", 1, "cores per worker, and shards it computes at a time")
	flags.IntVar(&f.perMachine, "workers-per-machine", 1, "workers that share a machine and its link")
	flags.BoolVar(&f.oneMachine, "one-machine", false, "everything on this machine, without a link")
	flags.BoolVar(&f.servers, "servers", false, "each worker runs a server of a NATS cluster")
	flags.StringVar(&f.stragglers, "stragglers", "none", "distribution of a factor on the time of each lease: none, "+
		"lognormal:SIGMA, pareto:ALPHA")
	flags.StringVar(&f.measured, "measured", "", "read the measurements from this file, written by --json")
	a.jsonFlag(c)
	return c
}

// scaleRow is the prediction for one cluster, with the changes of settings that would make it faster, the best
// first.
type scaleRow struct {
	Cluster    scaling.Cluster    `json:"cluster"`
	Prediction scaling.Prediction `json:"prediction"`
	Choices    []scaling.Choice   `json:"choices"`
}

// scaleTable is what the command prints as JSON, and what --measured reads back. All times are in seconds.
type scaleTable struct {
	Preset     string       `json:"preset"`
	Load       scaling.Load `json:"load"`
	Wire       scaling.Wire `json:"wire"`
	Stragglers string       `json:"stragglers"`
	Rows       []scaleRow   `json:"rows"`
}

// benchScale measures the load of a step, or reads it, and prints a prediction for each number of workers. A speed
// or a distribution that cannot be read, and a cluster that the model has no answer for, are usage errors.
func (a *app) benchScale(args []string, f scaleFlags) error {
	link, err := parseLink(f.link)
	if err != nil {
		return err
	}
	stragglers, err := scaling.ParseStragglers(f.stragglers)
	if err != nil {
		return config.Usage(err)
	}
	p, err := a.benchPlan(args)
	if err != nil {
		return err
	}
	t := scaleTable{Preset: p.Config.Preset, Wire: wireOf(p.Config), Stragglers: f.stragglers}
	if t.Load, err = a.scaleLoad(p, f.measured); err != nil {
		return err
	}
	// A block goes to a second worker once it takes half as long again as the median of the finished ones, but not
	// before a fifth of cluster.failure_detection has passed.
	spec := scaling.Speculation{Tardiness: 1.5, Patience: p.Config.Cluster.FailureDetection.Seconds() / 5}
	for _, n := range f.workers {
		// As few machines as hold the workers; the last of them may be partly empty.
		c := scaling.Cluster{
			Workers: n, Slots: f.cores, Machines: (n + f.perMachine - 1) / max(f.perMachine, 1),
			Cores: f.cores * min(f.perMachine, n),
			Link:  link, Latency: f.latency.Seconds(), Carried: f.servers,
		}
		if f.oneMachine {
			c.Machines, c.Cores, c.OneMachine, c.Link, c.Latency = 1, a.cores, true, 0, 0
		}
		if err := scaling.Check(t.Load, c, t.Wire); err != nil {
			return config.Usage(err)
		}
		// With exchange "auto" the run would take what is faster on this cluster.
		form := t.Wire
		if p.Config.Cluster.Exchange == "auto" {
			form.Sharded = scaling.Sums(t.Load, c, form)
		}
		t.Rows = append(t.Rows, scaleRow{
			c, scaling.Simulate(t.Load, c, form, stragglers, spec, scaleSeed, scaleUpdates),
			scaling.Choices(t.Load, c, form),
		})
	}
	if a.asJSON {
		return a.printJSON(t)
	}
	return a.printScale(t)
}

// scaleLoad measures the work of one step of the plan, or reads it from a file that bench scale --json has written.
// A file that cannot be read, or that holds measurements of another model or another division into shards, is a
// usage error.
func (a *app) scaleLoad(p *job.Plan, path string) (scaling.Load, error) {
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return scaling.Load{}, config.Usagef("read the measurements: %w", err)
		}
		var t scaleTable
		if err := json.Unmarshal(data, &t); err != nil {
			return scaling.Load{}, config.Usagef("read the measurements of %s: %w", path, err)
		}
		// Only the load is taken from the file: clusters and wire are those of this command line.
		if t.Preset != p.Config.Preset || t.Load.Parameters != len(p.Theta) || t.Load.Shards != p.Config.Train.Shards {
			return scaling.Load{}, config.Usagef("%s holds the measurements of %s with %d parameters in %d shards, not of %s "+
				"with %d in %d",
				path, t.Preset, t.Load.Parameters, t.Load.Shards, p.Config.Preset, len(p.Theta), p.Config.Train.Shards)
		}
		return t.Load, nil
	}
	program, err := p.Shards(1)
	if err != nil {
		return scaling.Load{}, err
	}
	link, err := lead.Embed(lead.Broker, a.logger(a.err, hclog.Warn)) // through a broker, as in a cluster
	if err != nil {
		return scaling.Load{}, err
	}
	defer link.Close()
	load, err := bench.MeasureLoad(bench.LoadConfig{
		Run: p.Step(), Theta: p.Theta, Program: program, Connect: link.Connect,
		Turns: 5,
	})
	if err != nil {
		return load, fmt.Errorf("measure a step of %s: %w", p.Config.Preset, err)
	}
	// So that a suggestion to divide the batch further stays possible.
	load.MostShards = mostShards(p.Config.Train.Batch, p.Config.Train.ValidationEpisodes)
	return load, nil
}

// printScale prints the measured parts of a step and the table of predictions.
func (a *app) printScale(t scaleTable) error {
	l := t.Load
	if err := a.printf("%s: %d shards of %s on one core, %s parameters; update %s, block %s, message %s and %s for "+
		"each receiver\n\n", t.Preset,
		l.Shards, milliseconds(l.Shard), terminal.Group(l.Parameters), milliseconds(l.Update), milliseconds(l.Merge),
		milliseconds(l.Send), milliseconds(l.Deliver)); err != nil {
		return err
	}
	table := terminal.NewTable("workers", "step", "parameters out", "compute", "gradients in", "update", "waits for",
		"better").Left(6, 7)
	for _, r := range t.Rows {
		p := r.Prediction
		table.Row(fmt.Sprint(r.Cluster.Workers), duration(p.Seconds), duration(p.Down), duration(p.Compute), duration(p.Up),
			duration(p.Update),
			string(p.Bottleneck), better(r.Choices))
	}
	_, err := table.WriteTo(a.out)
	return err
}

// duration writes a time in milliseconds, or in seconds if it is one second or more.
func duration(seconds float64) string {
	if seconds < 1 {
		return milliseconds(seconds)
	}
	return terminal.Digits(seconds) + " s"
}

// better lists the three changes that help most, each with the time of a step that it would lead to.
func better(choices []scaling.Choice) string {
	var list []string
	for _, c := range choices[:min(len(choices), 3)] {
		list = append(list, fmt.Sprintf("%s: %s", c.Change, duration(c.Seconds)))
	}
	return strings.Join(list, "; ")
}

// payload is the share of Ethernet's bits that carry payload of TCP: 1448 of 1538 bytes.
const payload = 0.94

// parseLink reads the speed of a link, "100Mbit/s", as bytes of payload per second. Anything else is a usage error.
func parseLink(text string) (float64, error) {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"Gbit/s", 1e9 / 8}, {"Mbit/s", 1e6 / 8}, {"kbit/s", 1e3 / 8}} {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); err == nil && v > 0 && v < 1e9 {
				return payload * v * unit.bytes, nil
			}
		}
	}
	return 0, config.Usagef("--link %s: a speed is needed, e.g. 100Mbit/s, 1Gbit/s", text)
}

// mostShards is the greatest power of two that divides both numbers.
func mostShards(batch, validation int) int { return 1 << bits.TrailingZeros(uint(batch|validation)) }

// wireOf is the form of vectors on the wire in a run of this configuration: bytes per value in each direction,
// local steps, and whether workers sum sections. For exchange "auto" the form is that of a star; the caller chooses
// by the cluster.
func wireOf(c config.Config) scaling.Wire {
	form := scaling.Float32
	if c.Train.Method == "diloco" {
		form = scaling.LocalSteps(c.Train.Replicas, int(c.Train.LocalSteps))
	}
	form.Sharded = c.Cluster.Exchange == "sharded"
	form.Bytes, form.Parameters = float64(job.Coding(c).Width()), float64(job.ParametersCoding(c).Width())
	return form
}
