package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/internal/setting"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/sweep/fit"
)

// dataInfo is what `data info --json` prints.
type dataInfo struct {
	Files         []string   `json:"files"`
	files.Summary            // its split is that of a run with seed 1, unless the files give one
	ReadAs        []string   `json:"read_as,omitempty"` // flags that were guessed
	SplitBy       string     `json:"split_by"`          // "given", "seed" or "time"; empty if the data cannot be split
	SplitSteps    [3]int     `json:"split_steps"`       // by time: steps of each part
	SplitProblem  string     `json:"split_problem,omitempty"`
	Suggestion    suggestion `json:"suggestion"`

	Bodies  *dataBodies  `json:"bodies,omitempty"`  // if they are asked for
	Regimes *dataRegimes `json:"regimes,omitempty"` // likewise
}

// dataInfoCommand is `data info`: what files hold, and the command that trains on them.
func (a *app) dataInfoCommand() *cobra.Command {
	var flags readFlags
	var family string
	var bodies, regimes bool
	c := &cobra.Command{
		Use:   "info FILE...",
		Short: "Show shapes, ranges, missing values and a suitable configuration",
		Long: `Show what files hold, and the command that trains on them. The roles of columns with
other names than the convention's are guessed from names and values; the guess is shown,
and the flags below override it. - reads standard input.

--bodies finds which channels and controls belong to the same agent: one helps to
predict the other a step ahead, on data that the fit has not seen.

--regimes finds the number of regimes and the dimensions of a state: autoregressive
hidden Markov models are fitted to one half of the recordings and scored on the other.
The suggested command uses these sizes.`,
		Example: "  " + a.invoked + " data info 'data/*.npz'\n  " + a.invoked +
			" data info record.csv --observe speed --control volt --time date",
		Args: atLeastOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.inspecting(args, func(paths []string) error {
				info, d, err := a.inspect(args, paths, flags, family)
				if err != nil {
					return err
				}
				if regimes {
					if info.Regimes, err = a.weighed(d, &info.Suggestion, family); err != nil {
						return err
					}
				}
				if bodies {
					if info.Bodies, err = divided(d); err != nil {
						return err
					}
				}
				if a.asJSON {
					return a.printJSON(info)
				}
				if err := a.showData(d, info); err != nil {
					return err
				}
				return errors.Join(a.showWeighed(info.Regimes), a.showBodies(info.Bodies))
			})
		},
	}
	flags.add(c, false)
	c.Flags().StringVar(&flags.transform, "transform", "", "transform of the observations before scaling: log, "+
		"diff, log-diff12, NAME=log ...")
	c.Flags().BoolVar(&bodies, "bodies", false, "find which channels and controls belong to the same agent")
	c.Flags().BoolVar(&regimes, "regimes", false, "find the number of regimes")
	c.Flags().StringVar(&family, "model", "slds", "model family to suggest settings for")
	a.jsonFlag(c)
	c.RegisterFlagCompletionFunc("model", completeWords(a.kinds.Families()))
	return c
}

// inspect reads files and finds out what a run would make of them. paths are the files for args, in which - may be.
func (a *app) inspect(args, paths []string, flags readFlags, family string) (dataInfo, *files.Dataset, error) {
	d, how, err := flags.guess(paths)
	if err != nil {
		return dataInfo{}, nil, err
	}
	info := dataInfo{Files: args}
	if info.Summary, err = d.Summarise(); err != nil {
		return info, nil, err
	}
	// The channels were guessed, which the user should see.
	if len(how.Observe) > len(flags.observe) {
		info.ReadAs = readWords(how)
	}
	if info.Suggestion, err = a.suggested(family, args, how, d); err != nil {
		return info, nil, err
	}
	return info, d, info.divide(a, d)
}

