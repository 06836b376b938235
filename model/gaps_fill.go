package model

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/rng"
)

// filling is a batch of which every sequence is there n times, with gaps filled in by other draws each time:
// sequence k·B+i is fill k of sequence i. It is the ensemble of an ensemble Kalman smoother: member k of the
// ensemble of sequence i is that fill.
//
// Invariant: after step(t), every gap of the kind up to t is filled in and marked as seen, so that the forecaster
// can read steps up to t; values that were seen are never changed.
type filling struct {
	f      Forecaster
	which  gaps
	b      Batch // as it was seen
	n      int
	asked  rollouts   // that the fills are for: fill k is for number k of them, modulo their number
	memory int        // steps before a gap from which it is filled in
	wide   Batch      // what the forecaster reads, [T, n·B, ·]
	key    rng.Key    // key.At(t, 0, 0) is the noise of step t
	last   []int      // step of each sequence that was filled in last; −1: none
	holes  [][]filled // of each sequence: what was filled in
}

// filled is the place of a value that was filled in.
type filled struct{ t, c int }

// fill fills in the gaps of a batch n times, for some rollouts, step by step. It costs a forecast of one step for n·B
// sequences at every step that has a gap or follows one closely. The answer is a function of its arguments.
func fill(f Forecaster, b Batch, which gaps, n int, asked rollouts, seed uint64) *filling {
	w := &filling{
		f: f, which: which, b: b, n: n, asked: asked, memory: fillMemory, key: rng.New(seed, rng.Evaluation),
		holes: make([][]filled, b.B),
	}
	if l, ok := f.(Lagged); ok { // a rule that repeats the season before has to see it
		w.memory = max(w.memory, l.Lags())
	}
	w.wide.Resize(b.T, n*b.B, b.NX, b.NU)
	w.wide.Seen = make([]float32, len(w.wide.Observations))
	// Every fill starts as a copy of what was seen; step then completes one time step after the other.
	for t := range b.T {
		for k := range n {
			copy(w.wide.Observations[(t*n+k)*b.B*b.NX:], b.Observations[t*b.B*b.NX:][:b.B*b.NX])
			copy(w.wide.Seen[(t*n+k)*b.B*b.NX:], b.Seen[t*b.B*b.NX:][:b.B*b.NX])
			copy(w.wide.Controls[(t*n+k)*b.B*b.NU:], b.Controls[t*b.B*b.NU:][:b.B*b.NU])
		}
	}
	for range b.B {
		w.last = append(w.last, -1)
	}
	for t := range b.T {
		w.step(t)
	}
	return w
}

