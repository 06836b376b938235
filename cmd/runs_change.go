package cmd

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/sweep/trials"
)

// runsRemoveCommand is `runs rm`. It ends at the first run that it cannot remove; those before are gone.
func (a *app) runsRemoveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rm NAME...", Short: "Remove runs with all their files",
		Long: "Remove runs from the folder of runs, with their checkpoints, logs and figures. This " +
			"cannot\nbe undone. A run that a process is working on is left alone.",
		Args:              atLeastOne("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE:              func(_ *cobra.Command, args []string) error { return a.removeRuns(args) },
	}
	a.jsonFlag(c)
	return c
}

// removeRuns removes runs, and says which are gone, also if one after them cannot be removed.
func (a *app) removeRuns(names []string) error {
	removed := []trials.Item{}
	for _, name := range names {
		size, err := store.Size(a.runsDir, name)
		if err == nil {
			err = store.Remove(a.runsDir, name)
		}
		if err != nil {
			err = a.missingRun(err)
			if a.asJSON && len(removed) > 0 {
				err = errors.Join(a.printJSON(pruned{removed, trials.Sum(removed), true}), err)
			}
			return err
		}
		removed = append(removed, trials.Item{Run: name, What: trials.Whole, Why: "on request", Bytes: size})
		if a.asJSON {
			continue
		}
		if err := a.printf("removed %s, %s\n", name, terminal.Bytes(size)); err != nil {
			return err
		}
	}
	return a.result(pruned{removed, trials.Sum(removed), true}, func() error { return nil })
}

// runsRenameCommand is `runs rename`. A name that is taken, and a run that a process works on, are usage errors.
func (a *app) runsRenameCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rename NAME NEW", Short: "Rename a run",
		Long:              "Rename a run in the folder of runs. The run keeps a record of its first name.",
		Args:              exactly("NAME", "NEW"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := store.Rename(a.runsDir, args[0], args[1]); err != nil {
				return a.missingRun(err)
			}
			info, err := store.Load(a.runsDir, args[1])
			if err != nil {
				return err
			}
			return a.result(info, func() error { return a.printf("%s is now %s\n", args[0], args[1]) })
		},
	}
	a.jsonFlag(c)
	return c
}

// runsCompareCommand is `runs compare`: two runs side by side.
func (a *app) runsCompareCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "compare A B", Short: "Compare the results and settings of two runs",
		Long: "Show two runs side by side: their results, and the configuration keys that differ. The page\n" +
			"of serve also compares their curves. Objectives are compared only between runs of one model\n" +
			"on the same data, bounds only on the same data.",
		Args:              exactly("A", "B"),
		ValidArgsFunction: a.completeRuns,
		RunE:              func(_ *cobra.Command, args []string) error { return a.compareRuns(args[0], args[1]) },
	}
	a.jsonFlag(c)
	return c
}

// comparison is what runs compare --json prints.
type comparison struct {
	Runs         [2]store.Info       `json:"runs"`
	Differences  []config.Difference `json:"differences"`
	Incomparable []string            `json:"incomparable"` // metrics that mean something else in each run
}

// incomparable are the metrics that two runs with these differences must not be judged by, and the first key that is
// why: a bound is of the data, and an objective also of the weights of its loss.
func incomparable(differences []config.Difference) (metrics []string, key string) {
	for _, d := range differences {
		switch section, _, _ := strings.Cut(d.Key, "."); {
		case section == "env":
			return []string{"best_validation_objective", "validation_elbo"}, d.Key
		case key == "" && (d.Key == "model.kind" || d.Key == "model.switching" || d.Key == "anneal.kl_switch"):
			metrics, key = []string{"best_validation_objective"}, d.Key
		}
	}
	return metrics, key
}

// compareRuns prints state, results and the keys that differ. Results that must not be compared are left out and
// named.
func (a *app) compareRuns(left, right string) error {
	var infos [2]store.Info
	var configs [2]config.Config
	for i, name := range []string{left, right} {
		var err error
		if infos[i], err = store.Load(a.runsDir, name); err != nil {
			return a.missingRun(err)
		}
		if configs[i], err = a.runConfig(name); err != nil {
			return err
		}
	}
	differences := config.AllDifferences(configs[0], configs[1])
	// Numbers of other data, or of another loss, say nothing about which run is better.
	hidden, why := incomparable(differences)
	if a.asJSON {
		return a.printJSON(comparison{infos, append([]config.Difference{}, differences...), append([]string{}, hidden...)})
	}
	table := terminal.NewTable("", left, right).Left(1, 2)
	row := func(name string, of func(store.Info) string) { table.Row(name, of(infos[0]), of(infos[1])) }
	row("state", func(i store.Info) string { return string(i.State) })
	row("step", func(i store.Info) string { return terminal.Group(i.Step) + "/" + terminal.Group(i.Steps) })
	var names []string
	for _, m := range []struct{ name, key string }{
		{"best objective", "best_validation_objective"}, {"elbo", "validation_elbo"},
	} {
		if slices.Contains(hidden, m.key) {
			names = append(names, m.name)
			continue
		}
		row(m.name, func(i store.Info) string { return metric(i, m.key) })
	}
	row("parameters", func(i store.Info) string { return terminal.Group(i.Parameters) })
	for _, d := range differences {
		table.Row(d.Key, cmp.Or(d.A, "-"), cmp.Or(d.B, "-"))
	}
	if _, err := table.WriteTo(a.out); err != nil || len(hidden) == 0 {
		return err
	}
	return a.printf("\nnot compared, because %s differs: %s\n", why, strings.Join(names, ", "))
}

