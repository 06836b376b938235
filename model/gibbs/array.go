package gibbs

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
)

// array is the state of a Fit as one array of a size that the schedule and the recordings decide:
//
//	progress            sweeps done, and the scalars of the latest
//	present/…           the parameters
//	posterior/…         the sums of the kept parameters
//	draws/…             kept draws, with room for all
//	trace               the scalars of each sweep, with room for all
//	backtest/…          errors of forecasts of the recordings, if chains are stacked
//	states, regimes     x, and z with six steps in a number
//	occupancy           how often each step had each regime, if that is kept; see occupancy.go
//	ends                the sums of π at the last step of each recording, likewise
//
// All but the last four do not depend on the recordings. The averages of states are not kept.
type array struct {
	cfg Config
	dims
	schedule Schedule
}

// packed is the number of regimes that one float64 holds: 6·8 bits are an integer below 2⁴⁸. A regime takes 8
// bits: there may be at most 256.
const packed = 6

// head are the parts that do not depend on the recordings. Forecasts need no others, and their places are known
// without the recordings.
func (f array) head() []model.Part {
	parts := []model.Part{{Name: "progress", Shape: []int{1 + len(ScalarNames())}}}
	theta := newParams(f.cfg, f.dims).parts(f.dims)
	for _, of := range []struct {
		name  string
		shape []int
	}{{"present", nil}, {"posterior", nil}, {"draws", []int{f.schedule.kept()}}} {
		for _, t := range theta {
			parts = append(parts, model.Part{Name: of.name + "/" + t.Name, Shape: slices.Concat(of.shape, t.Shape)})
		}
	}
	parts = append(parts, model.Part{Name: "trace", Shape: []int{f.schedule.Sweeps, len(ScalarNames())}})
	if f.schedule.Stacked {
		horizons := len(backtestHorizons())
		parts = append(parts,
			model.Part{Name: "backtest/errors", Shape: []int{backtestStarts, horizons, f.Dy}},
			model.Part{Name: "backtest/squares", Shape: []int{f.schedule.kept(), horizons}})
	}
	return parts
}

// layout are all parts, for recordings of these lengths. write, readHead and tensors go through an array in this
// order.
func (f array) layout(lengths []int) []model.Part {
	steps := total(lengths)
	parts := append(f.head(),
		model.Part{Name: "states", Shape: []int{steps, f.D}},
		model.Part{Name: "regimes", Shape: []int{(steps + packed - 1) / packed}},
	)
	if f.schedule.Regimes {
		parts = append(parts, model.Part{Name: "occupancy", Shape: []int{f.words(steps)}},
			model.Part{Name: "ends", Shape: []int{len(lengths), f.K}})
	}
	return parts
}

// total is the number of steps of all recordings.
func total(lengths []int) int {
	n := 0
	for _, length := range lengths {
		n += length
	}
	return n
}

// size is the number of values of all parts.
func size(parts []model.Part) int {
	n := 0
	for _, p := range parts {
		n += p.Size()
	}
	return n
}

// pen writes to, or reads from, an array part by part; rest is what has not been passed yet.
type pen struct{ rest []float64 }

// next passes n values and returns them as a view.
func (p *pen) next(n int) []float64 {
	part := p.rest[:n]
	p.rest = p.rest[n:]
	return part
}

func (p *pen) write(values []float64) { copy(p.next(len(values)), values) }
func (p *pen) read(values []float64)  { copy(values, p.next(len(values))) }

// draws is the place of the draws: of each tensor those of all draws, one after the other. Room that no draw has
// reached yet is passed and left as it is.
func (f array) draws(p *pen, draws []Params, do func(place, values []float64)) {
	for i, t := range newParams(f.cfg, f.dims).parts(f.dims) {
		place := p.next(f.schedule.kept() * len(t.Values))
		for j, draw := range draws {
			do(place[j*len(t.Values):(j+1)*len(t.Values)], draw.parts(f.dims)[i].Values)
		}
	}
}

// write writes the state of a fit; dst has the size of the layout. Room for sweeps and draws that are still to
// come is zero, so that equal fits have equal arrays.
func (f array) write(dst []float64, fit *Fit) {
	clear(dst)
	c, p := fit.chain, &pen{dst}
	p.write([]float64{float64(c.sweep)})
	p.write(c.Scalars())
	for _, theta := range []Params{c.theta, fit.posterior.mean} {
		for _, t := range theta.parts(f.dims) {
			p.write(t.Values)
		}
	}
	f.draws(p, fit.posterior.draws, func(place, values []float64) { copy(place, values) })
	copy(p.next(f.schedule.Sweeps*len(ScalarNames())), fit.trace)
	p.write(fit.errors)
	p.write(fit.squares)
	p.write(c.x)
	// Six digits to the base 256, the earliest step first; the last word may have fewer.
	for from := 0; from < len(c.z); from += packed {
		v := 0.0
		for _, k := range c.z[from:min(from+packed, len(c.z))] {
			v = float64(v*256) + float64(k)
		}
		p.write([]float64{v})
	}
	if f.schedule.Regimes {
		f.writeOccupancy(p, fit.posterior.probabilities, c.spans, len(c.z))
	}
}

