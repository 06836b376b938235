package eval

import (
	"cmp"
	"slices"

	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// The numbers of regimes are from about so many steps of the training recordings, and an average of so many paths.
const numberingSteps, numberingPaths = 2000, 8

// Numbering lists the regimes of the model, as its family counts them, in the order of the numbers by which they are
// shown: the one with most of the time of all bodies in the first training recordings comes first. It depends on
// nothing that is asked, so a regime has the same number and colour everywhere. It is nil for a family that does not
// divide time. It divides about numberingSteps steps and takes as long as that.
func (s Subject) Numbering() []int {
	if f := s.Forecaster; f == nil || !divides(f) {
		return nil
	}
	training := s.trainingPart(numberingSteps)
	steps := make([]float64, s.Forecaster.Dims().Regimes())
	key := rng.New(s.Seed, rng.Evaluation)
	for i, e := range training {
		noise := key.At(0, uint32(i), noiseOfNumbering)
		for _, body := range likeliest(s.Forecaster, e.Recording, numberingPaths, noise) {
			for _, k := range body {
				steps[k]++
			}
		}
	}
	return ByShare(steps)
}

// divides reports whether a model divides time into regimes.
func divides(f model.Forecaster) bool {
	_, ok := f.(model.Segmenter)
	return ok && f.Dims().M > 0
}

// ByShare are regimes in the order of the steps that each has, most first; of equal ones the first.
func ByShare(steps []float64) []int {
	order := make([]int, len(steps))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(steps[j], steps[i]) })
	return order
}

// Renumbered are sequences of regimes with their places in an order, as Numbering has them; nil: as they are. The
// result shares no memory with the sequences unless the order is nil.
func Renumbered(sequences [][]int, order []int) [][]int {
	if order == nil {
		return sequences
	}
	place := make([]int, len(order))
	for i, k := range order {
		place[k] = i
	}
	list := make([][]int, len(sequences))
	for i, s := range sequences {
		for _, k := range s {
			list[i] = append(list[i], place[k])
		}
	}
	return list
}
