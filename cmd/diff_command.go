package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/advice"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/worker"
)

// comparison is what diff found.
type comparison struct {
	A        string              `json:"a"`
	B        string              `json:"b"`
	Equal    bool                `json:"equal"`
	Common   uint64              `json:"common"`         // last step after which the logs agree
	Step     uint64              `json:"step,omitempty"` // first step after which they do not; 0: the initial parameters
	HashA    string              `json:"hash_a,omitempty"`
	HashB    string              `json:"hash_b,omitempty"`
	Keys     []config.Difference `json:"keys"`               // that decide the bits and differ
	Place    *place              `json:"place,omitempty"`    // where the programs part; null: nowhere
	Suspects []suspect           `json:"suspects,omitempty"` // who did not compute what this machine does
	Note     string              `json:"note,omitempty"`     // what else can be said

	stride uint64 // updates between two lines of a log
}

// before is the step before the one at which the runs part.
func (d *comparison) before() uint64 { return d.Step - d.stride }

// place is the first number that differs.
type place struct {
	What    string  `json:"what"` // initial parameters, gradients or model
	Shard   int     `json:"shard"`
	Tensor  string  `json:"tensor"`
	Element int     `json:"element"` // within the tensor
	Count   int     `json:"count"`   // of the tensor's elements that differ
	Size    int     `json:"size"`
	A       float32 `json:"-"`
	B       float32 `json:"-"`
}

func (a *app) diffCommand() *cobra.Command {
	var workers int
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Find the first step at which two runs part, and why",
		Long: `Find the first step after which two runs have different parameters, by the hashes in
their logs. The step is then recomputed here from the last common parameters: that
names the keys of the configuration, the shard and the tensor at which the programs of
the runs part, or else the worker whose results are not what this machine computes.`,
		Args: exactly("A", "B"), ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if workers < 1 {
				return advice.Usagef("--workers %d: at least one is needed", workers)
			}
			var d *comparison
			err := a.untilInterrupted(a.err, "stopping", func(ctx context.Context) error {
				var err error
				d, err = a.diff(ctx, args[0], args[1], workers)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(d)
			} else {
				err = a.printComparison(d)
			}
			if err != nil || d.Equal {
				return err
			}
			return fmt.Errorf("runs %s and %s: %w", d.A, d.B, errOtherBits)
		},
	}
	c.Flags().IntVar(&workers, "workers", a.cores, "workers in this process; changes speed, never results")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found as one JSON object")
	return c
}

func (a *app) diff(ctx context.Context, nameA, nameB string, workers int) (*comparison, error) {
	flags := trainFlags{workers: workers, slots: 1}
	ra, err := a.openRecord(nameA, flags)
	if err != nil {
		return nil, err
	}
	rb, err := a.openRecord(nameB, flags)
	if err != nil {
		return nil, err
	}
	d := &comparison{stride: max(job.Stride(ra.config), job.Stride(rb.config)), A: nameA, B: nameB, Keys: config.Differences(ra.plan.Config, rb.plan.Config)}
	if d.Place = initialDifference(ra.plan, rb.plan); d.Place != nil {
		d.HashA, d.HashB = coordinator.HashTheta(ra.plan.Theta), coordinator.HashTheta(rb.plan.Theta)
		return d, nil
	}
	ea, eb := d.part(ra.log, rb.log)
	if d.Equal {
		return d, nil
	}
	d.HashA, d.HashB = ea.Theta, eb.Theta
	if d.before() > d.Common {
		d.Note = fmt.Sprintf("steps %d to %d are not in both logs, so the runs may have parted before", d.Common+1, d.before())
		return d, nil
	}
	return d, a.explain(ctx, d, ra, rb)
}

// part finds the first step after which two logs differ.
func (d *comparison) part(a, b *coordinator.Log) (ea, eb coordinator.Entry) {
	for step := uint64(1); step <= min(a.Last, b.Last); step++ {
		ea, inA := a.Entries[step]
		eb, inB := b.Entries[step]
		if !inA || !inB {
			continue
		}
		if ea.Theta != eb.Theta {
			d.Step = step
			return ea, eb
		}
		d.Common = step
	}
	d.Equal = true
	return ea, eb
}

