package trained

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/protocol"
	"github.com/switchyard-ml/switchyard/internal/readable"
	"github.com/switchyard-ml/switchyard/internal/runs"
)

// Options are the variants of an evaluation.
type Options struct {
	AllStarts bool // also predict from every start in the held-out window
	Fresh     bool // predict trajectories that training never saw, instead of the held-out ends
	Threads   int  // does not change results; 0: one per core
}

// Evaluation is the result of a protocol, with its files.
type Evaluation struct {
	Table  []byte // for people
	Report []byte // JSON
	Figure string // path; empty: the protocol draws no figure
}

// Measure runs a protocol and writes table, report and figure into the folder of the run.
func (r *Run) Measure(p protocol.Protocol, o Options) (*Evaluation, error) {
	if r.Env == nil {
		return nil, fmt.Errorf("%w: protocol %s simulates its episodes, env.kind=%s records them", ErrUnable, p.Name, r.Config.Env.Kind)
	}
	f, err := r.Forecaster()
	if err != nil {
		return nil, err
	}
	c := r.Config
	found, err := p.Run(protocol.Subject{
		Forecaster: f, Env: r.Env, Seed: c.Seed, Episodes: c.Env.Episodes, Length: c.Env.Length,
		Horizon: c.Eval.Horizon, Samples: c.Eval.Samples, Window: c.Eval.FilterWindow,
		AllStarts: o.AllStarts, Fresh: o.Fresh, Threads: o.Threads,
	})
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	stem, figures := p.Name, filepath.Join(r.Folder, "figures")
	if o.Fresh && p.Ends { // an addition to the usual measurement
		stem, figures = p.Name+"-fresh", filepath.Join(figures, "fresh")
	}
	e := &Evaluation{}
	if found.Draw != nil {
		paths, err := found.Draw(figures)
		if err != nil {
			return nil, fmt.Errorf("draw the figure: %w", err)
		}
		e.Figure = paths[0]
	}
	return e, e.write(found, r.Checkpoint.Step, filepath.Join(r.Folder, "tables"), stem)
}

// write writes the tables for the parameters after the given step.
func (e *Evaluation) write(found protocol.Findings, step uint64, dir, stem string) error {
	var text, curves bytes.Buffer
	found.Table.Notes = append(found.Table.Notes, fmt.Sprintf("Parameters after step %s.", readable.Group(step)))
	found.Report.Metrics = append(found.Report.Metrics, eval.Metric{Name: "step", Values: []float64{float64(step)}})
	if err := errors.Join(found.Table.WriteText(&text), found.Curves.WriteCSV(&curves)); err != nil {
		return err
	}
	data, err := json.Marshal(found.Report)
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	e.Table, e.Report = text.Bytes(), append(data, '\n')
	return errors.Join(
		runs.WriteFile(filepath.Join(dir, stem+".txt"), e.Table),
		runs.WriteFile(filepath.Join(dir, stem+".csv"), curves.Bytes()),
		runs.WriteFile(filepath.Join(dir, stem+".json"), e.Report),
	)
}
