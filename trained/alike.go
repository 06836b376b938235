package trained

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Alike groups the regimes of a model by recordings that were divided into them: for each regime
// the first of its group (see eval.Likeness). It returns ErrUnable for a model without base systems or filtered states.
func (r *Run) Alike(of []Recording, regimes [][]int, seed uint64) ([]int, error) {
	f, err := Ask(r, Filters)
	if err != nil {
		return nil, err
	}
	systematic, ok := f.(model.Systematic)
	if !ok {
		return nil, fmt.Errorf("%w: %s has no base systems", ErrUnable, r.Family())
	}
	steps := 0
	for _, recording := range regimes {
		steps += len(recording)
	}
	likeness := eval.NewLikeness(systematic.Systems(), steps)
	var answer model.Filtering
	for i, recording := range of {
		of, err := r.as(recording.Series)
		if err != nil {
			return nil, err
		}
		b, err := of.whole(f.(model.Forecaster), recording.Series)
		if err != nil {
			return nil, err
		}
		f.Filter(&answer, b, rng.New(seed, rng.Evaluation).At(0, 0, 0))
		likeness.Add(&answer, b, regimes[i])
	}
	return likeness.Groups(), nil
}
