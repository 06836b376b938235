package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/readable"
	"github.com/switchyard-ml/switchyard/internal/suggest"
)

// dataInfo is what `data info --json` prints.
type dataInfo struct {
	Files         []string   `json:"files"`
	files.Summary            // its split is that of a run with seed 1, unless the files give one
	SplitBy       string     `json:"split_by"` // "given" or "seed"; empty if the episodes cannot be split
	SplitProblem  string     `json:"split_problem,omitempty"`
	Suggestion    suggestion `json:"suggestion"`
}

func (a *app) dataInfoCommand() *cobra.Command {
	var flags readFlags
	var asJSON bool
	c := &cobra.Command{
		Use:     "info FILE...",
		Short:   "Show shapes, ranges, missing values and a configuration that fits",
		Example: "  " + a.invoked + " data info 'data/*.npz'\n  " + a.invoked + " data info record.mat --rename yEst=y,uEst=u --cut 500",
		Args:    atLeastOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := flags.read(args)
			if err != nil {
				return err
			}
			summary, err := d.Summarise()
			if err != nil {
				return err
			}
			info := dataInfo{Files: args, Summary: summary}
			how, err := flags.options()
			if err != nil {
				return err
			}
			if info.Suggestion, err = suggested(args, how, d, summary); err != nil {
				return err
			}
			info.divide(d)
			if asJSON {
				return a.printJSON(info)
			}
			return a.showData(d, info)
		},
	}
	flags.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print one object")
	return c
}

func (a *app) showData(d *files.Dataset, info dataInfo) error {
	if err := writeFacts(a.out, dataFacts(d, info)); err != nil {
		return err
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	table := readable.NewTable("channel", "min", "max", "mean", "sd", "missing", "").Left(6)
	for _, c := range info.Channels {
		low, high, mean, sd, note := short(c.Min), short(c.Max), short(c.Mean), short(c.SD), ""
		switch {
		case c.Observed == 0:
			low, high, mean, sd, note = "–", "–", "–", "–", "never observed"
		case c.Constant:
			note = "constant"
		}
		table.Row(c.Name, low, high, mean, sd, readable.Group(c.Missing), note)
	}
	if _, err := table.WriteTo(a.out); err != nil {
		return err
	}
	for _, note := range append(info.Notes, channelNotes(info.Channels)...) {
		if err := a.printf("note: %s\n", note); err != nil {
			return err
		}
	}
	return a.printf("\n%s\n", info.Suggestion.text(a.invoked))
}

func dataFacts(d *files.Dataset, info dataInfo) []fact {
	lengths := fmt.Sprintf("of %d steps", info.Lengths.Max)
	if info.Lengths.Min < info.Lengths.Max {
		lengths = fmt.Sprintf("of %d to %d steps, median %d", info.Lengths.Min, info.Lengths.Max, info.Lengths.Median)
	}
	shape := fmt.Sprintf("%s, %s", readable.Count(d.Spec.Observation, "observation"), readable.Count(d.Spec.Control, "control"))
	values := info.Steps * d.Spec.Observation
	if info.Image != nil {
		shape = fmt.Sprintf("images of %d×%d pixels, %s, %s", info.Image[0], info.Image[1], readable.Count(info.Image[2], "channel"), readable.Count(d.Spec.Control, "control"))
	}
	return []fact{
		{"data", strings.Join(info.Files, " ")},
		{"episodes", fmt.Sprintf("%s %s, %s steps in all", readable.Group(info.Episodes), lengths, readable.Group(info.Steps))},
		{"a step", shape},
		{"dt", orUnknown(info.DT > 0, short(info.DT))},
		{"missing", fmt.Sprintf("%s of %s values (%.3g %%)", readable.Group(info.Missing), readable.Group(values), 100*float64(info.Missing)/float64(values))},
		{"truth", truth(info.Summary)},
		{"split", info.splitText()},
		{"sha256", info.Hash},
	}
}

func truth(s files.Summary) string {
	var parts []string
	if s.States > 0 {
		parts = append(parts, readable.Count(s.States, "state"))
	}
	if len(s.Labels) > 0 {
		names := strings.Join(s.Labels, " ")
		if len(s.Labels) > 6 {
			names = strings.Join(s.Labels[:6], " ") + " …"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", readable.Count(len(s.Labels), "label"), names))
	}
	if s.Modes > 0 {
		parts = append(parts, readable.Count(s.Modes, "mode"))
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, ", ")
}

// divide fills in how a run would split the episodes.
func (i *dataInfo) divide(d *files.Dataset) {
	s, err := d.Split(1, files.DefaultFractions())
	if err != nil {
		i.Split, i.SplitProblem = [3]int{}, err.Error()
		if fault := new(files.Error); suggest.Undivided(d) && errors.As(err, &fault) {
			i.SplitProblem = fault.Problem // the suggestion is the hint
		}
		return
	}
	i.Split = [3]int{len(s.Training), len(s.Validation), len(s.Test)}
	i.SplitBy = "seed"
	if d.Episodes[0].Part != files.Unassigned {
		i.SplitBy = "given"
	}
}

func (i *dataInfo) splitText() string {
	if i.SplitProblem != "" {
		return i.SplitProblem
	}
	by := i.SplitBy
	if by == "seed" {
		by = "by seed"
	}
	return fmt.Sprintf("%d training, %d validation, %d test (%s)", i.Split[0], i.Split[1], i.Split[2], by)
}

// channelNotes name the channels that a model cannot learn from.
func channelNotes(channels []files.Channel) []string {
	var constant, unobserved []string
	for _, c := range channels {
		if c.Constant {
			constant = append(constant, c.Name)
		}
		if c.Observed == 0 {
			unobserved = append(unobserved, c.Name)
		}
	}
	var notes []string
	if len(constant) > 0 {
		notes = append(notes, strings.Join(constant, ", ")+" never changes: leave it out unless that is meant")
	}
	if len(unobserved) > 0 {
		notes = append(notes, strings.Join(unobserved, ", ")+" is never observed: leave it out")
	}
	return notes
}

func orUnknown(known bool, text string) string {
	if known {
		return text
	}
	return "unknown"
}

// short writes a number with five significant digits.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }
