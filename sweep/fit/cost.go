package fit

import (
	"fmt"
	"math"
	"time"

	"github.com/switchyard-ml/switchyard/model/arhmm"
)

// The model of costs, in seconds of one core. It is fixed, not measured, so that a plan is the same on every machine:
// a slow machine takes longer than its budget, and does the same. The figures are round, and rather too high.
const (
	trialSeconds   = 0.25  // a candidate beside its training: its run, its predictions of the validation part
	flopsPerSecond = 6e9   // of an update
	updateSeconds  = 1e-3  // an update beside its floating-point operations
	emSeconds      = 2e-9  // a multiplication and an addition of a sweep
	emPasses       = 20    // sweeps that an EM's predictions of the validation part are worth
	fewestUpdates  = 500   // of a model that is trained by gradient; fewer are no answer
	mostUpdates    = 10000 // more are for train
	further        = 2     // seeds with which the winner is trained again
)

// em are the seconds of so many chains of EM. A step costs K regimes times the multiplications of moments and
// densities, in the columns of W and the channels; gaps cost what GapWork says; and predictions of the validation
// part are worth emPasses sweeps.
func (p *Plan) em(switches, order, past, chains, sweeps int) float64 {
	d, row := float64(p.facts.d), float64(p.row(order, past))
	step := float64(switches) * (row*row + 2*d*row + 2*d*d + float64(switches) + 20)
	sweep := float64(p.facts.steps)*step + arhmm.GapWork(p.facts.gaps, p.facts.d, switches, order)
	return trialSeconds + float64(emSeconds*float64(chains*sweeps+emPasses)*sweep)
}

// pay divides the candidates into those that the budget pays for, and those that it does not. Candidates without
// updates come as they are, the cheap before the dear ones, and those that the test compares with in any case;
// what is left of the budget is divided evenly among those with updates and the further seeds of one of them.
//
// One without updates is left out if it and its further seeds would take the plan beyond half of the budget.
// Networks are left out from the end until the share of each pays for enough updates of the last one; of the
// others those that it does not pay for are left out too. Seconds are those of the candidates and of the further
// seeds of the dearest one, as any of them may win.
func (p *Plan) pay(all []Candidate) {
	budget := p.Request.Budget.Seconds() * float64(max(p.Request.Workers, 1))
	leave := func(c Candidate) {
		c.Why = "the budget does not pay for it"
		p.Left = append(p.Left, c)
	}
	var networks []Candidate
	last := 0.0
	for _, c := range all {
		if c.update > 0 {
			networks = append(networks, c)
			continue
		}
		if !c.tested && p.Seconds+c.Seconds*(1+further) > budget/2 {
			leave(c)
			continue
		}
		p.Candidates = append(p.Candidates, c)
		p.Seconds += c.Seconds
		last = max(last, c.Seconds*further)
	}
	// With fewer networks each has a larger share.
	for n := len(networks); n > 0; n-- {
		share := (budget - p.Seconds) / float64(n+further)
		if updates(share, networks[n-1].update) == 0 {
			leave(networks[n-1])
			continue
		}
		spent := 0.0
		for _, c := range networks[:n] {
			u := updates(share, c.update)
			if u == 0 {
				leave(c)
				continue
			}
			c.Settings = override(c.Settings, []string{fmt.Sprintf("train.steps=%d", u)})
			c.Seconds = trialSeconds + float64(u)*c.update
			spent += c.Seconds
			last = max(last, c.Seconds*further)
			p.Candidates = append(p.Candidates, c)
		}
		p.Seconds += spent
		break
	}
	p.Seconds += last
}

// least is a budget that pays for one of the networks that were left out, where nothing else is tried: for the fewest
// updates of it, as many for each of those before it, and the further seeds.
func (p *Plan) least() time.Duration {
	seconds := math.Inf(1)
	for i, c := range p.Left { // the last one first
		shares := float64(len(p.Left) - i + further)
		seconds = min(seconds, (trialSeconds+fewestUpdates*c.update)*shares)
	}
	minutes := math.Ceil(seconds / float64(max(p.Request.Workers, 1)) / 60)
	return time.Duration(minutes) * time.Minute
}

// updates are how many a share of the budget [s] pays for at so many seconds each, in hundreds and at most
// mostUpdates; 0: too few for an answer.
func updates(share, each float64) uint64 {
	n := math.Floor((share-trialSeconds)/each/100) * 100
	if !(n >= fewestUpdates) {
		return 0
	}
	return uint64(min(n, mostUpdates))
}
