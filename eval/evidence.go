package eval

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/model/arhmm"
	"github.com/switchyard-ml/switchyard/rng"
)

// Evidence says how many regimes recordings have, and of how many dimensions their state is. Lists by piece are in
// the order of folds.pieces.
type Evidence struct {
	Regimes    int
	Components int // of the observations that are more than noise
	Lags       int // observations that a state holds
	// Sure is the share of resampled recordings that give the same number of regimes.
	Sure float64
	// Open: even the largest number that was tried predicts better than fewer
	Open  bool
	Tried []TriedRegimes // with these lags
	// Single is one regime of more lags, up to longestLags, and with the controls of as many steps.
	Single TriedRegimes
	single int // its lags

	folds
	best, at int // places of the most likely number in Tried, and of the chosen one
}

// TriedRegimes is an autoregressive HMM whose likelihood was measured on recordings that it was not fitted to. It
// was fitted on one half of the pieces and measured on the other, and the other way round.
type TriedRegimes struct {
	Regimes       int
	LogLikelihood Estimate // nats per step

	parts []float64 // log likelihood of each piece
}

// Latent is the number of dimensions of a state: each component as often as there are lags.
func (e Evidence) Latent() int { return e.Components * e.Lags }

// The size of a search.
const (
	// EM starts from evidenceChains places with evidenceSweeps sweeps each; a state holds mostLags observations at
	// most.
	mostRegimes    = 12
	mostLags       = 2
	evidenceChains = 4
	evidenceSweeps = 50
	longestLags    = 12
	mostRow        = 64 // observations and controls by which one regime predicts
	// leastWorth is what further regimes have to be worth together, in nats per step and component. Without it
	// noise of the measurement and durations would ask for more and more regimes.
	leastWorth = 0.05
)

// Weigh finds the number of regimes by autoregressive HMMs that are fitted to half of the recordings and measured on
// the other half, both ways round. It is the smallest number whose log likelihood is within one standard error of the
// best one, or within leastWorth. A state holds two observations where that is worth more than mostAlike per step and
// component, with as many regimes. Data that cannot tell are a files.Error.
func Weigh(d *files.Dataset) (Evidence, error) {
	halves, err := foldsOf(d)
	if err != nil {
		return Evidence{}, err
	}
	e, err := halves.weigh()
	if err != nil || e.Regimes == 1 {
		return e, err
	}
	e.single = min(longestLags, int(slices.Min(e.lengths))/2, max(e.Lags, mostRow/(e.n+e.nu)))
	e.Single, err = e.try(1, e.single, e.single-1)
	return e, err
}

// weigh searches with one lag, and with more as long as they are worth it.
func (f folds) weigh() (Evidence, error) {
	e := Evidence{folds: f, Components: f.n, Lags: 1}
	if err := e.search(); err != nil {
		return e, err
	}
	for e.Lags < mostLags {
		longer, err := e.try(e.Tried[e.at].Regimes, e.Lags+1, 0)
		if err != nil {
			return e, err
		}
		if longer.LogLikelihood.Value-e.Tried[e.at].LogLikelihood.Value <= mostAlike*float64(e.n) {
			break
		}
		e = Evidence{folds: f, Components: f.n, Lags: e.Lags + 1}
		if err := e.search(); err != nil {
			return e, err
		}
	}
	return e, nil
}

// search tries one number after another, until two more are not worth it. It ends at the first k whose best so far
// is worth no more than that of k−2 regimes, and leaves Open set where mostRegimes came first.
func (e *Evidence) search() error {
	e.Open = true
	for k := 1; k <= mostRegimes && e.Open; k++ {
		t, err := e.try(k, e.Lags, 0)
		if err != nil {
			return err
		}
		e.Tried = append(e.Tried, t)
		if t.LogLikelihood.Value > e.Tried[e.best].LogLikelihood.Value {
			e.best = k - 1
		}
		e.Open = k < 3 || e.Tried[e.best].LogLikelihood.Value-e.Tried[k-3].LogLikelihood.Value > e.worth()
	}
	// Every piece counts once here; the bootstrap counts them as often as they are drawn.
	all := make([]float64, len(e.lengths))
	for i := range all {
		all[i] = 1
	}
	e.at = e.smallest(all)
	e.Regimes = e.Tried[e.at].Regimes
	e.Sure = sureness(len(all), func(times []float64) bool { return e.smallest(times) == e.at })
	return nil
}

