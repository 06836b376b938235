package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
)

// verify and diff print what package lead finds. They read the logs of runs and recompute steps, and change no run.

// errOtherBits is returned when steps do not reproduce the bits that they should have.
var errOtherBits = errors.New("the bits differ")

// verifyCommand is `verify`: it recomputes steps of a run and compares them with its log. No workers is a usage
// error; other bits are errOtherBits, with exit code 1.
func (a *app) verifyCommand() *cobra.Command {
	var from, to uint64
	var workers int
	c := &cobra.Command{
		Use:   "verify NAME",
		Short: "Recompute steps of a run and compare them with its log",
		Long: `Recompute steps of a run on this machine, from the newest checkpoint before them, and
compare the parameters after each step with the hash in the run's log. The run is not
changed and may be running. If a step differs, its blocks and the sums that workers made
of them are recomputed one by one to find the workers whose results differ from the log.
What the coordinator noted about workers in these steps is printed, too. A run with local
steps is recomputed in whole rounds.`,
		Example: "  " + a.invoked + " verify fhn-concrete-1\n  " + a.invoked + " verify fhn-concrete-1 --from 900 --to 950",
		Args:    exactly("NAME"), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(atLeast(c, 1, "workers"), tooMany("workers", workers)); err != nil {
				return err
			}
			var v *lead.Verdict
			err := a.untilSignal(a.err, "stopping", func(ctx context.Context) error {
				// Open reads the whole log and prepares the data, so that a signal has to end it, too.
				r, err := lead.Open(a.kinds, a.runsDir, args[0])
				if err != nil {
					return a.missingRun(err)
				}
				v, err = lead.Verify(ctx, r, from, to, a.recomputing(workers))
				return recomputed(err)
			})
			if err != nil {
				return err
			}
			return a.judge(v)
		},
	}
	c.Flags().Uint64Var(&from, "from", 1, "first step")
	c.Flags().Uint64Var(&to, "to", 0, "last step (default: the last in the log)")
	c.Flags().IntVar(&workers, "workers", a.cores, "workers in this process; changes speed, never results")
	a.jsonFlag(c)
	return c
}

// recomputing are the options for steps that are computed again, by so many workers of this process, with their
// progress on the screen.
func (a *app) recomputing(workers int) lead.Options {
	screen := a.screen()
	return lead.Options{
		Workers: workers, Log: a.logger(screen, hclog.Warn),
		Show: func(p lead.Progress) {
			if p.Over {
				screen.Finish()
				return
			}
			screen.Status(fmt.Sprintf("recomputing %s: step %s/%s", p.Run, terminal.Group(p.Step), terminal.Group(p.To)))
		},
	}
}

// recomputed is the error of steps that were computed again. A signal ends these as it ends a run, but they leave no
// checkpoint from which something could continue.
func recomputed(err error) error {
	if errors.Is(err, coordinator.ErrInterrupted) {
		return errSignal
	}
	return err
}

// judge prints the verdict. It returns an error if the bits differ.
func (a *app) judge(v *lead.Verdict) error {
	if a.asJSON {
		if err := a.printJSON(v); err != nil {
			return err
		}
	} else if err := a.printVerdict(v); err != nil {
		return err
	}
	if v.Equal {
		return nil
	}
	return config.Hint(fmt.Errorf("step %d of run %s: %w", v.Differs.Step, v.Run, errOtherBits),
		"verify it on another machine, too: the machine that differs from the others has other arithmetic or damaged memory")
}

// printVerdict prints which steps are the same, or the first that is not: both hashes and the workers whose blocks
// or sums this machine does not reproduce. nil suspects mean that the log does not tell, none that all of them are
// right.
func (a *app) printVerdict(v *lead.Verdict) error {
	start := "the initial parameters"
	if v.Start > 0 {
		start = fmt.Sprintf("the checkpoint of step %s", terminal.Group(v.Start))
	}
	if v.Equal {
		missing := ""
		if v.Missing > 0 {
			missing = fmt.Sprintf("; %s of them are not in the log and could not be compared", terminal.Group(v.Missing))
		}
		return errors.Join(a.printf("steps %s..%s: same bits as logged (recomputed from %s in %s, %s kernels)%s\n",
			terminal.Group(v.From), terminal.Group(v.To), start, terminal.Short(time.Duration(v.Seconds*float64(time.Second))),
			v.Kernels, missing), a.printNotes(v.Notes))
	}
	d := v.Differs
	if err := a.printf("step %s: other bits than logged (recomputed from %s, %s kernels)\n  hash in the log  %s\n  "+
		"computed here    %s\n",
		terminal.Group(d.Step), start, v.Kernels, d.Logged, d.Computed); err != nil {
		return err
	}
	switch {
	case d.Step == v.Start:
		return a.printf("  the checkpoint is not of the parameters that the log names: one of them is damaged\n")
	case d.Suspects == nil:
		return a.printf("  the log does not say how the checksums of the blocks were formed\n")
	case len(d.Suspects) == 0:
		return errors.Join(a.printf("  all blocks and sums are those of the log: the coordinator's update differs, or the "+
			"log is damaged\n"), a.printNotes(v.Notes))
	}
	for _, s := range d.Suspects {
		if err := a.printf("  %s\n", s); err != nil {
			return err
		}
	}
	return a.printNotes(v.Notes)
}

