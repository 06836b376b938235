package arhmm

import "github.com/switchyard-ml/switchyard/model"

// dims are the sizes of a model.
type dims struct {
	K     int // regimes
	D, Du int // channels and controls
	L     int // order
	C     int // past controls
	P     int // L·D+(C+1)·Du+1, columns of W
}

// Z is the length of the state: the last observations, then the last controls, each newest first.
func (d dims) Z() int { return d.window() + d.C*d.Du }

// window is the length of the observations in the state. It is one observation where there are no lags.
func (d dims) window() int { return max(d.L, 1) * d.D }

// params are views of the state of a chain. All is one array, so that a state is copied as a whole.
type params struct {
	progress   []float64 // sweeps, mean log likelihood of a step before the latest, and of the sweep before it
	first      []float64 // [K] π
	transition []float64 // [K,K] P
	w          []float64 // [K,D,P]
	q          []float64 // [K,D,D]
	start      []float64 // [2,D] mean and variance of a channel
}

// parts are the names and shapes of a state, in the order of params.
func (d dims) parts() []model.Part {
	return []model.Part{
		{Name: "progress", Shape: []int{3}},
		{Name: "first", Shape: []int{d.K}},
		{Name: "transition", Shape: []int{d.K, d.K}},
		{Name: "dynamics", Shape: []int{d.K, d.D, d.P}},
		{Name: "noise", Shape: []int{d.K, d.D, d.D}},
		{Name: "start", Shape: []int{2, d.D}},
	}
}

// size is the number of values of a state.
func (d dims) size() int {
	n := 0
	for _, p := range d.parts() {
		n += p.Size()
	}
	return n
}

// view returns the parameters that a state of the right size holds. They are views: what is written to them is in
// the state.
func (d dims) view(state []float64) params {
	next := func(n int) []float64 {
		part := state[:n:n]
		state = state[n:]
		return part
	}
	return params{next(3), next(d.K), next(d.K * d.K), next(d.K * d.D * d.P), next(d.K * d.D * d.D), next(2 * d.D)}
}
