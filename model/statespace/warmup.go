package statespace

import "github.com/switchyard-ml/switchyard/model"

// Warmup is the weight of a divergence that rises from Start at the first update to 1 at update End, evenly. An End of
// 0: it is 1 from the beginning.
type Warmup struct {
	Start float64
	End   uint64
}

// At is the weight in update i, counted from 0.
func (w Warmup) At(i uint64) float64 {
	if i == model.EndOfSchedule || i >= w.End {
		return 1
	}
	return w.Start + float64((1-w.Start)*(float64(i)/float64(w.End)))
}
