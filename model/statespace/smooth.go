package statespace

import (
	"math"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Smooth fills a smoothing with the average of paths of a posterior that reads the whole sequence: means, and
// deviations by the law of total variance. Observations are decoded from the mean state.
func Smooth(dst *model.Smoothing, f interface {
	model.Forecaster
	model.Filterer
	model.Emitter
}, b model.Batch,
) {
	d := f.Dims()
	dst.Resize(b.T, b.B, d.NX, d.NZ)
	mean, square := make([]float64, len(dst.Mean)), make([]float64, len(dst.Mean))
	var answer model.Filtering
	for path := range model.SmoothingPaths {
		f.Filter(&answer, b, rng.New(0, rng.Evaluation).At(0, uint32(path), 0))
		for i, m := range answer.Mean {
			// Var z = E[Var(z | path)] + Var(E[z | path]): the mean of sd² + mean² over the paths, less the square
			// of the mean.
			v, sd := float64(m), float64(answer.SD[i])
			mean[i] += v / model.SmoothingPaths
			square[i] += (v*v + sd*sd) / model.SmoothingPaths
		}
	}
	for i, m := range mean {
		dst.Mean[i], dst.SD[i] = float32(m), float32(math.Sqrt(max(square[i]-m*m, 0)))
	}
	f.Emit(dst.Observations, make([]float32, len(dst.Observations)), dst.Mean)
}
