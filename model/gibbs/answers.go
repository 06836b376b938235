package gibbs

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// What a Forecaster and an Ensemble answer beside forecasts: states and regimes given all observations, sequences
// that the model makes up, and its base systems. Given all observations there is no closed form: they are averages
// of draws. An Ensemble asks its first chain, which is the one that counts most, as the states and regimes of two
// chains are not the same quantities.

var (
	_ model.Interpolator = (*Forecaster)(nil)
	_ model.Segmenter    = (*Forecaster)(nil)
	_ model.Sampler      = (*Forecaster)(nil)
	_ model.Systematic   = (*Forecaster)(nil)
	_ model.Emitter      = (*Forecaster)(nil)

	_ model.Interpolator = (*Ensemble)(nil)
	_ model.Segmenter    = (*Ensemble)(nil)
	_ model.Sampler      = (*Ensemble)(nil)
	_ model.Systematic   = (*Ensemble)(nil)
	_ model.Emitter      = (*Ensemble)(nil)
)

// conditionalBurnIn is how many sweeps over states and regimes come before those that are averaged. They start from the
// filter, with the parameters fixed.
const conditionalBurnIn = 16

// conditional draws states and regimes of the sequences of a batch given all their observations and the averaged
// parameters: the sweep of training without the draws of the parameters. It calls each after every sweep of the
// average, with the chain that holds the draws, sequence after sequence. It returns false where no chain can be
// made, as of a single step. It also returns false after a draw that fails numerically; each may have been called
// before.
//
// With the parameters fixed the sweeps are a Gibbs sampler of p(x, z, ω | y, θ̄), of which the sequences are
// independent parts. What is drawn depends on the batch, the number of sweeps and the key.
func (f *Forecaster) conditional(b model.Batch, sweeps int, key rng.Key, each func(c *Chain)) bool {
	if f.Du == 0 { // the model may withhold the controls of the batch
		b.NU, b.Controls = 0, nil
	}
	c, err := newChain(f.cfg, Data{Observed: f.Dy, Controls: f.Du, Recordings: FromBatch(b)}, key, 0)
	if err != nil {
		return false
	}
	// Neither of the two draws below changes parameters, so the chain may share those of f.mean.
	c.theta = f.mean.theta
	for n, span := range c.spans {
		f.filter(f.mean, b, n, func(t int) { copy(c.state(span.from+t), f.belief.mean) })
	}
	for i := range conditionalBurnIn + sweeps {
		c.sweep++
		if c.drawRegimes() != nil || c.drawStates() != nil {
			return false
		}
		if i >= conditionalBurnIn {
			each(c)
		}
	}
	return true
}

// Interpolates says that Smooth infers gaps from both sides.
func (f *Forecaster) Interpolates() {}

// Smooth averages draws of the states given all observations: mean and standard deviation of x_t, and the mean of
// C x_t + d. The draws have a key of their own, so that one batch has one answer. Where no draw can be made the
// answer is that of the filter, which knows the past alone.
func (f *Forecaster) Smooth(dst *model.Smoothing, b model.Batch) {
	dst.Resize(b.T, b.B, f.Dy, f.D)
	mean, square, emitted := make([]float64, len(dst.Mean)), make([]float64, len(dst.Mean)),
		make([]float64, len(dst.Observations))
	const sweeps = 2 * model.SmoothingPaths
	ok := f.conditional(b, sweeps, rng.New(0, rng.Evaluation), func(c *Chain) {
		for n, span := range c.spans {
			for t := range b.T {
				x, row := c.state(span.from+t), t*b.B+n
				for i, v := range x {
					mean[row*f.D+i] += float64(v / sweeps)
					square[row*f.D+i] += float64(float64(v*v) / sweeps)
				}
				f.mean.emit(f.y, x)
				for i, v := range f.y {
					emitted[row*f.Dy+i] += float64(v / sweeps)
				}
			}
		}
	})
	if !ok { // what the filter knows
		var answer model.Filtering
		f.Filter(&answer, b, rng.Stream{})
		copy(dst.Mean, answer.Mean)
		copy(dst.SD, answer.SD)
		f.Emit(dst.Observations, make([]float32, len(dst.Observations)), dst.Mean)
		return
	}
	// The variance is E x² − (E x)², which rounding may leave below zero.
	for i, m := range mean {
		dst.Mean[i], dst.SD[i] = float32(m), float32(math.Sqrt(max(square[i]-float64(m*m), 0)))
	}
	for i, v := range emitted {
		dst.Observations[i] = float32(v)
	}
}

