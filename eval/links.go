package eval

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// Bodies are found from links: what a channel or control adds to the prediction of another one, on data that the
// fit has not seen. Every fit is cross-fitted on two halves of linkBlocks blocks of consecutive rows, so that
// neighbouring rows, which are alike, are not on both sides.

// Link says that a channel or a control helps to predict the next value of a channel, on rows that the fit has not
// seen. A link from a channel to itself is never looked for.
type Link struct {
	From, To int     // From counts controls behind all channels
	Gain     float64 // share of the squared error that is left without it
	Z        float64 // the gain over its standard error
	// Curved: what From tells depends on the state; a linear fit does not see it
	Curved bool

	blocks, without []float64 // squared error less than without it, and without it, by block of rows
}

// What counts as a link. The errors that it saves are compared block by block of consecutive rows; a fit sees every
// second block and is measured on the others, then the other way round.
const (
	// leastGain is a share, leastZ standard errors. There are linkBlocks blocks of up to linkRows rows together;
	// with fewer than fewestRows, ten a block, bodies are not looked for.
	leastGain  = 0.01
	leastZ     = 4
	linkBlocks = 60
	linkRows   = 30000 // at most
	fewestRows = 10 * linkBlocks
)

// rowsOf are what a linear fit may look at in each row: 1, all channels at t and t−1, all controls that act before t+1
// and before t; and the channels at t+1. n rows of nx channels and nu controls: x is [n,width], next [n,nx]. links
// grow as they are looked for. A search goes through it in order: newRowsOf, normal, linear for every channel,
// then curved, which reads the predictions of linear.
type rowsOf struct {
	n, nx, nu int
	x, next   []float64
	// One of each for both halves of the blocks, [width,width] and [width,nx].
	gram  [2]*mat.SymDense // of the rows of every second block
	right [2]*mat.Dense
	links []Link
	// by channel: the prediction of the next value by the linear fit
	predicted [][]float64
}

// width is the number of features of a row.
func (r *rowsOf) width() int { return 1 + 2*r.nx + 2*r.nu }

// block is the block of a row: linkBlocks stretches of consecutive rows, equal in length up to one.
func (r *rowsOf) block(row int) int { return row * linkBlocks / r.n }

// newRowsOf lays out the rows in which all channels were observed. Rows come from the first episodes until there
// are linkRows.
func newRowsOf(d *files.Dataset) *rowsOf {
	r := &rowsOf{nx: d.Spec.Observation, nu: d.Spec.Control}
	for _, e := range d.Episodes {
		seen := func(t int) bool {
			return e.Mask == nil || !slices.Contains(e.Mask[t*r.nx:(t+1)*r.nx], 0)
		}
		for t := 1; t+1 < e.T && r.n < linkRows; t++ {
			// A row needs three steps in a row: x_{t+1} is predicted from x_t and x_{t−1}.
			if !seen(t-1) || !seen(t) || !seen(t+1) {
				continue
			}
			r.n++
			r.x = append(r.x, 1)
			for _, at := range []int{t, t - 1} {
				r.x = append(r.x, widen(e.Observations[at*r.nx:(at+1)*r.nx])...)
			}
			for _, at := range []int{t + 1, t} {
				r.x = append(r.x, widen(e.Controls[at*r.nu:(at+1)*r.nu])...)
			}
			r.next = append(r.next, widen(e.Observations[(t+1)*r.nx:(t+2)*r.nx])...)
		}
	}
	if r.n > 0 {
		r.scale()
	}
	return r
}

// scale gives every channel and control the mean 0 and the deviation 1: the ridge of a fit would hide what is small, or
// far from zero. A channel has the same scale at every step.
func (r *rowsOf) scale() {
	w := r.width()
	mean, sd := standardise(r.x, w)
	mean[0], sd[0] = 0, 1 // the constant
	for i, v := range r.x {
		f := i % w
		if f > r.nx && f <= 2*r.nx { // the step before
			f -= r.nx
		}
		r.x[i] = (v - mean[f]) / sd[f]
	}
	for i, v := range r.next {
		f := 1 + i%r.nx
		r.next[i] = (v - mean[f]) / sd[f]
	}
}

