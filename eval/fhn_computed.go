package eval

import (
	_ "embed" // for the curves
	"slices"
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
	Name      string // of the model, as the published figures have it
	Arguments string // of the command train fhn
	// of the configuration, with all zero of optimiser, training loop and windows, for which the model has no use
	Identity string
	Hash     string // SHA-256 of the parameters
	R2       []float64
}

// FHNComputedRuns returns the runs, those of one model one after the other.
func FHNComputedRuns() []FHNComputed {
	var runs []FHNComputed
	for _, row := range compiledIn(fhnComputed) {
		runs = append(runs, FHNComputed{row[0], row[1], row[2], row[3], parsed(row[4:])})
	}
	return runs
}

// FHNComputedMeans returns the mean over runs of each model, up to a horizon, in the form of the published figures, at
// horizons 1, 2, … up to horizon, or as many as the runs have. Models are in the order of their first run.
func FHNComputedMeans(horizon int) []Published {
	var means []Published
	count := map[string]int{}
	for _, r := range FHNComputedRuns() {
		i := slices.IndexFunc(means, func(p Published) bool { return p.Name == r.Name })
		if i < 0 {
			i = len(means)
			means = append(means, Published{Name: r.Name, Key: strings.ToLower(r.Name)})
			for k := range min(horizon, len(r.R2)) {
				means[i].At, means[i].Values = append(means[i].At, float64(k+1)), append(means[i].Values, 0)
			}
		}
		count[r.Name]++
		for k := range means[i].Values {
			means[i].Values[k] += r.R2[k]
		}
	}
	for _, p := range means {
		for k := range p.Values {
			p.Values[k] /= float64(count[p.Name])
		}
	}
	return means
}
