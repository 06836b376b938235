package trust

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/wire"
)

// Compute computes the sum of a block at the parameters of a step, in this process, where it is trusted. It returns
// values and loss terms as a worker delivers them; the values of a validation are empty.
type Compute func(ctx context.Context, step uint64, theta []float32, work wire.Work, block vector.Block) (values,
	terms []float32, err error)

// Referee asks its function one question at a time, on a goroutine of its own. All methods are called from one
// goroutine.
type Referee struct {
	compute Compute
	ctx     context.Context // of the questions
	cancel  context.CancelFunc
	queue   []pending // oldest first
	theta   []float32 // of the last question; it belongs to the referee
	busy    bool      // a question is being computed, or its answer waits in done
	done    chan Verdict
}

// Question is a block that the referee is to compute.
type Question struct {
	ID    uint64
	Work  wire.Work
	Block vector.Block
}

// pending is a question at the parameters of a step.
type pending struct {
	Question
	step  uint64
	theta []float32 // Referee.theta at the time: never written
}

// Verdict is the answer to the question of that ID. Who receives it owns its slices.
type Verdict struct {
	ID uint64
	vector.Partial
	Err error
}

// Check says what is wrong with a verdict that is to have so many values and terms.
func (v Verdict) Check(values, terms int) error {
	switch {
	case v.Err != nil:
		return v.Err
	case len(v.Values) != values || len(v.Terms) != terms:
		return fmt.Errorf("the referee returned %d parameters and %d terms, want %d and %d", len(v.Values), len(v.Terms),
			values, terms)
	case !kernel.Finite(v.Values) || !kernel.Finite(v.Terms):
		return errors.New("gradient or terms hold a NaN or an infinity")
	}
	return nil
}

// NewReferee returns a referee that works until Stop is called.
func NewReferee(compute Compute) *Referee {
	ctx, cancel := context.WithCancel(context.Background())
	return &Referee{compute: compute, ctx: ctx, cancel: cancel, done: make(chan Verdict, 1)}
}

// Done is where verdicts come. Each that was received is followed by a call of Next.
func (r *Referee) Done() <-chan Verdict { return r.done }

// Ask queues a question. It keeps one copy of the parameters for all questions about the same ones. It does not wait.
func (r *Referee) Ask(q Question, step uint64, theta []float32) {
	// The caller changes theta with the next step; a copy that a question holds is never written.
	if !slices.Equal(r.theta, theta) {
		r.theta = slices.Clone(theta)
	}
	r.queue = append(r.queue, pending{q, step, r.theta})
	r.begin()
}

// Next begins with the next question after a verdict was received.
func (r *Referee) Next() {
	r.busy = false
	r.begin()
}

// Drop forgets the questions that were not begun. The answer of one that was begun comes nevertheless, under a number
// that nobody waits for.
func (r *Referee) Drop() { r.queue = nil }

// begin begins with the next question, if there is one and nothing is under way.
func (r *Referee) begin() {
	if r.busy || len(r.queue) == 0 {
		return
	}
	q := r.queue[0]
	r.queue, r.busy = r.queue[1:], true
	go func() {
		v := Verdict{ID: q.ID}
		v.Values, v.Terms, v.Err = r.compute(r.ctx, q.step, q.theta, q.Work, q.Block)
		r.done <- v
	}()
}

// Stop ends what is under way and waits for it.
func (r *Referee) Stop() {
	r.cancel()
	if r.busy {
		<-r.done
	}
}
