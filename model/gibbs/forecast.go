package gibbs

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Rollout says what the mean of a forecast is.
type Rollout string

// The rollouts.
const (
	// RolloutMode iterates the averaged dynamics of the most likely leaf, without noise, as Nassar et al. (2019) do.
	RolloutMode Rollout = "mode"
	// RolloutSample averages paths of the posterior: each has parameters, regimes and noise of its own.
	RolloutSample Rollout = "sample"
)

// Forecaster predicts from a fitted model. It serves one goroutine; Clone gives another one that shares the
// parameters.
//
// Filter and mean paths use the averaged parameters; a rollout filters and goes on with those of a kept draw. All
// are of one chain, whose regimes keep their numbers.
type Forecaster struct {
	dims
	// The averaged parameters, and the kept draws; shared by all clones.
	cfg     Config
	mean    *system
	draws   []*system
	rollout Rollout

	// Scratch.
	belief         *belief
	x, next, noise []float64
	y, u           []float64
}

var (
	_ model.Forecaster = (*Forecaster)(nil)
	_ model.Filterer   = (*Forecaster)(nil)
)

// NewForecaster returns a Forecaster of the averaged parameters and the kept draws of a posterior. Without draws
// the averaged parameters take their place. It returns ErrNumeric if a noise covariance cannot be factored.
func (p *Posterior) NewForecaster(rollout Rollout) (*Forecaster, error) {
	mean, err := newSystem(p.cfg, p.dims, p.Mean())
	if err != nil {
		return nil, err
	}
	f := &Forecaster{dims: p.dims, cfg: p.cfg, mean: mean, rollout: rollout}
	for _, theta := range p.Draws() {
		s, err := newSystem(p.cfg, p.dims, theta)
		if err != nil {
			return nil, err
		}
		f.draws = append(f.draws, s)
	}
	if len(f.draws) == 0 {
		f.draws = []*system{mean}
	}
	f.allocate()
	return f, nil
}

// allocate makes the scratch, which no two goroutines may share.
func (f *Forecaster) allocate() {
	f.belief = newBelief(f.dims)
	f.x, f.next, f.noise = make([]float64, f.D), make([]float64, f.D), make([]float64, f.D)
	f.y, f.u = make([]float64, f.Dy), make([]float64, f.Du)
}

// Clone returns a Forecaster for another goroutine.
func (f *Forecaster) Clone() model.Forecaster {
	c := &Forecaster{dims: f.dims, cfg: f.cfg, mean: f.mean, draws: f.draws, rollout: f.rollout}
	c.allocate()
	return c
}

// Dims returns the dimensions.
func (f *Forecaster) Dims() model.Dims { return model.Dims{NX: f.Dy, NU: f.Du, NZ: f.D, M: f.K} }

// Forecast filters q.Prefix and rolls out q.Horizon steps under q.Controls. Rollout s has the parameters of kept
// draw q.First + s, in turn. Paths, Draw and Switches are of these rollouts; Mean is what the Rollout says.
//
// Random numbers are of q.Noise alone, sequence by sequence and in each rollout by rollout: the noise of the first
// state, then of each step the regime, the noise of the state, and along the first rollout that of the
// observation. The mean path draws nothing.
func (f *Forecaster) Forecast(dst *model.Forecast, q model.Query) {
	b := q.Prefix.B
	dst.Resize(q.Horizon, b, q.Samples, f.Dy, f.K)
	clear(dst.Switches)
	clear(dst.Mean)
	s := source{stream: q.Noise}
	for n := range b {
		for i := range q.Samples {
			f.samplePath(dst, q, n, i, &s)
		}
		// It replaces the mean of the rollouts.
		if f.rollout == RolloutMode {
			f.meanPath(dst, q, n)
		}
	}
}

// ReadsParts says that an observation of which only a part was seen is read.
func (f *Forecaster) ReadsParts() {}

// Filter writes what is known of x at each step of the prefix, given the observations up to there, under the averaged
// parameters: mean, standard deviation, and the probability of each regime to have led to the step; zeros at the first,
// which none did.
func (f *Forecaster) Filter(dst *model.Filtering, prefix model.Batch, _ rng.Stream) {
	dst.Resize(prefix.T, prefix.B, f.D, f.K)
	for n := range prefix.B {
		f.filter(f.mean, prefix, n, func(t int) {
			row := t*prefix.B + n
			for i, v := range f.belief.mean {
				dst.Mean[row*f.D+i] = float32(v)
				dst.SD[row*f.D+i] = float32(math.Sqrt(max(f.belief.covariance[i*f.D+i], 0)))
			}
			for k, w := range f.belief.weights {
				dst.Switches[row*f.K+k] = float32(w)
			}
		})
	}
}