// initialDifference finds the first tensor in which two plans begin differently; nil if there is none.
func initialDifference(a, b *job.Plan) *place {
	if len(a.Theta) == len(b.Theta) {
		return firstDifference("initial parameters", a.Layout, a.Theta, b.Theta)
	}
	for i, t := range a.Layout {
		if i >= len(b.Layout) || b.Layout[i].Name != t.Name || b.Layout[i].Size != t.Size {
			return &place{What: "model", Tensor: t.Name, Size: t.Size}
		}
	}
	return &place{What: "model", Tensor: b.Layout[len(a.Layout)].Name, Size: b.Layout[len(a.Layout)].Size}
}

// firstDifference finds the first tensor that differs in two vectors; nil if there is none.
func firstDifference(what string, layout []coordinator.Tensor, a, b []float32) *place {
	for _, t := range layout {
		var p *place
		for i := t.Offset; i < t.Offset+t.Size; i++ {
			if math.Float32bits(a[i]) == math.Float32bits(b[i]) {
				continue
			}
			if p == nil {
				p = &place{What: what, Tensor: t.Name, Element: i - t.Offset, Size: t.Size, A: a[i], B: b[i]}
			}
			p.Count++
		}
		if p != nil {
			return p
		}
	}
	return nil
}

// explain recomputes the step at which two runs part from the parameters that both had before.
func (a *app) explain(ctx context.Context, d *comparison, ra, rb *record) error {
	common, err := a.common(ctx, d, ra, rb)
	if err != nil || common == nil {
		return err
	}
	ca, cb := ra.plan.Config, rb.plan.Config
	if ca.Train.Shards != cb.Train.Shards || ca.Train.Batch != cb.Train.Batch || job.RoundShards(ca) != job.RoundShards(cb) || job.Stride(ca) != job.Stride(cb) {
		d.Note = "the runs divide a step into other sequences or shards, or have other rounds, which cannot be compared one by one"
		return nil
	}
	if ga, gb := ra.config.Train.Gradients, rb.config.Train.Gradients; ga != gb {
		d.Note = "the gradients of one run are rounded to integers, those of the other are not"
		return nil
	}
	if d.Place, err = a.compareGradients(ctx, d, ra, rb, common.Theta); err != nil || d.Place != nil {
		return err
	}
	unknown := false
	for _, r := range []*record{ra, rb} {
		list, err := r.suspects(ctx, common.Theta, common.Levels, r.log.Entries[d.Step])
		if err != nil {
			return err
		}
		d.Suspects = append(d.Suspects, list...)
		unknown = unknown || list == nil
	}
	if len(d.Suspects) > 0 {
		return nil
	}
	if d.Note, err = a.blameUpdate(ctx, d, common, ra, rb); unknown && err == nil {
		d.Note += "; the checksums of the blocks cannot be compared, as a log does not say how they were formed"
	}
	return err
}

// common is the state after the last common step, nil if this machine does not reach it.
func (a *app) common(ctx context.Context, d *comparison, ra, rb *record) (*coordinator.Checkpoint, error) {
	best := &recomputation{to: d.before(), check: true}
	for _, r := range []*record{ra, rb} {
		cp, err := r.before(d.before())
		if err != nil {
			return nil, err
		}
		if best.record == nil || stepOf(cp) > stepOf(best.from) {
			best.record, best.from = r, cp
		}
	}
	cp, err := a.again(ctx, best)
	var replay *coordinator.ReplayError
	if errors.As(err, &replay) {
		d.Note = fmt.Sprintf("this machine computes other bits than both runs from step %d on (hash %s, logged %s), so it cannot say who is wrong",
			replay.Step, replay.Computed.Theta, replay.Logged.Theta)
		return nil, nil
	}
	return cp, err
}

