package statespace

import (
	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// groupRows bounds the rows of one pass, so that memory stays bounded; a constant, so that the
// random numbers of a query do not depend on anything else.
const groupRows = 1 << 14

// Prefixes hands out the sequences of a batch in groups. It reuses its memory and serves one goroutine.
type Prefixes struct {
	batch model.Batch
	seen  []float32
}

// Group is a part of the sequences of a batch.
type Group struct {
	Batch    model.Batch // their steps, each sequence Copies times
	First, N int         // sequences First … First+N−1
	Copies   int
}

// Each calls do for consecutive groups of the sequences, each sequence so many times, on a fresh tape. A sequence needs
// the given number of rows, or those of its copies if they are more.
func (p *Prefixes) Each(t *autodiff.Tape, b model.Batch, copies, rows int, do func(g Group)) {
	size := max(1, groupRows/max(rows, b.T*copies))
	for first := 0; first < b.B; first += size {
		g := Group{First: first, N: min(size, b.B-first), Copies: copies}
		t.Reset()
		p.fill(b, g)
		g.Batch = p.batch
		do(g)
	}
}

func (p *Prefixes) fill(b model.Batch, g Group) {
	n := g.N * g.Copies
	p.batch.Resize(b.T, n, b.NX, b.NU)
	p.seen = p.seen[:0]
	for row := range b.T * g.Copies {
		at := row/g.Copies*b.B + g.First
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

// Answer writes a forecast: it calls do for the groups of a query, with so many copies of each sequence of its prefix,
// and averages what do collects. The groups draw from the noise one after another.
func Answer(p *Prefixes, t *autodiff.Tape, dst *model.Forecast, q model.Query, d model.Dims, copies int,
	do func(g Group, noise *rng.Stream),
) {
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, d.NX, d.M)
	clear(dst.Mean)
	clear(dst.Switches)
	noise := q.Noise
	p.Each(t, q.Prefix, copies, q.Horizon*q.Samples, func(g Group) { do(g, &noise) })
	scale := 1 / float32(q.Samples)
	for i := range dst.Mean {
		dst.Mean[i] *= scale
	}
	for i := range dst.Switches {
		dst.Switches[i] *= scale
	}
}

// Controls lays out the controls after the prefix for every path of a group, [Horizon·Samples·N, nu].
func Controls(t *autodiff.Tape, q model.Query, nu int, g Group) autodiff.Tensor {
	u := t.NewConstant(q.Horizon*q.Samples*g.N, nu)
	plan := q.Horizon * q.Prefix.B * nu
	stride := 0 // from one path's plan to the next
	if len(q.Controls) == q.Samples*plan {
		stride = plan
	}
	for h := range q.Horizon {
		for path := range q.Samples {
			from := q.Controls[path*stride+(h*q.Prefix.B+g.First)*nu:][:g.N*nu]
			copy(u.Value[(h*q.Samples+path)*g.N*nu:], from)
		}
	}
	return u
}

// Paths is what a model says of the paths of a group, [Horizon·Samples·N, ·].
type Paths struct {
	Mean    autodiff.Tensor // of p(x | z); of a binary observation the probability of a one
	SD      autodiff.Tensor // of p(x | z); without columns: observations are binary
	Weights autodiff.Tensor // of mixing; without columns: there are none

	// Expected is the expectation of Mean, where a model knows it; without columns: the average of the paths stands for
	// it.
	Expected autodiff.Tensor
}

// Collect adds the paths of a group to the forecast and draws from the decoder along the first.
func Collect(dst *model.Forecast, q model.Query, g Group, p Paths, noise *rng.Stream) {
	nx, m, n := dst.NX, p.Weights.Cols, g.N
	expected := p.Expected
	if expected.Cols == 0 {
		expected = p.Mean
	}
	for h := range q.Horizon {
		for path := range q.Samples {
			x := p.Mean.Block(h*q.Samples+path, n)
			addTo(dst.Mean[(h*q.Prefix.B+g.First)*nx:], expected.Block(h*q.Samples+path, n).Value)
			if m > 0 {
				addTo(dst.Switches[(h*q.Prefix.B+g.First)*m:], p.Weights.Block(h*q.Samples+path, n).Value)
			}
			at := ((path*q.Horizon+h)*q.Prefix.B + g.First) * nx
			copy(dst.Paths[at:], x.Value)
			if p.SD.Cols > 0 {
				copy(dst.SD[at:], p.SD.Block(h*q.Samples+path, n).Value)
			}
		}
		p.draw(dst.Draw[(h*q.Prefix.B+g.First)*nx:][:n*nx], h*q.Samples*n, noise)
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

func addTo(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}
