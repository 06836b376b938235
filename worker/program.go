package worker

import "errors"

// ErrGivenUp is returned by a Gradual when goOn returns false.
var ErrGivenUp = errors.New("worker: given up")

// Program is the arithmetic of one run: what a worker computes for the shards that it leases. Every result is a pure
// function of θ, the step and the shard, so any worker may compute it again. Before the first Load a program has the
// initial parameters of its job.
type Program interface {
	// Size is the number of parameters.
	Size() int
	// TermNames names the loss terms, the loss first.
	TermNames() []string
	// Load installs the parameters of a step. It is never called while another method runs.
	Load(step uint64, theta []float32) error
	// Gradient overwrites grad with the gradient of the shard's mean loss and terms with its terms.
	// Calls with different slots may run at the same time.
	Gradient(slot int, step uint64, shard int, grad, terms []float32) error
	// Validate overwrites terms with those of the shard's part of the validation set.
	Validate(slot int, step uint64, shard int, terms []float32) error
}

// Preparer is a Program that can compute a part of a gradient before the step begins, because that part does not depend
// on θ, such as simulation. Preparation changes no result.
type Preparer interface {
	// Prepare does a small part, well below a millisecond, of what Gradient will need for a shard of a later step. It
	// reports whether more is left. It may run at the same time as any other method, but only once at a time for each
	// slot.
	Prepare(slot int, step uint64, shard int) (more bool)
}

// Prepare calls the Prepare of a program, if it is a Preparer. Programs that wrap another one implement Prepare with
// it.
func Prepare(p Program, slot int, step uint64, shard int) (more bool) {
	if ahead, ok := p.(Preparer); ok {
		return ahead.Prepare(slot, step, shard)
	}
	return false
}

// Gradual is a Program whose gradients have many steps of their own. A computation can be given up between two of them.
type Gradual interface {
	Program
	// GradientWhile is Gradient, but it calls goOn after each of its steps, and returns ErrGivenUp if the answer is
	// false.
	GradientWhile(slot int, step uint64, shard int, grad, terms []float32, goOn func() bool) error
	// Golden overwrites grad and terms with the program's golden shard: the first gradient at the initial parameters,
	// which is quick to compute.
	Golden(grad, terms []float32) error
}

// GradientWhile computes a gradient of any program; if the program is a Gradual, step by step.
func GradientWhile(p Program, slot int, step uint64, shard int, grad, terms []float32, goOn func() bool) error {
	if g, ok := p.(Gradual); ok {
		return g.GradientWhile(slot, step, shard, grad, terms, goOn)
	}
	err := p.Gradient(slot, step, shard, grad, terms)
	goOn()
	return err
}
