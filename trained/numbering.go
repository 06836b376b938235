package trained

import "github.com/switchyard-ml/switchyard/eval"

// numbers lists the base system of each regime, in the order of the regimes' numbers, see eval.Subject.Numbering. Where
// the files of its data are gone a run counts regimes as it does base systems: nil.
func (r *Run) numbers() []int {
	s, err := r.subject(eval.Question{})
	if err != nil {
		return nil
	}
	return s.Numbering()
}

// inOrder are values by base system in the order of the regimes; nil: they are the same.
func inOrder[A any](order []int, of []A) []A {
	if len(order) != len(of) {
		return of
	}
	list := make([]A, len(of))
	for i, k := range order {
		list[i] = of[k]
	}
	return list
}

// leading are the regimes of the base systems that have the largest weights, of each body. The weights of bodies stand
// one after another. No weights lead to the first step, which has the regime of the second.
func (r *Run) leading(weights [][]float64, bodies int) [][]int {
	list := make([][]int, bodies)
	for i := range list {
		own := make([][]float64, len(weights))
		for t, w := range weights {
			n := len(w) / bodies
			own[t] = w[i*n : (i+1)*n]
		}
		list[i] = largest(own)
	}
	return eval.Renumbered(list, r.numbering())
}
