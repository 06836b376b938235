package eval

import (
	_ "embed" // for the curves
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fhnComputed holds what this program has computed for the models that the paper compares with: one row per run, with
// the arguments of the command, the identity of the configuration and the hash of the parameters, by which the run can
// be made again, and R² at horizons 1, 2, … with the stimulus unknown. See docs/results/gibbs.md.
//
//go:embed fhn_computed.csv
var fhnComputed string

// FHNComputed is a run of the protocol FHN that was made with this program.
type FHNComputed struct {
	Name      string // of the model, as FHNPublished has it
	Arguments string // of the command train fhn
	// of the configuration, with all zero of optimiser, training loop and windows, for which the model has no use
	Identity string
	Hash     string // SHA-256 of the parameters
	R2       []float64
}

// FHNComputedRuns returns the runs, those of one model one after the other. A file that does not parse is a fault
// of the program, and panics. Each call parses anew: the caller owns the result.
func FHNComputedRuns() []FHNComputed {
	rows, err := csv.NewReader(strings.NewReader(fhnComputed)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("eval: fhn_computed.csv: %v", err)) // compiled in; a test reads it
	}
	var runs []FHNComputed
	for _, row := range rows[1:] {
		r := FHNComputed{Name: row[0], Arguments: row[1], Identity: row[2], Hash: row[3]}
		for _, text := range row[4:] {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				panic(fmt.Sprintf("eval: fhn_computed.csv: %v", err))
			}
			r.R2 = append(r.R2, v)
		}
		runs = append(runs, r)
	}
	return runs
}

// FHNComputedMeans returns the mean over runs of each model, up to a horizon, in the form of the published
// figures. Models are in the order of their first run. R2 has horizons 1, 2, … up to horizon, or as many as the
// runs have.
func FHNComputedMeans(horizon int) []FHNPublished {
	var means []FHNPublished
	count := map[string]int{}
	for _, r := range FHNComputedRuns() {
		i := slices.IndexFunc(means, func(p FHNPublished) bool { return p.Name == r.Name })
		if i < 0 {
			i = len(means)
			means = append(means, FHNPublished{r.Name, make([]float64, min(horizon, len(r.R2)))})
		}
		count[r.Name]++
		for k := range means[i].R2 {
			means[i].R2[k] += r.R2[k]
		}
	}
	for _, p := range means {
		for k := range p.R2 {
			p.R2[k] /= float64(count[p.Name])
		}
	}
	return means
}
