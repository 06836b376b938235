package eval

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// Baselines predict from the same starts, under the same controls and in the same units as the model. Each has a
// Gaussian distribution about its prediction, whose deviation is measured in the training recordings, so that
// intervals and CRPS compare, too.

// baseline predicts recordings without a model. It writes the means of all steps from at on, [H,nx], from what was
// measured before, given as held: the recording with each missing value as it was last seen. x in held is in the
// units in which predictions are scored. Values from step at on must not be read.
type baseline interface {
	name() string
	predict(dst []float64, e *Recording, held []float64, at int, d model.Dims)
}

// baselines are fitted to the training recordings, with the deviation of each at each horizon and channel there.
type baselines struct {
	list       []baseline
	deviations [][]float64 // [baseline][H·nx]
	scale      []float64   // mean |x_t − x_{t−m}| of each channel, m the season or 1: the unit of MASE, see units
	season     int
	order      int
}

// fitBaselines fits all baselines for predictions of so many steps. The first is persistence. Where nothing was
// measured whole, the linear one predicts NaN.
func fitBaselines(o RecordedOptions, horizon int, d model.Dims) (*baselines, error) {
	b := &baselines{season: o.Season}
	training, _ := o.scored()
	if b.season == 0 {
		b.season = FindSeason(training, d.NX, o.Calendar)
	}
	b.list = []baseline{last{}}
	if b.season > 1 {
		b.list = append(b.list, seasonal(b.season))
	}
	// One lag is always fitted, as the first of the autoregressions too.
	linear, err := fitLagged(training, 1, d)
	switch {
	case errors.Is(err, errNothingWhole):
		b.list = append(b.list, unfitted{})
	case err != nil:
		return nil, fmt.Errorf("fit the linear baseline: %w", err)
	default:
		linear.label = linearName
		b.list = append(b.list, linear)
		best := fitAutoregression(training, linear, o.Prefix, d)
		b.order = best.lags
		if best.lags > 1 {
			b.list = append(b.list, best)
		}
	}
	b.measure(o, horizon, d)
	b.scale = units(training, max(b.season, 1), d.NX)
	return b, nil
}

// held is a recording with each missing value as it was last seen, or 0, the mean.
func (*baselines) held(e *Recording, nx int) []float64 {
	x := widen(e.Observations)
	for i := range x {
		if e.seen(i) {
			continue
		}
		x[i] = 0
		if i >= nx {
			x[i] = x[i-nx]
		}
	}
	return x
}

// mostMeasured is the largest number of starts that deviations are measured from.
const mostMeasured = 400

// measure sets the deviations of the baselines, [Horizon·nx]: the root of their mean squared error in the training
// recordings, where starts are evenly spread. Where nothing was measured at a horizon, it is that of the one
// before.
func (b *baselines) measure(o RecordedOptions, horizon int, d model.Dims) {
	training, _ := o.scored()
	places := 0
	for _, e := range training {
		places += max(0, e.T-horizon)
	}
	stride := max(1, places/mostMeasured)
	for _, base := range b.list {
		square, count := make([]float64, horizon*d.NX), make([]float64, horizon*d.NX)
		means := make([]float64, horizon*d.NX)
		for i := range training {
			e := &training[i]
			held := b.held(e, d.NX)
			// A prediction may reach beyond the end of the recording: what is there of it counts.
			for at := min(o.Prefix, max(1, e.T-horizon)); at < e.T; at += stride {
				base.predict(means, e, held, at, d)
				for j := range min(horizon, e.T-at) * d.NX {
					if e.seen(at*d.NX + j) {
						square[j] += math.Pow(means[j]-float64(e.Observations[at*d.NX+j]), 2)
						count[j]++
					}
				}
			}
		}
		for j := range square {
			if count[j] > 0 {
				square[j] = math.Sqrt(square[j] / count[j])
			} else if j >= d.NX {
				square[j] = square[j-d.NX]
			}
		}
		b.deviations = append(b.deviations, square)
	}
}

// linearName is the linear baseline.
const linearName = "linear least squares"

// unfitted stands for the linear baseline where there is nothing to fit it to: it predicts NaN.
type unfitted struct{}

func (unfitted) name() string { return linearName }

func (unfitted) predict(dst []float64, _ *Recording, _ []float64, _ int, _ model.Dims) {
	for i := range dst {
		dst[i] = math.NaN()
	}
}

// last predicts that nothing changes.
type last struct{}

func (last) name() string { return "persistence" }

func (last) predict(dst []float64, _ *Recording, held []float64, at int, d model.Dims) {
	for i := range dst {
		dst[i] = held[(at-1)*d.NX+i%d.NX]
	}
}