// showData prints the facts of a data set, a line per channel, how the files were read, notes, and the suggested
// command.
func (a *app) showData(d *files.Dataset, info dataInfo) error {
	if err := dataFacts(d, info).Write(a.out); err != nil {
		return err
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	table := terminal.NewTable("channel", "min", "max", "mean", "sd", "missing", "").Left(6)
	for _, c := range info.Channels {
		low, high, mean, sd, note := short(c.Min), short(c.Max), short(c.Mean), short(c.SD), ""
		switch {
		case c.Observed == 0:
			low, high, mean, sd, note = "–", "–", "–", "–", "never observed"
		case c.Constant:
			note = "constant"
		}
		table.Row(c.Name, low, high, mean, sd, terminal.Group(c.Missing), note)
	}
	if _, err := table.WriteTo(a.out); err != nil {
		return err
	}
	if info.ReadAs != nil {
		if err := a.printf("read as (guessed by names and values):\n%s", shellLines(append([]string{
			a.invoked, "data",
			"info",
		}, append(slices.Clone(info.Files), info.ReadAs...)...))); err != nil {
			return err
		}
	}
	for _, note := range append(info.Notes, channelNotes(info.Channels)...) {
		if err := a.printf("note: %s\n", note); err != nil {
			return err
		}
	}
	return a.printf("\n%s\n", info.Suggestion.text(a.invoked))
}

// dataFacts describes a data set as lines of a name and a text.
func dataFacts(d *files.Dataset, info dataInfo) terminal.Facts {
	lengths := fmt.Sprintf("of %d steps", info.Lengths.Max)
	if info.Lengths.Min < info.Lengths.Max {
		lengths = fmt.Sprintf("of %d to %d steps, median %d", info.Lengths.Min, info.Lengths.Max, info.Lengths.Median)
	}
	shape := fmt.Sprintf("%s, %s", terminal.Count(d.Spec.Observation, "observation"),
		terminal.Count(d.Spec.Control, "control"))
	values := info.Steps * d.Spec.Observation
	if info.Image != nil {
		shape = fmt.Sprintf("images of %d×%d pixels, %s, %s", info.Image[0], info.Image[1],
			terminal.Count(info.Image[2], "channel"), terminal.Count(d.Spec.Control, "control"))
	}
	return terminal.Facts{
		{"data", terminal.Plain(strings.Join(info.Files, " "))},
		{"episodes", fmt.Sprintf("%s %s, %s steps in all", terminal.Group(info.Episodes), lengths,
			terminal.Group(info.Steps))},
		{"a step", shape},
		{"dt", orUnknown(info.DT > 0, strings.TrimSpace(short(info.DT)+" "+info.TimeUnit))},
		{"missing", fmt.Sprintf("%s of %s values (%s %%)", terminal.Group(info.Missing), terminal.Group(values),
			terminal.Digits(100*float64(info.Missing)/float64(values)))},
		{"truth", truth(info.Summary)},
		{"split", info.splitText()},
		{"sha256", info.Hash},
	}
}

// truth lists the states, labels and modes that the files hold beside observations and controls; at most six
// labels.
func truth(s files.Summary) string {
	var parts []string
	if s.States > 0 {
		parts = append(parts, terminal.Count(s.States, "state"))
	}
	if len(s.Labels) > 0 {
		names := strings.Join(s.Labels, " ")
		if len(s.Labels) > 6 {
			names = strings.Join(s.Labels[:6], " ") + " …"
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", terminal.Count(len(s.Labels), "label"), names))
	}
	if s.Modes > 0 {
		parts = append(parts, terminal.Count(s.Modes, "mode"))
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, ", ")
}

// divide fills in how the suggested run would split the data. With env.split=time, it counts recordings by their parts.
func (i *dataInfo) divide(a *app, d *files.Dataset) error {
	// The split that a run has by default, and over it what the suggestion sets.
	settings := &files.Settings{Split: "auto", Validation: 0.1, Test: 0.1}
	for _, s := range i.Suggestion.Settings {
		key, value, _ := strings.Cut(s, "=")
		switch key {
		case "env.split":
			settings.Split = value
		case "env.validation", "env.test":
			share, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return err
			}
			settings.Validation, settings.Test = share, share
		}
	}
	divided, err := settings.Divided(d)
	var s files.Split
	if err == nil {
		s, err = divided.Split(1, files.Fractions{Validation: settings.Validation, Test: settings.Test})
	}
	if err != nil {
		i.Split, i.SplitProblem = [3]int{}, err.Error()
		if fault := new(files.Error); errors.As(err, &fault) {
			i.SplitProblem = fault.Problem
		}
		return nil
	}
	i.Split, i.SplitBy = [3]int{len(s.Training), len(s.Validation), len(s.Test)}, "seed"
	switch {
	case d.Episodes[0].Part != files.Unassigned:
		i.SplitBy = "given"
	case divided != d:
		i.SplitBy = "time"
		for part := range i.SplitSteps {
			for _, e := range s.Of(files.Part(part)) {
				i.SplitSteps[part] += divided.Episodes[e].T
			}
		}
	}
	return nil
}

// splitText says how many episodes, or steps where time divides, each part has, or why the data cannot be split.
func (i *dataInfo) splitText() string {
	switch {
	case i.SplitProblem != "":
		return i.SplitProblem
	case i.SplitBy == "time":
		return fmt.Sprintf("%s training, %s validation, %s test steps (by time)", terminal.Group(i.SplitSteps[0]),
			terminal.Group(i.SplitSteps[1]), terminal.Group(i.SplitSteps[2]))
	case i.SplitBy == "seed":
		return fmt.Sprintf("%d training, %d validation, %d test (by seed)", i.Split[0], i.Split[1], i.Split[2])
	}
	return fmt.Sprintf("%d training, %d validation, %d test (given)", i.Split[0], i.Split[1], i.Split[2])
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

// orUnknown is the text if it is known.
func orUnknown(known bool, text string) string {
	if known {
		return text
	}
	return "unknown"
}

// short writes a number with five significant digits.
func short(v float64) string { return terminal.Number(v, 5) }

// suggestion is a configuration to begin with, and the command that has to be run before.
type suggestion struct {
	fit.Suggestion
	Convert []string `json:"convert,omitempty"` // arguments of the command that has to be run first
}

// suggested finds a configuration for data that were read from these paths.
func (a *app) suggested(family string, paths []string, how files.Options, d *files.Dataset) (suggestion, error) {
	f, err := a.family(family)
	if err != nil {
		return suggestion{}, err
	}
	var g suggestion
	if slices.Contains(paths, stdin) { // a run reads its files again, so that they have to be kept
		to := freeName("own")
		g.Convert = slices.Concat([]string{"data", "convert"}, paths, []string{to}, readWords(how))
		paths, how = []string{to}, files.Options{Transform: how.Transform}
	}
	g.Suggestion = fit.Suggest(f, paths, how, d)
	if g.Preset == "" {
		g.Convert = nil
	}
	return g, nil
}

// family is the family of models of a name, with its keys. An unknown name is a usage error that suggests the
// nearest one.
func (a *app) family(name string) (fit.Family, error) {
	all := a.kinds.Families()
	if !slices.Contains(all, name) {
		hint := "the families are " + strings.Join(all, ", ")
		if near := setting.Nearest(name, all); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fit.Family{}, config.Hint(config.Usagef("--model %s: there is no such family of models", name), "%s", hint)
	}
	return fit.Family{Name: name, Has: func(key string) bool { return a.kinds.Has(key, "model.kind="+name) }}, nil
}

// freeName is the name of an npz file that does not exist.
func freeName(stem string) string {
	name := stem + ".npz"
	for i := 2; ; i++ {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) || i > 99 {
			return name
		}
		name = fmt.Sprintf("%s%d.npz", stem, i)
	}
}

// text is the suggestion as lines to copy, with a heading. A line that is too long for a terminal goes on in the next.
func (g suggestion) text(program string) string {
	if g.Preset == "" {
		return "suggested: nothing yet\n  (" + g.Why + ")"
	}
	var b strings.Builder
	b.WriteString("suggested (" + g.Why + "):\n")
	if g.Convert != nil {
		b.WriteString(shellLines(append([]string{program}, g.Convert...)))
	}
	b.WriteString(shellLines(append([]string{program, "train", g.Preset}, g.Settings...)))
	return strings.TrimSuffix(b.String(), "\n")
}

// shellLines is a command for a shell, with words quoted where that is needed. It goes on behind a backslash where
// it is longer than a terminal is wide.
func shellLines(words []string) string {
	const width = 78
	var b strings.Builder
	column := 0
	for i, w := range words {
		w = terminal.Quoted(w)
		switch {
		case i == 0:
			b.WriteString("  " + w)
			column = 2 + len([]rune(w))
			continue
		case column+1+len([]rune(w)) > width-2 && column > 4:
			b.WriteString(" \\\n    " + w)
			column = 4 + len([]rune(w))
			continue
		}
		b.WriteString(" " + w)
		column += 1 + len([]rune(w))
	}
	return b.String() + "\n"
}
