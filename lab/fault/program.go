package fault

import (
	"math"
	"sync"

	"github.com/switchyard-ml/switchyard/worker"
)

// Program returns a program that occasionally puts a NaN into the gradient of a shard. It does so once for a
// shard in this process, so that the shard is right if it is computed again: the coordinator has to refuse the
// gradient, and to have it computed once more. Results before the first parameters are loaded, such as the golden
// shard, are never changed.
func (i *Injector) Program(p worker.Program) worker.Program {
	if i == nil || i.spec.NaN == 0 {
		return p
	}
	return &faultyProgram{Program: p, faults: i, spoilt: make(map[int]bool)}
}

var (
	_ worker.Gradual  = (*faultyProgram)(nil)
	_ worker.Preparer = (*faultyProgram)(nil)
)

// faultyProgram is a Program whose gradients are sometimes spoilt. It computes them step by step, and prepares,
// if the program that it wraps does.
type faultyProgram struct {
	worker.Program
	faults *Injector

	mu     sync.Mutex // guards what follows; slots compute at the same time
	loaded bool
	step   uint64
	spoilt map[int]bool // shards of the step
}

// Load implements worker.Program.
func (p *faultyProgram) Load(step uint64, theta []float32) error {
	p.mu.Lock()
	if !p.loaded || step != p.step {
		p.loaded, p.step = true, step
		clear(p.spoilt)
	}
	p.mu.Unlock()
	return p.Program.Load(step, theta)
}

// Gradient implements worker.Program.
func (p *faultyProgram) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	return p.GradientWhile(slot, step, shard, grad, terms, func() bool { return true })
}

// Golden implements worker.Gradual.
func (p *faultyProgram) Golden(grad, terms []float32) error {
	if g, ok := p.Program.(worker.Gradual); ok {
		return g.Golden(grad, terms)
	}
	return p.Program.Gradient(0, 0, 0, grad, terms)
}

// GradientWhile implements worker.Gradual.
func (p *faultyProgram) GradientWhile(slot int, step uint64, shard int, grad, terms []float32, goOn func() bool) error {
	if err := worker.GradientWhile(p.Program, slot, step, shard, grad, terms, goOn); err != nil {
		return err
	}
	if at, ok := p.strike(step, shard, len(grad)); ok {
		grad[at] = float32(math.NaN())
		p.faults.counts.add(NaN)
	}
	return nil
}

// Prepare implements worker.Preparer.
func (p *faultyProgram) Prepare(slot int, step uint64, shard int) (more bool) {
	return worker.Prepare(p.Program, slot, step, shard)
}

// strike decides whether the gradient of a shard gets a NaN, and at which element. The draw is that of step,
// shard and process, whatever else the process has done.
func (p *faultyProgram) strike(step uint64, shard, size int) (at int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loaded || p.spoilt[shard] || size == 0 {
		return 0, false
	}
	draws := p.faults.key.At(step, uint32(shard), p.faults.name|1)
	if draws.Float64() >= p.faults.spec.NaN {
		return 0, false
	}
	p.spoilt[shard] = true
	return draws.IntN(size), true
}
