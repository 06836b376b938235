package bench

import (
	"fmt"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/scaling"
)

// predictions are what `bench scale --json` prints.
type predictions struct {
	Load scaling.Load `json:"load"`
	Rows []struct {
		Cluster    scaling.Cluster    `json:"cluster"`
		Prediction scaling.Prediction `json:"prediction"`
	} `json:"rows"`
}

// stepMetrics are a line of metrics.jsonl.
type stepMetrics struct {
	Values struct {
		Seconds float64 `json:"step_seconds"`
		Compute float64 `json:"compute_seconds"`
	} `json:"values"`
}

// comparison sets measurements beside predictions: of workers on one machine (wire), and of steps over links of
// some rate (link). Errors are in per cent of the measurement.
func comparison(records []record) (string, error) {
	var here, links strings.Builder
	for _, r := range records {
		var err error
		switch r.Kind {
		case "wire":
			err = compareHere(&here, records, r)
		case "link":
			err = compareLink(&links, records, r)
		}
		if err != nil {
			return "", err
		}
	}
	var b strings.Builder
	if here.Len() > 0 {
		b.WriteString("| preset | workers | step | predicted | error | without messages | predicted | messages add | " +
			"predicted |\n" +
			"|---|---|---|---|---|---|---|---|---|\n" + here.String())
	}
	if links.Len() > 0 {
		b.WriteString("\n| preset | link | exchange | workers | step | predicted | error | step less compute | predicted " +
			"| error |\n" +
			"|---|---|---|---|---|---|---|---|---|---|\n" + links.String())
	}
	return b.String(), nil
}

// predicted finds the prediction for a measurement, by preset, link, exchange and number of workers. One without
// a prediction is an error.
func predicted(records []record, measured record, workers int) (scaling.Prediction, scaling.Load, error) {
	for _, r := range of(records, "scale") {
		if r.Preset != measured.Preset || r.Link != measured.Link || r.Exchange != measured.Exchange {
			continue
		}
		for _, row := range r.Scale.Rows {
			if row.Cluster.Workers == workers {
				return row.Prediction, r.Scale.Load, nil
			}
		}
	}
	return scaling.Prediction{}, scaling.Load{}, fmt.Errorf("there is no prediction for %d workers of %s, link %q, "+
		"exchange %q", workers, measured.Preset, measured.Link, measured.Exchange)
}

// compareHere writes a row about workers on this machine: the whole step, and the step without messages, for
// which the model adds gradients, update and installation.
func compareHere(b *strings.Builder, records []record, r record) error {
	p, l, err := predicted(records, r, r.Wire.Workers)
	if err != nil {
		return err
	}
	plain, want := p.Compute+p.Update+l.Install, r.Wire.PlainSeconds.Median
	fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s |\n", r.Preset, r.Wire.Workers,
		thousandths(r.Wire.Seconds.Median), thousandths(p.Seconds), off(p.Seconds, r.Wire.Seconds.Median),
		thousandths(want), thousandths(plain), off(r.Wire.Seconds.Median, want), off(p.Seconds, plain))
	return nil
}

// compareLink writes a row about steps over a link: the whole step, and what is left of it without the
// computation of the busiest worker.
func compareLink(b *strings.Builder, records []record, r record) error {
	p, _, err := predicted(records, r, r.Workers)
	if err != nil {
		return err
	}
	if len(r.Steps) == 0 {
		return fmt.Errorf("there are no steps of %d workers of %s, link %q", r.Workers, r.Preset, r.Link)
	}
	var steps, rests []float64
	for _, s := range r.Steps {
		steps, rests = append(steps, s.Values.Seconds), append(rests, s.Values.Seconds-s.Values.Compute)
	}
	step, rest := spread(steps).Median, spread(rests).Median
	fmt.Fprintf(b, "| %s | %s | %s | %d | %s | %s | %s | %s | %s | %s |\n", r.Preset, r.Link, r.Exchange, r.Workers,
		thousandths(step), thousandths(p.Seconds), off(p.Seconds, step), thousandths(rest), thousandths(p.Messages()),
		off(p.Messages(), rest))
	return nil
}

// thousandths is a time in milliseconds.
func thousandths(seconds float64) string { return fmt.Sprintf("%.0f ms", 1e3*seconds) }

// off is by how much x differs from y, in per cent of y.
func off(x, y float64) string { return fmt.Sprintf("%+.0f %%", 100*(x/y-1)) }