// seasonal repeats the last season of so many steps. Beyond one season it repeats the same one.
type seasonal int

func (seasonal) name() string { return "seasonal naive" }

func (m seasonal) predict(dst []float64, _ *Recording, held []float64, at int, d model.Dims) {
	for i := range dst {
		t := at + i/d.NX
		for t >= at {
			t -= int(m)
		}
		dst[i] = held[max(t, 0)*d.NX+i%d.NX]
	}
}

// lagged is linear in the last observations and controls: x_t = Σᵢ Aᵢ x_{t−i} + Σⱼ Bⱼ u_{t−j} + c, i = 1 … p, j = 0 …
// p−1.
type lagged struct {
	affine
	lags  int
	label string
	error float64 // AIC per value
}

func (l *lagged) name() string { return l.label }

func (l *lagged) predict(dst []float64, e *Recording, held []float64, at int, d model.Dims) {
	x := append(make([]float64, 0, len(held[:at*d.NX])+len(dst)), held[:at*d.NX]...)
	features := make([]float64, l.in)
	for k := range len(dst) / d.NX {
		l.features(features, x, e, at+k, d)
		l.apply(dst[k*d.NX:(k+1)*d.NX], features)
		x = append(x, dst[k*d.NX:(k+1)*d.NX]...)
	}
}

// features are the observations and controls that step t is predicted from; before the first step stands the
// first. dst is [lags·(nx+nu)]; x are values up to step t−1 at least, measured or predicted.
func (l *lagged) features(dst, x []float64, e *Recording, t int, d model.Dims) {
	at := 0
	for i := 1; i <= l.lags; i++ {
		at += copy(dst[at:], x[max(t-i, 0)*d.NX:][:d.NX])
	}
	for j := range l.lags {
		for _, u := range e.Controls[min(max(t-j, 0), e.T-1)*d.NU:][:d.NU] {
			dst[at] = float64(u)
			at++
		}
	}
}

var errNothingWhole = errors.New("no two steps of the training recordings were measured whole")

// fitLagged fits so many lags where all that enters was measured. AIC per value is Σ_c ln σ_c² + 2(p+1)/n over
// channels, with p features and n steps; it is +∞ with fewer than three steps a feature. errNothingWhole is
// returned where no step qualifies.
func fitLagged(training []Recording, lags int, d model.Dims) (*lagged, error) {
	l := &lagged{lags: lags, label: fmt.Sprintf("ARX(%d)", lags)}
	l.in, l.out = lags*(d.NX+d.NU), d.NX
	var x, y []float64
	features := make([]float64, l.in)
	for i := range training {
		e := &training[i]
		values := widen(e.Observations)
		whole := 0 // measured steps in a row, up to t−1
		for t := range e.T {
			complete := true
			for c := range d.NX {
				complete = complete && e.seen(t*d.NX+c)
			}
			if whole >= lags && complete {
				l.features(features, values, e, t, d)
				x, y = append(x, features...), append(y, values[t*d.NX:(t+1)*d.NX]...)
			}
			if whole++; !complete {
				whole = 0
			}
		}
	}
	n := len(y) / d.NX
	if n == 0 {
		return nil, errNothingWhole
	}
	fit, err := leastSquares(x, y, l.in, d.NX)
	if err != nil {
		return nil, err
	}
	l.affine = fit
	square := make([]float64, d.NX)
	next := make([]float64, d.NX)
	for t := range n {
		l.apply(next, x[t*l.in:(t+1)*l.in])
		for c, v := range next {
			square[c] += math.Pow(v-y[t*d.NX+c], 2) / float64(n)
		}
	}
	for _, s := range square {
		l.error += math.Log(s+1e-12) + 2*float64(l.in+1)/float64(n)
	}
	if n < 3*l.in {
		l.error = math.Inf(1)
	}
	return l, nil
}

// MostLags is the largest order of the autoregression.
const MostLags = 12

// fitAutoregression returns the autoregression of least AIC, of 1 to MostLags lags, up to what is seen before a
// prediction. linear is that of one lag.
func fitAutoregression(training []Recording, linear *lagged, prefix int, d model.Dims) *lagged {
	best := linear
	for p := 2; p <= min(MostLags, prefix) && p*(d.NX+d.NU) <= 256; p++ {
		l, err := fitLagged(training, p, d)
		if err != nil {
			break
		}
		if l.error < best.error {
			best = l
		}
	}
	return best
}

// units are naiveScale over a season of m steps; over one step in a channel of which no two values a season apart were
// measured, as where the season that is asked for is longer than the recordings.
func units(training []Recording, m, nx int) []float64 {
	scale, step := naiveScale(training, m, nx), naiveScale(training, 1, nx)
	for c, v := range scale {
		if math.IsNaN(v) {
			scale[c] = step[c]
		}
	}
	return scale
}

