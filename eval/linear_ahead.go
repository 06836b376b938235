package eval

// linearPast is how many of the last observations the linear baseline looks at. With fewer steps in the prefix it
// looks at those.
const linearPast = 4

// linearAhead predicts the k-th next observation, k = 1, 2, …, each by a linear map of its own of the last
// observations and all controls up to it. Element k−1 has NX·min(prefix, linearPast) + NU·(min(prefix, linearPast)
// − 1 + k) features.
type linearAhead []affine

// fitLinearAhead fits predictions of horizon steps from a prefix of the given length by least squares, to all
// stretches of the trials. A stretch may begin anywhere in a trial: only as many steps as the maps look at need
// lie before it.
func fitLinearAhead(d trials, prefix, horizon int) (linearAhead, error) {
	var maps linearAhead
	for k := 1; k <= horizon; k++ {
		var x, y []float64
		for n := range d.N {
			for start := min(prefix, linearPast) - 1; start+k < d.T; start++ {
				x = appendPast(x, &d, n, start, k, prefix)
				y = append(y, widen(d.at(n, start+k))...)
			}
		}
		a, err := leastSquares(x, y, len(x)/(len(y)/d.NX), d.NX)
		if err != nil {
			return nil, err
		}
		maps = append(maps, a)
	}
	return maps, nil
}

// predict writes the prediction of step start+k of trial n, from what is known at start. dst is [NX].
func (l linearAhead) predict(dst []float64, d *trials, n, start, k, prefix int) {
	l[k-1].apply(dst, appendPast(nil, d, n, start, k, prefix))
}

// appendPast appends the last observations up to start, the controls between them and those from there to start+k.
func appendPast(x []float64, d *trials, n, start, k, prefix int) []float64 {
	first := start + 1 - min(prefix, linearPast)
	for t := first; t <= start; t++ {
		x = append(x, widen(d.at(n, t))...)
	}
	for t := first + 1; t <= start+k; t++ {
		x = append(x, widen(d.control(n, t))...)
	}
	return x
}