// readHead reads what forecasts need of a state that write has written, and its sweeps. The posterior has no
// states and no regimes; before the end of the burn-in it holds the present parameters alone. The errors of its
// backtest are views of src. It returns ErrState for an array that is too short, and for a number of sweeps that
// the schedule does not have.
func (f array) readHead(src []float64) (posterior *Posterior, trace []float64, err error) {
	if need := size(f.head()); len(src) < need {
		return nil, nil, fmt.Errorf("%w: %d values, want at least %d", ErrState, len(src), need)
	}
	p := &pen{src}
	sweeps := p.next(1)[0]
	if !(sweeps >= 0 && sweeps <= float64(f.schedule.Sweeps)) {
		return nil, nil, fmt.Errorf("%w: %v sweeps are done, the schedule has %d", ErrState, sweeps, f.schedule.Sweeps)
	}
	p.next(len(ScalarNames()))
	posterior = &Posterior{cfg: f.cfg, dims: f.dims, every: f.schedule.every(), mean: zeroParams(f.cfg, f.dims)}
	present := newParams(f.cfg, f.dims)
	for _, theta := range []Params{present, posterior.mean} {
		for _, t := range theta.parts(f.dims) {
			p.read(t.Values)
		}
	}
	// How many draws are kept follows from the number of sweeps.
	posterior.count = max(0, sweeps-float64(f.schedule.BurnIn))
	if posterior.every > 0 {
		for range int(posterior.count) / posterior.every {
			posterior.draws = append(posterior.draws, zeroParams(f.cfg, f.dims))
		}
	}
	f.draws(p, posterior.draws, func(place, values []float64) { copy(values, place) })
	trace = slices.Clone(p.next(f.schedule.Sweeps * len(ScalarNames()))[:int(sweeps)*len(ScalarNames())])
	if f.schedule.Stacked {
		horizons := len(backtestHorizons())
		posterior.errors, posterior.squares = p.next(backtestStarts*horizons*f.Dy), p.next(f.schedule.kept()*horizons)
	}
	// Nothing is kept yet: forecasts are those of the present parameters.
	if posterior.count == 0 {
		posterior.count, posterior.mean = 1, present
	}
	return posterior, trace, nil
}

// tensors are a state as RestoreFit takes it, for recordings of these lengths. The averages of states are zero,
// and those of regimes unless they are kept. Most are views of src. It returns ErrState for an array of another
// size, and for regimes that are no words.
func (f array) tensors(src []float64, lengths []int) ([]Tensor, error) {
	steps := total(lengths)
	if need := size(f.layout(lengths)); len(src) != need {
		return nil, fmt.Errorf("%w: %d values, want %d", ErrState, len(src), need)
	}
	p := &pen{src}
	sweep := p.next(1)
	n := len(ScalarNames())
	tensors := []Tensor{{"sweep", nil, sweep}, {"scalars", []int{n}, p.next(n)}}
	for _, prefix := range []string{"", "posterior/"} {
		for _, t := range newParams(f.cfg, f.dims).parts(f.dims) {
			tensors = append(tensors, Tensor{prefix + t.Name, t.Shape, p.next(len(t.Values))})
		}
	}
	for _, t := range newParams(f.cfg, f.dims).parts(f.dims) {
		for i := range f.schedule.kept() {
			tensors = append(tensors, Tensor{fmt.Sprintf("draw/%d/%s", i, t.Name), t.Shape, p.next(len(t.Values))})
		}
	}
	// The number of sweeps has not been checked yet: RestoreFit does that.
	done := int(min(max(sweep[0], 0), float64(f.schedule.Sweeps)))
	tensors = append(tensors, Tensor{"trace", []int{done, n}, p.next(f.schedule.Sweeps * n)[:done*n]})
	if f.schedule.Stacked {
		for _, part := range f.head()[len(f.head())-2:] {
			tensors = append(tensors, Tensor{part.Name, part.Shape, p.next(part.Size())})
		}
	}
	tensors = append(tensors,
		Tensor{"states", []int{steps, f.D}, p.next(steps * f.D)},
		Tensor{"posterior/states", []int{steps, f.D}, make([]float64, steps*f.D)},
	)
	z := make([]float64, steps)
	for from := 0; from < steps; from += packed {
		word := p.next(1)[0]
		if !(word >= 0 && word < 1<<48) {
			return nil, fmt.Errorf("%w: regimes from step %d are %v", ErrState, from, word)
		}
		v := uint64(word)
		// Digits come off the end: the latest step of the word first.
		for t := min(from+packed, steps) - 1; t >= from; t-- {
			z[t], v = float64(v&255), v>>8
		}
	}
	occupancy := make([]float64, steps*f.K)
	if f.schedule.Regimes {
		var err error
		if occupancy, err = f.readOccupancy(p, lengths, math.Max(0, float64(done-f.schedule.BurnIn))); err != nil {
			return nil, err
		}
	}
	return append(tensors, Tensor{"regimes", []int{steps}, z}, Tensor{"posterior/regimes", []int{steps, f.K}, occupancy}),
		nil
}
