package model

import (
	"cmp"

	"github.com/switchyard-ml/switchyard/rng"
)

// PartReader is a Forecaster that reads an observation of which only some values were seen. One that is none needs
// them filled in: a family with a latent state where an observation is seen in part, one without at every gap.
type PartReader interface {
	// ReadsParts does nothing: it tells a PartReader from other Forecasters.
	ReadsParts()
}

// Varied is a Forecaster whose rollouts differ in more than noise, as in their parameters. First and Of of a Query say
// which rollouts it is asked for.
type Varied interface {
	// Varies does nothing: it tells a Varied from other Forecasters.
	Varies()
}

// Limits of filling in. Observations of more values, as images, are left to the family.
const (
	mostFilled   = 64  // values of an observation
	fewestFills  = 128 // fills of each sequence: their covariances are estimated
	fillMemory   = 64  // steps before a gap from which it is filled in, at least, and within which fills are corrected
	fillAfter    = 4   // steps after a gap that still correct what was filled in
	significance = 4   // squared correlations below this many times 1/fills are taken for chance
)

// Ahead answers a query whose prefix may have gaps that the family cannot read. Every path has a prefix of its own
// in which gaps are filled in by draws, given the values that were seen beside and after them: an ensemble Kalman
// smoother over the observations, with the forecaster as its model. With y the observation that is predicted for
// each fill, w its missing values and those filled in before it, and x_s the values that were seen,
//
//	w ← w + Cov(w, y_s)·Cov(y_s)⁻¹·(x_s − y_s)
//
// For a linear Gaussian system this is the posterior of the missing values, up to the noise of the ensemble (Evensen
// and van Leeuwen 2000). Without gaps it is f.Forecast.
func Ahead(f Forecaster, dst *Forecast, q Query) { ahead(f, dst, q, parts(f)) }

// AheadOfAll is Ahead with every gap filled in, but those before anything was seen. It returns the prefixes of the
// paths: that of path k of sequence i is sequence k·B+i, if it has more sequences than the query.
func AheadOfAll(f Forecaster, dst *Forecast, q Query) Batch { return ahead(f, dst, q, every) }

// ahead answers a query with the gaps of a kind filled in. Each of the S paths becomes a sequence of its own with
// a single rollout, so that the forecaster conditions on one completed past per path; the answer is then put back
// into the order of a forecast with S rollouts. It returns the prefixes that were read.
func ahead(f Forecaster, dst *Forecast, q Query, which gaps) Batch {
	if !q.Prefix.has(which) {
		f.Forecast(dst, q)
		return q.Prefix
	}
	// The fills take one word of the query's noise as their seed; the rollouts go on from the word after it.
	noise := q.Noise
	asked := rollouts{q.First, q.Samples, cmp.Or(q.Of, q.Samples)}
	fills := fill(f, q.Prefix, which, max(q.Samples, fewestFills), asked, noise.Uint64())
	B, S := q.Prefix.B, q.Samples
	wide := Query{
		Prefix: fills.first(S), Horizon: q.Horizon, Samples: 1, Drawn: S > 1 || q.Drawn, Noise: noise,
		Controls: widened(q.Controls, q.Horizon, B, S, q.Prefix.NU),
	}
	var each Forecast
	forecastPaths(f, &each, wide, S, asked)
	dst.Resize(q.Horizon, B, S, each.NX, each.M)
	each.spread(dst, S, B)
	return wide.Prefix
}

// rollouts are count of so many, from number first on: see First and Of of a Query.
type rollouts struct{ first, count, of int }

// forecastPaths answers a query about sequences that are paths, path·B+i of so many paths. Where rollouts vary, each
// path has a query: the single rollouts of one query would all be the first, and have what is of that one alone. Path k
// has what is of rollout k of those that are asked for, modulo their number.
func forecastPaths(f Forecaster, dst *Forecast, q Query, paths int, asked rollouts) {
	if _, varies := f.(Varied); !varies {
		f.Forecast(dst, q)
		return
	}
	n, B := q.Prefix.B, q.Prefix.B/paths
	d, noise := f.Dims(), q.Noise
	dst.Resize(q.Horizon, n, 1, d.NX, d.M)
	var one Forecast
	for path := range paths {
		part := q
		part.First, part.Of = asked.first+path%asked.count, asked.of
		part.Prefix, part.Controls = q.Prefix.some(path*B, B), some(q.Controls, n, path*B, B, q.Prefix.NU)
		part.Noise = rng.New(noise.Uint64(), rng.Noise).At(0, 0, 0)
		f.Forecast(&one, part)
		for h := range q.Horizon {
			from, to := h*B, h*n+path*B
			for _, x := range []struct {
				dst, src []float32
				width    int
			}{
				{dst.Mean, one.Mean, d.NX},
				{dst.Paths, one.Paths, d.NX},
				{dst.SD, one.SD, d.NX},
				{dst.Draw, one.Draw, d.NX},
				{dst.Switches, one.Switches, d.M},
			} {
				copy(x.dst[to*x.width:(to+B)*x.width], x.src[from*x.width:])
			}
		}
	}
}

// some are count consecutive sequences of a batch, in memory of their own.
func (b Batch) some(from, count int) Batch {
	c := Batch{
		T: b.T, B: count, NX: b.NX, NU: b.NU,
		Observations: some(b.Observations, b.B, from, count, b.NX), Controls: some(b.Controls, b.B, from, count, b.NU),
	}
	if b.Seen != nil {
		c.Seen = some(b.Seen, b.B, from, count, b.NX)
	}
	return c
}

