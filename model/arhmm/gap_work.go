package arhmm

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
)

// GapWork estimates the multiplications and additions with which one sweep of EM crosses the gaps of recordings:
// of so many channels missing[i][t] are not seen at step t of recording i. Best takes fewer. It goes by the limits
// of a run and needs no data, only what is missing.
func GapWork(missing [][]int, channels, regimes, lags int) float64 {
	list := make([]recording, len(missing))
	for i, n := range missing {
		list[i] = unseen(n, channels).begun()
	}
	return gapWork(list, dims{D: channels, K: regimes, L: lags}, mostKept)
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

// gapWork is the sum over the edges of all steps in gaps: q² (D+2) operations and a constant, with q values held
// or predicted.
func gapWork(recordings []recording, d dims, kept int) float64 {
	const edge = 200 // of an edge whatever is missing: the prediction, an exponential and a logarithm
	between, work := edgesBetween(kept, d.L, recordings...), 0.0
	for _, r := range recordings {
		p := passes{system: &system{dims: d}, r: r}
		for g, ok := r.gapAfter(d.L, d.L); ok; g, ok = r.gapAfter(g.last+1, d.L) {
			g.depth = p.depth(g, between)
			q := float64(p.held(g, g.depth) + d.D)
			for t := g.first; t <= g.last; t++ {
				work += float64(g.nodes(d.K, t-1)*d.K) * (q*q*float64(d.D+2) + edge)
			}
		}
	}
	return work
}

// Thinned are every n-th of recordings, so that Best crosses their gaps within seconds, but at least so many if
// there are as many; all, if there are few gaps. Those that are taken are not copied.
func Thinned(recordings []model.Batch, regimes, lags, least int) []model.Batch {
	const most = 1 << 23 // multiplications and additions of a sweep
	var list []recording
	d := dims{K: regimes, L: lags}
	for _, b := range recordings {
		d.D = b.NX
		for n := range b.B {
			list = append(list, newRecording(b, n))
		}
	}
	each := max(1, min(1+int(gapWork(list, d, bestKept)/most), len(recordings)/max(least, 1)))
	var thinned []model.Batch
	for i := 0; i < len(recordings); i += each {
		thinned = append(thinned, recordings[i])
	}
	return thinned
}