// normal fills the normal equations of both halves: gram[h] = Xᵀ X [width,width] and right[h] = Xᵀ Y [width,nx]
// over the blocks b with b mod 2 = h. A fit to some features reads rows and columns of them, so the data are read
// once.
func (r *rowsOf) normal() {
	w := r.width()
	for half := range 2 {
		var x, y []float64
		for row := range r.n {
			if r.block(row)%2 == half {
				x, y = append(x, r.x[row*w:(row+1)*w]...), append(y, r.next[row*r.nx:(row+1)*r.nx]...)
			}
		}
		n := len(x) / w
		dx, dy := mat.NewDense(n, w, x), mat.NewDense(n, r.nx, y)
		r.gram[half], r.right[half] = mat.NewSymDense(w, nil), new(mat.Dense)
		r.gram[half].SymOuterK(1, dx.T())
		r.right[half].Mul(dx.T(), dy)
	}
}

// features are the places of a channel, or of a control, in a row: its value at both steps. Controls count behind
// all channels.
func (r *rowsOf) features(from int) []int {
	if from < r.nx {
		return []int{1 + from, 1 + r.nx + from}
	}
	c := 1 + 2*r.nx + from - r.nx
	return []int{c, c + r.nu}
}

// predict fits the next value of a channel to features on each half of the blocks and predicts the other half. It
// returns n predictions, each from the fit that did not see its block.
func (r *rowsOf) predict(to int, features []int) []float64 {
	p := len(features)
	var weights [2][]float64
	for half := range 2 {
		gram, right := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
		for i, a := range features {
			for j := range i + 1 {
				gram.SetSym(i, j, r.gram[half].At(a, features[j]))
			}
			gram.SetSym(i, i, gram.At(i, i)*(1+ridge)+ridge)
			right.SetVec(i, r.right[half].At(a, to))
		}
		var factor mat.Cholesky
		w := mat.NewVecDense(p, nil)
		if factor.Factorize(gram) {
			_ = factor.SolveVecTo(w, right) // close to singular: the ridge keeps what matters
		}
		// What one half was fitted to predicts the other.
		weights[1-half] = w.RawVector().Data
	}
	predicted, width := make([]float64, r.n), r.width()
	for row := range predicted {
		w := weights[r.block(row)%2]
		for i, f := range features {
			predicted[row] += w[i] * r.x[row*width+f]
		}
	}
	return predicted
}

// squares are the sums of the squared errors of a prediction of a channel, by block, [linkBlocks].
func (r *rowsOf) squares(to int, predicted []float64) []float64 {
	sums := make([]float64, linkBlocks)
	for row, p := range predicted {
		e := r.next[row*r.nx+to] - p
		sums[r.block(row)] += e * e
	}
	return sums
}

// link compares the errors of a fit without and with what it is from. Both are squared errors by block; with
// d_b the difference in block b and n blocks,
//
//	Gain = Σ d / Σ without,  Z = d̄ / √(var d/(n−1))
//
// Less than a millionth of a channel's deviation, as of one that never changes, is rounding: nothing helps there, nor
// surely.
func (r *rowsOf) link(from, to int, without, with []float64, curved bool) Link {
	l := Link{From: from, To: to, Curved: curved, without: without}
	for b, w := range without {
		l.blocks = append(l.blocks, w-with[b])
	}
	if sum(without) > 1e-12*float64(r.n) {
		l = l.of(slices.Repeat([]float64{1}, len(without)))
	}
	return l
}

// of is the link with Gain and Z of blocks that count so many times each.
func (l Link) of(times []float64) Link {
	n, all, saved, square := 0.0, 0.0, 0.0, 0.0
	for b, count := range times {
		d := l.blocks[b]
		n, all = n+count, all+float64(count*l.without[b])
		saved, square = saved+float64(count*d), square+float64(count*float64(d*d))
	}
	l.Gain, l.Z = saved/all, 0
	if variance := square/n - saved/n*saved/n; variance > 0 {
		l.Z = saved / n / math.Sqrt(variance/(n-1))
	}
	return l
}