// filter leaves in f.belief what is known of x at the end of sequence n of the prefix. It calls each, if any, at every
// step.
func (f *Forecaster) filter(s *system, prefix model.Batch, n int, each func(t int)) {
	for t := range prefix.T {
		row := (t*prefix.B + n) * f.Dy
		for i := range f.y {
			f.y[i] = float64(prefix.Observations[row+i])
			// A value that was not seen is NaN to the filter.
			if prefix.Seen != nil && prefix.Seen[row+i] == 0 {
				f.y[i] = math.NaN()
			}
		}
		if t == 0 {
			f.belief.begin(s, f.y)
		} else {
			f.setControl(prefix.Controls[(t*prefix.B+n)*f.Du:])
			f.belief.next(s, f.u, f.y)
		}
		if each != nil {
			each(t)
		}
	}
}

// setControl sets f.u to the first Du values of u.
func (f *Forecaster) setControl(u []float32) {
	for i := range f.u {
		f.u[i] = float64(u[i])
	}
}

// control sets f.u to what acts before step h of rollout i of sequence n, of one plan for all rollouts or of the
// plan of the rollout.
func (f *Forecaster) control(q model.Query, n, i, h int) {
	at := (h*q.Prefix.B + n) * f.Du
	if plan := q.Horizon * q.Prefix.B * f.Du; len(q.Controls) > plan {
		at += i * plan
	}
	f.setControl(q.Controls[at:])
}

// meanPath iterates A x + B u + b of the most likely leaf from the filtered mean, without noise, and writes
// C x + d of each step to Mean; with a plan of controls for each rollout, the mean of the paths under all plans.
func (f *Forecaster) meanPath(dst *model.Forecast, q model.Query, n int) {
	f.filter(f.mean, q.Prefix, n, nil)
	plans := 1
	if f.Du > 0 && len(q.Controls) > q.Horizon*q.Prefix.B*f.Du { // what the model withholds is no plan of its own
		plans = q.Samples
	}
	for plan := range plans {
		copy(f.x, f.belief.mean)
		for h := range q.Horizon {
			f.control(q, n, plan, h)
			f.mean.logProbabilities(f.belief.logPi, f.belief.nu, f.x)
			f.mean.advance(f.next, f.mean.tree.mostLikely(f.belief.logPi), f.x, f.u)
			f.x, f.next = f.next, f.x
			f.mean.emit(f.y, f.x)
			row := dst.Mean[(h*q.Prefix.B+n)*f.Dy:][:f.Dy]
			if plan == 0 {
				clear(row)
			}
			for i, v := range f.y {
				row[i] += float32(v / float64(plans))
			}
		}
	}
}

// samplePath draws rollout i: x from the filtered Gaussian, then regimes and noise. Paths are C x + d, whose noise
// is SD; Mean and Switches add up their share of this rollout.
func (f *Forecaster) samplePath(dst *model.Forecast, q model.Query, n, i int, s *source) {
	system, b := f.draws[(q.First+i)%len(f.draws)], f.belief
	f.filter(system, q.Prefix, n, nil)
	copy(b.product, b.covariance)
	copy(f.x, b.mean)
	if matrix.Cholesky(b.product, f.D) { // a covariance of zero to rounding adds nothing
		f.addNoise(f.x, b.product, s)
	}
	share := 1 / float32(q.Samples)
	for h := range q.Horizon {
		f.control(q, n, i, h)
		system.logProbabilities(b.logPi, b.nu, f.x)
		normalise(b.logPi)
		k := s.categorical(b.logPi)
		system.advance(f.next, k, f.x, f.u)
		f.addNoise(f.next, system.factors[k*f.D*f.D:(k+1)*f.D*f.D], s)
		f.x, f.next = f.next, f.x
		system.emit(f.y, f.x)
		at := h*q.Prefix.B + n
		dst.Switches[at*f.K+k] += share
		for j, v := range f.y {
			path := ((i*q.Horizon+h)*q.Prefix.B+n)*f.Dy + j
			dst.Paths[path], dst.SD[path] = float32(v), float32(math.Sqrt(system.theta.Measuring[j]))
			dst.Mean[at*f.Dy+j] += share * float32(v)
			if i == 0 {
				dst.Draw[at*f.Dy+j] = float32(v + float64(math.Sqrt(system.theta.Measuring[j])*s.normal()))
			}
		}
	}
}

// addNoise adds L ε to x, ε ~ N(0, I), with L [D,D] the lower triangular factor of a covariance.
func (f *Forecaster) addNoise(x, factor []float64, s *source) {
	s.normals(f.noise)
	for i := range x {
		x[i] += matrix.Dot(f.noise[:i+1], factor[i*f.D:])
	}
}