// some are the values of count of n sequences, from one on: [steps,count,width] of [steps,n,width].
func some(x []float32, n, from, count, width int) []float32 {
	var list []float32
	for at := from * width; at < len(x); at += n * width {
		list = append(list, x[at:at+count*width]...)
	}
	return list
}

// Whole is a batch in which gaps that the family cannot read are filled in by what is expected there.
func Whole(f Forecaster, b Batch, noise rng.Stream) Batch {
	if which := parts(f); b.has(which) {
		return fill(f, b, which, fewestFills, rollouts{0, fewestFills, fewestFills}, noise.Uint64()).mean()
	}
	return b
}

// gaps are the gaps to fill in, of the kinds that families cannot read.
type gaps uint8

const (
	none  gaps = iota
	part       // observations of which only a part was seen, unless none of the sequence was seen whole: see Measured
	every      // but those before anything was seen
)

// parts are the gaps that a family cannot read.
func parts(f Forecaster) gaps {
	if _, reads := f.(PartReader); reads {
		return none
	}
	if f.Dims().NZ > 0 {
		return part
	}
	return every
}

// has reports whether a batch has a gap to fill in.
func (b Batch) has(which gaps) bool {
	if which == none || b.Seen == nil || b.NX > mostFilled {
		return false
	}
	for i := range b.B {
		for t := range b.T {
			if b.gap(t, i, which) {
				return true
			}
		}
	}
	return false
}

// gap reports whether values of step t of sequence i have to be filled in.
func (b Batch) gap(t, i int, which gaps) bool {
	seen := b.count(t, i)
	switch {
	case seen == b.NX || which == none:
		return false
	case which == part:
		return seen > 0 && b.everWhole(i)
	}
	// A step without any value counts as a gap only after something was seen, since nothing is known before.
	for before := 0; seen == 0 && before < t; before++ {
		seen = b.count(before, i)
	}
	return seen > 0
}

// count is how many values of step t of sequence i were seen.
func (b Batch) count(t, i int) int {
	n := 0
	for _, s := range b.Seen[(t*b.B+i)*b.NX:][:b.NX] {
		if s != 0 {
			n++
		}
	}
	return n
}

// everWhole reports whether any observation of sequence i was seen whole.
func (b Batch) everWhole(i int) bool {
	for t := range b.T {
		if b.count(t, i) == b.NX {
			return true
		}
	}
	return false
}

// Measured says which observations an encoder reads: 1 or 0 for each row of the batch, which has gaps. Those are the
// ones that were seen whole; in a sequence of several steps without any, as of channels that are measured in turn,
// those of which a value was seen. Their other values are read as they were last seen, or as 0: x is b.Observations
// with them.
func (b Batch) Measured(x, measured []float32) {
	copy(x, b.Observations)
	for i := range b.B {
		whole := b.T == 1 || b.everWhole(i) // a single step says nothing of those before it
		for t := range b.T {
			n := b.count(t, i)
			if measured[t*b.B+i] = 0; n == b.NX || n > 0 && !whole {
				measured[t*b.B+i] = 1
			}
		}
		if whole {
			continue
		}
		// Values are carried forward from the step before, which has been completed already. The first step keeps
		// its 0.
		for at := (b.B + i) * b.NX; at < len(x); at += b.B * b.NX {
			for c := range b.NX {
				if b.Seen[at+c] == 0 {
					x[at+c] = x[at+c-b.B*b.NX]
				}
			}
		}
	}
}

// widened are the controls of paths as those of sequences: [Horizon, paths·B, nu].
func widened(u []float32, horizon, B, paths, nu int) []float32 {
	if nu == 0 {
		return nil
	}
	wide := make([]float32, 0, horizon*paths*B*nu)
	plan := horizon * B * nu
	for h := range horizon {
		for path := range paths {
			at := h * B * nu
			// A plan per rollout, [paths, Horizon, B, nu], is told from a common one by its length alone.
			if len(u) == paths*plan {
				at += path * plan
			}
			wide = append(wide, u[at:at+B*nu]...)
		}
	}
	return wide
}

// spread writes the forecasts of sequences path·B+i, with one rollout each, as those of the paths of sequences i.
// Means and weights are averaged over the paths; draws are those of the first path, as Forecast.Draw has them.
func (f *Forecast) spread(dst *Forecast, paths, B int) {
	clear(dst.Mean)
	clear(dst.Switches)
	scale := 1 / float32(paths)
	for h := range f.Horizon {
		for path := range paths {
			for i := range B {
				from, to := h*paths*B+path*B+i, h*B+i
				at := (path*f.Horizon+h)*B + i
				copy(dst.Paths[at*f.NX:][:f.NX], f.Paths[from*f.NX:])
				copy(dst.SD[at*f.NX:][:f.NX], f.SD[from*f.NX:])
				if path == 0 {
					copy(dst.Draw[to*f.NX:][:f.NX], f.Draw[from*f.NX:])
				}
				for c := range f.NX {
					dst.Mean[to*f.NX+c] += float32(f.Mean[from*f.NX+c] * scale)
				}
				for k := range f.M {
					dst.Switches[to*f.M+k] += float32(f.Switches[from*f.M+k] * scale)
				}
			}
		}
	}
}