// naiveScale is mean |x_t − x_{t−m}| by channel, over pairs that were both measured: the unit of MASE. NaN without
// a pair.
func naiveScale(training []Recording, m, nx int) []float64 {
	sum, count := make([]float64, nx), make([]float64, nx)
	for i := range training {
		e := &training[i]
		for j := m * nx; j < e.T*nx; j++ {
			if e.seen(j) && e.seen(j-m*nx) {
				sum[j%nx] += math.Abs(float64(e.Observations[j] - e.Observations[j-m*nx]))
				count[j%nx]++
			}
		}
	}
	for c := range sum {
		sum[c] /= count[c]
	}
	return sum
}

// A season is believed where the autocorrelation has a peak of at least this height.
const seasonPeak = 0.3

// mostSeason is the longest season that is looked for.
const mostSeason = 400

// FindSeason is the season of the calendar if the autocorrelation of the training recordings, averaged over channels,
// has a peak there; else the lag of its highest peak behind its first fall below zero, or the part of this lag that is
// as high a peak, for a trend can keep the first seasons above zero. Where a trend hides it, the same of the changes
// from step to step. It is 0 if there is no peak of seasonPeak within a third of the longest recording. calendar 0: it
// is not known.
func FindSeason(training []Recording, nx, calendar int) int {
	channels := min(nx, mostDistributed)
	var values, changes [][]float64 // by recording and channel; NaN: missing
	longest := 0
	for i := range training {
		e := &training[i]
		longest = max(longest, e.T)
		for c := range channels {
			x, dx := make([]float64, e.T), make([]float64, e.T)
			for t := range x {
				x[t], dx[t] = math.NaN(), math.NaN()
				if e.seen(t*nx + c) {
					x[t] = float64(e.Observations[t*nx+c])
				}
				if t > 0 {
					dx[t] = x[t] - x[t-1]
				}
			}
			values, changes = append(values, x), append(changes, dx)
		}
	}
	limit := min(longest/3, mostSeason)
	of := [][]float64{autocorrelation(values, limit), autocorrelation(changes, limit)}
	for _, correlation := range of {
		if calendar > 1 && calendar < limit && isPeak(correlation, calendar) {
			return calendar
		}
	}
	return cmp.Or(highestPeak(of[0]), highestPeak(of[1]))
}

// autocorrelation is that of the series at each lag from 0 up to limit, averaged over them. Pairs with a missing
// value do not count; a series that is constant adds 0.
func autocorrelation(series [][]float64, limit int) []float64 {
	correlation := make([]float64, limit+1)
	for _, x := range series {
		mean, n := 0.0, 0.0
		for _, v := range x {
			if !math.IsNaN(v) {
				n++
				mean += (v - mean) / n
			}
		}
		for lag := range correlation {
			var product, a, b float64
			for t := lag; t < len(x); t++ {
				if now, then := x[t]-mean, x[t-lag]-mean; !math.IsNaN(now) && !math.IsNaN(then) {
					product, a, b = product+now*then, a+now*now, b+then*then
				}
			}
			if a > 0 && b > 0 {
				correlation[lag] += product / math.Sqrt(a*b) / float64(len(series))
			}
		}
	}
	return correlation
}

// isPeak reports whether the correlation at a lag is high enough, above that of the lag before and not below that
// of the lag after. lag is neither the first nor the last.
func isPeak(correlation []float64, lag int) bool {
	v := correlation[lag]
	return v >= seasonPeak && v > correlation[lag-1] && v >= correlation[lag+1]
}

// highestPeak is its lag behind the first fall below zero, or a part of it; 0 if there is none.
func highestPeak(correlation []float64) int {
	limit, lag, best := len(correlation)-1, 1, 0
	for lag <= limit && correlation[lag] > 0 {
		lag++
	}
	for ; lag < limit; lag++ {
		if isPeak(correlation, lag) && (best == 0 || correlation[lag] > correlation[best]+0.02) {
			best = lag
		}
	}
	return fundamental(correlation, best)
}

// fundamental is the smallest divisor of a lag whose correlation is a peak as high, up to 0.05, behind a dip; else the
// lag.
func fundamental(correlation []float64, lag int) int {
	lowest := math.Inf(1)
	for part := 2; part <= lag/2; part++ {
		v := correlation[part]
		lowest = min(lowest, correlation[part-1])
		if lag%part == 0 && isPeak(correlation, part) && v > lowest+0.05 && v >= correlation[lag]-0.05 {
			return part
		}
	}
	return lag
}
