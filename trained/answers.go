package trained

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Filtering is what a series tells about the latent state at each time step, along one path that is drawn from the
// posterior.
type Filtering struct {
	Mean, SD [][]float64 // of the latent state; SD is NaN at the first step if the family only draws that state
	Weights  [][]float64 // of the base systems, if there are any; NaN at the first step, because no system leads to it
	Regime   []int       // of the system that has most weight, as Segmentation counts them
	Others   [][]int     // the same of further bodies
}

// Filter infers the latent states of a series. The same seed gives the same path. The errors are ErrUnable and
// ErrSeries.
func (r *Run) Filter(s Series, seed uint64) (Filtering, error) {
	f, r, prefix, err := about(r, Filters, s)
	if err != nil {
		return Filtering{}, err
	}
	var answer model.Filtering
	f.Filter(&answer, prefix, rng.New(seed, rng.Evaluation).At(0, 0, 0))
	weights := rows(answer.Switches, answer.M)
	regimes := r.leading(weights, f.(model.Forecaster).Dims().Switches())
	y := Filtering{
		Mean: rows(answer.Mean, answer.NZ), SD: rows(answer.SD, answer.NZ), Weights: weights, Regime: regimes[0],
		Others: regimes[1:],
	}
	for _, first := range slices.Concat(y.SD[:1], y.Weights[:min(1, len(y.Weights))]) {
		if !slices.ContainsFunc(first, func(v float64) bool { return v != 0 }) {
			unknown(first) // as the online filter says it
		}
	}
	return y, nil
}

// Smoothing is what a whole series tells about each of its time steps, a row for each.
type Smoothing struct {
	Observations [][]float64 // what the model expects there, in the units of the data, whether it was observed or not
	Mean, SD     [][]float64 // of the latent state
}

// Smooth infers the latent states of a series from all of it, and fills its gaps. The same series always gives the
// same answer. The errors are ErrUnable and ErrSeries.
func (r *Run) Smooth(s Series) (Smoothing, error) {
	f, r, b, err := about(r, Smooths, s)
	if err != nil {
		return Smoothing{}, err
	}
	var answer model.Smoothing
	f.Smooth(&answer, b)
	expected := r.scaled(answer.Observations, answer.NX)
	// What is expected of a transformed channel is transformed, too; Restore undoes that by the observed values.
	for c := range answer.NX {
		if t := r.transform(c); t != (files.Transform{}) {
			for i, v := range t.Restore(channel(expected, c), channel(s.Observations, c)) {
				expected[i][c] = v
			}
		}
	}
	return Smoothing{Observations: expected, Mean: rows(answer.Mean, answer.NZ), SD: rows(answer.SD, answer.NZ)}, nil
}

// Segmentation is the regimes of a series.
type Segmentation struct {
	// Probability is [step][regime]; rows sum to 1. Row t is about the transition that leads to step t; the first row,
	// to which none leads, is that of the second. Of a run with several bodies a row has the regimes of one body after
	// another, and sums to their number.
	Probability [][]float64
	Regime      []int // the most likely one of each step, from 0; of several bodies that of the first
	// System is the base system of each regime, as Run.Systems has them; nil: the same.
	System []int
	// Bodies are the regimes of each body, which all have the same ones; nil: there is one body.
	Bodies []Segmentation
}

// Segment divides a series into regimes, which are numbered by the time that each has in the training data, whatever
// the series: the first is the largest. The same seed gives the same answer.
func (r *Run) Segment(s Series, seed uint64) (Segmentation, error) {
	f, r, b, err := about(r, Segments, s)
	if err != nil {
		return Segmentation{}, err
	}
	var answer model.Segmentation
	f.Segment(&answer, b, eval.SegmentPaths, rng.New(seed, rng.Evaluation).At(0, 0, 0))
	bodies := f.(model.Forecaster).Dims().Switches()
	each := make([]Segmentation, bodies)
	for k := range each {
		each[k] = segmentation(rows(answer.Probability, answer.M), k, bodies, r.numbering())
	}
	if bodies == 1 {
		return each[0], nil
	}
	out := Segmentation{System: each[0].System, Regime: each[0].Regime, Bodies: each}
	// One row has the regimes of all bodies, one after another.
	for t := range each[0].Probability {
		var row []float64
		for _, body := range each {
			row = append(row, body.Probability[t]...)
		}
		out.Probability = append(out.Probability, row)
	}
	return out, nil
}

// segmentation is that of body k of so many, whose probabilities stand one after another, with regimes in an
// order. all is [step][bodies·regimes]; the result shares no memory with it.
func segmentation(all [][]float64, k, bodies int, order []int) Segmentation {
	out := Segmentation{System: order}
	for _, row := range all {
		n := len(row) / bodies
		p := inOrder(order, row[k*n:(k+1)*n])
		best := 0
		for i, v := range p {
			if v > p[best] {
				best = i
			}
		}
		out.Probability, out.Regime = append(out.Probability, p), append(out.Regime, best)
	}
	return out
}

