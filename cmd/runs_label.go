package cmd

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/store"
)

// labelling is what runs label changes.
type labelling struct {
	add, drop []string
	// The new note; noted says that it was given, because an empty one removes the note.
	note             string
	noted            bool
	archive, restore bool
}

// labelledRun is what runs label --json prints of each run.
type labelledRun struct {
	Name string `json:"name"`
	store.Labels
}

// runsLabelCommand is `runs label`: it changes tags, note and archive of runs.
func (a *app) runsLabelCommand() *cobra.Command {
	var f labelling
	c := &cobra.Command{
		Use: "label NAME...", Short: "Tag, annotate or archive runs",
		Long: `Give runs tags and a note, or archive them. The page shows and filters by both, and shows archived
runs only on request. Nothing that a run computes changes, and a run can be labelled while it trains.`,
		Example: "  " + a.invoked + " runs label mine --tag baseline,paper\n  " + a.invoked + ` runs label mine --note "wider, ` +
			`with less weight on the divergence"` + "\n  " + a.invoked + " runs label old-1 old-2 --archive",
		Args:              atLeastOne("NAME"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(c *cobra.Command, args []string) error {
			f.noted = c.Flags().Changed("note")
			return a.labelRuns(f, args)
		},
	}
	c.Flags().StringSliceVar(&f.add, "tag", nil, "tags to add")
	c.Flags().StringSliceVar(&f.drop, "untag", nil, "tags to remove")
	c.Flags().StringVar(&f.note, "note", "", "note; replaces the previous one")
	c.Flags().BoolVar(&f.archive, "archive", false, "archive the runs")
	c.Flags().BoolVar(&f.restore, "restore", false, "bring archived runs back")
	a.jsonFlag(c)
	return c
}

// labelRuns changes the labels of each run and prints what they are then, also of those before one that fails. Labels
// that are too long or too many are a usage error.
func (a *app) labelRuns(f labelling, names []string) (err error) {
	if f.archive && f.restore {
		return config.Usagef("--archive and --restore: choose one")
	}
	for _, tags := range [][]string{f.add, f.drop} {
		for i, tag := range tags {
			tags[i] = strings.TrimSpace(tag) // as the store has it
		}
	}
	changed := []labelledRun{}
	for _, name := range names {
		var l store.Labels
		if l, err = a.labelRun(f, name); err != nil {
			break
		}
		changed = append(changed, labelledRun{name, l})
	}
	if err != nil && len(changed) == 0 {
		return err
	}
	return errors.Join(a.result(changed, func() error {
		for _, r := range changed {
			if err := a.printf("%s: %s\n", r.Name, labelled(r.Labels)); err != nil {
				return err
			}
		}
		return nil
	}), err)
}

// labelRun changes the labels of a run and returns what they are then. What is both added and dropped is dropped.
func (a *app) labelRun(f labelling, name string) (store.Labels, error) {
	l, err := store.ReadLabels(a.runsDir, name)
	if errors.Is(err, store.ErrDamaged) {
		return l, config.Hint(err, "remove the file; only tags and note are lost")
	}
	if err == nil {
		l.Tags = slices.DeleteFunc(append(l.Tags, f.add...), func(t string) bool { return slices.Contains(f.drop, t) })
		l.Archived = (l.Archived || f.archive) && !f.restore
		if f.noted {
			l.Note = f.note
		}
		err = store.SetLabels(a.runsDir, name, l)
	}
	if err == nil {
		l, err = store.ReadLabels(a.runsDir, name)
	}
	if errors.Is(err, store.ErrLabels) {
		return l, config.Usage(err)
	}
	return l, a.missingRun(err)
}

// labelled describes labels in a line.
func labelled(l store.Labels) string {
	var parts []string
	if l.Archived {
		parts = append(parts, "archived")
	}
	if len(l.Tags) > 0 {
		parts = append(parts, "tags "+strings.Join(l.Tags, ", "))
	}
	if l.Note != "" {
		parts = append(parts, "note: "+l.Note)
	}
	return cmp.Or(strings.Join(parts, "; "), "no labels")
}