// counts reports whether the link is a link: it saves enough, and surely.
func (l Link) counts() bool { return l.Gain >= leastGain && l.Z >= leastZ }

// linear adds what helps a linear fit of a channel by its own last two values, the greatest help first, and keeps the
// fit. The link that ended the search is kept too, though it does not count: Division.Between is the greatest of
// them.
func (r *rowsOf) linear(to int) {
	features := append([]int{0}, r.features(to)...)
	predicted := r.predict(to, features)
	without := r.squares(to, predicted)
	used := map[int]bool{to: true}
	for {
		var best Link
		for from := range r.nx + r.nu {
			if used[from] {
				continue
			}
			with := r.squares(to, r.predict(to, slices.Concat(features, r.features(from))))
			if l := r.link(from, to, without, with, false); l.Gain > best.Gain {
				best = l
			}
		}
		// Nothing is left to try, or nothing helps at all.
		if best.blocks == nil {
			break
		}
		r.links = append(r.links, best)
		if !best.counts() {
			break
		}
		used[best.From] = true
		features = append(features, r.features(best.From)...)
		predicted = r.predict(to, features)
		without = r.squares(to, predicted)
	}
	r.predicted[to] = predicted
}

// Cells of the state in which the error of a linear fit is averaged: places and steps of a channel, and places of
// another. An average of few rows is drawn towards that of all places of the other, as if that had been seen so often.
const (
	// linkShrink is in rows.
	linkPlaces = 12
	linkSteps  = 3
	linkShrink = 5.0
)

// curved measures what the place of a channel tells about the error of the linear fit of another, beyond its own
// place and step. Without the channel the error is predicted by the mean error of the row's cell, and with it by
// that of the cell and the place of the channel, both fitted on the other half of the blocks:
//
//	mean = Σ e / (n + s),  joint = (Σ e + s·mean) / (n + s),  s = linkShrink
//
// Places are by the linear predictions of the next step. A channel that is always in one place tells nothing: joint is
// mean then, which would else be drawn less towards zero.
func (r *rowsOf) curved(from, to int) Link {
	own, place := make([]int, r.n), r.ranks(r.predicted[from], linkPlaces)
	still := slices.Max(place) == 0
	step := make([]float64, r.n)
	for row, p := range r.predicted[to] {
		step[row] = p - r.x[row*r.width()+1+to]
	}
	steps := r.ranks(step, linkSteps)
	for row, p := range r.ranks(r.predicted[to], linkPlaces) {
		own[row] = p*linkSteps + steps[row]
	}
	const cells = linkPlaces * linkSteps
	var sums, counts [2][cells * linkPlaces]float64
	var ownSums, ownCounts [2][cells]float64
	errors := make([]float64, r.n)
	for row, p := range r.predicted[to] {
		errors[row] = r.next[row*r.nx+to] - p
		// Sums of the other half: a row reads those that it is no part of.
		half, c := 1-r.block(row)%2, own[row]
		ownSums[half][c] += errors[row]
		ownCounts[half][c]++
		sums[half][c*linkPlaces+place[row]] += errors[row]
		counts[half][c*linkPlaces+place[row]]++
	}
	without, with := make([]float64, linkBlocks), make([]float64, linkBlocks)
	for row, e := range errors {
		half, c := r.block(row)%2, own[row]
		mean := ownSums[half][c] / (ownCounts[half][c] + linkShrink)
		both := c*linkPlaces + place[row]
		joint := (sums[half][both] + linkShrink*mean) / (counts[half][both] + linkShrink)
		if still {
			joint = mean
		}
		without[r.block(row)] += (e - mean) * (e - mean)
		with[r.block(row)] += (e - joint) * (e - joint)
	}
	return r.link(from, to, without, with, true)
}

// ranks divides values into so many classes of equal size. Equal values are of one class, that of the first of them:
// told apart by their order in the data, they would say what time it is.
func (r *rowsOf) ranks(values []float64, classes int) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	class := make([]int, len(values))
	for i, at := range order {
		if class[at] = i * classes / len(order); i > 0 && values[at] == values[order[i-1]] {
			class[at] = class[order[i-1]]
		}
	}
	return class
}
