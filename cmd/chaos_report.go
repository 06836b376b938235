package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lab/chaos"
)

// report prints the outcome: whether the bits are equal, to which step, what was injected and what followed from
// it. With --json it is one value. It returns no error for different bits; its caller does.
func (j *chaosJob) report(r *chaos.Result, reference string) error {
	a := j.app
	o := r.Outcome(reference)
	if a.asJSON {
		return a.printJSON(o)
	}
	// What the command tests comes first.
	verdict := "equal"
	if !o.Equal {
		verdict = "DIFFERENT"
	}
	table := terminal.NewTable("parameters", verdict).Left(1)
	table.Row("step", terminal.Group(o.Step))
	table.Row("params_sha256", o.SHA256)
	table.Row("reference", o.Reference)
	table.Row("time", terminal.Short(time.Duration(o.Seconds*float64(time.Second))))
	table.Row("goodput", goodputText(o))
	table.Row("exits", fmt.Sprintf("%d processes ended by themselves and were started again", o.Exits))
	for _, name := range slices.Sorted(maps.Keys(o.Faults)) {
		table.Row(name, terminal.Group(o.Faults[name]))
	}
	for _, row := range effectRows(&o.Effects) {
		table.Row(row.what, terminal.Group(row.times))
	}
	if _, err := table.WriteTo(a.out); err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	return j.reportGrowth(o.Growth)
}

// effectRow is a line of the report about what followed from faults.
type effectRow struct {
	what  string
	times int64
}

// effectRows are the consequences of faults in the order of the report. Those that did not occur are listed, too,
// as 0.
func effectRows(e *chaos.Effects) []effectRow {
	return []effectRow{
		{"servers killed", e.Servers},
		{"checkpoints restored", e.Restores},
		{"logged steps repeated", e.Repeated},
		{"steps summed by workers", e.Summed},
		{"leases issued again", e.Reissued},
		{"speculative copies", e.Speculated},
		{"audits", e.Audits},
		{"disputes", e.Disputes},
		{"rollbacks", e.Rollbacks},
		{"workers cut off", e.Quarantined},
	}
}

// goodputText is the share of shards that were used among those that workers were given to compute.
func goodputText(o chaos.Outcome) string {
	if o.Issued == 0 {
		return "unknown: the coordinator's page did not answer"
	}
	return fmt.Sprintf("%.1f %%: %s shards of %s issued", 100*o.Goodput, terminal.Group(o.Useful),
		terminal.Group(o.Issued))
}

// reportGrowth prints the quantities that grew in the processes: memory in MiB, others as plain numbers, each per
// hour. An empty list prints nothing.
func (j *chaosJob) reportGrowth(list []chaos.Growth) error {
	if len(list) == 0 {
		return nil
	}
	const title = "\ngrowth of processes that are warm (after a minute and a quarter of their life)\n"
	if err := j.app.printf(title); err != nil {
		return err
	}
	table := terminal.NewTable("process", "what", "per hour", "mean", "samples", "processes").Left(1)
	for _, g := range list {
		number := func(v float64) string { return fmt.Sprintf("%.2f", v) }
		if g.What == "memory" {
			number = func(v float64) string { return fmt.Sprintf("%.2f MiB", v/(1<<20)) }
		}
		table.Row(g.Role, g.What, number(g.PerHour), number(g.Mean), fmt.Sprint(g.Samples), fmt.Sprint(g.Processes))
	}
	if _, err := table.WriteTo(j.app.out); err != nil {
		return fmt.Errorf("write the growth: %w", err)
	}
	return nil
}

// measure prints how long the run needs to continue after each fault: until its first step, and until it is as fast
// as before. Median and worst are over the cases.
func (j *chaosJob) measure(ctx context.Context, cfg chaos.Config) error {
	list, err := chaos.Measure(ctx, cfg, j.flags.measure)
	if err != nil {
		return err
	}
	if j.app.asJSON {
		return j.app.printJSON(list)
	}
	table := terminal.NewTable("after", "first step: median", "worst", "usual pace: median", "worst", "cases",
		"usual step")
	for _, r := range list {
		table.Row(r.Fault, seconds(chaos.Median(r.First)), seconds(slices.Max(r.First)), seconds(chaos.Median(r.Pace)),
			seconds(slices.Max(r.Pace)),
			fmt.Sprint(len(r.First)), seconds(r.Step))
	}
	if _, err := table.WriteTo(j.app.out); err != nil {
		return fmt.Errorf("write the times: %w", err)
	}
	return nil
}

// seconds writes a time with two decimals.
func seconds(s float64) string { return fmt.Sprintf("%.2f s", s) }
