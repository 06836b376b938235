package slds

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Forecaster answers questions of a trained model: what the state is given a prefix, and what follows.
// It never sees more than the prefix of a query. Temperatures are those at the end of the schedule.
type Forecaster struct {
	m     *Model
	tape  *autodiff.Tape
	batch model.Batch
	seen  []float32
}

var (
	_ model.Forecaster = (*Forecaster)(nil)
	_ model.Filterer   = (*Forecaster)(nil)
)

// NewForecaster returns a forecaster over the model's parameters.
func NewForecaster(m *Model) *Forecaster {
	return &Forecaster{m: m, tape: autodiff.NewInferenceTape(m.params)}
}

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster { return NewForecaster(m) }

// Clone returns a forecaster for another goroutine.
func (f *Forecaster) Clone() model.Forecaster { return NewForecaster(f.m) }

// Dims are the sizes of the model.
func (f *Forecaster) Dims() model.Dims { return f.m.cfg.Dims }

// groupRows bounds the rows of one pass, so that memory stays bounded; a constant, so that the
// random numbers of a query do not depend on anything else.
const groupRows = 1 << 14

// Filter infers q(z_t) and the mixing weights of every time step of the prefix.
func (f *Forecaster) Filter(dst *model.Filtering, prefix model.Batch, noise rng.Stream) {
	c := f.m.cfg
	dst.Resize(prefix.T, prefix.B, c.NZ, c.M)
	f.groups(prefix, prefix.T, func(lo, n int) {
		p := f.m.infer(f.tape, f.batch, &noise, c.Anneal.Final(), 1)
		for t := range prefix.T {
			at := t*prefix.B + lo
			mean, sd, weights := dst.Mean[at*c.NZ:][:n*c.NZ], dst.SD[at*c.NZ:][:n*c.NZ], dst.Switches[at*c.M:][:n*c.M]
			if t == 0 {
				copy(mean, p.z.Block(0, n).Value)
				clear(sd)
				clear(weights)
				continue
			}
			copy(mean, p.mean.Block(t-1, n).Value)
			copy(weights, p.dynamics.weights.Block(t-1, n).Value)
			for i, v := range p.variance.Block(t-1, n).Value {
				sd[i] = float32(math.Sqrt(float64(v)))
			}
		}
	})
}

// Forecast filters the prefix and rolls out q.Samples latent paths under the given controls.
func (f *Forecaster) Forecast(dst *model.Forecast, q model.Query) {
	c := f.m.cfg
	dst.Resize(q.Horizon, q.Prefix.B, q.Samples, c.NX, c.M)
	clear(dst.Mean)
	clear(dst.Switches)
	noise := q.Noise
	f.groups(q.Prefix, max(q.Prefix.T, q.Horizon*q.Samples), func(lo, n int) {
		p := f.m.infer(f.tape, f.batch, &noise, c.Anneal.Final(), 1)
		f.rollOut(dst, q, p, lo, n, &noise)
	})
	scale := 1 / float32(q.Samples)
	for i := range dst.Mean {
		dst.Mean[i] *= scale
	}
	for i := range dst.Switches {
		dst.Switches[i] *= scale
	}
}

// groups calls do for consecutive groups of sequences, with f.batch holding their prefix and a fresh tape.
func (f *Forecaster) groups(prefix model.Batch, rowsPerSequence int, do func(lo, n int)) {
	size := max(1, groupRows/rowsPerSequence)
	for lo := 0; lo < prefix.B; lo += size {
		n := min(size, prefix.B-lo)
		f.tape.Reset()
		f.batch.Resize(prefix.T, n, prefix.NX, prefix.NU)
		f.seen = f.seen[:0]
		for t := range prefix.T {
			at := t*prefix.B + lo
			copy(f.batch.Observations[t*n*prefix.NX:][:n*prefix.NX], prefix.Observations[at*prefix.NX:])
			copy(f.batch.Controls[t*n*prefix.NU:][:n*prefix.NU], prefix.Controls[at*prefix.NU:])
			if prefix.Seen != nil {
				f.seen = append(f.seen, prefix.Seen[at*prefix.NX:][:n*prefix.NX]...)
			}
		}
		if prefix.Seen != nil {
			f.batch.Seen = f.seen
		}
		do(lo, n)
	}
}

