package paper

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// seeds are runs that differ in nothing but their seed.
type seeds struct {
	settings string // of all
	runs     []Run
}

// bySeed finds the seeds among runs, two or more that are different, in the order of the first of them. Runs count
// as alike if preset and settings are the same words in the same order. Of runs with the same seed the first
// counts.
func bySeed(list []Run) []seeds {
	var all []seeds
	for _, r := range list {
		words := slices.DeleteFunc(slices.Clone(r.Overrides), func(s string) bool { return strings.HasPrefix(s, "seed=") })
		settings := strings.Join(append([]string{r.Info.Preset}, words...), " ")
		i := slices.IndexFunc(all, func(s seeds) bool { return s.settings == settings })
		if i < 0 {
			i, all = len(all), append(all, seeds{settings: settings})
		}
		if !slices.ContainsFunc(all[i].runs, func(other Run) bool { return other.Info.Seed == r.Info.Seed }) {
			all[i].runs = append(all[i].runs, r)
		}
	}
	return slices.DeleteFunc(all, func(s seeds) bool { return len(s.runs) < 2 })
}

// overSeeds shows the spread of what was measured of runs that differ in nothing but their seed: of each metric of one
// number that two or more of them have. It has no blocks if there is none.
func overSeeds(runsDir string, list []Run) (Section, error) {
	s := Section{Title: "Over seeds"}
	for _, g := range bySeed(list) {
		t := &Table{
			Caption: g.settings, Columns: []string{"", "mean", "± SE over seeds", "lowest", "highest", "seeds"},
		}
		// By protocol and metric, the value of each run that has it.
		values := map[string][]float64{}
		for _, r := range g.runs {
			if err := collect(values, filepath.Join(runsDir, r.Info.Name)); err != nil {
				return s, err
			}
		}
		// Metrics that one run alone has say nothing of a spread.
		var names []string
		for name, v := range values {
			if len(v) > 1 {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			v := spreadOf(values[name])
			t.Rows = append(t.Rows, []string{
				name, short(v.mean), short(standardError(values[name], v.mean)), short(v.low), short(v.high), strconv.Itoa(v.n),
			})
		}
		if len(t.Rows) > 0 {
			s.Blocks = append(s.Blocks, Block{Table: t})
		}
	}
	return s, nil
}

// collect appends the metrics of one number that a run has, by protocol and name.
func collect(values map[string][]float64, folder string) error {
	for _, protocol := range measuredBy(folder) {
		numbers, err := ReadNumbers(folder, protocol)
		if err != nil {
			return err
		}
		for name, v := range numbers {
			if !strings.Contains(name, "/") && !strings.Contains(name, "standard_error") && !math.IsNaN(v) {
				values[protocol+" "+name] = append(values[protocol+" "+name], v)
			}
		}
	}
	return nil
}

// standardError is that of a mean of values. It is s/√n with s² = Σ (v − mean)²/(n − 1).
func standardError(values []float64, mean float64) float64 {
	sum, n := 0.0, float64(len(values))
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / (n - 1) / n)
}
