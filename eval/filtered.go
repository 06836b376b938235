package eval

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// filterPaths is over how many paths of draws an average of the posterior is taken. More paths cost as many
// filterings each.
const filterPaths = 8

// filtered is what a model infers about whole trials, step t of trial n in row n·T+t. The first step has no
// switch. Memory is float64 of its own, summed over chunks by trial.
type filtered struct {
	T, NZ, M int
	Systems  int       // that all bodies share: M of a model without bodies
	z        []float64 // [N,T,NZ] posterior mean of the latent state, averaged over filterPaths
	sample   []float64 // [N,T,M] mixing weights along the first path
	mean     []float64 // [N,T,M] mixing weights averaged over filterPaths
}

// state is the latent state of trial n at step t.
func (f *filtered) state(n, t int) []float64 { return f.z[(n*f.T+t)*f.NZ:][:f.NZ] }

// filters reports whether the family of a model has a filter.
func filters(f model.Forecaster) bool {
	_, ok := f.(model.Filterer)
	return ok
}

// unfiltered is what a model infers about no trials; nil where its family has no filter. With it a protocol lists
// its metrics without measuring.
func unfiltered(f model.Forecaster) *filtered {
	if !filters(f) {
		return nil
	}
	d := f.Dims()
	return &filtered{NZ: d.NZ, M: d.M, Systems: d.Regimes()}
}

// filter infers the latent states and mixing weights of trials from all that was observed and applied. The first draw
// of its noise is the given one. It is nil where the family of the model has no filter. Path p is drawn with noise
// draw+p, so that noiseOfTraining and noiseOfTest must lie filterPaths apart. Controls are the true ones. The
// result is the same for any number of threads.
func (t Task) filter(f model.Forecaster, d trials, draw uint32) *filtered {
	all := unfiltered(f)
	if all == nil {
		return nil
	}
	steps, nu := d.N*d.T, f.Dims().NU
	all.T, all.z = d.T, make([]float64, steps*all.NZ)
	all.sample, all.mean = make([]float64, steps*all.M), make([]float64, steps*all.M)
	work := chunks(d.N, d.T-1, d.T-1)
	forEach(f, t.Threads, len(work), func(f model.Forecaster, i int) {
		c := work[i]
		batch := d.batch(c.first, c.n, 0, d.T, nu, true)
		var answer model.Filtering
		for path := range filterPaths {
			noise := rng.New(t.Seed, rng.Evaluation).At(uint64(c.start), uint32(c.index), draw+uint32(path))
			f.(model.Filterer).Filter(&answer, batch, noise)
			all.enter(c, &answer, path)
		}
	})
	return all
}

// enter adds path of a chunk, whose rows are time-major, to rows that are trial-major. Different chunks write to
// different rows, so goroutines need no lock.
func (f *filtered) enter(c chunk, a *model.Filtering, path int) {
	for i := range c.n {
		for t := range f.T {
			from, to := t*c.n+i, (c.first+i)*f.T+t
			for j, v := range a.Mean[from*f.NZ : (from+1)*f.NZ] {
				f.z[to*f.NZ+j] += float64(v) / filterPaths
			}
			for j, v := range a.Switches[from*f.M : (from+1)*f.M] {
				f.mean[to*f.M+j] += float64(v) / filterPaths
				if path == 0 {
					f.sample[to*f.M+j] = float64(v)
				}
			}
		}
	}
}

// probesOf are the probes of an environment; none where it has none. No probe of a label, a state or a body then
// applies.
func probesOf(env envs.Env) envs.Probes {
	if p, ok := env.(envs.Probed); ok {
		return p.Probes()
	}
	return envs.Probes{}
}

// images reports whether observations are images.
func images(env envs.Env) bool {
	_, ok := env.(envs.Pictured)
	return ok
}
