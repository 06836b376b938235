package eval

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// piece is an episode with steps that came directly before it, if a split by time cut them off. It may share the
// memory of the episode. Arrays are [steps, n], row by row, in the units of the model; levels are in those of the
// data.
type piece struct {
	name                   string
	steps                  int
	observations, controls []float32
	seen                   []float32 // nil: all
	levels                 []float64 // nil: the observations are not transformed

	recording string      // that it belongs to, as files.Dataset.Recordings names it
	scale     files.Scale // of its observations
}

// pieces are episodes with up to so many steps before each. A piece may reach back over several episodes, each of
// which continues the one before it, and has fewer steps before where the recording begins. Name and scale are
// those of the episode itself.
func (r *Recordings) pieces(episodes []int, before int) []piece {
	var list []piece
	names := r.Set.Recordings()
	for _, i := range episodes {
		name := names[i]
		p := pieceOf(&r.Set.Episodes[i], 0)
		p.name = r.Set.Episodes[i].Source
		for need := before; need > 0 && r.Set.Episodes[i].Continues; {
			i--
			e := &r.Set.Episodes[i]
			first := max(0, e.T-need)
			p = pieceOf(e, first).join(p, r.Set.Spec.Control)
			need -= e.T - first
		}
		own, _ := r.Scale.Of(name)
		p.recording, p.scale = name, own.Observations
		list = append(list, p)
	}
	return list
}

// pieceOf is an episode from step first on, in the memory of the episode.
func pieceOf(e *files.Episode, first int) piece {
	nx, nu := len(e.Observations)/e.T, len(e.Controls)/e.T
	p := piece{
		name: e.Source, steps: e.T - first, observations: e.Observations[first*nx:],
		controls: e.Controls[first*nu:],
	}
	if e.Mask != nil {
		p.seen = e.Mask[first*nx:]
	}
	if e.Levels != nil {
		p.levels = e.Levels[first*nx:]
	}
	return p
}

// join is a piece with the one that follows it. The control that leads from one to the other is not kept by a split:
// what acted before goes on. The result has memory of its own; the mask is nil if both are.
func (p piece) join(next piece, nu int) piece {
	controls := slices.Concat(p.controls, next.controls)
	copy(controls[len(p.controls):len(p.controls)+nu], p.controls[len(p.controls)-nu:])
	joined := piece{
		name: next.name, steps: p.steps + next.steps, observations: slices.Concat(p.observations, next.observations),
		controls: controls,
		levels:   slices.Concat(p.levels, next.levels),
	}
	if p.seen != nil || next.seen != nil {
		joined.seen = slices.Concat(p.whole(), next.whole())
	}
	return joined
}

// whole is the mask of a piece, of ones if all was seen.
func (p piece) whole() []float32 {
	if p.seen != nil {
		return p.seen
	}
	return slices.Repeat([]float32{1}, len(p.observations))
}

// observed are pieces as the model sees them. The observations share the memory of the pieces.
func observed(list []piece) []Recording {
	var all []Recording
	for _, p := range list {
		all = append(all, Recording{
			Name: p.name, T: p.steps, Observations: p.observations, Controls: p.controls,
			Seen: p.seen, Of: p.recording, Mean: p.scale.Mean, SD: p.scale.SD,
		})
	}
	return all
}

// levels are pieces before transforms, in standard deviations of the training part: of all of it, or of the recording
// where each has a scale of its own. Back undoes scaling and transforms of the model's values, then scales them as
// the levels are. A transform is undone from the levels that were observed before the start.
func (r *Recordings) levels(training, test []piece) *Untransformed {
	nx := r.Set.Spec.Observation
	scales := r.levelScales(training, test, nx)
	of := func(list []piece) []Recording {
		var all []Recording
		for _, p := range list {
			means, deviations := scales(p).Mean, scales(p).SD
			x, seen := make([]float32, len(p.levels)), make([]float32, len(p.levels))
			for j, v := range p.levels {
				if !math.IsNaN(v) {
					// A missing level stays 0 and unseen.
					x[j], seen[j] = float32((v-means[j%nx])/deviations[j%nx]), 1
				}
			}
			all = append(all, Recording{
				Name: p.name, T: p.steps, Observations: x, Controls: p.controls, Seen: seen,
				Of: p.recording, Mean: means, SD: deviations,
			})
		}
		return all
	}
	back := func(recording, at, channel int, path []float64) []float64 {
		scale, own := test[recording].scale, scales(test[recording])
		before := make([]float64, at)
		for t := range before {
			before[t] = test[recording].levels[t*nx+channel]
		}
		values := scale.Units(channel, path, scale.Transform(channel).Before(before))
		for i := range values {
			values[i] = (values[i] - own.Mean[channel]) / own.SD[channel]
		}
		return values
	}
	return &Untransformed{Training: of(training), Test: of(test), Back: back}
}

// levelScales are mean and deviation of the levels of pieces: those of the training part, or of the recording where
// each has a scale of its own. What training did not see has that of its first half. Only pieces with levels may
// be asked about: those of a set with transforms.
func (r *Recordings) levelScales(training, test []piece, nx int) func(p piece) files.Scale {
	if r.Scale.Recordings == nil {
		var s files.Scale
		s.Mean, s.SD = moments(training, nx)
		return func(piece) files.Scale { return s }
	}
	own := map[string][]piece{}
	for _, p := range training {
		own[p.recording] = append(own[p.recording], p)
	}
	scales := map[string]files.Scale{}
	for _, p := range slices.Concat(training, test) {
		if _, known := scales[p.recording]; known {
			continue
		}
		// Training did not see this recording: half of it gives the scale.
		if own[p.recording] == nil {
			p.levels = p.levels[:p.steps/2*nx]
			own[p.recording] = []piece{p}
		}
		var s files.Scale
		s.Mean, s.SD = moments(own[p.recording], nx)
		scales[p.recording] = s
	}
	return func(p piece) files.Scale { return scales[p.recording] }
}

// moments are mean and deviation of the levels of each channel; the deviation of a constant one is 1. NaN do not
// count; the deviation is that of the population. It is computed in one pass (Welford 1962).
func moments(list []piece, nx int) (means, deviations []float64) {
	means, deviations = make([]float64, nx), make([]float64, nx)
	for c := range nx {
		n, squares := 0.0, 0.0
		for _, p := range list {
			for j := c; j < len(p.levels); j += nx {
				if v := p.levels[j]; !math.IsNaN(v) {
					n++
					delta := v - means[c]
					means[c] += delta / n
					squares += float64(delta * (v - means[c]))
				}
			}
		}
		deviations[c] = 1
		if squares > 0 {
			deviations[c] = math.Sqrt(squares / n)
		}
	}
	return means, deviations
}
