package eval

// r2 accumulates the k-step R² of Nassar et al. 2019, eq. 31, for k = 1 … horizon:
//
//	R²_k = 1 − Σ |y_{t+k} − ŷ_{t+k}|² / Σ |y_{t+k} − ȳ|²
//
// with ŷ_{t+k} forecast from what is known at t, and ȳ the average of the WHOLE trial that y
// belongs to. Both sums run over all starts t, all trials and all dimensions before the division:
// the average of per-trial ratios would be ruled by the few trials whose target lies close to ȳ.
type r2 struct{ residual, spread []float64 }

func newR2(horizon int) *r2 {
	return &r2{make([]float64, horizon), make([]float64, horizon)}
}

// add enters one target at distance k ≥ 1.
func (r *r2) add(k int, target []float32, forecast, mean []float64) {
	for i, y := range target {
		e, d := float64(y)-forecast[i], float64(y)-mean[i]
		r.residual[k-1] += e * e
		r.spread[k-1] += d * d
	}
}

// merge enters all that another one holds.
func (r *r2) merge(o *r2) {
	for i := range r.residual {
		r.residual[i] += o.residual[i]
		r.spread[i] += o.spread[i]
	}
}

// values returns R²_1 … R²_horizon. A value is NaN where nothing was added or a forecast was NaN.
func (r *r2) values() []float64 {
	v := make([]float64, len(r.residual))
	for i := range v {
		v[i] = 1 - r.residual[i]/r.spread[i]
	}
	return v
}
