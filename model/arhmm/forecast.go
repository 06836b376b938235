package arhmm

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Forecaster predicts from fitted parameters. Its state is the last observations, then the last controls that count
// beside the present ones, each newest first. It serves one goroutine.
type Forecaster struct{ *passes }

var (
	_ model.Forecaster = (*Forecaster)(nil)
	_ model.Filterer   = (*Forecaster)(nil)
	_ model.Segmenter  = (*Forecaster)(nil)
	_ model.Sampler    = (*Forecaster)(nil)
	_ model.Systematic = (*Forecaster)(nil)
	_ model.Emitter    = (*Forecaster)(nil)
	_ model.Lagged     = (*Forecaster)(nil)
	_ model.Tabular    = (*Forecaster)(nil)

	_ model.Interpolator = (*Forecaster)(nil)
	_ model.PartReader   = (*Forecaster)(nil)
)

// Dims returns the dimensions.
func (f *Forecaster) Dims() model.Dims { return model.Dims{NX: f.D, NU: f.Du, NZ: f.Z(), M: f.K} }

// Lags are those of the autoregressions.
func (f *Forecaster) Lags() int { return f.L }

// Clone returns a Forecaster for another goroutine. It shares the parameters, and none of the scratch.
func (f *Forecaster) Clone() model.Forecaster {
	s, err := newSystem(f.dims, f.params)
	if err != nil {
		panic(err) // the same parameters were factored before
	}
	return &Forecaster{newPasses(s)}
}

// Forecast filters the prefix and draws paths: the regime, then the observation. The mean is that of the paths, or
// exact where there is one regime and all paths have the same controls.
//
// Random numbers are of q.Noise, sequence by sequence and path by path: what the prefix leaves open (see resume),
// then of each step the regime and D normal numbers. Paths are draws of the observations, so their SD are zeros.
func (f *Forecaster) Forecast(dst *model.Forecast, q model.Query) {
	B := q.Prefix.B
	dst.Resize(q.Horizon, B, q.Samples, f.D, f.K)
	clear(dst.Mean)
	clear(dst.Switches)
	draws, start := q.Noise, make([]float64, f.Z())
	share := 1 / float32(q.Samples)
	for n := range B {
		f.forward(newRecording(q.Prefix, n))
		f.setLags(start, f.r.T)
		for i := range q.Samples {
			copy(f.lags, start)
			belief := f.resume(&draws)
			for h := range q.Horizon {
				at := h*B + n
				plan := at * f.Du
				if whole := q.Horizon * B * f.Du; len(q.Controls) > whole {
					plan += i * whole
				}
				k, x := f.draw(belief, control(q.Controls[plan:], f.Du), &draws)
				belief = one(f.K, k)
				dst.Switches[at*f.K+k] += share
				for j, v := range x {
					dst.Paths[((i*q.Horizon+h)*B+n)*f.D+j] = float32(v)
					dst.Mean[at*f.D+j] += share * float32(v)
					if i == 0 {
						dst.Draw[at*f.D+j] = float32(v)
					}
				}
			}
		}
		if f.K == 1 && len(q.Controls) <= q.Horizon*B*f.Du {
			copy(f.lags, start)
			f.mean(dst, q, n)
		}
	}
}

// mean writes the mean of sequence n, after what f.lags holds: that of a linear system is a path without noise.
// Observations at the end of the prefix that are missing have their mean given the others.
func (f *Forecaster) mean(dst *model.Forecast, q model.Query, n int) {
	if gaps := len(f.gaps); gaps > 0 && !f.gaps[gaps-1].clean {
		m := &f.bridge.now
		mean, _ := m.node(0)
		for j, h := range m.held {
			if l := f.r.T - 1 - h.t; l < f.L {
				f.lags[l*f.D+h.i] = mean[j]
			}
		}
	}
	for h := range q.Horizon {
		at := h*q.Prefix.B + n
		u := control(q.Controls[at*f.Du:], f.Du)
		f.setFeatures(f.lags, u)
		x := f.predict(0)
		write(dst.Mean[at*f.D:], x)
		f.push(x, u)
	}
}

// resume returns the belief at the end of the prefix. If the last observations are not all seen it draws a node,
// and the missing ones, which it writes to the lags. Then the belief is certain of the latest regime of the node;
// otherwise nothing is drawn. A prefix that has no step with a regime leaves nothing open but given observations.
func (f *Forecaster) resume(draws *rng.Stream) []float64 {
	if f.r.T <= f.L {
		f.drawGiven(draws)
		return nil
	}
	if n := len(f.gaps); n == 0 || f.gaps[n-1].clean {
		return f.belief()
	}
	m := &f.bridge.now
	node := pick(m.weights, draws)
	mean, cov := m.node(node)
	x := make([]float64, len(mean))
	drawn(x, mean, cov, draws.Normal)
	for j, h := range m.held {
		if l := f.r.T - 1 - h.t; l < f.L {
			f.lags[l*f.D+h.i] = x[j]
		}
	}
	return one(f.K, node%f.K)
}

