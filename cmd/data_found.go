package cmd

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/trained"
)

// What the searches of `data info` find: regimes and bodies. Each has a struct, which is printed with --json, a
// function that fills it from what package eval finds, and one that prints it for people.

// dataRegimes is what `data info --regimes` finds: the number of regimes, the dimensions of a latent state, and the
// observations that such a state holds (lags). sure is the share of resampled recordings with the same number.
type dataRegimes struct {
	Regimes int           `json:"regimes"`
	Latent  int           `json:"latent"`
	Lags    int           `json:"lags"`
	Sure    float64       `json:"sure"`
	Open    bool          `json:"open"` // more than were tried
	Tried   []dataTried   `json:"tried"`
	Text    string        `json:"text"`
	used    bool          // the suggestion has these sizes
	found   eval.Evidence // what all of this was taken from
}

// dataTried is a number of regimes that was tried, with the log likelihood of held-out steps and its standard
// error.
type dataTried struct {
	Regimes       int         `json:"regimes"`
	LogLikelihood eval.Number `json:"log_likelihood"` // nats per step
	SE            eval.Number `json:"standard_error"`
}

// weighed finds how many regimes a data set has. If there are several, and fewer than the most that were tried, the
// suggestion gets their number and the sizes that belong to it.
func (a *app) weighed(d *files.Dataset, g *suggestion, family string) (*dataRegimes, error) {
	f, err := a.family(family)
	if err != nil {
		return nil, err
	}
	e, err := eval.Weigh(d)
	if err != nil {
		return nil, dataFault(err)
	}
	y := &dataRegimes{
		Regimes: e.Regimes, Latent: e.Latent(), Lags: e.Lags, Sure: e.Sure, Open: e.Open, Text: e.Text(), found: e,
	}
	for _, t := range e.Tried {
		l := t.LogLikelihood
		y.Tried = append(y.Tried, dataTried{t.Regimes, eval.Number(l.Value), eval.Number(l.SE)})
	}
	if e.Settled() {
		y.used = g.Regimes(f, e.Regimes, e.Lags, e.Latent())
	}
	return y, nil
}

// showWeighed prints the numbers of regimes that were tried, and what follows. A nil y, which was not asked for,
// prints nothing.
func (a *app) showWeighed(y *dataRegimes) error {
	if y == nil {
		return nil
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	table := terminal.NewTable("regimes", "held-out log likelihood", "± SE")
	for _, t := range y.found.Tried {
		l := t.LogLikelihood
		table.Row(fmt.Sprint(t.Regimes), fmt.Sprintf("%.3f", l.Value), fmt.Sprintf("%.3f", l.SE))
	}
	if _, err := table.WriteTo(a.out); err != nil {
		return err
	}
	text := y.Text
	if y.used {
		text += "; the suggested command has this number"
	}
	return a.printf("%s.\n%s.\n", text, y.found.StateText())
}

// dataBodies is what `data info --bodies` finds.
type dataBodies struct {
	Bodies  []dataBody `json:"bodies"`
	Sure    float64    `json:"sure"`
	Setting string     `json:"setting,omitempty"` // model.bodies=…
	Links   []dataLink `json:"links"`
	Between *dataLink  `json:"between,omitempty"` // the strongest that does not count
}

// dataBody is a group of channels and controls that belong to one agent.
type dataBody struct {
	Channels []string `json:"channels"`
	Controls []string `json:"controls,omitempty"`
}

// dataLink says that a channel or control helps to predict a channel a step ahead: gain is the share of the squared
// error that it saves, z the gain over its standard error; linear says that a linear fit sees it.
type dataLink struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Gain   float64 `json:"gain"`
	Z      float64 `json:"z"`
	Linear bool    `json:"linear"`
}

// divided finds bodies among the channels of a data set: channels that help to predict each other a step ahead.
func divided(d *files.Dataset) (*dataBodies, error) {
	found, err := eval.Divide(d)
	if err != nil {
		return nil, dataFault(err)
	}
	_, columns := trained.RecordingsOf(d)
	return named(found, columns), nil
}

// named is a division with the names of columns in place of their numbers. Links number the controls behind all
// channels.
func named(d eval.Division, c trained.Columns) *dataBodies {
	y := &dataBodies{Sure: d.Sure, Links: []dataLink{}}
	if d.Setting != "" {
		y.Setting = "model.bodies=" + d.Setting
	}
	of := func(names []string, places []int) (list []string) {
		for _, p := range places {
			list = append(list, names[p])
		}
		return list
	}
	for _, b := range d.Bodies {
		y.Bodies = append(y.Bodies, dataBody{of(c.Observations, b.Channels), of(c.Controls, b.Controls)})
	}
	all := append(append([]string{}, c.Observations...), c.Controls...)
	link := func(l eval.Link) dataLink {
		return dataLink{From: all[l.From], To: c.Observations[l.To], Gain: l.Gain, Z: l.Z, Linear: !l.Curved}
	}
	for _, l := range d.Links {
		y.Links = append(y.Links, link(l))
	}
	if d.Between.Gain > 0 {
		l := link(d.Between)
		y.Between = &l
	}
	return y
}

// showBodies prints the bodies, the links within them, the strongest link that does not count, and the setting to
// train with. A nil y prints nothing.
func (a *app) showBodies(y *dataBodies) error {
	if y == nil {
		return nil
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	table := terminal.NewTable("body", "channels", "controls").Left(1).Left(2)
	for i, b := range y.Bodies {
		table.Row(fmt.Sprint(i+1), strings.Join(b.Channels, " "), strings.Join(b.Controls, " "))
	}
	if _, err := table.WriteTo(a.out); err != nil {
		return err
	}
	links := terminal.NewTable("from", "to", "saves %", "standard errors", "").Left(0).Left(1).Left(4)
	row := func(l dataLink, note string) {
		if !l.Linear {
			note = strings.TrimPrefix(note+", depends on the state", ", ")
		}
		links.Row(l.From, l.To, fmt.Sprintf("%.2f", 100*l.Gain), fmt.Sprintf("%.1f", l.Z), note)
	}
	for _, l := range y.Links {
		row(l, "")
	}
	if y.Between != nil {
		row(*y.Between, "does not count")
	}
	if err := a.printf("\n"); err != nil {
		return err
	}
	if _, err := links.WriteTo(a.out); err != nil {
		return err
	}
	return a.printf("\n%s\n", y.verdict())
}

// verdict says what the division is good for: a setting of model.bodies, or why there is none.
func (y *dataBodies) verdict() string {
	sure := fmt.Sprintf("%.0f %% of 200 resampled data sets give the same division.", 100*y.Sure)
	switch {
	case len(y.Bodies) == 1:
		return "All channels belong to one body. " + sure
	case y.Setting == "":
		return fmt.Sprintf("%d groups of different sizes: model.bodies needs bodies with equal numbers of channels and "+
			"controls. %s", len(y.Bodies), sure)
	}
	return fmt.Sprintf("%d bodies. %s\nTrain with  %s", len(y.Bodies), sure, y.Setting)
}
