package eval

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Simulated data are addressed by seed and episode: training has the episodes 0, 1, … of a run's seed, tests those
// from firstFresh on. So an evaluation makes again what training saw, and what it cannot have seen, without a
// file.

// trials are N sequences of T steps, episode-major: step t of trial n is row n·T+t. Nobody writes to them after
// they are simulated, so goroutines share them. Rows that are handed out share the memory.
type trials struct {
	N, T, NX, NU int
	x            []float32 // [N,T,NX]
	u            []float32 // [N,T,NU]

	NS, NL int       // what is true, for probes
	states []float32 // [N,T,NS]
	labels []float32 // [N,T,NL]
}

// firstFresh is the index of the first episode that no training run uses.
const firstFresh = 1 << 31

// simulateTrials simulates episodes first, first+1, … first+n−1 of env under key. An episode is a function of key
// and index: the first steps of a longer one are the same.
func simulateTrials(env envs.Env, key rng.Key, first uint32, n, T int) trials {
	s := env.Spec()
	d := trials{N: n, T: T, NX: s.Observation, NU: s.Control, NS: s.State, NL: len(s.Labels)}
	room := func(width int) []float32 { return make([]float32, 0, n*T*width) }
	d.x, d.u, d.states, d.labels = room(d.NX), room(d.NU), room(d.NS), room(d.NL)
	var e envs.Episode
	for i := range n {
		env.Simulate(&e, key, first+uint32(i), T)
		d.x = append(d.x, e.Observations...)
		d.u = append(d.u, e.Controls...)
		d.states = append(d.states, e.States...)
		d.labels = append(d.labels, e.Labels...)
	}
	return d
}

// at returns the observation of trial n at step t.
func (d *trials) at(n, t int) []float32 {
	i := (n*d.T + t) * d.NX
	return d.x[i : i+d.NX : i+d.NX]
}

// control returns the control of trial n that acts between t−1 and t.
func (d *trials) control(n, t int) []float32 {
	i := (n*d.T + t) * d.NU
	return d.u[i : i+d.NU : i+d.NU]
}

// state returns the true state of trial n at step t.
func (d *trials) state(n, t int) []float32 { return d.states[(n*d.T+t)*d.NS:][:d.NS] }

// label returns the labels of trial n at step t.
func (d *trials) label(n, t int) []float32 { return d.labels[(n*d.T+t)*d.NL:][:d.NL] }

// means returns [N,NX], the average of each trial over all of its steps.
func (d *trials) means() []float64 {
	m := make([]float64, d.N*d.NX)
	for n := range d.N {
		row := m[n*d.NX : (n+1)*d.NX]
		for t := range d.T {
			for i, v := range d.at(n, t) {
				row[i] += float64(v)
			}
		}
		for i := range row {
			row[i] /= float64(d.T)
		}
	}
	return m
}

// batch copies steps [from, to) of trials [first, first+n) into a time-major batch of its own
// memory, so that nothing outside of it can be reached. Controls are zero at the first step, as
// of any sequence, and everywhere unless controlled is set.
func (d *trials) batch(first, n, from, to, nu int, controlled bool) model.Batch {
	var b model.Batch
	b.Resize(to-from, n, d.NX, nu)
	for t := from; t < to; t++ {
		for i := range n {
			row := (t-from)*n + i
			copy(b.Observations[row*d.NX:], d.at(first+i, t))
		}
	}
	clear(b.Controls)
	if controlled {
		d.controls(b.Controls[min(n*nu, len(b.Controls)):], first, n, from+1, to, nu)
	}
	return b
}

// controls fills dst, [to−from, n, nu], with the controls of steps [from, to), for a model that takes any (nu > 0).
func (d *trials) controls(dst []float32, first, n, from, to, nu int) {
	if nu == 0 {
		return
	}
	for t := from; t < to; t++ {
		for i := range n {
			copy(dst[((t-from)*n+i)*nu:], d.control(first+i, t))
		}
	}
}
