package trained

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/protocol"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
)

// MeasureOptions are the variants of an evaluation.
type MeasureOptions struct {
	AllStarts bool // also predict from every start in the held-out window
	Fresh     bool // predict trajectories that training never saw, instead of the held-out ends
	Episodes  int  // of the test; 0: as many as the protocol is made for
	Prefix    int  // steps seen before a prediction; 0: as many as the protocol is made for
	Horizon   int  // steps predicted; 0: eval.horizon of the run
	Stride    int  // of recordings: steps from one prediction to the next; 0: a horizon
	Season    int  // of recordings: steps of the season that a baseline repeats; 0: found in the data
	Threads   int  // does not change results; 0: one per core

	Recordings *protocol.Recordings // of a run on recordings; nil: its data are simulated
}

// Evaluation is the result of a protocol, with its files.
type Evaluation struct {
	Table   []byte       // for people
	Report  []byte       // JSON
	Numbers eval.Numbers // what the report says, by name
	Figure  string       // path; empty: the protocol draws no figure
}

// JSON is the report; nil if there is none.
func (e *Evaluation) JSON() []byte {
	if e == nil {
		return nil
	}
	return e.Report
}

// Measure runs a protocol and writes table, report and figure into the folder of the run.
func (r *Opened) Measure(p protocol.Protocol, o MeasureOptions) (*Evaluation, error) {
	subject, err := r.subject(o)
	if err != nil {
		return nil, err
	}
	found, err := p.Run(subject)
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	stem, figures := p.Name, filepath.Join(r.Folder, "figures")
	if variant := o.variant(p); variant != "" { // beside the usual measurement, not in its place
		stem, figures = p.Name+"-"+variant, filepath.Join(figures, variant)
	}
	tables := filepath.Join(r.Folder, "tables")
	if err := os.MkdirAll(tables, 0o755); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if err := errors.Join(r.converge(&found, tables), r.writeRegimes(o.Recordings, tables)); err != nil {
		return nil, err
	}
	e := &Evaluation{}
	if found.Draw != nil {
		if err := os.MkdirAll(figures, 0o755); err != nil {
			return nil, fmt.Errorf("draw the figure: %w", err)
		}
		paths, err := found.Draw(figures)
		if err != nil {
			return nil, fmt.Errorf("draw the figure: %w", err)
		}
		e.Figure = paths[0]
	}
	return e, e.write(found, r.Checkpoint.Step, tables, stem)
}

// Metrics is what Measure will report of a run of a configuration: names, axes and units. The values mean nothing. It
// returns protocol.ErrUntrained where that is only known once the model is trained. recordings are the data of the run,
// nil where they are simulated.
func Metrics(c config.Config, p protocol.Protocol, recordings *protocol.Recordings) ([]eval.Metric, error) {
	r := &Opened{Config: c}
	data, env, err := config.Data(c)
	if err != nil {
		return nil, err
	}
	if r.Model, err = config.NewModel(c, data); err != nil {
		return nil, err
	}
	r.Env = env
	subject, err := r.subject(MeasureOptions{Recordings: recordings})
	if err != nil {
		return nil, err
	}
	list, err := p.Metrics(subject)
	if err != nil {
		return nil, err
	}
	return append(append(list, diagnosed(r.Model)...), step(0)), nil
}

// step is the metric that says which parameters were measured.
func step(n uint64) eval.Metric { return eval.Metric{Name: "step", Values: []float64{float64(n)}} }

// Backtest predicts recordings from starts all along them and writes nothing.
func (r *Opened) Backtest(o MeasureOptions) (eval.RecordedReport, error) {
	subject, err := r.subject(o)
	if err != nil {
		return eval.RecordedReport{}, err
	}
	report, err := subject.Backtest()
	if err != nil {
		return report, fmt.Errorf("backtest: %w", err)
	}
	return report, nil
}

// subject is the run as what is measured.
func (r *Opened) subject(o MeasureOptions) (protocol.Subject, error) {
	f, err := r.Forecaster()
	if err != nil {
		return protocol.Subject{}, err
	}
	c := r.Config
	length, horizon := c.Env.Length, c.Eval.Horizon
	if r.Env == nil { // recordings are of many lengths; the model was trained on windows
		length = c.Env.Window
	}
	if o.Horizon > 0 {
		horizon = o.Horizon
	}
	return protocol.Subject{
		Forecaster: f, Env: r.Env, Recordings: o.Recordings, Seed: c.Seed, Episodes: c.Env.Episodes, Length: length,
		Horizon: horizon, Samples: c.Eval.Samples, Window: c.Eval.FilterWindow, Stride: o.Stride, Season: o.Season,
		AllStarts: o.AllStarts, Fresh: o.Fresh, Test: o.Episodes, Prefix: o.Prefix, Threads: o.Threads,
	}, nil
}

// variant names a measurement that is not the usual one of the protocol; it is empty for that.
func (o MeasureOptions) variant(p protocol.Protocol) string {
	var words []string
	if o.Fresh && p.Ends {
		words = append(words, "fresh")
	}
	if o.Prefix != 0 && o.Prefix != eval.DefaultPrefix {
		words = append(words, fmt.Sprintf("prefix%d", o.Prefix))
	}
	return strings.Join(words, "-")
}

// write writes the tables for the parameters after the given step.
func (e *Evaluation) write(found protocol.Findings, at uint64, dir, stem string) error {
	var text, curves bytes.Buffer
	found.Table.Notes = append(found.Table.Notes, fmt.Sprintf("Parameters after step %s.", terminal.Group(at)))
	found.Report.Metrics = append(found.Report.Metrics, step(at))
	if len(found.Scores.Rows) > 0 {
		if err := found.Scores.WriteText(&text); err != nil {
			return err
		}
		text.WriteByte('\n')
	}
	if err := errors.Join(found.Table.WriteText(&text), found.Curves.WriteCSV(&curves)); err != nil {
		return err
	}
	data, err := json.Marshal(found.Report)
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	e.Table, e.Report, e.Numbers = text.Bytes(), append(data, '\n'), found.Report.Numbers()
	return errors.Join(
		store.WriteFile(filepath.Join(dir, stem+".txt"), e.Table),
		store.WriteFile(filepath.Join(dir, stem+".csv"), curves.Bytes()),
		store.WriteFile(filepath.Join(dir, stem+".json"), e.Report),
	)
}
