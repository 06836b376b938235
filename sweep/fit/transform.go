package fit

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// A series drifts where a straight line explains this share of its variance: what is held out at its end then lies
// beyond what training saw, and its changes are learned in place of its levels.
const drifting = 0.5

// Logarithms are suggested where a positive series drifts and its largest value is so many times its smallest.
const growing = 1.8

// seasonal is the least autocorrelation of the changes at the lag of a season.
const seasonal = 0.5

// suggestedTransforms suggests what to do to the channels of data, in the form of env.transform; empty: nothing. Of
// each recording, validation and test get such a share of its end, which is not looked at; 0: whole recordings are
// held out.
//
// A transform that all channels have is named alone; else each channel that has one is listed with it. Data that are
// images, or have been transformed, have none.
func suggestedTransforms(d *files.Dataset, share float64) string {
	if d.Images() || d.Transforms != nil {
		return ""
	}
	season := d.Season()
	var list []files.Transform
	text := ""
	for c := range d.Spec.Observation {
		t := agreed(d, c, season, share)
		list = append(list, t)
		if t != (files.Transform{}) {
			if text != "" {
				text += ","
			}
			text += d.ChannelName(c) + "=" + t.String()
		}
	}
	if same := slices.Compact(slices.Clone(list)); len(same) == 1 && text != "" {
		return list[0].String()
	}
	return text
}

// agreed is the transform of one channel that suits most steps: one where recordings with half of all steps have one,
// with a logarithm, and at the lag of a season, where those with half of these steps have it so.
func agreed(d *files.Dataset, c, season int, share float64) files.Transform {
	low := lowest(d, c)
	var all, changed, logs, seasons int
	for i := range d.Episodes {
		e := &d.Episodes[i]
		n := e.T
		if share > 0 {
			n -= 2 * piece(n, share) // validation and test are the two pieces at the end
		}
		all += e.T
		if n < 1 {
			continue
		}
		t := transformOf(d.Values(e, c, n, n), season, low)
		if t.Lag > 0 {
			changed += e.T
		}
		if t.Log {
			logs += e.T
		}
		if t.Lag > 1 {
			seasons += e.T
		}
	}
	if 2*changed < all {
		return files.Transform{}
	}
	t := files.Transform{Log: 2*logs >= changed, Lag: 1}
	if 2*seasons >= changed {
		t.Lag = season
	}
	return t
}

// lowest is the smallest value of a channel in all data: a logarithm is for all of them.
func lowest(d *files.Dataset, c int) float64 {
	low := math.Inf(1)
	for i := range d.Episodes {
		e := &d.Episodes[i]
		for _, v := range d.Values(e, c, e.T, e.T) {
			if !math.IsNaN(v) {
				low = min(low, v)
			}
		}
	}
	return low
}

// transformOf is the transform of one channel with values x, NaN where they are missing: none, unless it drifts
// from season to season or wanders; else differences, at the lag of a season where they repeat at it, of
// logarithms where it is positive in all data and grows.
func transformOf(x []float64, season int, lowest float64) files.Transform {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	var t files.Transform
	if drift(averaged(x, season)) <= drifting && !wanders(x) {
		return t
	}
	t.Log, t.Lag = lowest > 0 && high > growing*low, 1
	changes, _ := files.Transform{Log: t.Log, Lag: 1}.Apply(x)
	if season > 1 && len(x) > 4*season && correlation(changes, season) > seasonal {
		t.Lag = season
	}
	return t
}

// wanders reports whether a series is like a random walk: its changes are small beside it, and have no memory. (Those
// of an oscillation that was sampled densely have.)
func wanders(x []float64) bool {
	changes, _ := files.Transform{Lag: 1}.Apply(x)
	return variance(changes) < 0.02*variance(x) && math.Abs(correlation(changes, 1)) < 0.3
}

// variance of the values that are there, in one pass; 0 without any.
func variance(x []float64) float64 {
	n, mean, squares := 0.0, 0.0, 0.0
	for _, v := range x {
		if !math.IsNaN(v) {
			n++
			delta := v - mean
			mean += delta / n
			squares += float64(delta * (v - mean))
		}
	}
	return squares / max(n, 1)
}

// averaged are the averages over the seasons that end at each step, which no season shows in; x itself without a
// season, or with fewer than three.
func averaged(x []float64, season int) []float64 {
	if season < 2 || len(x) < 3*season {
		return x
	}
	var list []float64
	for end := season; end <= len(x); end++ {
		sum, n := 0.0, 0.0
		for _, v := range x[end-season : end] {
			if !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		list = append(list, sum/n)
	}
	return list
}

// drift is the share of the variance that a straight line explains, R² of a regression on time; 0 for a series
// that does not vary.
func drift(x []float64) float64 {
	var n, st, sx, stt, sxx, stx, origin float64
	for i, v := range x {
		if t := float64(i); !math.IsNaN(v) {
			if n == 0 {
				origin = v
			}
			v -= origin // else the squares of values far from zero would hide how they vary
			n, st, sx, stt, sxx, stx = n+1, st+t, sx+v, stt+t*t, sxx+v*v, stx+t*v
		}
	}
	if t, x := stt-st*st/n, sxx-sx*sx/n; t > 0 && x > 0 {
		return math.Pow(stx-st*sx/n, 2) / (t * x)
	}
	return 0
}

// correlation of a series with itself so many steps before, over pairs of which both values are there; 0 if there
// are none.
func correlation(x []float64, lag int) float64 {
	mean, n := 0.0, 0.0
	for _, v := range x {
		if !math.IsNaN(v) {
			n++
			mean += (v - mean) / n
		}
	}
	var product, a, b float64
	for t := lag; t < len(x); t++ {
		if now, then := x[t]-mean, x[t-lag]-mean; !math.IsNaN(now) && !math.IsNaN(then) {
			product, a, b = product+now*then, a+now*now, b+then*then
		}
	}
	if a == 0 || b == 0 {
		return 0
	}
	return product / math.Sqrt(a*b)
}
