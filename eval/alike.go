package eval

import (
	"math"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// mostAlike is the most, in nats per step and dimension, that regimes may lose together where those that are alike
// are one: twice leastWorth, as the system that replaces them is the best compromise between theirs and not fitted
// to the data anew.
const mostAlike = 2 * leastWorth

// Likeness finds regimes that are alike: a model with fewer predicts nearly as well. What replaces regimes i and j
// has the system that predicts as they did, as well as one can:
//
//	W, Q minimise Σ over the steps of k = i, j of KL(N(W_k f, Q_k) ‖ N(W f, Q)),  f = (z, u, 1) before the step
//
// How well the system of i would do in the steps of j does not tell: noise of the measurement biases each to where
// it is used. What is lost is measured by the log likelihood of the states, each given those before, where regimes
// follow each other by chance. Use it in this order: NewLikeness, Add for every sequence, Groups once. Memory is
// O(steps·(P + D)) for the steps that count; a Likeness serves one goroutine.
type Likeness struct {
	// P = NZ + NU + 1 is the length of f, D = len(noisy) the number of values of a state that are compared.
	y     model.Systems
	noisy []int // dimensions that all regimes have noise in
	parts int   // of sequences so far
	every int   // of so many parts one counts

	// One row for each step that counts, of all sequences one after the other.
	features []float64 // [steps,P] of f
	states   []float64 // [steps,D] after it, in the noisy dimensions
	regimes  []int     // [steps]
	follows  []bool    // [steps] the step before is that of the sequence
}

// A comparison reads parts of sequences, about so many steps together.
const (
	// A comparison reads about likenessSteps steps in parts of likenessPart, evenly spread: whole parts, as a step
	// counts with its predecessor.
	likenessPart  = 256
	likenessSteps = 50_000
)

// Alike groups the regimes of a model by the last steps of recordings that were divided into them: for each regime
// the first of its group. Of recording i, batch returns the whole and the noise that the filter takes; regimes[i]
// are its last steps. The states that f infers are those that y acts on. An error of batch ends it and is returned
// as it is.
func Alike(f model.Filterer, y model.Systems, regimes [][]int, batch func(i int) (model.Batch, rng.Stream, error)) (
	[]int, error,
) {
	steps := 0
	for _, recording := range regimes {
		steps += len(recording)
	}
	likeness := NewLikeness(y, steps)
	var answer model.Filtering
	for i, recording := range regimes {
		b, noise, err := batch(i)
		if err != nil {
			return nil, err
		}
		f.Filter(&answer, b, noise)
		likeness.Add(&answer, b, recording)
	}
	return likeness.Groups(), nil
}

// NewLikeness returns a Likeness of the regimes of systems, for sequences with so many steps together, of which it has
// seen none.
func NewLikeness(y model.Systems, steps int) *Likeness {
	l := &Likeness{y: y, every: max(1, (steps+likenessSteps-1)/likenessSteps)}
	for i := range y.NZ {
		// A dimension without noise in some regime has no density there: it cannot be compared by likelihood.
		all := true
		for k := range y.M {
			all = all && y.Q[(k*y.NZ+i)*y.NZ+i] > 0
		}
		if all {
			l.noisy = append(l.noisy, i)
		}
	}
	return l
}

// Add enters the last steps of a sequence, of which it has the regimes, with the states that were filtered. The
// batch holds this sequence alone. A step counts with the state before it, so the first step of a sequence has
// none, and only every l.every-th part is kept. It copies what it keeps.
func (l *Likeness) Add(f *model.Filtering, b model.Batch, regimes []int) {
	first := b.T - len(regimes)
	for t := max(first, 1); t < b.T; t++ {
		// Where a part begins, the step before may not have been kept: the chain of regimes starts anew.
		begins := t == max(first, 1) || l.every > 1 && t%likenessPart == 0
		if begins {
			l.parts++
		}
		if (l.parts-1)%l.every > 0 {
			continue
		}
		l.features = append(l.features, widen(f.Mean[(t-1)*f.NZ:][:l.y.NZ])...)
		l.features = append(l.features, widen(b.Controls[t*b.NU:][:l.y.NU])...)
		l.features = append(l.features, 1)
		for _, i := range l.noisy {
			l.states = append(l.states, float64(f.Mean[t*f.NZ+i]))
		}
		l.follows = append(l.follows, !begins)
		l.regimes = append(l.regimes, regimes[t-first])
	}
}

// Groups are the groups of regimes that are one: for each of the M regimes the first of its group. The two that
// lose least are joined, again and again, until all together would lose more than mostAlike, compared with all
// regimes apart. A regime without steps is a group of its own. Every join computes the likelihood of all steps
// anew: O(M·steps·(D·P + M²)).
func (l *Likeness) Groups() []int {
	group := apart(l.y.M)
	list, ok := l.used()
	// Without a density in every used regime nothing can be measured: all stay apart.
	if !ok || len(l.noisy) == 0 {
		return group
	}
	least := l.logLikelihood(list, group) - mostAlike*float64(len(l.states))
	for len(list) > 1 {
		i, j, one := closest(list)
		if one == nil {
			break
		}
		// The loss is measured against the very beginning, not against the last join, so that small losses add up.
		joined := append([]int(nil), group...)
		join(joined, list[i].first, list[j].first)
		one.logs = l.densities(one)
		list[i] = one
		list = append(list[:j:j], list[j+1:]...)
		if !(l.logLikelihood(list, joined) > least) {
			break
		}
		group = joined
	}
	return group
}

// closest are the two regimes that lose least per step if they are one, the first of equal ones, and that one; nil
// if no two can be. As the joint system has the moments of both, the traces of the KL divergences cancel, and what
// is lost is
//
//	½ ln det Q − Σ_{k=i,j} n_k/n · ½ ln det Q_k
func closest(list []*joint) (i, j int, one *joint) {
	least := math.Inf(1)
	for b := range list {
		for a := range b {
			both, ok := list[a].with(list[b])
			if !ok {
				continue
			}
			lost := both.logDet - (float64(list[a].n*list[a].logDet)+float64(list[b].n*list[b].logDet))/both.n
			if lost < least {
				i, j, one, least = a, b, both, lost
			}
		}
	}
	return i, j, one
}

// logLikelihood is that of all states given those before, where the next regime depends on the present one as it
// did in the steps. In a part of a sequence it is the forward pass of an HMM: the first regime has the shares that
// the regimes have of all steps, and counts are smoothed by one of each. list has one system for each group that
// has steps.
func (l *Likeness) logLikelihood(list []*joint, group []int) float64 {
	n, place := len(list), make([]int, len(group)) // of a group in the list
	for i, k := range list {
		// A group is named by its first regime, as its joint system is.
		place[k.first] = i
	}
	first, next := make([]float64, n), make([]float64, n*n)
	for t, k := range l.regimes {
		now := place[group[k]]
		first[now]++
		if l.follows[t] {
			next[place[group[l.regimes[t-1]]]*n+now]++
		}
	}
	chances(first)
	for i := range n {
		chances(next[i*n : (i+1)*n])
	}
	total, belief, predicted := 0.0, make([]float64, n), make([]float64, n)
	for t, follows := range l.follows {
		copy(predicted, first)
		if follows {
			clear(predicted)
			for i, b := range belief {
				matrix.AddScaled(predicted, b, next[i*n:(i+1)*n])
			}
		}
		// The largest log density is taken out before exp, so that at least one term of the sum is exp(0).
		largest, sum := math.Inf(-1), 0.0
		for _, k := range list {
			largest = max(largest, k.logs[t])
		}
		for i, k := range list {
			belief[i] = float64(predicted[i] * matrix.Exp(k.logs[t]-largest))
			sum += belief[i]
		}
		for i := range belief {
			belief[i] /= sum
		}
		total += largest + matrix.Log(sum)
	}
	return total
}

// chances divides counts, one more of each, by their sum. It is Laplace's rule: no transition has the probability
// zero.
func chances(counts []float64) {
	sum := 0.0
	for i := range counts {
		counts[i]++
		sum += counts[i]
	}
	for i := range counts {
		counts[i] /= sum
	}
}

// apart are n groups of one each. A group is named by its first member: group[i] ≤ i.
func apart(n int) []int {
	group := make([]int, n)
	for i := range group {
		group[i] = i
	}
	return group
}

// join makes the groups of two members one. The name is that of the group that began first.
func join(group []int, a, b int) {
	from, to := max(group[a], group[b]), min(group[a], group[b])
	for i, g := range group {
		if g == from {
			group[i] = to
		}
	}
}