func (a *app) again(ctx context.Context, r *recomputation) (*coordinator.Checkpoint, error) {
	r.screen = a.screen()
	r.log = a.logger(r.screen, hclog.Warn)
	return r.run(ctx)
}

// compareGradients computes every shard of the step with both programs, and returns where they part first.
func (a *app) compareGradients(ctx context.Context, d *comparison, ra, rb *record, theta []float32) (*place, error) {
	step := d.before()
	pa, err := ra.program(step, theta)
	if err != nil {
		return nil, err
	}
	pb, err := rb.program(step, theta)
	if err != nil {
		return nil, err
	}
	var gradients, terms [2][]float32
	for i := range gradients {
		gradients[i], terms[i] = make([]float32, len(theta)), make([]float32, len(ra.plan.Terms))
	}
	for shard := range job.RoundShards(ra.plan.Config) {
		for i, p := range []worker.Program{pa, pb} {
			err := worker.GradientWhile(p, 0, step, shard, gradients[i], terms[i], func() bool { return ctx.Err() == nil })
			if err := errors.Join(ctx.Err(), err); err != nil {
				return nil, fmt.Errorf("compute shard %d of step %d: %w", shard, d.Step, err)
			}
		}
		if p := firstDifference("gradients", ra.plan.Layout, gradients[0], gradients[1]); p != nil {
			p.Shard = shard
			return p, nil
		}
	}
	return nil, nil
}

// blameUpdate makes the step with the optimiser of each run, and says which log disagrees with it.
func (a *app) blameUpdate(ctx context.Context, d *comparison, common *coordinator.Checkpoint, ra, rb *record) (string, error) {
	text := "the gradients are the same in both; "
	wrong := ""
	for _, r := range []*record{ra, rb} {
		from := *common
		from.Identity = "" // of the run that was recomputed, which may be the other
		cp, err := a.again(ctx, &recomputation{record: r, from: &from, to: d.Step})
		if err != nil {
			return "", err
		}
		if got, want := coordinator.HashTheta(cp.Theta), r.log.Entries[d.Step].Theta; got != want {
			wrong += fmt.Sprintf("; the update of run %s has hash %s here, %s in its log", r.name, got, want)
		}
	}
	if wrong == "" {
		return text + "the updates differ by the configuration", nil
	}
	return text + "the coordinator made another update than this machine, or the log is damaged" + wrong, nil
}

func (a *app) printComparison(d *comparison) error {
	if d.Equal {
		return a.printf("runs %s and %s: same bits in all %s steps that both have\n", d.A, d.B, terminal.Group(d.Common))
	}
	lines := []string{fmt.Sprintf("runs %s and %s part at step %s", d.A, d.B, terminal.Group(d.Step))}
	if d.Step == 0 {
		lines[0] = fmt.Sprintf("runs %s and %s begin with different parameters", d.A, d.B)
	}
	lines = append(lines, fmt.Sprintf("  hash in %s: %s, in %s: %s", d.A, d.HashA, d.B, d.HashB))
	for _, k := range d.Keys {
		lines = append(lines, fmt.Sprintf("  %s is %s in %s, %s in %s", k.Key, k.A, d.A, k.B, d.B))
	}
	if len(d.Keys) == 0 {
		lines = append(lines, "  their configurations decide the same bits")
	}
	if p := d.Place; p != nil {
		lines = append(lines, "  "+p.text(d.Step))
	}
	for _, s := range d.Suspects {
		lines = append(lines, "  "+s.String())
	}
	if d.Note != "" {
		lines = append(lines, "  "+d.Note)
	}
	for _, line := range lines {
		if err := a.printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) text(step uint64) string {
	if p.What == "model" {
		return fmt.Sprintf("their models differ, first in tensor %s", p.Tensor)
	}
	where := ""
	if step > 0 {
		where = fmt.Sprintf("of step %d, shard %d, ", step, p.Shard)
	}
	return fmt.Sprintf("the %s %sdiffer first in tensor %s: %d of %d elements, element %d is %g and %g",
		p.What, where, p.Tensor, p.Count, p.Size, p.Element, p.A, p.B)
}
