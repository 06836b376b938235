package coordinator

import (
	"context"
	"slices"

	"github.com/switchyard-ml/switchyard/internal/vector"
)

// refereeName stands in the log where a worker's id stands otherwise. No worker can have it.
const refereeName = "(referee)"

// referee asks its function one question at a time, on a goroutine of its own.
type referee struct {
	compute Referee
	ctx     context.Context // of the questions
	cancel  context.CancelFunc
	queue   []question
	theta   []float32 // of the last question
	busy    bool      // a question is being computed, or its answer waits in done
	done    chan verdict
}

// question is a block that the referee is to compute, at the parameters of a step.
type question struct {
	refereeCommand
	step  uint64
	theta []float32
}

// verdict is the answer to the question of that id.
type verdict struct {
	id            uint64
	values, terms []float32
	err           error
}

func (v verdict) partial() vector.Partial {
	return vector.Partial{Values: v.values, Terms: v.terms}
}

// newReferee returns a referee that works until stop is called.
func newReferee(compute Referee) *referee {
	ctx, cancel := context.WithCancel(context.Background())
	return &referee{compute: compute, ctx: ctx, cancel: cancel, done: make(chan verdict, 1)}
}

// ask queues a question. It keeps one copy of the parameters for all questions about the same ones.
func (r *referee) ask(c refereeCommand, step uint64, theta []float32) {
	if !slices.Equal(r.theta, theta) {
		r.theta = slices.Clone(theta)
	}
	r.queue = append(r.queue, question{c, step, r.theta})
	r.next()
}

// next begins with the next question, if there is one and nothing is under way.
func (r *referee) next() {
	if r.busy || len(r.queue) == 0 {
		return
	}
	q := r.queue[0]
	r.queue, r.busy = r.queue[1:], true
	go func() {
		v := verdict{id: q.id}
		v.values, v.terms, v.err = r.compute(r.ctx, q.step, q.theta, q.work, q.block)
		r.done <- v
	}()
}

// stop ends what is under way and waits for it.
func (r *referee) stop() {
	r.cancel()
	if r.busy {
		<-r.done
	}
}
