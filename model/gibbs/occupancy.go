package gibbs

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/model"
)

// How often each step of the recordings had each regime, as it stands in the state of a chain: the counts of all
// regimes but the last, three to a number. At the last step of a recording, which has no transition, it is a sum of
// probabilities.

const (
	countsPerWord = 3         // 3·16 bits are an integer below 2⁴⁸
	mostKept      = 1<<16 - 1 // sweeps that 16 bits count
)

// words is the number of values that hold the counts of so many steps: of each step K−1 counts, as that of the
// last regime is the rest.
func (f array) words(steps int) int { return (steps*(f.K-1) + countsPerWord - 1) / countsPerWord }

// writeOccupancy writes the sums [N,K] of a posterior over recordings at these places: the counts as words, the
// earliest highest, and then the sums of the last step of each recording, which are no integers.
func (f array) writeOccupancy(p *pen, sums []float64, spans []span, steps int) {
	// A last step stands among the counts as zeros.
	last := make([]bool, steps)
	for _, s := range spans {
		last[s.to-1] = true
	}
	word, filled := 0.0, 0
	for t := range steps {
		for k := range f.K - 1 {
			count := sums[t*f.K+k]
			if last[t] {
				count = 0
			}
			word = float64(word*(1<<16)) + count
			if filled++; filled == countsPerWord {
				p.write([]float64{word})
				word, filled = 0, 0
			}
		}
	}
	if filled > 0 {
		p.write([]float64{word})
	}
	for _, s := range spans {
		p.write(sums[(s.to-1)*f.K : s.to*f.K])
	}
}

// readOccupancy reads what writeOccupancy has written after so many kept sweeps, and returns the sums [N,K]. It
// returns ErrState for words that are no integers below 2⁴⁸, and where a step has more regimes than there were
// sweeps.
func (f array) readOccupancy(p *pen, lengths []int, count float64) ([]float64, error) {
	steps := total(lengths)
	sums, words := make([]float64, steps*f.K), p.next(f.words(steps))
	for i, word := range words {
		if !(word >= 0 && word < 1<<48) || word != math.Trunc(word) {
			return nil, fmt.Errorf("%w: counts of regimes are %v", ErrState, word)
		}
		v := uint64(word)
		for j := min((i+1)*countsPerWord, steps*(f.K-1)) - 1; j >= i*countsPerWord; j-- {
			sums[j/(f.K-1)*f.K+j%(f.K-1)] = float64(v & mostKept)
			v >>= 16
		}
	}
	// The counts of a step sum to the number of sweeps.
	for t := range steps {
		rest := count
		for k := range f.K - 1 {
			rest -= sums[t*f.K+k]
		}
		if rest < 0 {
			return nil, fmt.Errorf("%w: step %d has regimes more often than there were sweeps", ErrState, t)
		}
		sums[t*f.K+f.K-1] = rest
	}
	at := 0
	for _, n := range lengths {
		at += n
		p.read(sums[(at-1)*f.K : at*f.K])
	}
	return sums, nil
}

var _ model.Remembering = (*Model)(nil)

// Regimes averages over chains how often the transition that leads to each step of the recordings of these lengths had
// each regime; the first step of a recording has the row of the second. As chains number their regimes as they like,
// those of the others are renumbered after the chain that counts most: the two regimes that share most steps are the
// same one, then the next two. Nothing is returned if they were not kept, or before the end of the burn-in of a chain;
// ErrState if a state does not fit recordings of these lengths.
func (m *Model) Regimes(lengths []int) (model.Regimes, error) {
	if !m.schedule.Regimes || len(m.tails) == 0 {
		return model.Regimes{}, nil
	}
	f, lead := m.array(), m.lead()
	chains := make([][]float64, len(m.tails))
	for i, tail := range m.tails {
		if need := size(f.layout(lengths)) - size(f.head()); len(tail) != need {
			return model.Regimes{}, fmt.Errorf("%w: chain %d has %d values of its recordings, want %d", ErrState, i, len(tail),
				need)
		}
		kept := m.posteriors[i].Sweeps()
		if len(m.traces[i])/len(ScalarNames()) <= m.schedule.BurnIn {
			return model.Regimes{}, nil // nothing is kept yet
		}
		p := &pen{tail}
		steps := total(lengths)
		// States and regimes stand before the counts.
		p.next(steps*f.D + (steps+packed-1)/packed)
		sums, err := f.readOccupancy(p, lengths, float64(kept))
		if err != nil {
			return model.Regimes{}, fmt.Errorf("chain %d: %w", i, err)
		}
		scale(sums, float64(kept))
		chains[i] = sums
	}
	for i := range chains {
		if i != lead {
			chains[i] = renumbered(chains[i], chains[lead], f.K)
		}
	}
	r := m.average(chains, f.K)
	for _, rows := range [][]float32{r.Probability, r.Spread} {
		for _, n := range lengths {
			copy(rows[f.K:n*f.K], rows) // a chain counts the regime of a step for the transition that leaves it
			rows = rows[n*f.K:]
		}
	}
	return r, nil
}

// lead is the chain that counts most, the first of equal ones.
func (m *Model) lead() int {
	best := 0
	for i, w := range m.weights {
		if w > m.weights[best] {
			best = i
		}
	}
	return best
}

// average is the weighted mean of the chains at each value, and their standard deviation around it: how much they
// disagree.
func (m *Model) average(chains [][]float64, K int) model.Regimes {
	r := model.Regimes{K: K, Probability: make([]float32, len(chains[0])), Spread: make([]float32, len(chains[0]))}
	for j := range r.Probability {
		mean, square := 0.0, 0.0
		for i, c := range chains {
			w := 1 / float64(len(chains))
			if m.weights != nil {
				w = m.weights[i]
			}
			mean += float64(w * c[j])
			square += float64(w * float64(c[j]*c[j]))
		}
		r.Probability[j], r.Spread[j] = float32(mean), float32(math.Sqrt(max(square-float64(mean*mean), 0)))
	}
	return r
}

// renumbered returns a copy of probabilities [N,K] with the regimes in the order of those of like that they
// overlap with most.
func renumbered(p, like []float64, K int) []float64 {
	from := matching(p, like, K)
	out := make([]float64, len(p))
	for t := 0; t < len(p); t += K {
		for k, j := range from {
			out[t+k] = p[t+j]
		}
	}
	return out
}

// matching returns, for each regime of like [N,K], the number of the one of p that shares its steps: the two that
// overlap most belong together, then the next two. Overlap is Σ_t like_tk p_tj. It is a greedy choice, in O(N K² +
// K³): it need not be the assignment of the largest sum.
func matching(p, like []float64, K int) []int {
	overlap := make([]float64, K*K) // of regime k of like and j of p
	for t := 0; t < len(p); t += K {
		for k := range K {
			matrix.AddScaled(overlap[k*K:(k+1)*K], like[t+k], p[t:t+K])
		}
	}
	from := slices.Repeat([]int{-1}, K)
	taken := make([]bool, K)
	for range K {
		bestK, bestJ := -1, -1
		for k := range K {
			for j := range K {
				if from[k] < 0 && !taken[j] && (bestK < 0 || overlap[k*K+j] > overlap[bestK*K+bestJ]) {
					bestK, bestJ = k, j
				}
			}
		}
		from[bestK], taken[bestJ] = bestJ, true
	}
	return from
}
