package cmd

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/sweep"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// What people see of a sweep: the plan before it begins, and the screen while it goes on.

// planned prints what a sweep would do.
func (a *app) planned(j *trials.Job, flags sweepFlags) error {
	plan, err := sweepPlan(j, flags)
	if err != nil {
		return err
	}
	return a.result(plan.Map(), func() error { return plan.Write(a.out) })
}

// sweepPlan says what a sweep will do, and about how long that takes: it times an update of a few configurations for
// that.
func sweepPlan(j *trials.Job, flags sweepFlags) (terminal.Facts, error) {
	p, err := j.Plan()
	if err != nil {
		return nil, err
	}
	s := &j.File.Spec
	facts := terminal.Facts{
		// A sweep for a coordinator has no folder here.
		{"sweep", fmt.Sprintf("%s, method %s, seed %d, around preset %s", j.Folder.Path(), s.Method, s.Seed,
			j.Base.Config.Preset)},
		{"trials", fmt.Sprintf("%s, %s in all", terminal.Count(p.Work.Trials, "trial"), terminal.Count(p.Work.Runs, "run"))},
	}
	for _, m := range s.Metrics {
		facts = append(facts, terminal.Fact{"metric", fmt.Sprintf("%s %s", m.Goal, m.Name)})
	}
	for i := range s.Parameters {
		facts = append(facts, terminal.Fact{"search", s.Parameters[i].Key + ": " + s.Parameters[i].String()})
	}
	facts = append(facts, costFacts(j, p, flags)...)
	for _, n := range j.File.Notes {
		facts = append(facts, terminal.Fact{"note", n})
	}
	if s.Stop.Type.Timed() {
		facts = append(facts, terminal.Fact{"note", string(s.Stop.Type) + " judges trials by those that were faster: the " +
			"result depends on timing; halving does not"})
	}
	if flags.dry {
		for i, c := range p.First {
			facts = append(facts, terminal.Fact{fmt.Sprintf("trial %d", i+1), strings.Join(c.Arguments(), " ")})
		}
		if n := s.Trials - len(p.First); n > 0 {
			facts = append(facts, terminal.Fact{"", fmt.Sprintf("and %s more", terminal.Group(n))})
		}
	}
	return facts, nil
}

// costFacts say what a sweep computes, and what that takes.
func costFacts(j *trials.Job, p *trials.Plan, flags sweepFlags) terminal.Facts {
	s := &j.File.Spec
	// In percent of the updates that training all trials to the end would take.
	share := 100 * p.Work.Updates / p.Work.Most
	here := time.Duration(p.Seconds / float64(max(flags.train.workers*flags.train.slots, 1)) * float64(time.Second))
	took, place := ", "+terminal.Short(here)+" here", "in "+j.Folder.Path()
	if j.Folder.Dir == "" { // the workers are those of a coordinator
		took, place = "", "at the coordinator"
	}
	return terminal.Facts{
		{"stopping", stopText(s.Stop, s.Confirm, p.Shortest, p.Longest)},
		{"updates", fmt.Sprintf("about %s, %.0f %% of training all trials to the end",
			terminal.Group(int64(math.Round(p.Work.Updates))), share)},
		{"time", fmt.Sprintf("about %s core hours%s: %s an update on one core, measured with %s; without validation",
			hours(p.Seconds), took, stepTime(p.PerStep), terminal.Count(p.Measured, "configuration"))},
		{"disk", fmt.Sprintf("about %s %s; keeps checkpoints of %s", terminal.Bytes(p.Most), place,
			keepText(string(j.File.Keep)))},
	}
}

// stopText says how trials are stopped early, at which updates, and whether the best are run again. Shortest and
// longest are the rungs of two trainings, with the fewest updates and the most.
func stopText(t sweep.Stop, c sweep.Confirm, shortest, longest []uint64) string {
	last := len(shortest) - 1
	alike := shortest[last] == longest[last]
	var text string
	switch {
	case t.Type == sweep.NoStop && alike:
		text = "none: every trial makes " + terminal.Group(shortest[last]) + " updates"
	case t.Type == sweep.NoStop:
		text = fmt.Sprintf("none: trials make %s to %s updates", terminal.Group(shortest[last]),
			terminal.Group(longest[last]))
	case alike:
		text = fmt.Sprintf("%s at updates %s", t.Type, rungText(shortest))
	default:
		text = fmt.Sprintf("%s at updates %s of the shortest training and %s of the longest", t.Type,
			rungText(shortest), rungText(longest))
	}
	switch t.Type {
	case sweep.Halving:
		text += fmt.Sprintf(": the best 1/%d of each cohort of %d continues", t.Eta, t.Cohort)
	case sweep.Hyperband, sweep.ASHA:
		text += fmt.Sprintf(": the best 1/%d continues", t.Eta)
	case sweep.MedianStop:
		text += fmt.Sprintf(": trials below the median of at least %d stop", t.Grace)
	}
	if c.Top > 0 {
		text += fmt.Sprintf("; then the best %d again with %s", c.Top, terminal.Count(c.Seeds, "fresh seed"))
	}
	return text
}

// rungText lists the updates of rungs.
func rungText(rungs []uint64) string {
	var list []string
	for _, r := range rungs {
		list = append(list, terminal.Group(r))
	}
	return strings.Join(list, ", ")
}

// keepText says of which trials checkpoints are kept.
func keepText(keep string) string {
	return map[string]string{"complete": "trials that reach the end", "best": "the best trial", "all": "all trials"}[keep]
}

