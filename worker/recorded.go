package worker

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/rng"
)

// Recorded are the sequences of a user's data set: windows of its episodes. Episodes may have different lengths and
// missing values. Every window of the training episodes has the same probability.
type Recorded struct {
	data                 *files.Dataset
	training, validation files.Windows
}

var _ Sequences = (*Recorded)(nil)

// NewRecorded returns the windows of the given length in the training and validation episodes of a split. It uses the
// memory of the data set.
func NewRecorded(d *files.Dataset, s files.Split, steps int) (*Recorded, error) {
	r := &Recorded{data: d, training: d.Windows(s.Training, steps), validation: d.Windows(s.Validation, steps)}
	for _, part := range []struct {
		name    string
		windows files.Windows
		all     []int
	}{{"training", r.training, s.Training}, {"validation", r.validation, s.Validation}} {
		if part.windows.Len() == 0 {
			return nil, fmt.Errorf("%w: none of %d %s episodes has %d steps", files.ErrData, len(part.all), part.name, steps)
		}
	}
	return r, nil
}

// Used are the numbers of training and validation episodes that are long enough for a window.
func (r *Recorded) Used() (training, validation int) {
	return len(r.training.Episodes()), len(r.validation.Episodes())
}

// Bytes is the memory of the data set's values.
func (r *Recorded) Bytes() int {
	total := 0
	for i := range r.data.Episodes {
		e := &r.data.Episodes[i]
		total += 4 * (len(e.Observations) + len(e.Controls) + len(e.Mask))
	}
	return total
}

// Dims are those of the data set.
func (r *Recorded) Dims() (observations, controls int) {
	return r.data.Spec.Observation, r.data.Spec.Control
}

// Training draws one of the training windows.
func (r *Recorded) Training(w *Window, draws *rng.Stream, _ int) { r.draw(w, r.training, draws) }

// Validation draws one of the validation windows. The index has no effect except through the draws.
func (r *Recorded) Validation(w *Window, draws *rng.Stream, _, _ int) { r.draw(w, r.validation, draws) }

func (r *Recorded) draw(w *Window, from files.Windows, draws *rng.Stream) {
	episode, first := from.At(draws.IntN(from.Len()))
	e := &r.data.Episodes[episode]
	w.Observations, w.Controls, w.Seen, w.First = e.Observations, e.Controls, e.Mask, first
}
