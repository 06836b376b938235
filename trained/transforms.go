package trained

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// A model may be trained on logarithms and differences of the data. Answers are taken back by single paths, as no
// quantile and no deviation of a sum of differences is the sum of theirs.

// transform is what training does to a channel before it scales it.
func (r *Run) transform(c int) files.Transform { return r.scale.Observations.Transform(c) }

// lag is how many steps before a series its values depend on; 0 if no channel is a difference.
func (r *Run) lag() int {
	most := 0
	for _, t := range r.scale.Observations.Transforms {
		most = max(most, t.Lag)
	}
	return most
}

// transforms reports whether any channel is transformed.
func (r *Run) transforms() bool {
	return slices.ContainsFunc(r.scale.Observations.Transforms,
		func(t files.Transform) bool { return t != files.Transform{} })
}

// transformed does to observations what training did before it scaled them. Rows without a transform come back as
// they are. A value that has no logarithm is ErrSeries.
func (r *Run) transformed(rows [][]float64) ([][]float64, error) {
	if !r.transforms() || len(rows) == 0 {
		return rows, nil
	}
	list := make([][]float64, len(rows))
	for t := range rows {
		list[t] = slices.Clone(rows[t])
	}
	for c := range rows[0] {
		changed, bad := r.transform(c).Apply(channel(rows, c))
		if bad >= 0 {
			return nil, fmt.Errorf("%w: row %d of the observations holds %v, and the model was trained on logarithms", ErrSeries,
				bad, rows[bad][c])
		}
		for t, v := range changed {
			list[t][c] = v
		}
	}
	return list, nil
}

// channel is a column of rows; where a row is too short, NaN.
func channel(rows [][]float64, c int) []float64 {
	list := make([]float64, len(rows))
	for t, row := range rows {
		list[t] = math.NaN()
		if c < len(row) {
			list[t] = row[c]
		}
	}
	return list
}

// undone returns rows of the model's observations, without their scaling, in the units of the data. They follow the
// given rows. before are rows in the units of the data, at least as many as lag says if a channel is a difference.
// A path without transforms comes back as it is.
func (r *Run) undone(path, before [][]float64) [][]float64 {
	if !r.transforms() || len(path) == 0 {
		return path
	}
	list := make([][]float64, len(path))
	for t := range path {
		list[t] = slices.Clone(path[t])
	}
	for c := range path[0] {
		for t, v := range r.transform(c).Undo(channel(path, c), r.transform(c).Before(channel(before, c))) {
			list[t][c] = v
		}
	}
	return list
}

// ends are the values that the paths of a forecast follow, in the units of the data. Where the last ones of a series
// are missing, the differences that were filled in for the path are added up. filled has the whole prefix of each
// path, time-major, in the units of the model; paths beyond its sequences take them in turn.
func (r *Run) ends(observed [][]float64, filled model.Batch) func(path int) [][]float64 {
	return func(path int) [][]float64 {
		if !missing(observed[max(0, len(observed)-r.lag()):]) {
			return observed
		}
		path %= filled.B
		list := make([][]float64, len(observed))
		scale := r.scale.Observations
		for t := range observed {
			list[t] = slices.Clone(observed[t])
			for c, v := range list[t] {
				k := r.transform(c)
				if !math.IsNaN(v) || k.Lag == 0 || t < k.Lag {
					continue
				}
				change := scale.Unscaled(c, float64(filled.Observations[(t*filled.B+path)*filled.NX+c]))
				list[t][c] = files.Transform{Log: k.Log, Lag: 1}.Undo([]float64{change}, []float64{list[t-k.Lag][c]})[0]
			}
		}
		return list
	}
}

// missing reports whether any value of some rows is.
func missing(rows [][]float64) bool {
	return slices.ContainsFunc(rows, func(row []float64) bool { return slices.ContainsFunc(row, math.IsNaN) })
}

// draws is how many times the noise of the observations is drawn for each path of a forecast, where transforms are
// undone: the sum of differences, or the exponential of a logarithm, is no Gaussian.
const draws = 8

// undo turns a forecast of transformed values into one in the units of the data. Its paths have their noise
// within. Each path becomes draws paths, which differ in the noise alone; a channel without a transform keeps its
// deviation instead. Paths without noise stay one each: a single one has no quantiles, which copies of it would seem to
// have. The mean is that of the paths without noise.
func (f *Forecast) undo(r *Run, ends func(path int) [][]float64, seed uint64) {
	noise := rng.New(seed, rng.Evaluation).At(0, 0, noiseOfUndoing)
	var paths, spread [][][]float64
	mean := make([][]float64, len(f.Mean))
	copies := draws
	if f.SD == nil {
		copies = 1
	}
	for i, path := range f.Paths {
		// Differences are added to what this path follows, which fills in its own gaps.
		before := ends(i)
		for t, row := range r.undone(path, before) {
			if i == 0 {
				mean[t] = make([]float64, len(row))
			}
			for c, v := range row {
				mean[t][c] += v / float64(len(f.Paths))
			}
		}
		// Each copy of the path has other noise, which is added before the transform is undone.
		for range copies {
			drawn, rest := make([][]float64, len(path)), make([][]float64, len(path))
			for t := range path {
				drawn[t], rest[t] = slices.Clone(path[t]), make([]float64, len(path[t]))
				for c := range drawn[t] {
					sd := 0.0
					if f.SD != nil {
						sd = f.SD[i][t][c]
					}
					if r.transform(c) == (files.Transform{}) {
						rest[t][c] = sd
					} else if sd > 0 {
						drawn[t][c] += float64(sd * noise.Normal())
					}
				}
			}
			paths, spread = append(paths, r.undone(drawn, before)), append(spread, rest)
		}
	}
	f.Mean, f.Draw, f.Paths = mean, r.undone(f.Draw, ends(0)), paths
	if f.SD != nil {
		f.SD = spread
	}
}

// noiseOfUndoing is the place of the random numbers of undo, behind those of the forecast.
const noiseOfUndoing = 8