// Segment counts the regimes of so many draws given all observations; noise gives the key of the draws alone.
// Where no draw can be made the answer is that of the filter.
func (f *Forecaster) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	dst.Resize(b.T, b.B, f.K)
	clear(dst.Probability)
	share := 1 / float32(paths)
	ok := f.conditional(b, paths, rng.New(noise.Uint64(), rng.Evaluation), func(c *Chain) {
		for n, span := range c.spans {
			for t := range b.T {
				k := c.z[span.from+max(t-1, 0)] // the regime of step t−1 leads to step t
				dst.Probability[(t*b.B+n)*f.K+k] += share
			}
		}
	})
	if !ok {
		model.SegmentByFilter(dst, f, b, 1, noise)
	}
}

// Sample draws x_0 from its prior, then regimes, states and observations. Sequence n has the parameters of kept
// draw n, in turn.
//
// The draws of a sequence are, in this order: x_0; then of each step the regime, the noise of x_t and the noise of
// y_t (of the first step that of y_0 alone). Sequences follow each other in one stream.
func (f *Forecaster) Sample(dst *model.Sampling, q model.SampleQuery) {
	dst.Resize(q.T, q.B, f.Dy, f.D, f.K)
	clear(dst.Switches)
	s, b := source{stream: q.Noise}, f.belief
	for n := range q.B {
		system := f.draws[n%len(f.draws)]
		for i := range f.x {
			f.x[i] = math.Sqrt(system.start) * s.normal()
		}
		for t := range q.T {
			row := t*q.B + n
			if t > 0 {
				f.setControl(q.Controls[row*f.Du:])
				system.logProbabilities(b.logPi, b.nu, f.x)
				normalise(b.logPi)
				k := s.categorical(b.logPi)
				system.advance(f.next, k, f.x, f.u)
				f.addNoise(f.next, system.factors[k*f.D*f.D:(k+1)*f.D*f.D], &s)
				f.x, f.next = f.next, f.x
				dst.Switches[row*f.K+k] = 1
			}
			system.emit(f.y, f.x)
			for i, v := range f.x {
				dst.States[row*f.D+i] = float32(v)
			}
			for i, v := range f.y {
				dst.Mean[row*f.Dy+i] = float32(v)
				dst.Draw[row*f.Dy+i] = float32(v + float64(math.Sqrt(system.theta.Measuring[i])*s.normal()))
			}
		}
	}
}

// Systems are the regimes, with the averaged parameters: W_k = [A_k B_k b_k] taken apart, and Q_k. They are
// copies.
func (f *Forecaster) Systems() model.Systems {
	s := model.NewSystems(f.K, f.D, f.Du)
	for k := range f.K {
		w := f.mean.theta.leaf(k, f.dims)
		for i := range f.D {
			row := w[i*f.P : (i+1)*f.P]
			copy(s.A[(k*f.D+i)*f.D:], row[:f.D])
			copy(s.B[(k*f.D+i)*f.Du:], row[f.D:f.P-1])
			s.Bias[k*f.D+i] = row[f.P-1]
		}
	}
	copy(s.Q, f.mean.theta.Noise)
	return s
}

// Emit writes C x + d and the deviations √S of the observations' noise, [rows,Dy], for the states z [rows,D].
func (f *Forecaster) Emit(mean, sd, z []float32) {
	for row := range len(z) / f.D {
		for i := range f.D {
			f.x[i] = float64(z[row*f.D+i])
		}
		f.mean.emit(f.y, f.x)
		for i, v := range f.y {
			mean[row*f.Dy+i], sd[row*f.Dy+i] = float32(v), float32(math.Sqrt(f.mean.theta.Measuring[i]))
		}
	}
}

// Interpolates says that Smooth infers gaps from both sides.
func (e *Ensemble) Interpolates() {}

// Smooth infers states by the first chain.
func (e *Ensemble) Smooth(dst *model.Smoothing, b model.Batch) { e.chains[0].Smooth(dst, b) }

// Segment infers regimes by the first chain: chains number theirs as they like.
func (e *Ensemble) Segment(dst *model.Segmentation, b model.Batch, paths int, noise rng.Stream) {
	e.chains[0].Segment(dst, b, paths, noise)
}

// Sample draws from the first chain.
func (e *Ensemble) Sample(dst *model.Sampling, q model.SampleQuery) { e.chains[0].Sample(dst, q) }

// Systems are those of the first chain.
func (e *Ensemble) Systems() model.Systems { return e.chains[0].Systems() }

// Emit decodes by the first chain.
func (e *Ensemble) Emit(mean, sd, z []float32) { e.chains[0].Emit(mean, sd, z) }
