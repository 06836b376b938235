package eval

import "math"

// BestMatch gives each row of a table a column of its own so that the sum of the entries is as large as possible:
// the assignment problem, by the Hungarian method with potentials (Kuhn 1955, Munkres 1957), O(rows²·columns).
// Rows that remain without a column have −1. Without rows it is nil. The same table always gives the same match,
// also where several have the largest sum.
func BestMatch(counts [][]int) []int {
	if len(counts) == 0 {
		return nil
	}
	match := make([]int, len(counts))
	if len(counts) <= len(counts[0]) {
		for column, row := range assign(counts) {
			if row >= 0 {
				match[row] = column
			}
		}
		return match
	}
	// With more rows than columns every column gets a row instead.
	turned := make([][]int, len(counts[0]))
	for j := range turned {
		for i := range counts {
			turned[j] = append(turned[j], counts[i][j])
		}
	}
	copy(match, assign(turned))
	return match
}

// assign returns the row of each column, −1 for none, by the least sum of the costs −counts[i][j]. There are at
// least as many columns as rows. Rows enter one at a time; each enters by an augmenting path over edges whose
// slack −counts[i][j] − u[i] − v[j] is zero.
func assign(counts [][]int) []int {
	columns := len(counts[0])
	u, v := make([]int, len(counts)), make([]int, columns+1) // u[i] + v[j] ≤ cost −counts[i][j]
	owner := make([]int, columns+1)                          // the row of a column; the last is where a path begins
	for j := range owner {
		owner[j] = -1
	}
	// Of each column: the least slack to a row of the tree, the column before it on the path, and whether it is in
	// the tree.
	least, before, used := make([]int, columns), make([]int, columns), make([]bool, columns+1)
	for i := range counts {
		for j := range least {
			least[j] = math.MaxInt
		}
		clear(used)
		at := columns
		owner[at] = i
		for owner[at] >= 0 { // grow the tree of tight edges until it has a free column
			used[at] = true
			row, delta, next := owner[at], math.MaxInt, 0
			for j := range columns {
				if used[j] {
					continue
				}
				if slack := -counts[row][j] - u[row] - v[j]; slack < least[j] {
					least[j], before[j] = slack, at
				}
				if least[j] < delta {
					delta, next = least[j], j
				}
			}
			// Shift the potentials by the least slack: one more edge becomes tight, and those of the tree stay so.
			for j := range used {
				if used[j] {
					u[owner[j]] += delta
					v[j] -= delta
				} else {
					least[j] -= delta
				}
			}
			at = next
		}
		for at != columns { // turn the path
			owner[at], at = owner[before[at]], before[at]
		}
	}
	return owner[:columns]
}
