package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// groupRows bounds the rows of one pass, so that memory stays bounded; a constant, so that the random numbers of a
// query do not depend on anything else.
const groupRows = 1 << 14

// Prefixes hands out the sequences of a batch in groups. It reuses its memory and serves one goroutine.
type Prefixes struct {
	// Bodies are so many consecutive sequences that are never in different groups; 0: each stands alone.
	Bodies int

	batch model.Batch
	seen  []float32
}

// Group is a part of the sequences of a batch, with a part of the paths of each.
type Group struct {
	Batch       model.Batch // their steps
	First, N    int         // sequences First … First+N−1
	Path, Paths int         // paths Path … Path+Paths−1 of each
}

// Rows are those of all paths in a time step; row i of path j is row j·N+i.
func (g Group) Rows() int { return g.N * g.Paths }

// Each calls do for consecutive groups of the sequences, each with so many paths, on a fresh tape. A path needs the
// given number of rows; if those of one sequence, or of all its bodies, are too many, its paths are in several groups.
func (p *Prefixes) Each(t *autodiff.Tape, b model.Batch, paths, rows int, do func(g Group)) {
	bodies := max(1, p.Bodies)
	// size is the number of sequences of a group, most the number of paths that one of them may have in a group.
	size, most := whole(groupRows/max(b.T, rows*paths), bodies), max(1, groupRows/max(1, rows*bodies))
	for first := 0; first < b.B; first += size {
		g := Group{First: first, N: min(size, b.B-first)}
		for g.Path = 0; g.Path < paths; g.Path += most {
			g.Paths = min(most, paths-g.Path)
			t.Reset()
			p.fill(b, g)
			g.Batch = p.batch
			do(g)
		}
	}
}

// whole is the largest multiple of n up to size, or n.
func whole(size, n int) int { return max(1, size/n) * n }

// fill copies the sequences of a group out of a batch. The batch of a group is valid until the next group.
func (p *Prefixes) fill(b model.Batch, g Group) {
	p.batch.Resize(b.T, g.N, b.NX, b.NU)
	p.seen = p.seen[:0]
	for row := range b.T {
		at := row*b.B + g.First
		copy(p.batch.Observations[row*g.N*b.NX:][:g.N*b.NX], b.Observations[at*b.NX:])
		copy(p.batch.Controls[row*g.N*b.NU:][:g.N*b.NU], b.Controls[at*b.NU:])
		if b.Seen != nil {
			p.seen = append(p.seen, b.Seen[at*b.NX:][:g.N*b.NX]...)
		}
	}
	if b.Seen != nil {
		p.batch.Seen = p.seen
	}
}

// Answer writes a forecast: what is said of the paths of each group of a query, which need so many rows each, and their
// average. The groups draw from the noise one after another.
//
// Every path has a pass of inference of its own over the prefix, where inference draws: paths that had one in
// common would all hang on its draws, and their mean would not tend to that of the prediction. The forecast must
// be the only user of t; every group begins with a Reset of it.
func Answer(p *Prefixes, t *autodiff.Tape, dst *model.Forecast, q model.Query, d model.Dims, rows int,
	paths func(q model.Query, g Group, noise *rng.Stream) Paths,
) {
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, d.NX, d.M)
	clear(dst.Mean)
	clear(dst.Switches)
	noise := q.Noise
	p.Each(t, q.Prefix, q.Samples, rows, func(g Group) { collect(dst, q, g, paths(q, g, &noise), &noise) })
	scale := 1 / float32(q.Samples)
	for i := range dst.Mean {
		dst.Mean[i] *= scale
	}
	for i := range dst.Switches {
		dst.Switches[i] *= scale
	}
}

// Controls lays out the controls after the prefix for every path of a group, [Horizon·Paths·N, nu].
func Controls(t *autodiff.Tape, q model.Query, nu int, g Group) autodiff.Tensor {
	u := t.NewConstant(q.Horizon*g.Rows(), nu)
	plan := q.Horizon * q.Prefix.B * nu
	stride := 0 // from one path's plan to the next
	if len(q.Controls) == q.Samples*plan {
		stride = plan
	}
	for h := range q.Horizon {
		for path := range g.Paths {
			from := q.Controls[(g.Path+path)*stride+(h*q.Prefix.B+g.First)*nu:][:g.N*nu]
			copy(u.Value[(h*g.Paths+path)*g.N*nu:], from)
		}
	}
	return u
}

// Paths is what a model says of the paths of a group, [Horizon·Paths·N, ·].
type Paths struct {
	Mean    autodiff.Tensor // of p(x | z); of a binary observation the probability of a one
	SD      autodiff.Tensor // of p(x | z); without columns: observations are binary
	Weights autodiff.Tensor // of mixing; without columns: there are none

	// Expected is the expectation of Mean, where a model knows it; without columns: the average of the paths stands for
	// it.
	Expected autodiff.Tensor
}

// collect adds the paths of a group to the forecast and draws from the decoder along the first.
func collect(dst *model.Forecast, q model.Query, g Group, p Paths, noise *rng.Stream) {
	nx, m, n := dst.NX, p.Weights.Cols, g.N
	expected := p.Expected
	if expected.Cols == 0 {
		expected = p.Mean
	}
	for h := range q.Horizon {
		for path := range g.Paths {
			// The rows of step h are path after path, n of each.
			x := p.Mean.Block(h*g.Paths+path, n)
			addTo(dst.Mean[(h*q.Prefix.B+g.First)*nx:], expected.Block(h*g.Paths+path, n).Value)
			if m > 0 {
				addTo(dst.Switches[(h*q.Prefix.B+g.First)*m:], p.Weights.Block(h*g.Paths+path, n).Value)
			}
			at := (((g.Path+path)*q.Horizon+h)*q.Prefix.B + g.First) * nx
			copy(dst.Paths[at:], x.Value)
			if p.SD.Cols > 0 {
				copy(dst.SD[at:], p.SD.Block(h*g.Paths+path, n).Value)
			}
		}
		if g.Path == 0 {
			p.draw(dst.Draw[(h*q.Prefix.B+g.First)*nx:][:n*nx], h*g.Rows(), noise)
		}
	}
}

// draw samples p(x | z) for the rows from the given one on.
func (p Paths) draw(out []float32, row int, noise *rng.Stream) {
	mean := p.Mean.Value[row*p.Mean.Cols:]
	if p.SD.Cols == 0 {
		noise.Uniforms(out) // in (0, 1]
		for i, u := range out {
			out[i] = 0
			if u <= mean[i] {
				out[i] = 1
			}
		}
		return
	}
	sd := p.SD.Value[row*p.SD.Cols:]
	noise.Normals(out)
	for i, e := range out {
		out[i] = mean[i] + float32(e*sd[i])
	}
}

// addTo adds x to the first values of dst.
func addTo(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}