// step fills in the gaps of step t, and corrects what was filled in before it. Sequences without a gap at t are
// corrected too within fillAfter steps of their last one: what comes right after a gap says most about it.
func (w *filling) step(t int) {
	var of []int
	for i, b := 0, w.b; i < b.B; i++ {
		if b.gap(t, i, w.which) || w.last[i] >= 0 && t-w.last[i] <= fillAfter && b.count(t, i) > 0 {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return
	}
	drawn := w.draw(t)
	for _, i := range of {
		w.correct(t, i, drawn)
	}
}

// draw predicts step t of every fill, [n·B, nx]. Before the first step nothing is known: values are standard normal,
// as those of scaled data are.
func (w *filling) draw(t int) []float32 {
	rows := w.n * w.b.B
	noise := w.key.At(uint64(t), 0, 0)
	if t == 0 {
		drawn := make([]float32, rows*w.b.NX)
		noise.Normals(drawn)
		return drawn
	}
	// Only the last steps are read, so that the cost of a long sequence stays linear in its length.
	from := max(0, t-w.memory)
	q := Query{
		Prefix: w.wide.Steps(from, t), Horizon: 1, Samples: 1, Drawn: true, Noise: noise,
		Controls: w.wide.Controls[t*rows*w.b.NU:][:rows*w.b.NU],
	}
	var next Forecast
	forecastPaths(w.f, &next, q, w.n, w.asked) // a fill has the parameters of the rollout that goes on from it
	return next.Draw
}

// correct fills in step t of sequence i by what was drawn, given what was seen there. With y the ensemble's
// prediction of the values that were seen and x these values, each place w of the recent gaps moves by
//
//	Cov(w, y)·Cov(y)⁻¹·(x − y)
//
// with a y of its own in every fill. Nothing moves where nothing was seen, or where the ensemble's covariance is not
// positive definite.
func (w *filling) correct(t, i int, drawn []float32) {
	nx := w.b.NX
	row := w.b.Seen[(t*w.b.B+i)*nx:][:nx]
	var known []int
	places := w.recent(t, i)
	fills := w.b.gap(t, i, w.which)
	for c, s := range row {
		switch {
		case s != 0:
			known = append(known, c)
		case fills:
			places = append(places, filled{t, c})
			w.holes[i], w.last[i] = append(w.holes[i], filled{t, c}), t
			for k := range w.n {
				w.wide.Observations[w.at(t, i, k)+c] = drawn[(k*w.b.B+i)*nx+c]
				w.wide.Seen[w.at(t, i, k)+c] = 1
			}
		}
	}
	if len(known) == 0 || w.n < 2 {
		return
	}
	// Rows of predicted are values, its columns fills; surprise has it the other way round, x − y of every fill.
	predicted := make([][]float64, len(known)) // deviations from the mean of all fills
	surprise := make([][]float64, w.n)
	for a, c := range known {
		predicted[a] = w.deviations(func(k int) float32 { return drawn[(k*w.b.B+i)*nx+c] })
	}
	for k := range surprise {
		surprise[k] = make([]float64, len(known))
		for a, c := range known {
			surprise[k][a] = float64(w.b.Observations[(t*w.b.B+i)*nx+c] - drawn[(k*w.b.B+i)*nx+c])
		}
	}
	if !solve(covariance(predicted), surprise) {
		return
	}
	// From here on surprise holds Cov(y)⁻¹·(x − y). The gain of a place is its covariance with y over the
	// ensemble.
	for _, p := range places {
		own := w.deviations(func(k int) float32 { return w.wide.Observations[w.at(p.t, i, k)+p.c] })
		gain := shrunk(own, predicted)
		for k := range w.n {
			sum := 0.0
			for a, g := range gain {
				sum += float64(g * surprise[k][a])
			}
			w.wide.Observations[w.at(p.t, i, k)+p.c] += float32(sum)
		}
	}
}

// recent are the places that were filled in within the memory.
func (w *filling) recent(t, i int) []filled {
	var list []filled
	for _, p := range w.holes[i] {
		if t-p.t <= fillMemory {
			list = append(list, p)
		}
	}
	return list
}

// at is the place of the first value of step t of fill k of sequence i.
func (w *filling) at(t, i, k int) int { return ((t*w.n+k)*w.b.B + i) * w.b.NX }

// deviations are the values of a quantity in all fills, less their mean.
func (w *filling) deviations(of func(k int) float32) []float64 {
	list, mean := make([]float64, w.n), 0.0
	for k := range list {
		list[k] = float64(of(k))
		mean += list[k] / float64(w.n)
	}
	for k := range list {
		list[k] -= mean
	}
	return list
}

// covariance is that of rows of deviations, with n−1 in the denominator and a little more on the diagonal, so that
// it can be inverted also if the fills agree.
func covariance(rows [][]float64) [][]float64 {
	c := make([][]float64, len(rows))
	for a := range rows {
		c[a] = make([]float64, len(rows))
		for b := range rows {
			c[a][b] = matrix.Dot(rows[a], rows[b]) / float64(len(rows[a])-1)
		}
		c[a][a] += 1e-6*c[a][a] + 1e-12
	}
	return c
}

// shrunk are the covariances of a place with rows of deviations, without what may be chance. With the squared
// correlation ρ² over n fills, each is multiplied by max(0, 1 − significance/(n·ρ²)): ρ² of independent values is
// about 1/n.
func shrunk(own []float64, rows [][]float64) []float64 {
	gain, n := make([]float64, len(rows)), float64(len(own))
	size := matrix.Dot(own, own)
	for a, row := range rows {
		product, other := matrix.Dot(own, row), matrix.Dot(row, row)
		if !(size > 0 && other > 0) {
			continue
		}
		square := product * product / (size * other)
		gain[a] = product / (n - 1) * max(0, 1-significance/(n*square))
	}
	return gain
}

// solve replaces the rows x by C⁻¹x, by Cholesky; false if C is not positive definite, and then x is unchanged.
// The lower triangle of c becomes the factor.
func solve(c [][]float64, x [][]float64) bool {
	n := len(c)
	for i := range n {
		for j := range i + 1 {
			sum := c[i][j]
			for k := range j {
				sum -= float64(c[i][k] * c[j][k])
			}
			if i > j {
				c[i][j] = sum / c[j][j]
				continue
			}
			if !(sum > 0) || math.IsInf(sum, 0) {
				return false
			}
			c[i][i] = math.Sqrt(sum)
		}
	}
	// L·y = x forwards, then Lᵀ·x = y backwards, in place.
	for _, row := range x {
		for i := range n {
			for k := range i {
				row[i] -= float64(c[i][k] * row[k])
			}
			row[i] /= c[i][i]
		}
		for i := n - 1; i >= 0; i-- {
			for k := i + 1; k < n; k++ {
				row[i] -= float64(c[k][i] * row[k])
			}
			row[i] /= c[i][i]
		}
	}
	return true
}

// first are the first n fills of every sequence: fill k of sequence i is sequence k·B+i. It is a copy.
func (w *filling) first(n int) Batch {
	b := Batch{T: w.b.T, B: n * w.b.B, NX: w.b.NX, NU: w.b.NU}
	for t := range w.b.T {
		of := func(x []float32, width int) []float32 { return x[t*w.n*w.b.B*width:][:b.B*width] }
		b.Observations = append(b.Observations, of(w.wide.Observations, b.NX)...)
		b.Controls = append(b.Controls, of(w.wide.Controls, b.NU)...)
		b.Seen = append(b.Seen, of(w.wide.Seen, b.NX)...)
	}
	b.Seen = withoutOnes(b.Seen)
	return b
}

// mean is the batch with the mean of all fills where a value was filled in, which then counts as seen. It is a
// copy but for the controls.
func (w *filling) mean() Batch {
	b := w.b
	b.Observations, b.Seen = append([]float32(nil), b.Observations...), append([]float32(nil), b.Seen...)
	for i, list := range w.holes {
		for _, p := range list {
			sum := 0.0
			for k := range w.n {
				sum += float64(w.wide.Observations[w.at(p.t, i, k)+p.c])
			}
			to := (p.t*b.B+i)*b.NX + p.c
			b.Observations[to], b.Seen[to] = float32(sum/float64(w.n)), 1
		}
	}
	b.Seen = withoutOnes(b.Seen)
	return b
}

// withoutOnes is a mask, or nil if nothing is missing.
func withoutOnes(seen []float32) []float32 {
	for _, s := range seen {
		if s == 0 {
			return seen
		}
	}
	return nil
}
