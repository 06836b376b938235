package fit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/store"
	"github.com/switchyard-ml/switchyard/trained"
)

// Result is what a fit came to.
type Result struct {
	Run        string // name of the run that was kept
	Family     string
	Settings   []string // of the candidate, beside those of all
	Verdict    string   // in words
	Rule       bool     // the model is a simple rule, or one autoregression
	Regimes    *Regimes // nil: the model does not divide time
	Dividing   string   // run of the sweep with the regimes of the training part, if the model has none that hold
	Candidates []Tried  // in the order in which they were tried
	Common     bool     // scores are from the starts that all candidates share, and not from each one's own
	Report     eval.RecordedReport
	Hash       string // SHA-256 of the parameters
}

// Finish chooses, keeps the run of the choice in the folder of runs under the name of the fit, and says what it is
// worth. A run that it has kept before is left alone if it is the same one, and else replaced, but for its labels. Try
// has come to its end before. It returns ErrNothing if no candidate could be fitted, and config.ErrUsage if another run
// has the name.
func (f *Fit) Finish(runsDir string, threads int) (*Result, error) {
	state, err := f.Folder.State()
	if err != nil {
		return nil, err
	}
	list := tried(state)
	c, err := f.choose(list, threads)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Run: f.Folder.Name, Family: c.Family, Settings: c.Settings, Rule: c.Simple, Candidates: list, Common: c.common,
		Report: c.report, Hash: c.run.Info().ParametersSHA256,
	}
	if r.Regimes, err = f.regimes(c, list, state, f.Plan.Request.Seed); err != nil {
		return nil, err
	}
	r.Verdict = verdict(c, r.Regimes)
	if r.Regimes == nil || !r.Regimes.Stable {
		if text := f.passedOver(r, c, list); text != "" {
			r.Verdict += "\n" + text
		}
	}
	return r, f.keep(c, runsDir, threads)
}

// verdict says in words what was chosen, what it is worth, and whether it has regimes. A line is a sentence: the
// choice; what it was preferred to, if anything; the verdict of the test; regimes.
func verdict(c *chosen, regimes *Regimes) string {
	var lines []string
	switch {
	case c.Family == "naive" || c.drift():
		lines = append(lines, fmt.Sprintf("No candidate beats the simple rule: %s is the model.", c.Name()))
	case c.Simple && c.tied != nil && c.first == nil: // another one has less of an error
		lines = append(lines, fmt.Sprintf("The model is an autoregression (%s); no other candidate clearly beats it.",
			c.lags()))
	case c.Simple:
		lines = append(lines, fmt.Sprintf("The model is the best autoregression (%s); no other candidate beats it.",
			c.lags()))
	default:
		lines = append(lines, fmt.Sprintf("The model is %s.", c.Name()))
	}
	if text := c.rather(); text != "" {
		lines = append(lines, text)
	}
	lines = append(lines, c.report.Verdict())
	if regimes != nil {
		lines = append(lines, upper(regimes.Text)+".")
	}
	return strings.Join(lines, "\n")
}

// rather says which candidate the choice was preferred to, and why; empty if it was the best on the validation part.
// What was taken there need not have been the best: then a better one was level with it.
func (c *chosen) rather() string {
	switch {
	case c.first == nil && c.tied == nil:
		return ""
	case c.first == nil:
		return fmt.Sprintf("%s predicted the validation part with %s of its error, which is level: the simpler model was "+
			"taken.", upper(c.tied.Name()), eval.Ratio(c.tied.ratio))
	case c.tied == nil:
		return fmt.Sprintf("%s predicted the validation part better, but not the test part: there its error is %.2f times "+
			"as large.", upper(c.first.Name()), c.first.test/c.test)
	}
	within := "within one standard error of the best"
	if math.IsNaN(c.tied.ratio.SE) {
		within = "level with the best"
	}
	return fmt.Sprintf("%s was first choice on the validation part (the simplest %s), but on the test part its error is "+
		"%.2f times as large.", upper(c.first.Name()), within, c.first.test/c.test)
}

