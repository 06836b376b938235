package gibbs

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
)

// Diagnose compares the chains by quantities that do not depend on how regimes are numbered: of each sweep after
// the burn-in the ScalarNames, and "density", the log density of a step (transition + Dy·emission); of the kept
// draws "spectral_radius", the largest of a regime's A, and, if there was a backtest, "r2_h" for 1 and 16 steps
// ahead. Each quantity is a trace per chain; those that are too short, or not of equal length, have values that
// are not numbers.
func (m *Model) Diagnose() []model.Diagnosis {
	n := len(ScalarNames())
	ofSweeps := func(f func(scalars []float64) float64) (traces [][]float64) {
		for _, trace := range m.traces {
			var values []float64
			for at := m.schedule.BurnIn * n; at < len(trace); at += n {
				values = append(values, f(trace[at:at+n]))
			}
			traces = append(traces, values)
		}
		return traces
	}
	var list []model.Diagnosis
	for i, name := range ScalarNames() {
		list = append(list, diagnosis(name, ofSweeps(func(s []float64) float64 { return s[i] })))
	}
	list = append(list, diagnosis("density", ofSweeps(func(s []float64) float64 {
		return s[0] +
			float64(float64(m.observed)*s[1])
	})))
	ofDraws := func(f func(p *Posterior, i int) float64) (traces [][]float64) {
		for _, p := range m.posteriors {
			var values []float64
			for i := range p.draws {
				values = append(values, f(p, i))
			}
			traces = append(traces, values)
		}
		return traces
	}
	if m.schedule.Draws > 0 {
		list = append(list, diagnosis("spectral_radius", ofDraws(func(p *Posterior,
			i int,
		) float64 {
			return spectralRadius(p.draws[i], p.dims)
		})))
	}
	for k, h := range backtestHorizons() {
		if h != 1 && h != 16 || !m.backtested() {
			continue
		}
		list = append(list, diagnosis(fmt.Sprintf("r2_%d", h), ofDraws(func(p *Posterior,
			i int,
		) float64 {
			return 1 - p.squares[i*len(backtestHorizons())+k]
		})))
	}
	return list
}

// diagnosis compares the traces of one quantity, one for each chain.
func diagnosis(name string, traces [][]float64) model.Diagnosis {
	c := Converge(traces)
	d := model.Diagnosis{Name: name, RHat: c.RHat, Bulk: c.Bulk, Tail: c.Tail}
	if len(traces) > 0 {
		d.Size = len(traces[0])
	}
	return d
}

// spectralRadius is the largest modulus of an eigenvalue of any regime's A: above 1 a path that stays in it
// diverges.
func spectralRadius(p Params, d dims) float64 {
	radius := 0.0
	a := make([]float64, d.D*d.D)
	for k := range d.K {
		w := p.leaf(k, d)
		for i := range d.D {
			copy(a[i*d.D:(i+1)*d.D], w[i*d.P:i*d.P+d.D])
		}
		radius = max(radius, modulus(a, d.D))
	}
	return radius
}

// modulus is the spectral radius of a [n,n], by Gelfand's formula ρ = lim ‖A^m‖^(1/m) for m = 2³⁰. It destroys a.
// A is squared 30 times. Before each squaring it is divided by its largest entry, whose logarithm counts 2⁻ⁱ in
// ln ρ, so that nothing over- or underflows.
func modulus(a []float64, n int) float64 {
	logarithm, share := 0.0, 1.0
	square := make([]float64, n*n)
	for range 30 {
		largest := 0.0
		for _, v := range a {
			largest = max(largest, math.Abs(v))
		}
		if largest == 0 {
			return 0
		}
		logarithm += float64(share * math.Log(largest))
		scale(a, largest)
		clear(square)
		for i := range n {
			for j := range n {
				matrix.AddScaled(square[i*n:(i+1)*n], a[i*n+j], a[j*n:(j+1)*n])
			}
		}
		a, square = square, a
		share /= 2
	}
	return math.Exp(logarithm)
}
