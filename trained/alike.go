package trained

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Alike groups the regimes of a model by recordings that were divided into them: for each regime
// the first of its group (see eval.Likeness). It returns ErrUnable for a model without base systems or filtered
// states. of and regimes are as long as each other; the regimes of a recording are those of its last steps, by
// base system.
func (r *Run) Alike(of []Recording, regimes [][]int, seed uint64) ([]int, error) {
	f, err := Ask(r, Filters)
	if err != nil {
		return nil, err
	}
	systematic, ok := f.(model.Systematic)
	if !ok {
		return nil, fmt.Errorf("%w: %s has no base systems", ErrUnable, r.Family())
	}
	return eval.Alike(f, systematic.Systems(), regimes, func(i int) (model.Batch, rng.Stream, error) {
		noise := rng.New(seed, rng.Evaluation).At(0, 0, 0)
		scaled, err := r.as(of[i].Series)
		if err != nil {
			return model.Batch{}, noise, err
		}
		b, err := scaled.whole(f.(model.Forecaster), of[i].Series)
		return b, noise, err
	})
}
