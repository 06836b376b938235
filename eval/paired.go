package eval

import "math"

// A model and a baseline predict the same values, so their errors are compared pair by pair: what makes a start
// hard for both cancels. That tells smaller differences than the two errors with a standard error each.

// Comparison is the model beside a baseline that predicted the same values from the same starts: its absolute
// error over that of the baseline, where each channel counts in the unit of MASE. A ratio below 1 is better than
// the baseline.
type Comparison struct {
	Name      string     // of the baseline
	Ratio     Estimate   // over all horizons
	ByHorizon []Estimate // element k−1 belongs to horizon k
}

// compare fills in r.Against. row are the sums of start i.
//
// Of the paired errors a_i of the model and b_i of a baseline from start i, the ratio is R = Σ a_i / Σ b_i, and its
// standard error that of the sum of d_i = a_i − R b_i over Σ b_i. Predictions from neighbouring starts of a recording
// overlap, so that the d_i are correlated: their autocovariances within a recording count up to the last lag at which
// predictions overlap, with the weights of Bartlett (Newey and West 1987, as in the test of Diebold and Mariano
// 1995) and a correction for small samples (as Harvey, Leybourne and Newbold 1997 have for other weights). A row is
// [Horizon,nx,width], and scale the unit of MASE by channel. r.Errors is filled in too.
func (r *RecordedReport) compare(starts []recordedStart, row func(i int) []float64, nx, width int, scale []float64) {
	n, predictors := len(starts), len(r.Scores)
	// The absolute errors of all predictors, summed over the channels that changed in training, each in the unit
	// of MASE.
	errors := make([]float64, n*predictors*r.Horizon) // [n, predictors, H]
	for i := range n {
		for j, v := range row(i) {
			at := j % width
			c, k := j/width%nx, j/width/nx
			if at < recordedFirst || (at-recordedFirst)%recordedSums != sumAbsolute || !(scale[c] > 0) {
				continue
			}
			errors[(i*predictors+(at-recordedFirst)/recordedSums)*r.Horizon+k] += v / scale[c]
		}
	}
	for i, s := range starts {
		at := i * predictors * r.Horizon
		r.Errors = append(r.Errors, StartError{s.recording, r.Options.Test[s.recording].T - s.at, errors[at : at+r.Horizon]})
	}
	// A prediction of ahead steps overlaps with those from the next (ahead−1)/stride starts.
	stride := r.Options.stride(r.Horizon)
	paired := func(p, ahead int, of func(e []float64) float64) Estimate {
		model, base := make([]float64, n), make([]float64, n)
		for i := range n {
			at := i * predictors * r.Horizon
			model[i] = of(errors[at : at+r.Horizon])
			base[i] = of(errors[at+p*r.Horizon : at+(p+1)*r.Horizon])
		}
		return pairedRatio(model, base, starts, (ahead-1)/stride)
	}
	for p := 1; p < predictors; p++ {
		c := Comparison{Name: r.Scores[p].Name, Ratio: paired(p, r.Horizon, sum)}
		for k := range r.Horizon {
			c.ByHorizon = append(c.ByHorizon, paired(p, k+1, func(e []float64) float64 { return e[k] }))
		}
		r.Against = append(r.Against, c)
	}
}

// Paired is the absolute error of one model over that of another, from the starts and at the horizons that both were
// measured at. Without a common start it is NaN. Starts are the same where they lie as many steps before the end
// of the same test recording: models that see prefixes of different lengths have different steps before it. Less
// than 1 means that a is better.
func Paired(a, b RecordedReport) Estimate {
	type place struct{ recording, left int }
	others := map[place][]float64{}
	for _, e := range b.Errors {
		others[place{e.Recording, e.Left}] = e.Absolute
	}
	var starts []recordedStart
	var first, second []float64
	horizon := min(a.Horizon, b.Horizon)
	for _, e := range a.Errors {
		if other, ok := others[place{e.Recording, e.Left}]; ok {
			// Places count from the end here; only which starts share a recording matters.
			starts = append(starts, recordedStart{e.Recording, -e.Left})
			first, second = append(first, sum(e.Absolute[:horizon])), append(second, sum(other[:horizon]))
		}
	}
	return pairedRatio(first, second, starts, (horizon-1)/max(1, a.Options.stride(a.Horizon)))
}

// sum is Σ v, in order; 0 of an empty list.
func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

// pairedRatio is Σ a_i / Σ b_i with its standard error. Predictions from a start overlap with those from so many
// starts before it. The error is NaN if there are not at least twice as many starts: then they are as good as one.
//
//	SE = √(V/E · Σ_ij w_ij d_i d_j) / |Σ b|,  d_i = a_i − R b_i,  w_ij = 1 − |i−j|/(overlap+1)
//
// over pairs of starts of the same recording whose predictions overlap. The weights take from each covariance, and d
// is counted from a mean that varies, too. V/E makes up for both where the errors are correlated as sums over steps
// that overlap are, which is by w_ij: V = Σ_ij w_ij is then the variance of their sum, in that of one error, and E is
// what the products come to.
//
//	E = Σ_ij w_ij (w_ij − (V_i + V_j)/n + V/n²),  V_i = Σ_j w_ij
//
// Without overlap V/E is n/(n−1). starts are in the order of recordings and of time.
func pairedRatio(a, b []float64, starts []recordedStart, overlap int) Estimate {
	n, total := float64(len(a)), sum(b)
	e := Estimate{sum(a) / total, math.NaN()}
	near, longest := make([]float64, len(a)), 0
	overlapping(starts, overlap, func(i, j int, weight float64) {
		near[i], longest = near[i]+weight, max(longest, i-j)
		if i != j {
			near[j] += weight
		}
	})
	if n < max(3, float64(2*(longest+1))) {
		return e
	}
	products, expected, variance := 0.0, 0.0, sum(near)
	overlapping(starts, overlap, func(i, j int, weight float64) {
		product := float64((a[i] - float64(e.Value*b[i])) * (a[j] - float64(e.Value*b[j])))
		usual := weight - (near[i]+near[j])/n + variance/(n*n)
		if i != j {
			weight *= 2 // i, j and j, i
		}
		products, expected = products+float64(weight*product), expected+float64(weight*usual)
	})
	e.SE = math.Sqrt(max(products, 0)*variance/expected) / math.Abs(total)
	return e
}

// overlapping passes each pair i ≥ j of starts of the same recording that lie at most overlap starts apart, and its
// weight (Bartlett's).
func overlapping(starts []recordedStart, overlap int, pair func(i, j int, weight float64)) {
	for i, s := range starts {
		for lag := 0; lag <= min(overlap, i) && starts[i-lag].recording == s.recording; lag++ {
			pair(i, i-lag, 1-float64(lag)/float64(overlap+1))
		}
	}
}
