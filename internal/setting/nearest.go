package setting

import "strings"

// Nearest returns the candidate with the fewest edits from word, or "" if no candidate is similar: at most three
// edits, and at most half as many as the word has letters, but one is always allowed. Of equally similar ones the
// first wins. Case does not count.
func Nearest(word string, candidates []string) string {
	best, fewest := "", max(1, min(3, len(word)/2))+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < fewest {
			best, fewest = c, d
		}
	}
	return best
}

// distance counts the edits between a and b: insertion, deletion, substitution
// and exchange of neighbours (optimal string alignment).
func distance(a, b string) int {
	// Rows of the table of distances between the beginnings of a and b: the last but one, the last, and the one
	// that is filled.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitution := last[j-1]
			if a[i-1] != b[j-1] {
				substitution++
			}
			row[j] = min(last[j]+1, row[j-1]+1, substitution)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
