package files

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// marks are numbers that often stand for a value that is missing. They are compared in float64, and as float32 holds
// them.
var marks = [...]float64{-99999, -9999, -999, -99, 9999, 99999, 999999, -32768, 1e20, -1e20}

// remarks say what is suspicious of the values of the observed channels, and of scales. Remarks are for a person:
// nothing is refused, and no value is changed.
func (d *Dataset) remarks() []string {
	list := d.Suspicious()
	if d.Apart() {
		small, large := d.scales()
		list = append(list, fmt.Sprintf("recordings differ in scale: values are about %s in one and %s in another; scaled "+
			"alike, errors of the small ones would count for nothing: scale each by itself with env.normalise=recording, or "+
			"take --transform log", terminal.Number(small, 3), terminal.Number(large, 3)))
	}
	return list
}

// Suspicious names values of the observed channels that seem to mark missing ones, and those that are so frequent that
// regimes may stand for them.
func (d *Dataset) Suspicious() []string {
	if d.Images() {
		return nil
	}
	var list []string
	for c := range d.Spec.Observation {
		low, high := math.Inf(1), math.Inf(-1)
		d.values(c, func(_ int, v float64) { low, high = min(low, v), max(high, v) })
		// A mark far from all values is the smallest or the largest.
		for _, v := range []float64{low, high} {
			if !slices.ContainsFunc(marks[:], func(m float64) bool { return float64(float32(m)) == v || m == v }) {
				continue
			}
			if n, ranges := d.apart(c, v); ranges > muchFurther {
				list = append(list, fmt.Sprintf("%s: %s occurs %s, far from all other values: if it marks a missing value, "+
					"leave these cells empty (or nan)", heading("y", d.ObservationNames, c), terminal.Number(v, 5),
					terminal.Count(n, "time")))
			}
		}
		if v, share := d.commonest(c); share >= frequent && low < high {
			list = append(list, fmt.Sprintf("%s: %.0f %% of the values are %s: a regime that stands for this value alone "+
				"predicts it without error, so how many regimes are found says little", heading("y", d.ObservationNames, c),
				100*share, terminal.Number(v, 5)))
		}
	}
	return list
}

// frequent is from which share on a single value of a channel invites a regime of its own.
const frequent = 0.25

// commonest is the most frequent value of a channel and its share, if that is more than a fifth. Four counters find it:
// each value without one lowers all of them (Misra and Gries, 1982).
func (d *Dataset) commonest(channel int) (value, share float64) {
	counters, n := map[float64]int{}, 0
	d.values(channel, func(_ int, v float64) {
		n++
		if _, counted := counters[v]; counted || len(counters) < 4 {
			counters[v]++
			return
		}
		for w := range counters {
			if counters[w]--; counters[w] == 0 {
				delete(counters, w)
			}
		}
	})
	for w := range counters {
		counters[w] = 0
	}
	d.values(channel, func(_ int, v float64) {
		if _, counted := counters[v]; counted {
			counters[v]++
		}
	})
	for w, times := range counters {
		if s := float64(times) / float64(n); s > share || s == share && w < value {
			value, share = w, s
		}
	}
	return value, share
}

// Apart reports whether recordings differ so much in scale that a common one hides the small ones.
func (d *Dataset) Apart() bool {
	if d.Images() {
		return false
	}
	small, large := d.scales()
	return large > muchLarger*small && small > 0
}

// muchFurther is from how many ranges of all others on a value is far from them.
const muchFurther = 5

// drowns is from how many ranges on float32, the precision of models, cannot tell the others apart once all are scaled.
const drowns = 1 << 24

// rare is from how many other values on a value is one of few: a channel with two levels has no value that is wrong.
const rare = 10

// drowned is an error if a channel has a rare value beside which all others are equal. After scaling, float32 would
// hold nothing of the others. Channels with a logarithm are left out, as are images.
func (d *Dataset) drowned() error {
	if d.Images() {
		return nil
	}
	for c := range d.Spec.Observation {
		if c < len(d.Transforms) && d.Transforms[c].Log {
			continue
		}
		low, high, all := math.Inf(1), math.Inf(-1), 0
		d.values(c, func(_ int, v float64) { low, high, all = min(low, v), max(high, v), all+1 })
		for _, value := range []float64{low, high} {
			n, ranges := d.apart(c, value)
			if ranges < drowns || all < rare*n {
				continue
			}
			// The message names the recording where the value stands first.
			recording := -1
			d.values(c, func(i int, v float64) {
				if v == value && recording < 0 {
					recording = i
				}
			})
			return faultf(d.Episodes[recording].Source, "leave the cell empty if the value is wrong or marks a missing one",
				"%s: %s, which occurs %s, is so far from all other values that beside it they cannot be told apart",
				d.ChannelName(c), terminal.Number(value, 5), terminal.Count(n, "time"))
		}
	}
	return nil
}

// apart is how often a value stands in a channel, and how far it is from all others, in their range; 0 if it is among
// them, or if they are equal.
func (d *Dataset) apart(channel int, value float64) (times int, ranges float64) {
	n, low, high := 0, math.Inf(1), math.Inf(-1)
	d.values(channel, func(_ int, v float64) {
		if v == value {
			n++
			return
		}
		low, high = min(low, v), max(high, v)
	})
	if !(high > low) {
		return n, 0
	}
	return n, max(0, low-value, value-high) / (high - low)
}

// muchLarger is from where on two recordings differ in scale.
const muchLarger = 100

// scales are the smallest and the largest of the mean magnitudes of recordings, of the channel where these differ most.
func (d *Dataset) scales() (small, large float64) {
	for c := range d.Spec.Observation {
		sums, counts := make([]float64, len(d.Episodes)), make([]float64, len(d.Episodes))
		d.values(c, func(i int, v float64) { sums[i], counts[i] = sums[i]+math.Abs(v), counts[i]+1 })
		low, high := math.Inf(1), 0.0
		for i, n := range counts {
			if n > 0 && sums[i] > 0 {
				low, high = min(low, sums[i]/n), max(high, sums[i]/n)
			}
		}
		if small == 0 || high*small > large*low {
			small, large = low, high
		}
	}
	return small, large
}

// values calls a function with the observed values of a channel in the units of the files, and their recordings.
// Missing values are left out.
func (d *Dataset) values(channel int, each func(recording int, v float64)) {
	for i := range d.Episodes {
		e := &d.Episodes[i]
		for j := channel; j < len(e.Observations); j += d.Spec.Observation {
			if v := e.Value(j); !math.IsNaN(v) {
				each(i, v)
			}
		}
	}
}
