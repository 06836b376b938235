package paper

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/store"
)

// Write writes the report into a folder: index.html, report.md, numbers.csv, runs.csv and figures. The same results
// give the same files. Files of the same names are replaced, others stay, see Spare.
func (r *Results) Write(dir string, facts []Fact) error {
	figures, err := begin(dir)
	if err != nil {
		return err
	}
	d, err := r.document(figures)
	if err != nil {
		return err
	}
	d.Facts = append(facts, Fact{Name: "runs", Text: r.basis()})
	numbers, runList, err := r.csv()
	if err != nil {
		return err
	}
	html, markdown, err := d.Pages()
	if err != nil {
		return err
	}
	return errors.Join(
		store.WriteFile(filepath.Join(dir, "index.html"), html),
		store.WriteFile(filepath.Join(dir, "report.md"), markdown),
		store.WriteFile(filepath.Join(dir, "numbers.csv"), numbers),
		store.WriteFile(filepath.Join(dir, "runs.csv"), runList),
	)
}

// basis is what the report rests on: runs that are measured or failed, and those whose numbers were kept.
func (r *Results) basis() string {
	text := fmt.Sprintf("%d, of which %d are measured; seeds 1 to %d", len(r.Plan.Trials), r.measured(), r.Plan.Seeds)
	if n := len(r.failed); n > 0 {
		text += fmt.Sprintf("; %d failed", n)
	}
	if n := r.countKept(); n > 0 {
		text += fmt.Sprintf("; the numbers of %d come from earlier runs and were not computed again", n)
	}
	return text
}

// titles are the headings of the parts.
var titles = map[Part]string{
	Table1:   "Table 1: maze and reacher",
	Ablation: "Kinds of switches and weights",
	FHN:      "FitzHugh–Nagumo oscillator",
	Ball:     "Image ball in a box",
	DT:       "Duration of a step",
}

// document lays the report out, and writes its figures into a folder. A part that the plan lacks has no section.
func (r *Results) document(figures string) (*Document, error) {
	d := &Document{
		Title: "Switching Linear Dynamics for Variational Bayes Filtering, reproduced",
		Lead: fmt.Sprintf("The tables, figures and claims of Becker-Ehmck, Peters and van der Smagt (ICML 2019), size %s. "+
			"A claim holds if the means have the claimed order and no model's range over the seeds lies within the other's. "+
			"With one seed, or at size smoke, where nothing is learned, it is undecided.", r.Plan.Size),
		Sections: []Section{{Title: "Claims", Blocks: []Block{{Table: r.claims()}}}},
	}
	// A section has tables, the figures that join the runs, and figures of single runs.
	for _, part := range Parts() {
		if !slices.ContainsFunc(r.Plan.Groups, func(g *Group) bool { return g.Part == part }) {
			continue
		}
		s := Section{Title: titles[part]}
		for _, t := range r.tables(part) {
			if len(t.groups) == 0 {
				continue
			}
			s.Blocks = append(s.Blocks, r.block(t))
		}
		for _, c := range r.comparisons(part) {
			if empty(c) {
				continue
			}
			if _, err := c.Figure().Write(figures); err != nil {
				return nil, err
			}
			caption := c.Panels[0].Title + ". Lines are means over seeds, bands their range."
			s.Blocks = append(s.Blocks, Picture(c.Name, caption))
		}
		more, err := r.examples(part, figures)
		if err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, Section{Title: s.Title, Blocks: append(s.Blocks, more...)})
	}
	d.Sections = append(d.Sections, Section{Title: "Runs", Blocks: []Block{{Table: r.runTable()}}})
	return d, nil
}

// empty reports whether a figure has nothing to show, since none of its runs is measured.
func empty(c figure.Comparison) bool {
	for _, panel := range c.Panels {
		for _, line := range panel.Lines {
			for _, seed := range line.Seeds {
				if slices.ContainsFunc(seed, func(v float64) bool { return !math.IsNaN(v) }) {
					return false
				}
			}
		}
	}
	return true
}

