package eval

import (
	"runtime"
	"sync"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Forecasts are made in chunks of trials, one Query each, on all cores. The chunks, their noise and the order in
// which their sums are merged depend on the plan alone, so the result is the same for any number of threads.

// trialsPerQuery is how many trials travel in one Query. It is a constant, not derived from the
// number of cores, because the noise of a trial depends on its place in the batch.
const trialsPerQuery = 25

// A chunk is trials [first, first+n) forecast from one start, the last step that is seen. index counts the chunks
// of a start and addresses their noise.
type chunk struct{ start, first, n, index int }

// chunks lists the work of forecasting N trials from every start in [from, to], start by start.
func chunks(n, from, to int) []chunk {
	var c []chunk
	for start := from; start <= to; start++ {
		for first := 0; first < n; first += trialsPerQuery {
			c = append(c, chunk{start, first, min(trialsPerQuery, n-first), first / trialsPerQuery})
		}
	}
	return c
}

// forEach calls work for each i in [0, n), with up to threads calls at a time (0 = one per core).
// Each call has a Forecaster to itself. It returns when all calls have. Calls that write only to
// places of their own i give the same result for any number of threads.
func forEach(f model.Forecaster, threads, n int, work func(f model.Forecaster, i int)) {
	inParallel(threads, n, func() func(i int) {
		own := f.Clone()
		return func(i int) { work(own, i) }
	})
}

// inParallel is forEach for work that needs something else of its own, which begin makes. begin is called once per
// goroutine, before any work, on the goroutine of the caller.
func inParallel(threads, n int, begin func() func(i int)) {
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(threads, n) {
		work := begin()
		wg.Go(func() {
			for i := range next {
				work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// stimulus says which controls a model is given.
type stimulus uint8

const (
	known    stimulus = iota // the true ones, before and after the start
	withheld                 // u = 0, their mean, at every step
	// draws from their distribution N(0, 1): one for the prefix of a trial, others for every rollout
	drawn
)

// A forecastPlan says how trials are to be forecast. Everything but threads is part of what decides the result.
type forecastPlan struct {
	from, to int // starts: steps ≤ start are seen, steps after it are predicted
	window   int // number of steps seen before and including the start; 0 = all
	horizon  int // steps predicted, unless the trial ends before
	samples  int // latent rollouts that make a mean
	stimulus stimulus
	noise    rng.Key // of the rollouts
	threads  int     // calls at a time; 0 = one per core
}

// run forecasts all trials by the plan and returns R²_k, k = 1 … horizon, of the mean of the
// rollouts and of a single one drawn with decoder noise.
func (p forecastPlan) run(f model.Forecaster, d trials, means []float64) ModelR2 {
	work := chunks(d.N, p.from, p.to)
	partial := make([]struct{ mean, draw *r2 }, len(work))
	forEach(f, p.threads, len(work), func(f model.Forecaster, i int) {
		partial[i].mean, partial[i].draw = newR2(p.horizon), newR2(p.horizon)
		c := work[i]
		answer := p.forecast(f, d, c)
		for k := 1; k <= answer.Horizon; k++ {
			for n := range c.n {
				target, mean := d.at(c.first+n, c.start+k), means[(c.first+n)*d.NX:(c.first+n+1)*d.NX]
				row := ((k-1)*c.n + n) * d.NX
				partial[i].mean.add(k, target, widen(answer.Mean[row:row+d.NX]), mean)
				partial[i].draw.add(k, target, widen(answer.Draw[row:row+d.NX]), mean)
			}
		}
	})
	mean, draw := newR2(p.horizon), newR2(p.horizon)
	// Sums are merged in the order of the work, so that rounding does not depend on who finished first.
	for _, s := range partial {
		mean.merge(s.mean)
		draw.merge(s.draw)
	}
	return ModelR2{Mean: mean.values(), Draw: draw.values()}
}

// forecast asks f about one chunk. The query holds copies of the steps that the model may see. The answer belongs
// to the caller. Two chunks have different noise: its address is start and index; the last word is 0 for the
// rollouts and 1 for the stimulus.
func (p forecastPlan) forecast(f model.Forecaster, d trials, c chunk) *model.Forecast {
	nu := f.Dims().NU
	begin := 0
	if p.window > 0 {
		begin = max(0, c.start+1-p.window)
	}
	// A start near the end of a trial has fewer steps to predict.
	horizon := min(p.horizon, d.T-1-c.start)
	q := model.Query{
		Prefix:  d.batch(c.first, c.n, begin, c.start+1, nu, p.stimulus == known),
		Horizon: horizon,
		Samples: p.samples,
		Noise:   p.noise.At(uint64(c.start), uint32(c.index), 0),
	}
	plan := horizon * c.n * nu
	switch p.stimulus {
	case known:
		q.Controls = make([]float32, plan)
		d.controls(q.Controls, c.first, c.n, c.start+1, c.start+1+horizon, nu)
	case withheld:
		q.Controls = make([]float32, plan)
	case drawn:
		q.Controls = make([]float32, p.samples*plan)
		draws := p.noise.At(uint64(c.start), uint32(c.index), 1)
		draws.Normals(q.Controls)
		// The first control of a sequence acts before it and stays zero.
		draws.Normals(q.Prefix.Controls[min(c.n*nu, len(q.Prefix.Controls)):])
	}
	answer := new(model.Forecast)
	f.Forecast(answer, q)
	return answer
}

// widen copies numbers to float64, in which all scores are computed.
func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
