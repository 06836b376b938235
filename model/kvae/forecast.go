package kvae

import (
	"math"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/statespace"
	"github.com/switchyard-ml/switchyard/rng"
)

// forecaster answers questions of a trained model. It infers with the mean of q(a_t | x_t) as the code, and never
// sees more than the prefix of a query. It serves one goroutine.
type forecaster struct {
	m        *Model
	tape     *autodiff.Tape
	frames   *autodiff.Tape // of encoder and decoder, some frames at a time: those of images need much memory
	prefixes statespace.Prefixes
}

var (
	_ model.Filterer     = (*forecaster)(nil)
	_ model.Interpolator = (*forecaster)(nil)
)

// NewForecaster returns a forecaster over the model's parameters.
func (m *Model) NewForecaster() model.Forecaster {
	return &forecaster{m: m, tape: autodiff.NewInferenceTape(m.params), frames: autodiff.NewInferenceTape(m.params)}
}

// Clone returns a forecaster for another goroutine.
func (f *forecaster) Clone() model.Forecaster { return f.m.NewForecaster() }

// Dims are the sizes of the model.
func (f *forecaster) Dims() model.Dims { return f.m.dims }

// frameRows is how many observations go through encoder or decoder at a time.
const frameRows = 512

// byFrames calls do on a fresh tape for consecutive rows of x, at most frameRows at a time. What do keeps it has
// to copy.
func (f *forecaster) byFrames(x autodiff.Tensor, do func(t *autodiff.Tape, x autodiff.Tensor, first int)) {
	for first := 0; first < x.Rows; first += frameRows {
		f.frames.Reset()
		do(f.frames, x.Slice(first, min(first+frameRows, x.Rows)), first)
	}
}

// infer filters a batch, by the means of the codes. It draws nothing.
func (f *forecaster) infer(b model.Batch) filtered {
	a := f.tape.NewConstant(b.T*b.B, f.m.state.na)
	f.byFrames(readings(f.tape, b), func(t *autodiff.Tape, x autodiff.Tensor, first int) {
		mean, _ := f.m.codec.encode(t, x)
		copy(a.Value[first*a.Cols:], mean.Value)
	})
	return f.m.state.filter(f.tape, newSequence(f.tape, b, a))
}

// decode is the codec's prediction for the rows of a. They are [rows, nx] on f.tape; of a binary observation sd
// has no columns.
func (f *forecaster) decode(a autodiff.Tensor) (mean, sd autodiff.Tensor) {
	mean = f.tape.NewConstant(a.Rows, f.m.dims.NX)
	f.byFrames(a, func(t *autodiff.Tape, a autodiff.Tensor, first int) {
		m, s := f.m.codec.predict(t, a)
		copy(mean.Value[first*m.Cols:], m.Value)
		if s.Cols == 0 {
			return
		}
		if sd.Cols == 0 {
			sd = f.tape.NewConstant(mean.Rows, mean.Cols)
		}
		copy(sd.Value[first*s.Cols:], s.Value)
	})
	return mean, sd
}

// rows is how many rows of other families a filter of so many steps counts as, by the memory that it takes: a step has
// a dozen matrices of codes and of states. No draw depends on it, as filter and smoother have none.
func (f *forecaster) rows(steps int) int {
	const usual = 128 // elements of the matrices that take as much memory as a row
	n := &f.m.state
	return steps * max(1, (n.na*n.na+n.nz*n.nz)/usual)
}

// Filter infers mean and standard deviation of z_t given the codes up to then, and the mixing weights α_t. They
// are exact given the codes, so that no noise is needed and the first step is like the others.
func (f *forecaster) Filter(dst *model.Filtering, prefix model.Batch, _ rng.Stream) {
	dst.Resize(prefix.T, prefix.B, f.m.dims.NZ, f.m.dims.M)
	f.prefixes.Each(f.tape, prefix, 1, f.rows(prefix.T), func(g statespace.Group) {
		p := f.infer(g.Batch)
		scatter(dst.Mean, p.mean, g, prefix.B)
		scatter(dst.SD, deviations(f.tape, p.cov, f.m.dims.NZ), g, prefix.B)
		scatter(dst.Switches, p.weights, g, prefix.B)
	})
}

