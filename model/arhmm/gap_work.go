package arhmm

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// GapWork estimates the multiplications and additions with which one sweep of EM crosses the gaps of recordings: of so
// many channels missing[i][t] are not seen at step t of recording i. Best takes fewer.
func GapWork(missing [][]int, channels, regimes, lags int) float64 {
	return gapWork(missing, dims{D: channels, K: regimes, L: lags}, mostKept)
}

func gapWork(missing [][]int, d dims, kept int) float64 {
	const edge = 200 // of an edge whatever is missing: the prediction, an exponential and a logarithm
	list, steps := make([]passes, len(missing)), 0
	for i, n := range missing {
		list[i] = passes{system: &system{dims: d}, r: unseen(n, d.D)}
		steps += list[i].gapLength()
	}
	between, work := edgesBetween(kept, steps), 0.0
	for _, p := range list {
		for g, ok := p.gapAfter(d.L); ok; g, ok = p.gapAfter(g.last + 1) {
			g.depth = p.depth(g, between)
			q := float64(p.held(g, g.depth) + d.D)
			for t := g.first; t <= g.last; t++ {
				work += float64(g.nodes(d.K, t-1)*d.K) * (q*q*float64(d.D+2) + edge)
			}
		}
	}
	return work
}

// unseen is a recording of zeros without the values that are missing.
func unseen(missing []int, channels int) recording {
	r := recording{T: len(missing), x: make([]float64, len(missing)*channels), full: make([]bool, len(missing))}
	for t, n := range missing {
		r.full[t] = n == 0
		for i := range n {
			r.x[t*channels+i] = math.NaN()
		}
	}
	return r
}

// Stride is n such that Best crosses the gaps of every n-th of the recordings within seconds: 1 if there are few gaps.
func Stride(recordings []model.Batch, regimes, lags int) int {
	const most = 1 << 23 // multiplications and additions of a sweep
	var missing [][]int
	channels := 0
	for _, b := range recordings {
		channels = b.NX
		for n := range b.B {
			r := newRecording(b, n)
			counts := make([]int, r.T)
			for t := range counts {
				counts[t] = r.missing(t)
			}
			missing = append(missing, counts)
		}
	}
	return 1 + int(gapWork(missing, dims{D: channels, K: regimes, L: lags}, bestKept)/most)
}