// worth is what further regimes have to be worth together, in nats per step.
func (e *Evidence) worth() float64 { return leastWorth * float64(e.n) }

// smallest is the index of the smallest number of regimes that is as good as the most likely one, where pieces
// count so many times. The bar is the mean of the most likely number, less the larger of its standard error and
// worth; both are those of all pieces, whatever the times are.
func (e *Evidence) smallest(times []float64) int {
	mean := func(t TriedRegimes) float64 {
		sum, steps := 0.0, 0.0
		for i, n := range times {
			sum, steps = sum+n*t.parts[i], steps+n*e.lengths[i]
		}
		return sum / steps
	}
	top := e.Tried[e.best]
	least := mean(top) - max(e.worth(), top.LogLikelihood.SE)
	for i, t := range e.Tried {
		if mean(t) >= least {
			return i
		}
	}
	return e.best
}

// Text says in a line what was found and how sure it is.
func (e Evidence) Text() string {
	text := fmt.Sprintf("%d regimes", e.Regimes)
	if e.Regimes == 1 {
		text = fmt.Sprintf("one regime: more are worth less than %.2g nats per step and dimension", leastWorth)
	}
	if e.Open {
		text = fmt.Sprintf("no number: %d regimes still predict better than fewer", len(e.Tried))
	}
	text = fmt.Sprintf("%s, in %.0f %% of %d resampled sets of recordings", text, 100*e.Sure, resamples)
	if e.Doubtful() {
		text += fmt.Sprintf("; but one regime of %d lags predicts better", e.single)
	}
	return text
}

// Doubtful reports whether the regimes predict no better than a single one with more lags: they may stand for what is
// longer ago, as a season or a control that acts late.
func (e Evidence) Doubtful() bool {
	return e.Regimes > 1 && e.Single.LogLikelihood.Value > e.Tried[e.at].LogLikelihood.Value
}

// Settled reports whether there are regimes, and a number of them.
func (e Evidence) Settled() bool { return e.Regimes > 1 && !e.Open }

// StateText says in a line of how many dimensions a state is, and why.
func (e Evidence) StateText() string {
	text := fmt.Sprintf("A state of %d: %d of %d principal components are more than noise", e.Latent(), e.Components,
		e.channels)
	if e.Lags > 1 {
		text += fmt.Sprintf(", and the last %d of each predict better than one", e.Lags)
	}
	return text
}

// try fits so many regimes to each half and measures them on the other one. The log likelihood is in nats per
// step, with a standard error over pieces. An error is that of a fit.
func (f *folds) try(regimes, lags, past int) (TriedRegimes, error) {
	t := TriedRegimes{Regimes: regimes, parts: make([]float64, len(f.lengths))}
	sums := newTally(len(f.lengths), 2)
	for half := range 2 {
		s := arhmm.DefaultSettings()
		s.Switches, s.Order, s.Past, s.Chains, s.Sweeps = regimes, lags, past, evidenceChains, evidenceSweeps
		m, err := arhmm.Best(s, model.Data{NX: f.n, NU: f.nu}, rng.New(1, rng.Init), f.half(half),
			func() bool { return true })
		if err != nil {
			return t, fmt.Errorf("fit %d regimes: %w", regimes, err)
		}
		for i := 1 - half; i < len(f.pieces); i += 2 {
			// A likelihood is given the first lags observations: it is scaled to all steps of the piece, so that
			// lags compare.
			total, steps := m.LogLikelihood(f.pieces[i], 0)
			t.parts[i] = total * f.lengths[i] / float64(steps)
			copy(sums.row(i), []float64{t.parts[i], f.lengths[i]})
		}
	}
	t.LogLikelihood = sums.estimate(func(sums []float64) float64 { return sums[0] / sums[1] })
	return t, nil
}
