package paper

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/lead/job"
	"github.com/switchyard-ml/switchyard/store"
)

// seeds are runs that differ in nothing but their seed.
type seeds struct {
	settings string // of all
	config   string // likewise, see withoutSeed
	finished bool   // likewise
	runs     []Run
}

// bySeed finds the seeds among runs, two or more that are different, in the order of the first of them. Runs count
// as alike if preset and settings are the same words in the same order, and the configuration that these gave is the
// same: a file that they name may have changed. Runs that are not finished, which were measured on their way, are
// apart. Of runs with the same seed the first counts.
func bySeed(runsDir string, list []Run) ([]seeds, error) {
	var all []seeds
	for _, r := range list {
		words := slices.DeleteFunc(slices.Clone(r.Overrides), func(s string) bool { return strings.HasPrefix(s, "seed=") })
		settings := strings.Join(append([]string{r.Info.Preset}, words...), " ")
		config, err := withoutSeed(filepath.Join(runsDir, r.Info.Name))
		if err != nil {
			return nil, err
		}
		finished := r.Info.State == store.Finished
		i := slices.IndexFunc(all, func(s seeds) bool {
			return s.settings == settings && s.config == config && s.finished == finished
		})
		if i < 0 {
			i, all = len(all), append(all, seeds{settings: settings, config: config, finished: finished})
		}
		if !slices.ContainsFunc(all[i].runs, func(other Run) bool { return other.Info.Seed == r.Info.Seed }) {
			all[i].runs = append(all[i].runs, r)
		}
	}
	return slices.DeleteFunc(all, func(s seeds) bool { return len(s.runs) < 2 }), nil
}

// withoutSeed is the configuration in the folder of a run, without the seed and what depends on it. Where the seed
// draws which recordings are held out, these are the longest length of the others and the hash of the data: data that
// have changed are then not told from data that were divided otherwise. It is empty if there is none.
func withoutSeed(folder string) (string, error) {
	text, err := store.ReadFile(filepath.Join(folder, "config.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the configuration: %w", err)
	}
	left := []string{"seed"}
	scale, err := store.ReadFile(filepath.Join(folder, store.NormalisationFile))
	switch {
	case err == nil:
		drawn, err := job.Drawn(scale)
		if err != nil {
			return "", fmt.Errorf("%s: %w", folder, err)
		}
		if drawn {
			left = append(left, "hash", "length")
		}
	case !errors.Is(err, fs.ErrNotExist): // simulated data have none
		return "", fmt.Errorf("read the normalisation: %w", err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if key, _, _ := strings.Cut(strings.TrimSpace(line), ":"); !slices.Contains(left, key) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, ""), nil
}

// overSeeds shows the spread of what was measured of runs that differ in nothing but their seed: of each metric of one
// number that two or more of them have. It has no blocks if there is none.
func overSeeds(runsDir string, list []Run) (Section, error) {
	s := Section{Title: "Over seeds"}
	groups, err := bySeed(runsDir, list)
	if err != nil {
		return s, err
	}
	for _, g := range groups {
		t := &Table{
			Caption: g.settings, Columns: []string{"", "mean", "± SE over seeds", "lowest", "highest", "seeds"},
		}
		if !g.finished {
			t.Caption += ", not finished"
		}
		all, err := g.measurements(runsDir)
		if err != nil {
			return s, err
		}
		for _, m := range all {
			// Of one protocol that was asked for different things, each has rows of its own.
			title := m.protocol
			if slices.ContainsFunc(all, func(o measurement) bool { return o.protocol == m.protocol && o.asked != m.asked }) {
				title += " (" + m.asked + ")"
			}
			t.Rows = append(t.Rows, m.rows(title)...)
		}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, Block{Table: t})
		}
	}
	return s, nil
}

// measurement is what a protocol, asked for the same, found for several runs.
type measurement struct {
	protocol, asked string
	values          map[string][]float64 // of each run that has the metric; NaN: not finite
}

// measurements are those of the runs, by protocol.
func (g seeds) measurements(runsDir string) ([]measurement, error) {
	var all []measurement
	for _, r := range g.runs {
		folder := filepath.Join(runsDir, r.Info.Name)
		for _, protocol := range measuredBy(folder) {
			numbers, err := ReadNumbers(folder, protocol)
			if err != nil {
				return nil, err
			}
			asked := numbers.Asked()
			i := slices.IndexFunc(all, func(m measurement) bool { return m.protocol == protocol && m.asked == asked })
			if i < 0 {
				i, all = len(all), append(all, measurement{protocol, asked, map[string][]float64{}})
			}
			for name, v := range numbers {
				if !strings.Contains(name, "/") && !strings.Contains(name, "standard_error") && !eval.Fact(name) {
					all[i].values[name] = append(all[i].values[name], v)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b measurement) int { return strings.Compare(a.protocol, b.protocol) })
	return all, nil
}

// rows are the spread of each metric that several runs have. A seed whose number is not finite, as that of a model that
// diverged, keeps its place in the count: the mean is that of the others.
func (m measurement) rows(title string) [][]string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(m.values)) {
		values := m.values[name]
		if len(values) < 2 { // one alone says nothing of a spread
			continue
		}
		v := spreadOf(values)
		row := []string{title + " " + name, "–", "–", "–", "–", strconv.Itoa(v.seeds)}
		if v.n < v.seeds {
			row[5] = fmt.Sprintf("%d of %d finite", v.n, v.seeds)
		}
		if v.n > 0 {
			row[1], row[3], row[4] = short(v.mean), short(v.low), short(v.high)
		}
		if v.n > 1 {
			row[2] = short(standardError(values, v.mean))
		}
		rows = append(rows, row)
	}
	return rows
}

// standardError is that of a mean of the finite ones of values, two or more. It is s/√n with
// s² = Σ (v − mean)²/(n − 1).
func standardError(values []float64, mean float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range values {
		if eval.Finite(v) {
			sum, n = sum+(v-mean)*(v-mean), n+1
		}
	}
	return math.Sqrt(sum / (n - 1) / n)
}