// Simulation is a series that the model made up.
type Simulation struct {
	Observations [][]float64 // drawn, in the units of the data
	Mean         [][]float64 // their means along the drawn states
	States       [][]float64 // drawn latent states
	Weights      [][]float64 // of the base systems; zeros at the first step
	Regime       []int       // of the system that has most weight, as Segmentation counts them
	Others       [][]int     // the same of further bodies
}

// SimulateQuery asks for series that a model makes up.
type SimulateQuery struct {
	Steps, Episodes int
	Controls        [][]float64 // a row for each step, the same for all episodes; nil: zeros
	Seed            uint64      // the same seed gives the same series
	// Before are observations that the series follow, in the units of the data; they matter to a run that was
	// trained on differences. nil: the end of its own data, or zeros (of logarithms: ones) where those are not at
	// hand.
	Before [][]float64
	// Of is the recording of training in whose scale the series are, where each has one of its own
	// (env.normalise=recording); one that training did not see has that of Before.
	Of string
}

// SimulateLike makes up a series for each recording, under its controls and as long as it is. The first has the seed,
// and each other the next one.
func (r *Run) SimulateLike(list []Recording, seed uint64) ([]Simulation, error) {
	steps, _ := longest(list)
	d, _, err := r.Sizes()
	if err != nil {
		return nil, err
	}
	if err := simulationFits(steps, len(list), d); err != nil {
		return nil, err
	}
	var all []Simulation
	for i, like := range list {
		q := SimulateQuery{
			Steps: len(like.Observations), Episodes: 1, Controls: like.Controls, Seed: seed + uint64(i), Of: like.Of,
		}
		// A recording that training did not see is scaled by its own observations.
		if _, known := r.scale.Of(like.Of); !known {
			q.Before = like.Observations
		}
		one, err := r.Simulate(q)
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// Simulate draws series from the model alone. They are as many as Episodes, each of Steps steps. The errors are
// ErrUnable, ErrSeries and a usage error where they would take too much memory.
func (r *Run) Simulate(q SimulateQuery) ([]Simulation, error) {
	f, err := Ask(r, Samples)
	if err != nil {
		return nil, err
	}
	if q.Steps < 1 || q.Episodes < 1 {
		return nil, fmt.Errorf("%w: %d episodes of %d steps; at least one of each is needed", ErrSeries, q.Episodes, q.Steps)
	}
	d := f.(model.Forecaster).Dims()
	if err := simulationFits(q.Steps, q.Episodes, d); err != nil {
		return nil, err
	}
	if _, known := r.scale.Of(q.Of); !known && q.Before == nil {
		return nil, unscaled(q.Of)
	}
	if r, err = r.as(Series{Observations: q.Before, Controls: q.Controls, Of: q.Of}); err != nil {
		return nil, err
	}
	controls, err := r.acted(d, q.Controls, q.Steps)
	if err != nil {
		return nil, err
	}
	// The same controls for every episode, time-major.
	all := make([]float32, 0, len(controls)*q.Episodes)
	for t := range q.Steps {
		for range q.Episodes {
			all = append(all, controls[t*d.NU:(t+1)*d.NU]...)
		}
	}
	before := q.Before
	if before == nil && r.lag() > 0 {
		before = r.origin(d.NX, q.Of)
	}
	var a model.Sampling
	f.Sample(&a, model.SampleQuery{
		T: q.Steps, B: q.Episodes, Controls: all,
		Noise: rng.New(q.Seed, rng.Evaluation).At(0, 0, 0),
	})
	list := make([]Simulation, q.Episodes)
	for i := range list {
		of := func(x []float32, width int) []float32 {
			var one []float32
			for t := range q.Steps {
				one = append(one, x[(t*q.Episodes+i)*width:][:width]...)
			}
			return one
		}
		weights := rows(of(a.Switches, a.M), a.M)
		regimes := r.leading(weights, d.Switches())
		list[i] = Simulation{
			Observations: r.undone(r.scaled(of(a.Draw, a.NX), a.NX), before),
			Mean:         r.undone(r.scaled(of(a.Mean, a.NX), a.NX), before),
			States:       rows(of(a.States, a.NZ), a.NZ), Weights: weights, Regime: regimes[0], Others: regimes[1:],
		}
	}
	return list, nil
}

// origin is what a simulated series follows: a recording of training, or the first one.
func (r *Run) origin(width int, of string) [][]float64 {
	if list, _, err := r.Recordings(); err == nil {
		list = Join(list)
		return list[max(0, slices.IndexFunc(list, func(o Recording) bool { return o.Of == of }))].Observations
	}
	rows := make([][]float64, r.lag())
	for t := range rows {
		rows[t] = make([]float64, width)
		for c := range rows[t] {
			if r.transform(c).Log {
				rows[t][c] = 1
			}
		}
	}
	return rows
}

// System is a linear system z_t = A z_{t−1} + B u_t + bias + N(0, Q) of the latent state. u_t is in the units of the
// data; where the controls of each recording have a scale of their own, it is scaled, but for a system along a
// recording.
type System struct {
	A, B [][]float64 // [state][state] and [state][control]
	Bias []float64
	Q    [][]float64
	// Modes are the eigenvalues of A. Their times are in the unit of dt, or in steps where that is unknown.
	Modes []eval.Mode
}

// Systems are the base systems that the model mixes or switches between, as weights count them; Segmentation.System
// says which regime each is. dt is the time between two steps; 0: times are in steps. Several bodies have them in
// common: they are those of one, with the controls of the first.
func (r *Run) Systems(dt float64) ([]System, error) {
	f, err := Ask(r, Decomposes)
	if err != nil {
		return nil, err
	}
	s := f.Systems().Body()
	var list []System
	for k := range s.M {
		weights := make([]float64, s.M)
		weights[k] = 1
		one, err := r.system(s.Mix(weights), dt)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// system takes scaled controls out of a single system of the model. Bias and B change, as u' = (u − mean)/sd;
// times of the modes are in the unit of dt, or in steps if it is 0.
func (r *Run) system(s model.Systems, dt float64) (System, error) {
	y := System{A: square(s.A, s.NZ), B: square(s.B, s.NU), Bias: s.Bias, Q: square(s.Q, s.NZ)}
	if s.NU == 0 {
		y.B = nil
	}
	if scale := r.scale.Controls; len(scale.Mean) > 0 && r.scale.RecordingControls == nil {
		for i, row := range y.B {
			for j := range row {
				row[j] /= scale.SD[j]
				y.Bias[i] -= float64(row[j] * scale.Mean[j])
			}
		}
	}
	if dt == 0 {
		dt = 1
	}
	var err error
	y.Modes, err = eval.Modes(s.A, s.NZ, dt)
	return y, err
}

// square are the rows of a matrix of the given width.
func square(x []float64, width int) [][]float64 {
	var list [][]float64
	for i := 0; width > 0 && i < len(x); i += width {
		list = append(list, x[i:i+width])
	}
	return list
}

// Linearization is the linear system that leads to a time step of a series, and what the latent state shows.
type Linearization struct {
	System
	State   []float64 // the latent state that the filter infers at the step
	Weights []float64 // of the base systems
	// [channel][state]: ∂x/∂z of the decoder's mean at that state, in the units of the data or of their transform; nil:
	// the model has none
	C [][]float64
}

// Linearize filters a series and returns the system that leads to each step but the first: that of the mixing weights
// there, which are taken as they are (they depend on the state themselves). dt is as for Systems.
func (r *Run) Linearize(s Series, dt float64, seed uint64) ([]Linearization, error) {
	f, err := Ask(r, Decomposes)
	if err != nil {
		return nil, err
	}
	if r, err = r.as(s); err != nil {
		return nil, err
	}
	states, err := r.Filter(s, seed)
	if err != nil {
		return nil, err
	}
	systems := f.Systems()
	var list []Linearization
	for t := 1; t < len(states.Mean); t++ {
		l := Linearization{State: states.Mean[t], Weights: states.Weights[t]}
		if l.System, err = r.system(systems.Mix(l.Weights), dt); err != nil {
			return nil, err
		}
		l.C = r.sensitivity(f, l.State)
		list = append(list, l)
	}
	return list, nil
}

// differenceStep is the step of the latent state for differences of the decoder's mean.
const differenceStep = 1e-2

// sensitivity is ∂x/∂z by central differences, in the units of the data or of their transform. It is nil for a model
// without a decoder of states alone. All 2·nz states are decoded at once.
func (r *Run) sensitivity(f any, state []float64) [][]float64 {
	emitter, ok := f.(model.Emitter)
	if !ok {
		return nil
	}
	nz, nx := len(state), f.(model.Forecaster).Dims().NX
	z, mean := make([]float32, 2*nz*nz), make([]float32, 2*nz*nx)
	for j := range nz {
		for side, h := range []float64{differenceStep, -differenceStep} {
			// Rows 2j and 2j+1 differ from the state in dimension j alone, by ± differenceStep.
			row := z[(2*j+side)*nz:][:nz]
			for i, v := range state {
				row[i] = float32(v)
			}
			row[j] = float32(state[j] + h)
		}
	}
	emitter.Emit(mean, make([]float32, len(mean)), z)
	c := make([][]float64, nx)
	for i := range c {
		c[i] = make([]float64, nz)
		for j := range nz {
			c[i][j] = float64(mean[2*j*nx+i]-mean[(2*j+1)*nx+i]) / (2 * differenceStep)
			if sd := r.scale.Observations.SD; len(sd) > 0 {
				c[i][j] *= sd[i]
			}
		}
	}
	return c
}