// hours writes seconds as hours with two digits.
func hours(s float64) string { return terminal.Number(s/3600, 2) }

// stepTime writes seconds in the unit that suits a step.
func stepTime(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return terminal.Digits(s*1e3) + " ms"
	}
	return terminal.Digits(s) + " s"
}

// sweepScreen shows a sweep while it goes on: on a terminal one line for each trial under way, which changes in place;
// elsewhere a line for each trial that ends.
type sweepScreen struct {
	screen  *terminal.Screen
	job     *trials.Job
	quiet   bool
	records bool // the log has records
	log     func(text string, fields ...any)
}

// linesMost is the largest number of trials that the terminal shows at a time.
const linesMost = 16

// newSweepScreen returns the view of a sweep on a screen. Its function changed is called by the sweep.
func newSweepScreen(screen *terminal.Screen, j *trials.Job, a *app) *sweepScreen {
	log := a.logger(screen, 0)
	return &sweepScreen{
		screen: screen, job: j, quiet: a.quiet, records: a.logFormat == "json",
		log: log.Info,
	}
}

// changed shows what has happened: list are the records that the journal of the sweep has got since the last call,
// s is the state after them. The sweep calls it, one call at a time.
func (v *sweepScreen) changed(s *sweep.State, list []sweep.Record) {
	if v.quiet {
		return
	}
	for _, r := range list {
		switch r.Kind {
		// A decision prunes trials and keeps others, which are complete if this was their last rung.
		case sweep.KindDecision:
			for _, id := range slices.Concat(r.Kept, r.Pruned) {
				v.judged(s, s.Trial(id))
			}
		case sweep.KindExhausted:
			v.say("there are no further configurations: " + r.Reason)
		case sweep.KindOrder:
			v.say("order: " + string(r.Order))
		case sweep.KindFault:
			if r.Fate == sweep.Failed {
				v.say(fmt.Sprintf("trial %d, run %d failed: %s", r.Trial, r.Replicate, r.Reason))
			}
		}
	}
	v.screen.Status(v.status(s))
}

// judged says that a trial has ended. A trial that was pruned needs no line of its own on a terminal, where there
// are many.
func (v *sweepScreen) judged(s *sweep.State, t *sweep.Trial) {
	if !t.Status.Final() {
		return
	}
	if v.records {
		fields := []any{"trial", t.ID, "state", string(t.Status), "update", t.Step()}
		for _, m := range s.Spec.Metrics {
			if x, ok := s.Value(t, m); ok {
				fields = append(fields, m.Name, x)
			}
		}
		v.log("trial ended", fields...)
		return
	}
	if t.Status == sweep.StatusPruned && v.screen.Terminal() {
		return // the terminal has the line while it is running
	}
	v.say(trialLine(s, t))
}

// say prints a line above the status, or logs it as a record.
func (v *sweepScreen) say(text string) {
	if v.records {
		v.log(text)
		return
	}
	fmt.Fprintln(v.screen, text)
}

// status is the picture of the sweep: a line for each trial under way, up to linesMost, and a sum. Elsewhere than
// on a terminal it is the sum alone.
func (v *sweepScreen) status(s *sweep.State) string {
	sum := sweepSum(v.job.Folder.Summary(s))
	if !v.screen.Terminal() {
		return sum
	}
	var lines []string
	for _, t := range s.Trials {
		if t.Status == sweep.StatusRunning {
			lines = append(lines, trialLine(s, t))
		}
	}
	if more := len(lines) - linesMost; more > 0 {
		lines = append(lines[:linesMost], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(append(lines, sum), "\n")
}

// trialLine is a trial in one line: its number, state and update, a value per metric, its settings, and why it
// failed.
func trialLine(s *sweep.State, t *sweep.Trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%4d  %-11s %8s", t.ID, t.Status, terminal.Group(t.Step()))
	for _, m := range s.Spec.Metrics {
		if x, ok := s.Value(t, m); ok {
			fmt.Fprintf(&b, "  %s", metricText(x))
		} else {
			b.WriteString("  -")
		}
	}
	fmt.Fprintf(&b, "  %s", strings.Join(t.Settings.Arguments(), " "))
	if t.Of > 0 {
		fmt.Fprintf(&b, "  (confirms %d)", t.Of)
	}
	if t.Status == sweep.StatusDiverged || t.Status == sweep.StatusFailed {
		b.WriteString("  " + t.Reason)
	}
	return b.String()
}

// metricText is a value with five digits; whole numbers below a billion have all of theirs.
func metricText(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e9 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return terminal.Number(x, 5)
}

// sweepSum says in one line how far a sweep is: the trials by their states, without states that no trial has, and
// the best value, or the size of the Pareto front where there are several metrics.
func sweepSum(u trials.Summary) string {
	parts := []string{fmt.Sprintf("%d/%d trials", u.Trials, max(u.Cap, u.Trials))}
	for _, status := range []sweep.Status{
		sweep.StatusRunning, sweep.StatusWaiting, sweep.StatusPreempted, sweep.StatusInterrupted, sweep.StatusComplete,
		sweep.StatusPruned, sweep.StatusDiverged, sweep.StatusFailed,
	} {
		if n := u.Counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", status, n))
		}
	}
	switch {
	case len(u.Leads) > 1:
		parts = append(parts, fmt.Sprintf("%d on the Pareto front", len(u.Leads)))
	case u.Best != nil:
		parts = append(parts, fmt.Sprintf("best %s (trial %d)", metricText(*u.Best), u.Leads[0]))
	}
	return strings.Join(parts, "  ")
}
