package cmd

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/number"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// dataRegimes is what `data info --regimes` finds.
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

type dataTried struct {
	Regimes       int           `json:"regimes"`
	LogLikelihood number.Number `json:"log_likelihood"` // nats per step
	SE            number.Number `json:"standard_error"`
}

// weighed finds how many regimes a data set has, and gives the suggestion their sizes.
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
		y.Tried = append(y.Tried, dataTried{t.Regimes, number.Number(l.Value), number.Number(l.SE)})
	}
	if e.Settled() {
		y.used = g.Regimes(f, e.Regimes, e.Lags, e.Latent())
	}
	return y, nil
}

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
