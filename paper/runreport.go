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
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/store"
)

// Run is a run to report. A run that still trains is reported as far as it is.
type Run struct {
	Info      store.Info
	Overrides []string // settings on top of the preset
}

// Write writes index.html, report.md, numbers.csv and figures of runs, which are in runsDir, into a folder. It
// does not matter whether the runs are finished. Files of the same names are replaced, see Spare.
func Write(dir, runsDir string, list []Run) error {
	figures, err := begin(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range list {
		names = append(names, r.Info.Name)
	}
	d := &Document{
		Title:    strings.Join(names, ", "),
		Lead:     "Settings, training, measurements and figures of " + terminal.Count(len(list), "run") + ".",
		Sections: []Section{{Title: "Runs", Blocks: []Block{{Table: settings(list)}}}},
	}
	training, err := curves(figures, runsDir, names)
	if err != nil {
		return err
	}
	d.Sections = append(d.Sections, training)
	spread, err := overSeeds(runsDir, list)
	if err != nil {
		return err
	}
	if len(spread.Blocks) > 0 {
		d.Sections = append(d.Sections, spread)
	}
	var numbers bytes.Buffer
	w := csv.NewWriter(&numbers)
	w.Write([]string{"run", "protocol", "metric", "value"}) // csv keeps the first error for Error
	for _, name := range names {
		s, err := measured(w, figures, filepath.Join(runsDir, name), name)
		if err != nil {
			return err
		}
		d.Sections = append(d.Sections, s)
	}
	w.Flush()
	html, markdown, err := d.Pages()
	if err != nil {
		return err
	}
	return errors.Join(
		w.Error(),
		store.WriteFile(filepath.Join(dir, "index.html"), html),
		store.WriteFile(filepath.Join(dir, "report.md"), markdown),
		store.WriteFile(filepath.Join(dir, "numbers.csv"), numbers.Bytes()),
	)
}

// settings are what the runs were trained with and where they came to.
func settings(list []Run) *Table {
	t := &Table{Columns: []string{
		"run", "preset and settings", "seed", "state", "updates", "parameters",
		"SHA-256 of the parameters",
	}, Words: true}
	for _, r := range list {
		i := r.Info
		t.Rows = append(t.Rows, []string{
			i.Name, strings.TrimSpace(i.Preset + " " + strings.Join(r.Overrides, " ")), strconv.FormatUint(i.Seed, 10),
			string(i.State),
			terminal.Group(i.Step), terminal.Group(i.Parameters), i.ParametersSHA256,
		})
	}
	return t
}

// curves draws the loss of every run at training and at validation. A run without a loss has no line; without any
// there is a sentence in place of the figure, which is written into the folder figures.
func curves(figures, runsDir string, names []string) (Section, error) {
	// By the names that the records of a run have for where a loss was measured.
	panels := map[string]*figure.ComparisonPanel{
		"train":      {Name: "train", Title: "loss in training, averaged", X: "update", Y: "loss (nats per time step)"},
		"validation": {Name: "validation", Title: "loss at validation", X: "update", Y: "loss (nats per time step)"},
	}
	for _, name := range names {
		found := map[string][][2]float64{}
		err := store.ReadMetrics(runsDir, name, func(m store.Record) error {
			if v, ok := m.Values["loss"]; ok && panels[m.Split] != nil && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) {
				found[m.Split] = append(found[m.Split], [2]float64{float64(m.Step), float64(v)})
			}
			return nil
		})
		if err != nil {
			return Section{}, fmt.Errorf("read the metrics of run %s: %w", name, err)
		}
		// A split without a loss leaves its panel without this run.
		for split, p := range panels {
			line := figure.ComparisonLine{Name: name, Seeds: make([][]float64, 1)}
			for _, v := range averaged(found[split]) {
				line.X, line.Seeds[0] = append(line.X, v[0]), append(line.Seeds[0], v[1])
			}
			if len(line.X) > 0 {
				p.Lines = append(p.Lines, line)
			}
		}
	}
	s := Section{Title: "Training"}
	if len(panels["train"].Lines) == 0 {
		s.Blocks = []Block{Paragraph("These runs have no loss: their models fit themselves.")}
		return s, nil
	}
	c := figure.Comparison{Name: "training", Panels: []figure.ComparisonPanel{*panels["train"], *panels["validation"]}}
	if _, err := c.Figure().Write(figures); err != nil {
		return s, err
	}
	s.Blocks = []Block{Picture("training", "Loss over updates. Losses of different families are of different "+
		"quantities: compare them within a family.")}
	return s, nil
}

