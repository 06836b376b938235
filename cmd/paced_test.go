package cmd

import (
	"sync"
	"time"

	"github.com/switchyard-ml/switchyard/worker"
)

// pace holds up the workers that a cluster hires: until it is over, each gradient takes at least a moment. A run that is to
// be stopped in the middle then lasts without being long.
type pace struct {
	over chan struct{}
	end  sync.Once
}

// moment is far longer than a shard takes: a hundred steps last for seconds.
const moment = 20 * time.Millisecond

func newPace() *pace { return &pace{over: make(chan struct{})} }

// finish lets the workers go on at full speed.
func (p *pace) finish() { p.end.Do(func() { close(p.over) }) }

// hold makes a program keep the pace.
func (p *pace) hold(program worker.Program, err error) (worker.Program, error) {
	if err != nil || p == nil {
		return program, err
	}
	return &pacedProgram{program, p}, nil
}

type pacedProgram struct {
	worker.Program
	pace *pace
}

// Gradient implements worker.Program.
func (p *pacedProgram) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	select {
	case <-p.pace.over:
	case <-time.After(moment):
	}
	return p.Program.Gradient(slot, step, shard, grad, terms)
}
