package trained

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/internal/disk"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
)

// A run is measured by the protocols of package eval. Tables, reports and figures of a protocol lie in the folder
// of the run under its name, those of an unusual question beside them under a name of their own.

// Evaluation is the result of a protocol, with its files. Its numbers are those of the files.
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

// Protocols lists the protocols that fit a configuration, the usual one of its environment first. It is nil if the
// environment cannot be made.
func Protocols(c config.Config) []eval.Protocol {
	if c.Recorded() {
		return eval.ProtocolsFor(c.Env.Kind, nil)
	}
	env, err := config.Environment(c)
	if err != nil {
		return nil // a protocol needs one; what opens the run says why
	}
	return eval.ProtocolsFor(c.Env.Kind, env)
}

// Usual reports whether a run of a configuration is measured when it ends: that is so if a protocol is made for its
// environment.
func Usual(c config.Config) bool {
	return slices.ContainsFunc(Protocols(c), func(p eval.Protocol) bool { return p.UsualFor(c.Env.Kind) })
}

// Choose finds the protocol that a question to a run of a configuration names. It returns ErrUnable if the protocol
// does not fit the environment, or config.ErrUsage if the question does not fit the protocol. An empty name is the
// first that fits, the usual one.
func Choose(c config.Config, q eval.Question) (eval.Protocol, error) {
	var names []string
	for _, p := range Protocols(c) {
		if q.Protocol == "" || q.Protocol == p.Name {
			return p, fits(p, q)
		}
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return eval.Protocol{}, fmt.Errorf("%w: there is no evaluation protocol for env.kind=%s yet", ErrUnable,
			c.Env.Kind)
	}
	return eval.Protocol{}, config.Hint(fmt.Errorf("%w: no protocol %q for env.kind=%s", ErrUnable, q.Protocol,
		c.Env.Kind), "it has %s", strings.Join(names, ", "))
}

// fits reports what is asked for that the protocol does not have. It is a usage error, or nil.
func fits(p eval.Protocol, q eval.Question) error {
	switch {
	case q.Episodes < 0:
		return config.Usagef("--episodes %d: must be at least 1", q.Episodes)
	case q.Prefix < 0:
		return config.Usagef("--prefix %d: must be at least 1", q.Prefix)
	case q.AllStarts && !p.AllStarts:
		return config.Usagef("--all-starts: protocol %s predicts from one start in each episode", p.Name)
	case q.Fresh && !p.Ends:
		return config.Usagef("--fresh: protocol %s never predicts the ends of training trajectories", p.Name)
	case q.Episodes > 0 && p.Episodes == 0:
		return config.Usagef("--episodes: how many episodes protocol %s measures is up to the run", p.Name)
	case q.Truth != "" && !p.Labelled:
		return config.Usagef("--truth: protocol %s does not compare with true regimes", p.Name)
	case q.Prefix > 0 && !p.Prefixed:
		return config.Usagef("--prefix: protocol %s chooses its own prefix", p.Name)
	}
	return nil
}

// Evaluate measures the run by the protocol of a question and writes table, report and figure into the folder of the
// run. It blocks until all is computed. Files of an earlier measurement are replaced, also where it was of another
// checkpoint or of another number of episodes: the report says of which. If the files cannot be written, it returns
// what was measured beside the error.
func (r *Run) Evaluate(q eval.Question) (*Evaluation, error) {
	p, err := Choose(r.config, q)
	if err != nil {
		return nil, err
	}
	subject, err := r.subject(q)
	if err != nil {
		return nil, err
	}
	found, err := p.Run(subject)
	if errors.Is(err, eval.ErrUnlabelled) {
		err = config.Hint(fmt.Errorf("%w: %w", ErrUnable, err), "name the column that holds them: --truth COLUMN")
	}
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	stem, figures := p.Name, filepath.Join(r.folder, "figures")
	variant := r.variant(q)
	if variant != "" { // beside the usual measurement, not in its place
		stem, figures = p.Name+"-"+variant, filepath.Join(figures, variant)
	}
	tables := filepath.Join(r.folder, "tables")
	fault := disk.MakeFolder(disk.System(), tables)
	if fault == nil {
		fault = r.writeRegimes(subject.Recordings, tables)
	}
	fault = errors.Join(fault, r.converge(&found, tables))
	if p.UsualFor(r.config.Env.Kind) && variant == "" {
		r.judge(&found)
	}
	e, err := evaluation(&found, r.checkpoint.Step)
	if err != nil {
		return nil, err
	}
	if fault == nil {
		e.Figure, fault = draw(found, r.env, figures)
	}
	if fault == nil {
		fault = e.write(found, tables, stem)
	}
	if fault != nil {
		return e, fmt.Errorf("keep what was measured: %w", fault)
	}
	return e, nil
}