// mostNotes is how many notes are printed.
const mostNotes = 10

// printNotes prints what the log holds against workers.
func (a *app) printNotes(notes []lead.Note) error {
	for _, n := range notes[:min(len(notes), mostNotes)] {
		who := ""
		if n.Worker != "" {
			who = "worker " + n.Worker + ": "
		}
		if err := a.printf("  the coordinator noted at step %s: %s%s\n", terminal.Group(n.Step), who, n.Reason); err != nil {
			return err
		}
	}
	if more := len(notes) - mostNotes; more > 0 {
		return a.printf("  %s in log.jsonl\n", terminal.Count(more, "further note"))
	}
	return nil
}

// diffCommand is `diff`: the first step at which two runs differ, and why. Runs that differ are an error with exit
// code 1.
func (a *app) diffCommand() *cobra.Command {
	var workers int
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Find the first step at which two runs differ, and why",
		Long: `Find the first step after which two runs have different parameters, by the hashes in
their logs. The step is then recomputed here from the last common parameters, to name the
configuration keys, the shard and the tensor at which the two programs diverge, or else
the worker whose results differ from what this machine computes.`,
		Args: exactly("A", "B"), ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cmp.Or(atLeast(c, 1, "workers"), tooMany("workers", workers)); err != nil {
				return err
			}
			d, err := a.diff(args[0], args[1], workers)
			if err != nil {
				return err
			}
			if a.asJSON {
				err = a.printJSON(d)
			} else {
				err = a.printComparison(d)
			}
			switch {
			case err != nil || d.Equal:
				return err
			case !d.Compared():
				return fmt.Errorf("runs %s and %s cannot be compared: %s", d.A, d.B, d.Note)
			}
			return fmt.Errorf("runs %s and %s: %w", d.A, d.B, errOtherBits)
		},
	}
	c.Flags().IntVar(&workers, "workers", a.cores, "workers in this process; changes speed, never results")
	a.jsonFlag(c)
	return c
}

// diff compares two runs of the local folder. It only reads them. A signal ends it.
func (a *app) diff(nameA, nameB string, workers int) (d *lead.Comparison, err error) {
	err = a.untilSignal(a.err, "stopping", func(ctx context.Context) error {
		ra, err := lead.Open(a.kinds, a.runsDir, nameA)
		if err != nil {
			return a.missingRun(err)
		}
		rb, err := lead.Open(a.kinds, a.runsDir, nameB)
		if err != nil {
			return a.missingRun(err)
		}
		d, err = lead.Diff(ctx, ra, rb, a.recomputing(workers))
		return recomputed(err)
	})
	return d, err
}

// printComparison prints where two runs part, with the keys, the place in the model and the workers that may
// explain it.
func (a *app) printComparison(d *lead.Comparison) error {
	if d.Equal {
		return a.printf("runs %s and %s: same bits in all %s steps that both have\n", d.A, d.B, terminal.Group(d.Common))
	}
	if !d.Compared() {
		return nil // the error says it
	}
	lines := []string{fmt.Sprintf("runs %s and %s part at step %s", d.A, d.B, terminal.Group(d.Step))}
	if d.Step == 0 {
		lines[0] = fmt.Sprintf("runs %s and %s begin with different parameters", d.A, d.B)
	}
	lines = append(lines, fmt.Sprintf("  hash in %s: %s, in %s: %s", d.A, d.HashA, d.B, d.HashB))
	for _, k := range d.Keys {
		lines = append(lines, fmt.Sprintf("  %s is %s in %s, %s in %s", k.Key, cmp.Or(k.A, "not set"), d.A,
			cmp.Or(k.B, "not set"), d.B))
	}
	if len(d.Keys) == 0 {
		lines = append(lines, "  their configurations decide the same bits")
	}
	if p := d.Place; p != nil {
		lines = append(lines, "  "+placeText(p, d.Step))
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

// placeText says where two runs differ first: in which tensor of which shard, and how many of its elements. step 0
// is the initial parameters.
func placeText(p *lead.Parting, step uint64) string {
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
