package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/coordinator"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/internal/config"
	"github.com/switchyard-ml/switchyard/internal/job"
	"github.com/switchyard-ml/switchyard/internal/runs"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/model/slds"
)

// protocols lists the evaluation protocols of each kind of environment, the usual
// one first.
func protocols(kind string) []string {
	if kind == "fhn" {
		return []string{"fhn"}
	}
	return nil
}

// evaluation is what a protocol found, and the files that hold it.
type evaluation struct {
	table  []byte // for people
	report []byte // JSON
	figure string
}

// evaluate runs the protocol of the oscillator on the parameters of a checkpoint and
// writes table, report and figure into the run folder. All starts in the held-out
// window cost thirty times as much as the one at its beginning.
func (a *app) evaluate(c config.Config, folder string, cp *coordinator.Checkpoint, how measurement) (*evaluation, error) {
	m, err := job.NewModel(c)
	if err != nil {
		return nil, err
	}
	if err := m.Params().Load(cp.Theta); err != nil {
		return nil, fmt.Errorf("install the parameters of %s: %w", cp.Path, err)
	}
	f := slds.NewForecaster(m)
	o := eval.DefaultFHNOptions()
	o.Seed, o.Episodes, o.Length = c.Seed, c.Env.Episodes, c.Env.Length
	o.Horizon, o.Samples, o.Window, o.Threads = c.Eval.Horizon, c.Eval.Samples, c.Eval.FilterWindow, a.cores
	o.AllStarts, o.Fresh = how.allStarts, how.fresh
	report, err := eval.FHN(f, o)
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	picture, err := eval.FHNFigure(f, o)
	if err != nil {
		return nil, fmt.Errorf("compute the figure: %w", err)
	}
	stem, figures := "fhn", filepath.Join(folder, "figures")
	if how.fresh { // beside the usual measurement, not in its place
		stem, figures = "fhn-fresh", filepath.Join(figures, "fresh")
	}
	paths, err := figure.FHN(report, picture).Write(figures)
	if err != nil {
		return nil, fmt.Errorf("draw the figure: %w", err)
	}
	e := &evaluation{figure: paths[0]}
	if err := e.writeTables(report, cp.Step, filepath.Join(folder, "tables"), stem); err != nil {
		return nil, err
	}
	return e, nil
}

// writeTables writes the tables of the parameters after the given step.
func (e *evaluation) writeTables(report eval.FHNReport, step uint64, dir, stem string) error {
	var text, curve bytes.Buffer
	table, summary := report.Table(), report.Report()
	table.Notes = append(table.Notes, fmt.Sprintf("Parameters after step %s.", terminal.Group(step)))
	summary.Metrics = append(summary.Metrics, eval.Metric{Name: "step", Values: []float64{float64(step)}})
	if err := errors.Join(table.WriteText(&text), report.CurveTable().WriteCSV(&curve)); err != nil {
		return err
	}
	data, err := json.Marshal(summary)
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	e.table, e.report = text.Bytes(), append(data, '\n')
	return errors.Join(
		runs.WriteFile(filepath.Join(dir, stem+".txt"), e.table),
		runs.WriteFile(filepath.Join(dir, stem+".csv"), curve.Bytes()),
		runs.WriteFile(filepath.Join(dir, stem+".json"), e.report),
	)
}

// evaluated is the checkpoint that an evaluation uses: the best, or the last where
// nothing was validated.
func evaluated(dir, which string) (*coordinator.Checkpoint, []error, error) {
	if which == "best" {
		cp, err := coordinator.RestoreBest(dir)
		if err == nil || !errors.Is(err, coordinator.ErrNoCheckpoint) {
			return cp, nil, err
		}
	}
	return coordinator.Restore(dir)
}