// draw writes the figure of a protocol into a folder, and returns its path; empty if the protocol has none.
func draw(found eval.Findings, env envs.Env, folder string) (string, error) {
	picture, ok := figure.Of(found, env)
	if !ok {
		return "", nil
	}
	if err := disk.MakeFolder(disk.System(), folder); err != nil {
		return "", fmt.Errorf("draw the figure: %w", err)
	}
	paths, err := picture.Write(folder)
	if err != nil {
		return "", fmt.Errorf("draw the figure: %w", err)
	}
	return paths[0], nil
}

// Metrics is what Evaluate will report of a run of a configuration: names, axes and units. The values mean nothing. It
// returns eval.ErrUntrained where that is only known once the model is trained. recordings are the data of the run,
// nil where they are simulated.
func Metrics(c config.Config, p eval.Protocol, recordings *eval.Recordings) ([]eval.Metric, error) {
	r := &Run{config: c, own: recordings}
	if _, err := r.build(); err != nil {
		return nil, err
	}
	subject, err := r.subject(eval.Question{})
	if err != nil {
		return nil, err
	}
	list, err := p.Metrics(subject)
	if err != nil {
		return nil, err
	}
	return append(append(list, diagnosed(r.model)...), step(0)), nil
}

// step is the metric that says which parameters were measured.
func step(n uint64) eval.Metric { return eval.Metric{Name: "step", Values: []float64{float64(n)}} }

// subject is the run as what a question is about. What the question leaves open has the values of the
// configuration; a named column of labels is read.
func (r *Run) subject(q eval.Question) (eval.Subject, error) {
	f, err := r.Forecaster()
	if err != nil {
		return eval.Subject{}, err
	}
	own, err := r.recordings()
	if err != nil {
		return eval.Subject{}, err
	}
	if q.Truth != "" {
		if own, err = r.labelled(own, q.Truth); err != nil {
			return eval.Subject{}, err
		}
	}
	c := r.config
	length := c.Env.Length
	if r.env == nil { // recordings are of many lengths; the model was trained on windows
		length = c.Env.Window
	}
	if q.Horizon == 0 {
		q.Horizon = c.Eval.Horizon
	}
	return eval.Subject{
		Question: q, Forecaster: f, Env: r.env, Recordings: own, Seed: c.Seed, Training: c.Env.Episodes, Length: length,
		Samples: c.Eval.Samples, Window: c.Eval.FilterWindow,
	}, nil
}

// variant names a measurement that is not the usual one of its protocol, which the question fits; it is empty for
// that. Its files have the name as a suffix, its figures a folder of that name.
func (r *Run) variant(q eval.Question) string {
	var words []string
	if q.Fresh {
		words = append(words, "fresh")
	}
	// The usual prefix of recordings is not the number of steps of the paper.
	if q.Prefix != 0 && (q.Prefix != eval.DefaultPrefix || r.config.Recorded()) {
		words = append(words, fmt.Sprintf("prefix%d", q.Prefix))
	}
	return strings.Join(words, "-")
}

// evaluation is what was found for the parameters after the given step.
func evaluation(found *eval.Findings, at uint64) (*Evaluation, error) {
	var text bytes.Buffer
	// Table and report say which parameters were measured.
	found.Table.Notes = append(found.Table.Notes, fmt.Sprintf("Parameters after step %s.", terminal.Group(at)))
	found.Report.Metrics = append(found.Report.Metrics, step(at))
	if len(found.Scores.Rows) > 0 {
		if err := found.Scores.WriteText(&text); err != nil {
			return nil, err
		}
		text.WriteByte('\n')
	}
	if err := found.Table.WriteText(&text); err != nil {
		return nil, err
	}
	data, err := json.Marshal(found.Report)
	if err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	return &Evaluation{Table: text.Bytes(), Report: append(data, '\n'), Numbers: found.Report.Numbers()}, nil
}

// write writes the tables. The report is written last: where it is, all is.
func (e *Evaluation) write(found eval.Findings, dir, stem string) error {
	var curves bytes.Buffer
	if err := found.Curves.WriteCSV(&curves); err != nil {
		return err
	}
	if len(found.Each.Rows) > 0 {
		var each bytes.Buffer
		if err := found.Each.WriteCSV(&each); err != nil {
			return err
		}
		if err := store.WriteFile(filepath.Join(dir, stem+"_each.csv"), each.Bytes()); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		suffix string
		data   []byte
	}{{".txt", e.Table}, {".csv", curves.Bytes()}, {".json", e.Report}} {
		if err := store.WriteFile(filepath.Join(dir, stem+f.suffix), f.data); err != nil {
			return err
		}
	}
	return nil
}