// drawGiven draws the given observations that are missing from the normal distributions of their channels, in order of
// time, and writes them to the lags. The first also stands before the first step.
func (f *Forecaster) drawGiven(draws *rng.Stream) {
	for t := range f.r.T {
		for _, h := range f.r.appendMissing(nil, t) {
			v := f.start[h.i] + float64(math.Sqrt(f.start[f.D+h.i])*draws.Normal())
			for l := range f.L {
				if max(f.r.T-1-l, 0) == t {
					f.lags[l*f.D+h.i] = v
				}
			}
		}
	}
}

// pick draws an index with probabilities like the weights, which need not sum to 1, by one number.
func pick(weights []float64, draws *rng.Stream) int {
	left, k := float64(draws.Float64()*sum(weights)), 0
	for k < len(weights)-1 && left >= weights[k] {
		left -= weights[k]
		k++
	}
	return k
}

// draw draws the next regime and observation after what f.lags holds, and moves them on. A nil belief is that of a
// first step. The observation [D] is overwritten by the next call.
func (f *Forecaster) draw(belief, u []float64, draws *rng.Stream) (int, []float64) {
	f.next(f.logs, belief)
	k := pick(f.logs, draws)
	f.setFeatures(f.lags, u)
	x := f.predict(k)
	for i := range f.residual {
		f.residual[i] = draws.Normal()
	}
	for i := range x {
		x[i] += matrix.Dot(f.residual[:i+1], f.factors[(k*f.D+i)*f.D:])
	}
	f.push(x, u)
	return k, x
}

// push moves f.lags on by an observation and the controls that led to it: both stand newest first.
func (f *Forecaster) push(x, u []float64) {
	seen, past := f.lags[:f.window()], f.lags[f.window():]
	copy(seen[f.D:], seen)
	copy(seen, x)
	if f.C > 0 {
		copy(past[f.Du:], past)
		copy(past, u[:f.Du])
	}
}

// control is the first n of u, in float64.
func control(u []float32, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(u[i])
	}
	return v
}

// one is the belief that the regime is k.
func one(n, k int) []float64 {
	v := make([]float64, n)
	v[k] = 1
	return v
}

// Filter writes the observations as states, missing values with mean and standard deviation, and the probability of
// each regime given the observations up to the step. Before the first step that has a regime it is π.
func (f *Forecaster) Filter(dst *model.Filtering, prefix model.Batch, _ rng.Stream) {
	dst.Resize(prefix.T, prefix.B, f.Z(), f.K)
	for n := range prefix.B {
		f.forward(newRecording(prefix, n))
		v := newValues(f.passes)
		state := func(t int) {
			row := (t*prefix.B + n) * f.Z()
			v.state(t, dst.Mean[row:row+f.Z()], dst.SD[row:row+f.Z()])
		}
		// Without lags each step with a missing value is a gap of its own: nothing later is known of it.
		if f.L == 0 {
			f.visit(v)
		}
		for t := range prefix.T {
			state(t)
			at := dst.Switches[(t*prefix.B+n)*f.K : (t*prefix.B+n+1)*f.K]
			switch {
			case t == 0:
				clear(at)
			case t < f.L:
				write(at, f.first)
			default:
				write(at, f.filtered[t*f.K:(t+1)*f.K])
			}
		}
		if f.L > 0 {
			f.visit(filtering{v, state})
		}
	}
}

// Smooth writes the observations as states, missing values with mean and standard deviation given all that is
// seen. Values are held until the end of their gap, as far as there is room, which is what tells it from Filter.
func (f *Forecaster) Smooth(dst *model.Smoothing, b model.Batch) {
	dst.Resize(b.T, b.B, f.D, f.Z())
	f.wide = true
	defer func() { f.wide = false }()
	for n := range b.B {
		f.forward(newRecording(b, n))
		f.backward()
		v := newValues(f.passes)
		f.visit(v)
		for t := range b.T {
			row := t*b.B + n
			v.state(t, dst.Mean[row*f.Z():(row+1)*f.Z()], dst.SD[row*f.Z():(row+1)*f.Z()])
			write(dst.Observations[row*f.D:], v.mean[t*f.D:(t+1)*f.D])
		}
	}
}

// Interpolates marks the Forecaster as one that knows how a gap ends.
func (*Forecaster) Interpolates() {}

// ReadsParts marks the Forecaster as one that reads observations of which a part was seen.
func (*Forecaster) ReadsParts() {}