// rollOut continues n filtered sequences by q.Samples paths each; row j·n+i is path j of sequence i.
func (f *Forecaster) rollOut(dst *model.Forecast, q model.Query, p posterior, lo, n int, noise *rng.Stream) {
	c, t, rows := f.m.cfg, f.tape, n*q.Samples
	z := t.New((q.Horizon+1)*rows, c.NZ)
	eps := normals(t, noise, z.Rows, c.NZ)
	previous := f.start(z.Block(0, rows), p, n, eps)
	d := f.m.transition.begin(t, z, f.tile(q, lo, n), previous, rows)
	s := c.newSwitches(&d, c.Anneal.Final(), measurement{}, f.rolloutNoise(noise, q.Horizon*rows))
	for i := range q.Horizon {
		d.proposeSwitch(i, s.draws())
		s.prior(&d, i)
		d.mix(i)
		t.Draw(z.Block(i+1, rows), d.mean.Block(i, rows), d.q.Block(i, rows), eps.Block(i+1, rows))
	}
	mean, sd := f.m.emission.decode(t, c, z.Slice(rows, z.Rows))
	f.collect(dst, q, d.weights, mean, sd, lo, n, noise)
}

// start draws z at the end of the prefix for every path and returns the switch that led there.
func (f *Forecaster) start(z autodiff.Tensor, p posterior, n int, eps autodiff.Tensor) autodiff.Tensor {
	last := p.dynamics.steps() - 1
	previous := f.tape.NewConstant(z.Rows, f.m.cfg.M)
	if last < 0 { // a prefix of one step has no switch yet
		previous = autodiff.Tensor{}
	}
	for path := range z.Rows / n {
		block := z.Block(path, n)
		if last < 0 {
			copy(block.Value, p.z.Value)
			continue
		}
		f.tape.Draw(block, p.mean.Block(last, n), p.variance.Block(last, n), eps.Block(path, n))
		copy(previous.Block(path, n).Value, p.switches.draws().Block(last, n).Value)
	}
	return previous
}

// tile lays out the controls of sequences lo … lo+n−1 for every path.
func (f *Forecaster) tile(q model.Query, lo, n int) autodiff.Tensor {
	nu := f.m.cfg.NU
	u := f.tape.NewConstant(q.Horizon*n*q.Samples, nu)
	plan := q.Horizon * q.Prefix.B * nu
	stride := 0 // from one path's plan to the next
	if len(q.Controls) == q.Samples*plan {
		stride = plan
	}
	for h := range q.Horizon {
		for path := range q.Samples {
			from := q.Controls[path*stride+(h*q.Prefix.B+lo)*nu:][:n*nu]
			copy(u.Value[(h*q.Samples+path)*n*nu:], from)
		}
	}
	return u
}

func (f *Forecaster) rolloutNoise(noise *rng.Stream, rows int) autodiff.Tensor {
	x := f.m.cfg.drawSwitchNoise(f.tape, noise, 1, rows)
	if f.m.cfg.Rollout != RolloutSample {
		clear(x.Value)
	}
	return x
}

// collect averages the paths and draws from the decoder along the first.
func (f *Forecaster) collect(dst *model.Forecast, q model.Query, weights, mean, sd autodiff.Tensor, lo, n int, noise *rng.Stream) {
	c := f.m.cfg
	if c.Emission == Bernoulli {
		f.tape.Sigmoid(mean, mean)
	}
	for h := range q.Horizon {
		for path := range q.Samples {
			at := h*q.Samples + path
			x, w := mean.Block(at, n), weights.Block(at, n)
			addTo(dst.Mean[(h*q.Prefix.B+lo)*c.NX:], x.Value)
			addTo(dst.Switches[(h*q.Prefix.B+lo)*c.M:], w.Value)
			copy(dst.Paths[((path*q.Horizon+h)*q.Prefix.B+lo)*c.NX:], x.Value)
		}
		first := h * q.Samples
		f.draw(dst.Draw[(h*q.Prefix.B+lo)*c.NX:][:n*c.NX], mean.Block(first, n), sd, first*n, noise)
	}
}

// draw samples p(x | z) for the rows of mean; sd holds the standard deviations of all rows, of which
// these begin at the given one.
func (f *Forecaster) draw(out []float32, mean, sd autodiff.Tensor, row int, noise *rng.Stream) {
	if f.m.cfg.Emission == Bernoulli {
		noise.Uniforms(out) // in (0, 1]
		for i, u := range out {
			out[i] = 0
			if u <= mean.Value[i] {
				out[i] = 1
			}
		}
		return
	}
	noise.Normals(out)
	for i, e := range out {
		out[i] = mean.Value[i] + float32(e*sd.Value[row*sd.Cols+i])
	}
}

func addTo(dst, x []float32) {
	for i, v := range x {
		dst[i] += v
	}
}