// examples copies figures of single runs. That of a run whose numbers were kept is there from before. A figure
// that is missing is left out.
func (r *Results) examples(part Part, figures string) ([]Block, error) {
	var blocks []Block
	for _, e := range examples() {
		g := r.group(e.part, e.env, e.key)
		if e.part != part || g == nil {
			continue
		}
		// The run of the first seed; a figure needs both formats.
		first, complete := g.trials[0], true
		for _, extension := range []string{".png", ".svg"} {
			to := filepath.Join(figures, e.name()+extension)
			if r.kept[first] != nil {
				_, err := os.Stat(to)
				complete = complete && err == nil
				continue
			}
			data, err := store.ReadFile(filepath.Join(r.folder(r.Plan.Trials[first]), "figures", e.file+extension))
			if errors.Is(err, fs.ErrNotExist) {
				complete = false
				break
			}
			if err != nil {
				return nil, fmt.Errorf("copy a figure: %w", err)
			}
			if err := store.WriteFile(to, data); err != nil {
				return nil, err
			}
		}
		if complete {
			blocks = append(blocks, Picture(e.name(), e.caption+" (seed 1)."))
		}
	}
	return blocks, nil
}

// claims is the table of all claims with their judgements and numbers.
func (r *Results) claims() *Table {
	t := &Table{Columns: []string{"claim of the paper", "judgement", "measured"}, Words: true}
	for _, c := range Claims() {
		v := r.Judge(c)
		t.Rows = append(t.Rows, []string{c.Text, string(v.Judgement), v.Detail})
	}
	return t
}

// Judge judges a claim. A claim about parts that the plan lacks is not measured; models of size Smoke decide nothing.
func (r *Results) Judge(c Claim) Verdict {
	if !slices.ContainsFunc(r.Plan.Groups, func(g *Group) bool { return g.Part == c.Part }) {
		return Verdict{Judgement: NotMeasured}
	}
	v := c.judge(r)
	switch {
	case v.Judgement == NotMeasured:
		v.Detail = ""
	case r.Plan.Size == Smoke:
		v.Judgement = Undecided
	}
	return v
}

// runTable is the list of runs of the report, without the columns that say little to people.
func (r *Results) runTable() *Table {
	t := &Table{
		Columns: []string{"run", "settings on top of its preset", "updates", "state", "SHA-256 of the parameters"},
		Words:   true,
	}
	for _, row := range r.runRows() {
		t.Rows = append(t.Rows, []string{row[0], row[1] + ": " + row[2], row[4], row[5], row[6]})
	}
	return t
}

// runRows has name, preset, settings, seed, updates, state and digest of each run.
func (r *Results) runRows() [][]string {
	var rows [][]string
	for i, t := range r.Plan.Trials {
		row := []string{
			t.Name, t.Config.Preset, strings.Join(t.Overrides, " "), strconv.FormatUint(t.Config.Seed, 10), "0",
			"not run", "",
		}
		if k := r.kept[i]; k != nil {
			row[4], row[5], row[6] = strconv.FormatUint(k.Updates, 10), "kept from earlier", k.Parameters
		} else if info, err := store.Load(r.runsDir, t.Name); err == nil {
			row[4], row[5], row[6] = strconv.FormatUint(info.Step, 10), string(info.State), info.ParametersSHA256
		}
		rows = append(rows, row)
	}
	return rows
}

// csv is the content of numbers.csv and runs.csv. A claim is a row of numbers.csv, too.
func (r *Results) csv() (numbers, list []byte, err error) {
	var a, b bytes.Buffer
	w := csv.NewWriter(&a)
	w.Write([]string{"claim_or_table", "row", "column", "seed", "value", "paper"}) // csv keeps the first error for Error
	for _, c := range Claims() {
		v := r.Judge(c)
		w.Write([]string{"claim " + c.ID, c.Text, string(v.Judgement), "", "", ""})
	}
	for _, part := range Parts() {
		for _, t := range r.tables(part) {
			for _, g := range t.groups {
				for _, c := range t.columns {
					r.writeCells(w, t, g, c)
				}
			}
		}
	}
	w.Flush()
	rows := csv.NewWriter(&b)
	rows.Write([]string{"run", "preset", "settings", "seed", "updates", "state", "params_sha256"})
	rows.WriteAll(r.runRows())
	if err := errors.Join(w.Error(), rows.Error()); err != nil {
		return nil, nil, fmt.Errorf("write CSV: %w", err)
	}
	return a.Bytes(), b.Bytes(), nil
}

// writeCells writes a metric of a group, a line for each seed. A seed that was not measured has an empty value.
func (r *Results) writeCells(w *csv.Writer, t table, g *Group, c column) {
	published := ""
	if v := c.published(g); !math.IsNaN(v) {
		published = strconv.FormatFloat(v, 'g', -1, 64)
	}
	for i, trial := range g.trials {
		text := ""
		if v := r.found[trial][c.protocol].Numbers.Get(c.metric); !math.IsNaN(v) {
			text = strconv.FormatFloat(v, 'g', -1, 64)
		}
		w.Write([]string{t.name, g.Label, c.metric, strconv.Itoa(i + 1), text, published})
	}
}