// Interpolates says that Smooth infers gaps from both sides.
func (f *forecaster) Interpolates() {}

// Smooth infers all states from all observations that were seen, and decodes their means.
func (f *forecaster) Smooth(dst *model.Smoothing, b model.Batch) {
	dst.Resize(b.T, b.B, f.m.dims.NX, f.m.dims.NZ)
	f.prefixes.Each(f.tape, b, 1, f.rows(b.T), func(g statespace.Group) {
		p := f.infer(g.Batch)
		s := p.smooth()
		scatter(dst.Mean, s.mean, g, b.B)
		scatter(dst.SD, deviations(f.tape, s.cov, f.m.dims.NZ), g, b.B)
		mean, _ := f.decode(p.emit(s.mean, 0))
		scatter(dst.Observations, mean, g, b.B)
	})
}

// scatter writes the rows of a group, [T·g.N, cols], into those of all n sequences, [T, n, cols].
func scatter(dst []float32, x autodiff.Tensor, g statespace.Group, n int) {
	for t := range x.Rows / g.N {
		copy(dst[(t*n+g.First)*x.Cols:], x.Block(t, g.N).Value)
	}
}

// deviations are the roots of the diagonals of covariances, [rows, n] of [rows, n·n].
func deviations(t *autodiff.Tape, cov autodiff.Tensor, n int) autodiff.Tensor {
	y := t.NewConstant(cov.Rows, n)
	for i := range y.Value {
		y.Value[i] = float32(math.Sqrt(float64(cov.Value[i/n*n*n+i%n*(n+1)])))
	}
	return y
}

// Forecast filters the prefix and rolls out q.Samples paths under the given controls. A single path is that of the
// means, as in the paper, unless it is to be drawn; several draw the last state of the prefix and all noise behind it.
func (f *forecaster) Forecast(dst *model.Forecast, q model.Query) {
	statespace.Answer(&f.prefixes, f.tape, dst, q, f.m.dims, q.Horizon, f.paths)
}

// paths continues the filtered sequences of a group by its paths, from the state of LSTM and filter after the last
// step. Of paths that are drawn noise is, in order: the last state; of each step that of the transition and that of
// the code. The LSTM reads the codes of its path.
func (f *forecaster) paths(q model.Query, g statespace.Group, noise *rng.Stream) statespace.Paths {
	p := f.infer(g.Batch)
	t, n, last := f.tape, &f.m.state, p.seq.steps-1
	rows, drawn := g.Rows(), q.Samples > 1 || q.Drawn
	repeat := func(x autodiff.Tensor) autodiff.Tensor { return statespace.Repeat(t, x, g.N, g.Paths) }
	state := p.lstm.State(last)
	s := n.begin(t, q.Horizon, rows, autodiff.LSTMState{
		H:    repeat(state.H),
		Cell: repeat(state.Cell),
	})
	z, code := repeat(p.at(p.mean, last)), repeat(p.next)
	if drawn {
		factor := repeat(t.Cholesky(p.at(p.cov, last)))
		z = t.Add(z, t.BatchMul(factor, statespace.Normals(t, noise, rows, n.nz), n.nz))
	}
	u, codes := statespace.Controls(t, q, n.nu, g), t.New(q.Horizon*rows, n.na)
	for h := range q.Horizon {
		s.step(h, code)
		z = s.move(z, s.at(u, h), h*rows)
		if drawn {
			disturb(t, z, n.q, noise)
		}
		code = s.emit(z, h*rows)
		if drawn {
			disturb(t, code, n.r, noise)
		}
		t.Concat(s.at(codes, h), code)
	}
	mean, sd := f.decode(codes)
	return statespace.Paths{Mean: mean, SD: sd, Weights: s.weights}
}

// disturb adds draws from N(0, variance) to x, in place; the tape does not record it.
func disturb(t *autodiff.Tape, x autodiff.Tensor, variance float32, noise *rng.Stream) {
	kernel.AddScaled(x.Value, float32(math.Sqrt(float64(variance))), statespace.Normals(t, noise, x.Rows, x.Cols).Value)
}