// write writes src to dst, rounded to float32.
func write(dst []float32, src []float64) {
	for i, v := range src {
		dst[i] = float32(v)
	}
}

// Segment writes the probability of each regime given all observations. Steps before the first that has a regime
// have the row of that step. They are known: no path is drawn. Without such a step all rows are π.
func (f *Forecaster) Segment(dst *model.Segmentation, b model.Batch, _ int, _ rng.Stream) {
	dst.Resize(b.T, b.B, f.K)
	for n := range b.B {
		f.forward(newRecording(b, n))
		f.backward()
		for t := range b.T {
			row := f.first
			if b.T > f.L {
				at := max(t, f.L)
				row = f.smoothed[at*f.K : (at+1)*f.K]
			}
			write(dst.Probability[(t*b.B+n)*f.K:], row)
		}
	}
}

// Sample draws the first observations from a normal distribution with the mean and variance of each channel, then
// regimes and observations. Of a sequence all numbers are drawn in order of time. States are the lags after each
// step; there is no noise beside that of the observation, so that Draw is Mean.
func (f *Forecaster) Sample(dst *model.Sampling, q model.SampleQuery) {
	dst.Resize(q.T, q.B, f.D, f.Z(), f.K)
	clear(dst.Switches)
	draws := q.Noise
	for n := range q.B {
		var belief []float64
		clear(f.lags)
		for t := range q.T {
			row := t*q.B + n
			u := control(q.Controls[row*f.Du:], f.Du)
			if t < f.L {
				x := make([]float64, f.D)
				for i := range x {
					x[i] = f.start[i] + float64(math.Sqrt(f.start[f.D+i])*draws.Normal())
				}
				f.push(x, u)
			} else {
				k, _ := f.draw(belief, u, &draws)
				belief = one(f.K, k)
				if t > 0 {
					dst.Switches[row*f.K+k] = 1
				}
			}
			write(dst.Mean[row*f.D:], f.lags[:f.D])
			write(dst.Draw[row*f.D:], f.lags[:f.D])
			write(dst.States[row*f.Z():], f.lags)
		}
	}
}

// Systems are the regimes in companion form, over the state z_t = (x_t, …, x_{t−L+1}, u_t, …, u_{t−C+1}): the
// first D rows have W_k, with B_k0 as B; the others move observations and controls on, without noise.
func (f *Forecaster) Systems() model.Systems {
	Z := f.Z()
	s := model.NewSystems(f.K, Z, f.Du)
	for k := range f.K {
		for i := range f.D {
			row, at := f.w[(k*f.D+i)*f.P:(k*f.D+i+1)*f.P], k*Z+i
			copy(s.A[at*Z:(at+1)*Z], row[:f.L*f.D])
			copy(s.A[at*Z+f.window():(at+1)*Z], row[f.L*f.D+f.Du:f.P-1])
			copy(s.B[at*f.Du:(at+1)*f.Du], row[f.L*f.D:])
			s.Bias[at] = row[f.P-1]
			copy(s.Q[at*Z:], f.q[(k*f.D+i)*f.D:(k*f.D+i+1)*f.D])
		}
		for i := f.D; i < f.window(); i++ {
			s.A[(k*Z+i)*Z+i-f.D] = 1
		}
		for i := range f.C * f.Du {
			if at := k*Z + f.window() + i; i < f.Du {
				s.B[at*f.Du+i] = 1
			} else {
				s.A[at*Z+f.window()+i-f.Du] = 1
			}
		}
	}
	return s
}

// Arrays are π and P, and mean and variance of each channel, from which a series starts.
func (f *Forecaster) Arrays() []model.Array {
	array := func(name string, values []float64, shape ...int) model.Array {
		return model.Array{Part: model.Part{Name: name, Shape: shape}, Values: values}
	}
	return []model.Array{
		array("regimes.first", f.first, f.K), array("regimes.transition", f.transition, f.K, f.K),
		array("start.mean", f.start[:f.D], f.D), array("start.variance", f.start[f.D:], f.D),
	}
}

// Emit writes the newest observation of a state; it has no noise.
func (f *Forecaster) Emit(mean, sd, z []float32) {
	clear(sd)
	for row := range len(z) / f.Z() {
		copy(mean[row*f.D:(row+1)*f.D], z[row*f.Z():])
	}
}

// LogLikelihood is that of sequence n of a batch given its first observations, and over how many steps. It is ln
// p(x_L … | x_0 … x_{L−1}, u), in nats, summed.
func (f *Forecaster) LogLikelihood(b model.Batch, n int) (total float64, steps int) {
	f.forward(newRecording(b, n))
	return f.logLikelihood, max(0, b.T-f.L)
}
