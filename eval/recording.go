package eval

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// Recording is one sequence that was recorded, in the units of the model: T steps of observations and controls, row by
// row. Arrays are [T, n], row by row, and may share memory with the data: measurements only read them.
type Recording struct {
	Name                   string
	T                      int
	Observations, Controls []float32
	// 1 where an observation was measured, 0 where it is missing and holds 0; nil: none is missing
	Seen []float32
	// Of is what the recording is called that this is a part of, and Scale leads back to the data's own units; zero:
	// these are they.
	Of    string
	Scale files.Scale

	levels []float64 // before transforms, in the units of the data; nil: the observations are not transformed
	before []float32 // controls that lead to the first step from the recording that it continues; nil: unknown
}

// part are the steps from first to end, in the memory of the recording. The control of the first stays what it was.
func (e Recording) part(first, end int) Recording {
	p := e
	p.T, p.Observations, p.Controls = end-first, cut(e.Observations, e.T, first, end), cut(e.Controls, e.T, first, end)
	p.Seen, p.levels = cut(e.Seen, e.T, first, end), cut(e.levels, e.T, first, end)
	if first > 0 {
		p.before = nil
	}
	return p
}

// cut are the rows from first to end of T; nil stays nil.
func cut[V any](rows []V, T, first, end int) []V {
	width := len(rows) / T
	return rows[first*width : end*width]
}

// batch is the recording alone, for a model of such dimensions. The first control acted before it. The mask is shared.
func (e Recording) batch(d model.Dims) model.Batch {
	var b model.Batch
	b.Resize(e.T, 1, d.NX, d.NU)
	copy(b.Observations, e.Observations)
	clear(b.Controls)
	if d.NU > 0 {
		copy(b.Controls[d.NU:], e.Controls[d.NU:])
	}
	b.Seen = e.Seen
	return b
}

// seen reports whether element i of the observations was measured.
func (e *Recording) seen(i int) bool { return e.Seen == nil || e.Seen[i] != 0 }

// pieces are episodes as the model sees them, with up to so many steps before each, if a split by time cut them off. A
// piece may reach back over several episodes, each of which continues the one before it, and has fewer steps before
// where the recording begins. Name and scale are those of the episode itself. Pieces may share the memory of episodes.
func (r *Recordings) pieces(episodes []int, before int) []Recording {
	var list []Recording
	names := r.Set.Recordings()
	for _, i := range episodes {
		name := names[i]
		p := recordingOf(&r.Set.Episodes[i])
		for need := before; need > 0 && r.Set.Episodes[i].Continues; {
			i--
			e := &r.Set.Episodes[i]
			first := max(0, e.T-need)
			p = recordingOf(e).part(first, e.T).join(p, r.Set.Spec.Control)
			need -= e.T - first
		}
		own, _ := r.Scale.Of(name)
		p.Of, p.Scale = name, own.Observations
		list = append(list, p)
	}
	return list
}

// recordingOf is an episode, in its memory.
func recordingOf(e *files.Episode) Recording {
	return Recording{
		Name: e.Source, T: e.T, Observations: e.Observations, Controls: e.Controls, Seen: e.Mask, levels: e.Levels,
		before: e.Before,
	}
}

// join is a recording with the one that follows it. Where it is not known which control leads from one to the other,
// what acted before goes on. The result has memory of its own; the mask is nil if both are.
func (e Recording) join(next Recording, nu int) Recording {
	before := next.before
	if before == nil {
		before = e.Controls[len(e.Controls)-nu:]
	}
	controls := slices.Concat(e.Controls, before, next.Controls[nu:])
	joined := Recording{
		Name: next.Name, T: e.T + next.T, Observations: slices.Concat(e.Observations, next.Observations), Controls: controls,
		levels: slices.Concat(e.levels, next.levels), before: e.before,
	}
	if e.Seen != nil || next.Seen != nil {
		joined.Seen = slices.Concat(e.mask(), next.mask())
	}
	return joined
}

// mask has ones if all was seen.
func (e Recording) mask() []float32 {
	if e.Seen != nil {
		return e.Seen
	}
	return slices.Repeat([]float32{1}, len(e.Observations))
}

// levels are pieces before transforms, in standard deviations of the training part: of all of it, or of the recording
// where each has a scale of its own. Back undoes scaling and transforms of the model's values, then scales them as
// the levels are. A transform is undone from the levels that were observed before the start.
func (r *Recordings) levels(training, test []Recording) *Untransformed {
	nx := r.Set.Spec.Observation
	scales := r.levelScales(training, test, nx)
	of := func(list []Recording) []Recording {
		var all []Recording
		for _, p := range list {
			own := scales(p)
			x, seen := make([]float32, len(p.levels)), make([]float32, len(p.levels))
			for j, v := range p.levels {
				if !math.IsNaN(v) {
					// A missing level stays 0 and unseen.
					x[j], seen[j] = float32(own.Scaled(j%nx, v)), 1
				}
			}
			p.Observations, p.Seen, p.Scale = x, seen, own
			all = append(all, p)
		}
		return all
	}
	back := func(recording, at, channel int, path []float64) []float64 {
		scale, own := test[recording].Scale, scales(test[recording])
		before := make([]float64, at)
		for t := range before {
			before[t] = test[recording].levels[t*nx+channel]
		}
		values := scale.Units(channel, path, scale.Transform(channel).Before(before))
		for i := range values {
			values[i] = own.Scaled(channel, values[i])
		}
		return values
	}
	return &Untransformed{Training: of(training), Test: of(test), Back: back}
}

// levelScales are mean and deviation of the levels of pieces: those of the training part, or of the recording where
// each has a scale of its own. What training did not see has that of its first half. Only pieces with levels may
// be asked about: those of a set with transforms.
func (r *Recordings) levelScales(training, test []Recording, nx int) func(p Recording) files.Scale {
	if r.Scale.Recordings == nil {
		var s files.Scale
		s.Mean, s.SD = moments(training, nx)
		return func(Recording) files.Scale { return s }
	}
	own := map[string][]Recording{}
	for _, p := range training {
		own[p.Of] = append(own[p.Of], p)
	}
	scales := map[string]files.Scale{}
	for _, p := range slices.Concat(training, test) {
		if _, known := scales[p.Of]; known {
			continue
		}
		// Training did not see this recording: half of it gives the scale.
		if own[p.Of] == nil {
			p.levels = p.levels[:p.T/2*nx]
			own[p.Of] = []Recording{p}
		}
		var s files.Scale
		s.Mean, s.SD = moments(own[p.Of], nx)
		scales[p.Of] = s
	}
	return func(p Recording) files.Scale { return scales[p.Of] }
}

// moments are mean and deviation of the levels of each channel; the deviation of a constant one is 1. NaN do not
// count; the deviation is that of the population. It is computed in one pass (Welford 1962).
func moments(list []Recording, nx int) (means, deviations []float64) {
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
