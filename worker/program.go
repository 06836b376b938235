package worker

import "errors"

// ErrGivenUp is returned by a Gradual that was told not to go on.
var ErrGivenUp = errors.New("worker: given up")

// Program is the arithmetic of one run: what a worker computes for the shards that it leases. Every
// result is a pure function of θ, the step and the shard, so any worker may compute any of them again.
// Before the first Load a program holds the initial parameters of its job.
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

// Preparer is a Program of which a part of a gradient does not depend on θ, such as simulation, and can be done before
// the step begins. What is prepared changes no result.
type Preparer interface {
	// Prepare does a small part, well below a millisecond, of what Gradient will need for a shard of a later step, and
	// says whether there is more of it. It may run at the same time as any other method, of a slot one call at a time.
	Prepare(slot int, step uint64, shard int) (more bool)
}

// Prepare is the Prepare of any program: one that is no Preparer has nothing to prepare. Programs that wrap another one
// pass it on with this.
func Prepare(p Program, slot int, step uint64, shard int) (more bool) {
	if ahead, ok := p.(Preparer); ok {
		return ahead.Prepare(slot, step, shard)
	}
	return false
}

// Gradual is a Program whose gradients take many steps of their own, between which they can be given up.
type Gradual interface {
	Program
	// GradientWhile is Gradient. It calls goOn after each of its steps, and returns ErrGivenUp if that is false.
	GradientWhile(slot int, step uint64, shard int, grad, terms []float32, goOn func() bool) error
	// Golden overwrites grad and terms with the program's golden shard, which is quick to compute: the first gradient at
	// the initial parameters.
	Golden(grad, terms []float32) error
}

// GradientWhile computes a gradient of any program, step by step if that is how it is computed.
func GradientWhile(p Program, slot int, step uint64, shard int, grad, terms []float32, goOn func() bool) error {
	if g, ok := p.(Gradual); ok {
		return g.GradientWhile(slot, step, shard, grad, terms, goOn)
	}
	err := p.Gradient(slot, step, shard, grad, terms)
	goOn()
	return err
}
