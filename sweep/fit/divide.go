package fit

import (
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// division says how data are held out, and the window that fits what is left and what is held out.
type division struct {
	byTime bool
	share  float64 // for validation, and for the test
	window int
}

const (
	defaultShare = 0.1
	largeShare   = 0.2 // where a tenth is too short for a window
	fewEpisodes  = 3   // fewer are divided by time unless told otherwise
)

// divide finds a division that a run can use with any seed; false if there are too few data. In order of
// precedence: parts that the files assign; by time, where recordings are few, or where whole ones may be too short
// for a good window and pieces of the longest allow a longer one; by recording.
func divide(d *files.Dataset) (division, bool) {
	lengths := make([]int, len(d.Episodes))
	for i := range d.Episodes {
		lengths[i] = d.Episodes[i].T
	}
	if d.Episodes[0].Part != files.Unassigned {
		w := givenWindow(d)
		return division{share: defaultShare, window: w}, w >= 2
	}
	slices.Sort(lengths)
	parts, ok := byTime(lengths[len(lengths)-1])
	if len(lengths) < fewEpisodes {
		return parts, ok
	}
	w := episodeWindow(lengths)
	if ok && w < goodWindow && parts.window > w { // a short recording may be all that the seed holds out
		return parts, true
	}
	return division{share: defaultShare, window: w}, w >= 2
}

// givenWindow is the longest window that fits into a recording of training and one of validation.
func givenWindow(d *files.Dataset) int {
	var longest [3]int
	for i := range d.Episodes {
		longest[d.Episodes[i].Part] = max(longest[d.Episodes[i].Part], d.Episodes[i].T)
	}
	w := min(longestWindow, longest[files.Training])
	if longest[files.Validation] > 0 {
		w = min(w, longest[files.Validation])
	}
	return w
}

// episodeWindow is a window that fits whichever episodes the seed holds out: in the worst case, validation gets the
// shortest ones. lengths ascend.
func episodeWindow(lengths []int) int {
	held := max(1, int(math.Round(float64(len(lengths))*defaultShare)))
	return min(longestWindow, lengths[held-1])
}

// byTime divides recordings of which the longest has so many steps. False if it is too short for that.
func byTime(steps int) (division, bool) {
	if steps < fewestSteps {
		return division{}, false
	}
	g := division{byTime: true, share: defaultShare}
	if piece(steps, g.share) < goodWindow {
		g.share = largeShare
	}
	g.window = min(longestWindow, piece(steps, g.share))
	return g, g.window >= shortestWindow
}

// piece is the length of the part of a recording that is held out, rounded, and at least two steps.
func piece(steps int, share float64) int { return max(2, int(math.Round(float64(steps)*share))) }
