package model

import (
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/matrix"
)

// Usage is how a model used its base systems on a validation set: the mean of the mixing weights w_t of every system,
// and the mean entropy of the weights of a step. Weights that do not sum to 1 count by their share of the sum.
type Usage struct {
	Shares  []float64 // of each system; they sum to 1
	Entropy float64   // mean over the steps of −Σ_j w_t(j)·log w_t(j), in nats
	Choice  bool      // the weights are probabilities of a single system at each step, not parts of a mixture
}

// mostShares is the largest number of systems whose shares are among the terms of a validation: a message carries a
// limited number of terms.
const mostShares = 32

const (
	sharePrefix = "share_"
	// The names of terms are how UsageOf finds the values of UsageTerms among those of a model.
	entropyTerm = "regime_entropy"
)

// UsageTerms are the terms of a validation that say how M base systems are used; choice is that of Usage. There are
// none for a single system, and none for more than 32.
func UsageTerms(m int, choice bool) []Term {
	if m < 2 || m > mostShares {
		return nil
	}
	terms := []Term{{
		Name: entropyTerm, Label: "entropy of the mixing weights", Short: "H_s", Unit: "nats per step", Validation: true,
		Detail: true, Choice: choice,
	}}
	for j := range m {
		n := strconv.Itoa(j + 1)
		terms = append(terms, Term{
			Name: sharePrefix + n, Label: "share of system " + n, Short: "s" + n, Unit: "1", Validation: true, Detail: true,
		})
	}
	return terms
}

// WriteUsage writes the values of UsageTerms, given the mixing weights of all steps, [rows,M]. The bits are the same on
// every machine. At another step than EndOfSchedule the values are 0, as only a validation has them.
func WriteUsage(terms []float32, step uint64, m int, weights []float32) {
	clear(terms)
	if step != EndOfSchedule || len(terms) == 0 {
		return
	}
	rows := len(weights) / m
	if rows == 0 {
		return
	}
	var shares [mostShares]float64
	entropy := 0.0
	for r := range rows {
		row, sum := weights[r*m:][:m], 0.0
		for _, w := range row {
			sum += float64(w)
		}
		// A row without weights, as of a NaN, counts as one of no entropy and no shares.
		if !(sum > 0) {
			continue
		}
		for j, w := range row {
			p := float64(w) / sum
			shares[j] += p
			if p > 0 {
				entropy -= float64(p * matrix.Log(p))
			}
		}
	}
	terms[0] = float32(entropy / float64(rows))
	for j := range m {
		terms[1+j] = float32(shares[j] / float64(rows))
	}
}

// UsageOf reads what a validation says of the base systems. known is false if the model reports nothing of them.
func UsageOf(terms []Term, values []float32) (u Usage, known bool) {
	for i, t := range terms {
		switch {
		case t.Name == entropyTerm:
			u.Entropy, u.Choice, known = float64(values[i]), t.Choice, true
		case t.Validation && strings.HasPrefix(t.Name, sharePrefix):
			u.Shares = append(u.Shares, float64(values[i]))
		}
	}
	return u, known
}

// Largest is the share of the system that has most.
func (u Usage) Largest() float64 {
	largest := 0.0
	for _, s := range u.Shares {
		largest = max(largest, s)
	}
	return largest
}

// InUse is the perplexity of the shares, exp H(mean of w): M if all systems are used alike, 1 if only one is.
func (u Usage) InUse() float64 { return matrix.Exp(u.Spread()) }

// Information is H(mean of w) − mean of H(w) in nats, the mutual information of the regime and the step. It is 0 if the
// weights are the same at every step: then the systems are one.
func (u Usage) Information() float64 { return max(0, u.Spread()-u.Entropy) }

// Spread is the entropy of the shares, −Σ_j s_j·log s_j, in nats: what the regime can tell of a step at most.
func (u Usage) Spread() float64 {
	h := 0.0
	for _, s := range u.Shares {
		if s > 0 {
			h -= float64(s * matrix.Log(s))
		}
	}
	return h
}
