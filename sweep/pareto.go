package sweep

import (
	"cmp"
	"math"
	"slices"
)

// A score is what the metrics of a trial are worth, one number each; smaller is better, whatever the goal of the
// metric. A trial that failed has none: it is nil, and worse than any other.
type score []float64

// dominates reports whether a is nowhere worse than b, and better somewhere. Both have the same metrics. Equal
// scores do not dominate each other.
func (a score) dominates(b score) bool {
	better := false
	for i := range a {
		if a[i] > b[i] {
			return false
		}
		better = better || a[i] < b[i]
	}
	return better
}

// fronts returns the number of the front of each score: front 0 is dominated by nobody, front k by some of front
// k−1. Scores without values are in the last front. With n scores of m metrics a front takes O(n²·m).
func fronts(scores []score) []int {
	front := make([]int, len(scores))
	left := 0
	for i, s := range scores {
		if front[i] = -1; len(s) > 0 {
			left++
		}
	}
	for k := 0; left > 0; k++ {
		var here []int
		// The scores that nobody dominates among those that are left form the next front. There is always one.
		open := indices(scores, front)
		for _, i := range open {
			s := scores[i]
			if !slices.ContainsFunc(open, func(j int) bool { return scores[j].dominates(s) }) {
				here = append(here, i)
			}
		}
		for _, i := range here {
			front[i] = k
		}
		left -= len(here)
	}
	last := 0
	for _, f := range front {
		last = max(last, f+1)
	}
	for i := range front {
		if front[i] < 0 {
			front[i] = last
		}
	}
	return front
}

// indices are the scores that have no front yet.
func indices(scores []score, front []int) []int {
	var list []int
	for i, s := range scores {
		if front[i] < 0 && len(s) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// crowding is the distance of each score to its neighbours in the same front (Deb et al. 2002): the sum over the
// metrics of
//
//	(value of the next − value of the one before) / (largest − smallest of the front)
//
// The ends of a front are infinitely far, so that they come first. A metric that is the same in all of a front has no
// ends. Scores without values have the distance 0.
func crowding(scores []score, front []int) []float64 {
	distance := make([]float64, len(scores))
	groups := map[int][]int{}
	for i, s := range scores {
		if len(s) > 0 {
			groups[front[i]] = append(groups[front[i]], i)
		}
	}
	for _, group := range groups {
		for m := range scores[group[0]] {
			slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(scores[a][m], scores[b][m]) })
			first, last := group[0], group[len(group)-1]
			width := scores[last][m] - scores[first][m]
			if width == 0 {
				continue
			}
			distance[first], distance[last] = math.Inf(1), math.Inf(1)
			for i := 1; i+1 < len(group); i++ {
				distance[group[i]] += (scores[group[i+1]][m] - scores[group[i-1]][m]) / width
			}
		}
	}
	return distance
}

// rank orders trials by their scores, the best first, and returns their places in the list. With one metric that is the
// order of its values. With several, fronts come first, then what is farther from its neighbours. Of equals the first
// in the list is better.
func rank(scores []score) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	one := !slices.ContainsFunc(scores, func(s score) bool { return len(s) > 1 })
	var front []int
	var distance []float64
	if !one {
		front = fronts(scores)
		distance = crowding(scores, front)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		// Scores without values come last, and keep their order among themselves.
		case len(scores[a]) == 0 || len(scores[b]) == 0:
			return cmp.Compare(len(scores[b]), len(scores[a]))
		case one:
			return cmp.Compare(scores[a][0], scores[b][0])
		}
		return cmp.Or(cmp.Compare(front[a], front[b]), cmp.Compare(distance[b], distance[a]))
	})
	return order
}