// pruning is what runs prune was asked for.
type pruning struct {
	// An age as parseAge reads it; empty: whole runs are kept. sweeps is the folder of sweeps.
	older  string
	sweeps string
	yes    bool
	dry    bool
}

// pruned is what runs prune and runs rm print with --json.
type pruned struct {
	Items   []trials.Item `json:"items"`
	Bytes   int64         `json:"bytes"`
	Removed bool          `json:"removed"` // the items are gone; otherwise they would go
}

// runsPruneCommand is `runs prune`: it removes what no run or sweep needs.
func (a *app) runsPruneCommand() *cobra.Command {
	var f pruning
	c := &cobra.Command{
		Use: "prune", Short: "Free disk space: remove what no run or sweep needs",
		Long: `Free disk space in the folder of runs. This removes:

  finished runs        all checkpoints but the best and the last
  finished sweeps      checkpoints and logs of complete trials that lost
  data sets            that were submitted to a coordinator, and that no run or sweep names any more
  with --older-than    whole finished runs of that age or older

It lists what would be removed and how much space that frees, and asks. It keeps runs that can be resumed, runs and sweeps in
progress, sweeps with keep: all, and runs whose files the configuration of another run or of such a sweep names.`,
		Example: "  " + a.invoked + " runs prune --dry-run\n  " + a.invoked + " runs prune --older-than 30d --yes",
		Args:    exactly(),
		RunE:    func(*cobra.Command, []string) error { return a.pruneRuns(f) },
	}
	c.Flags().StringVar(&f.older, "older-than", "", "`AGE` from which whole finished runs are removed: 12h, 30d, 8w "+
		"(default: none are)")
	c.Flags().StringVar(&f.sweeps, "sweeps-dir", usualSweeps, "folder of the sweeps")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "list what would be removed, and remove nothing")
	a.jsonFlag(c)
	return c
}

// pruneRuns lists what would be removed, asks unless --yes is given, and removes it. An age that is none, and
// --json where it would have to ask, are usage errors.
func (a *app) pruneRuns(f pruning) error {
	// Without --older-than no whole run is removed.
	older, err := parseAge(f.older)
	if err != nil {
		return err
	}
	if a.asJSON && !f.yes && !f.dry {
		return config.Hint(config.Usagef("--json cannot ask"), "add --yes, or --dry-run")
	}
	items, err := trials.Find(trials.PruneRequest{Runs: a.runsDir, Sweeps: f.sweeps, Older: older, Now: time.Now()})
	if err != nil {
		return err
	}
	if a.asJSON {
		return a.pruneJSON(items, f.dry)
	}
	if len(items) == 0 {
		return a.printf("nothing to remove in %s\n", a.runsDir)
	}
	table := terminal.NewTable("run", "goes", "room", "why").Left(1, 3)
	for _, i := range items {
		table.Row(i.Run, i.What, terminal.Bytes(i.Bytes), i.Why)
	}
	if _, err := table.WriteTo(a.out); err != nil {
		return err
	}
	room := terminal.Bytes(trials.Sum(items))
	if f.dry {
		return a.printf("\n%s in all; dry run, nothing was removed\n", room)
	}
	if !f.yes {
		yes, err := a.agreed(fmt.Sprintf("\nremove this, %s in all?", room))
		if err != nil {
			return err
		}
		if !yes {
			return a.printf("nothing was removed\n")
		}
	}
	return a.removeItems(items, func(i trials.Item) error {
		return a.printf("removed %s: %s, %s\n", i.Run, i.What, terminal.Bytes(i.Bytes))
	})
}

// pruneJSON removes items, unless it is a dry run, and prints what is gone, or what would go. One that was left alone
// is not among it.
func (a *app) pruneJSON(items []trials.Item, dry bool) error {
	if dry {
		return a.printJSON(pruned{append([]trials.Item{}, items...), trials.Sum(items), false})
	}
	gone := []trials.Item{}
	err := a.removeItems(items, func(i trials.Item) error {
		gone = append(gone, i)
		return nil
	})
	return errors.Join(a.printJSON(pruned{gone, trials.Sum(gone), true}), err)
}

// removeItems removes items and tells of each. One that a process has taken meanwhile is left alone, with a warning.
func (a *app) removeItems(items []trials.Item, tell func(trials.Item) error) error {
	for _, i := range items {
		err := i.Remove()
		if errors.Is(err, store.ErrHeld) || errors.Is(err, trials.ErrPlanChanged) || errors.Is(err, store.ErrNotFound) {
			a.remark("warning", fmt.Sprintf("left alone: %v", err))
			continue
		}
		if err == nil {
			err = tell(i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// agreed asks a question whose answer is yes or no; anything but y and yes is no. Where nobody answers, because the
// input has ended, it is a usage error.
func (a *app) agreed(question string) (bool, error) {
	if err := a.printf("%s [y/N] ", question); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if errors.Is(err, io.EOF) && answer == "" {
		return false, errors.Join(a.printf("\n"), config.Hint(config.Usagef("no answer"),
			"--yes removes without asking, --dry-run removes nothing"))
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	word := strings.ToLower(strings.TrimSpace(answer))
	return word == "y" || word == "yes", nil
}

// parseAge reads an age: a number with h, d or w; empty is 0.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	units := map[byte]time.Duration{'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit := units[text[len(text)-1]]
	n, err := strconv.ParseFloat(text[:len(text)-1], 64)
	age := n * float64(unit)
	if err != nil || unit == 0 || !(n > 0) {
		return 0, config.Usagef("--older-than %s: must be a number with h, d or w, e.g. 30d", text)
	}
	if age >= math.MaxInt64 {
		return 0, config.Usagef("--older-than %s: no run is older than 292 years", text)
	}
	return time.Duration(age), nil
}
