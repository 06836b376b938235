package files

// Windows numbers the windows of a fixed length in episodes of unequal length, so that each can be drawn with the
// same probability. It holds no values, takes memory for each episode alone, and is immutable.
type Windows struct {
	episodes []int
	ends     []int // for each episode, the number of windows up to its end
	length   int
}

// Windows returns the windows of the given length in the given episodes. Shorter episodes have none. With length 0 each
// whole episode is one window.
func (d *Dataset) Windows(episodes []int, length int) Windows {
	w := Windows{length: length}
	total := 0
	for _, i := range episodes {
		n := 1
		if length > 0 {
			n = d.Episodes[i].T - length + 1
		}
		if n < 1 {
			continue
		}
		total += n
		w.episodes = append(w.episodes, i)
		w.ends = append(w.ends, total)
	}
	return w
}

// Len is the number of windows.
func (w Windows) Len() int {
	if len(w.ends) == 0 {
		return 0
	}
	return w.ends[len(w.ends)-1]
}

// Episodes are the episodes with a window, in ascending order of the windows' numbers. The caller must not change
// the result.
func (w Windows) Episodes() []int { return w.episodes }

// At returns window k, 0 ≤ k < Len: the episode and its first step. It takes time logarithmic in the number of
// episodes.
func (w Windows) At(k int) (episode, first int) {
	lo, hi := 0, len(w.ends)-1
	for lo < hi { // binary search for the first end above k
		mid := (lo + hi) / 2
		if w.ends[mid] > k {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo > 0 {
		k -= w.ends[lo-1]
	}
	return w.episodes[lo], k
}
