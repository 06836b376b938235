package eval

// Fits returns an error if predictions of so many steps from so many starts with so many paths take too much
// memory. It is asked before anything is predicted. bytes is an estimate of what all of it takes.
type Fits func(starts, horizon, samples int, bytes float64) error

// fits asks it for so many bytes: the sums of all starts, and the predictions of one query. Nil Fits refuse
// nothing.
func (o RecordedOptions) fits(horizon, nx int) error {
	if o.Fits == nil {
		return nil
	}
	starts := len(o.starts(horizon))
	const mostPredictors, pathBytes = 5, 8 // a mean and a deviation, as float32
	values := float64(horizon) * float64(nx)
	path := float64(min(starts, trialsPerQuery) * pathBytes)
	if o.Untransformed != nil { // of a start after another
		path += noiseDraws * 8
	}
	width := float64(recordedFirst + mostPredictors*recordedSums)
	return o.Fits(starts, horizon, o.Samples, values*(float64(starts)*width*8+float64(o.Samples)*path))
}