// drawn is the largest number of points of a curve.
const drawn = 200

// averaged averages neighbours of a curve, so that at most 200 points are left. Each point is the mean of as many
// neighbours, in update and in loss.
func averaged(curve [][2]float64) [][2]float64 {
	each := (len(curve) + drawn - 1) / drawn
	if each < 2 {
		return curve
	}
	var out [][2]float64
	for part := range slices.Chunk(curve, each) {
		var mean [2]float64
		for _, v := range part {
			mean[0] += v[0] / float64(len(part))
			mean[1] += v[1] / float64(len(part))
		}
		out = append(out, mean)
	}
	return out
}

// measured shows the tables and figures of a run, and enters its numbers. Numbers are rows run, protocol, metric,
// value of the CSV file; a value that is not finite is empty. What was measured of the run is shown as the command
// printed it.
func measured(w *csv.Writer, figures, folder, name string) (Section, error) {
	s := Section{Title: "Run " + name}
	protocols := measuredBy(folder)
	for _, protocol := range protocols {
		numbers, err := ReadNumbers(folder, protocol)
		if err != nil {
			return s, err
		}
		for _, metric := range numbers.Names() {
			value := ""
			if v := numbers[metric]; !math.IsNaN(v) {
				value = strconv.FormatFloat(v, 'g', -1, 64)
			}
			w.Write([]string{name, protocol, metric, value})
		}
		text, err := store.ReadFile(filepath.Join(folder, "tables", protocol+".txt"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("read what was measured: %w", err)
		}
		s.Blocks = append(s.Blocks, Paragraph("Protocol "+protocol+"."))
		if verdict := verdictOf(string(text)); verdict != "" {
			s.Blocks = append(s.Blocks, Paragraph(verdict))
		}
		s.Blocks = append(s.Blocks, Block{Verbatim: string(text)})
	}
	if len(protocols) == 0 {
		s.Blocks = append(s.Blocks, Paragraph("Nothing was measured."))
	}
	blocks, err := copied(figures, filepath.Join(folder, "figures"), name)
	s.Blocks = append(s.Blocks, blocks...)
	return s, err
}

// verdictOf is the line of a measurement that says in words what the model is worth; empty: it has none. It is the
// first line that begins with that word.
func verdictOf(text string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Verdict: ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// copied copies the figures of a run, as PNG and SVG where they are there, under names that begin with the run's,
// and returns their blocks.
func copied(to, from, name string) ([]Block, error) {
	pictures, err := fs.Glob(os.DirFS(from), "*.png")
	if err != nil {
		return nil, fmt.Errorf("list the figures of run %s: %w", name, err)
	}
	var blocks []Block
	for _, file := range pictures {
		stem := strings.TrimSuffix(file, ".png")
		block := Block{Figure: &Figure{Caption: name + ": " + stem + ".", Alt: stem + " of run " + name}}
		for extension, path := range map[string]*string{".png": &block.Figure.File, ".svg": &block.Figure.Vector} {
			data, err := store.ReadFile(filepath.Join(from, stem+extension))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("copy a figure of run %s: %w", name, err)
			}
			target := name + "-" + stem + extension
			if err := store.WriteFile(filepath.Join(to, target), data); err != nil {
				return nil, err
			}
			*path = "figures/" + target
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}