// upper begins a text with a capital.
func upper(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// MarshalJSON writes run, family, settings, verdict, regimes, the dividing run, the error over that of each baseline
// of the test, and the candidates; what could not be measured is null.
func (r *Result) MarshalJSON() ([]byte, error) {
	type candidate struct {
		Family   string      `json:"family"`
		Settings []string    `json:"settings"`
		Score    eval.Number `json:"score"`
	}
	type comparison struct {
		Name  string      `json:"name"`
		Ratio eval.Number `json:"error_ratio"`
		SE    eval.Number `json:"standard_error"`
	}
	// Empty lists, not null, where there is nothing to compare with.
	against := []comparison{}
	for _, c := range r.Report.Against {
		against = append(against, comparison{c.Name, eval.Number(c.Ratio.Value), eval.Number(c.Ratio.SE)})
	}
	list := make([]candidate, len(r.Candidates))
	for i, c := range r.Candidates {
		list[i] = candidate{c.Family, c.Settings, eval.Number(c.Score)}
	}
	return json.Marshal(struct {
		Run        string       `json:"run"`
		Family     string       `json:"family"`
		Settings   []string     `json:"settings"`
		Verdict    string       `json:"verdict"`
		Rule       bool         `json:"rule"`
		Regimes    *Regimes     `json:"regimes"`
		Dividing   string       `json:"dividing_run,omitempty"`
		Against    []comparison `json:"against"`
		Candidates []candidate  `json:"candidates"`
		Hash       string       `json:"params_sha256"`
	}{r.Run, r.Family, r.Settings, r.Verdict, r.Rule, r.Regimes, r.Dividing, against, list, r.Hash})
}

// keep copies the run of the choice into the folder of runs, with the record of the fit and its test. A run that the
// fit kept there is left alone if it is this one, and replaced if not: it may have an export, which is of its own
// parameters. The copy belongs to no sweep.
func (f *Fit) keep(c *chosen, runsDir string, threads int) error {
	to := filepath.Join(runsDir, f.Folder.Name)
	if err := f.record.free(to); err != nil {
		return err
	}
	run, err := trained.Open(to, config.Of(f.kinds))
	// One that cannot be opened is replaced, too.
	if err != nil || run.SHA256() != c.run.SHA256() || !bytes.Equal(run.Config(), c.run.Config()) {
		text, err := f.record.encode()
		if err != nil {
			return err
		}
		err = store.Copy(filepath.Join(f.Folder.Runs(), f.runOf(c.trial, 1)), runsDir, f.Folder.Name, recordFile, text,
			func(i *store.Info) { i.Sweep, i.Host = "", false })
		if err != nil {
			return fmt.Errorf("keep the run: %w", err)
		}
		if run, err = trained.Open(to, config.Of(f.kinds)); err != nil {
			return err
		}
	}
	// The test of the run is in its folder, too, for whoever looks at it later.
	_, err = run.Evaluate(eval.Question{Threads: threads})
	return err
}

// free returns a config.ErrUsage if the folder of the run belongs to another run: to one that no fit has kept, which
// has no record, or to that of a fit that was asked for something else.
func (rec record) free(run string) error {
	if _, err := os.Stat(run); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, found, err := begun(run)
	switch {
	case err != nil:
		return config.Hint(err, "choose another --name, or remove the folder")
	case !found:
		return config.Hint(config.Usagef("%s is a separate run", run), "choose another --name")
	case !old.same(rec):
		return config.Hint(config.Usagef("%s is the run of a fit of other data, with other options or another budget", run),
			"choose another --name or --runs-dir, or remove the run")
	}
	return nil
}

// Scores are the candidates that could be measured, the best first; a new slice.
func (r *Result) Scores() []Tried {
	var list []Tried
	for _, c := range r.Candidates {
		if !math.IsNaN(c.Score) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b Tried) int { return cmp.Compare(a.Score, b.Score) })
	return list
}
