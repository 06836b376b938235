package worker

import (
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/rng"
)

// Sampling is the number and length of the sequences of a step.
type Sampling struct {
	Seed       uint64
	Batch      int // sequences per step, the same number for each shard
	Shards     int
	Window     int // time steps of a sequence
	Validation int // sequences of a validation, the same number for each shard
	Importance int // draws of each of them for the importance-weighted bound; 0: it is not computed
}

// Shards is the Program that trains a model on sequences. The sequences of a shard and the noise of the loss are drawn
// with (seed, step, shard). Slots share the parameters and the sequences.
type Shards struct {
	model     model.Trainable
	weighing  model.Weighing // the same, if the importance-weighted bound is computed
	sequences Sequences
	sampling  Sampling
	slots     []slot
	batches   batches

	team vector.Team        // packs the parameters if there are several slots
	pack func(from, to int) // packs a range of them

	windows, noise rng.Key // of what is drawn: which windows, and the noise of the loss
}

// slot is the memory with which one goroutine computes.
type slot struct {
	tape   *autodiff.Tape // records gradients and evaluates
	bound  model.Importance
	window Window
	flops  float64 // of the last gradient
}

var (
	_ Program  = (*Shards)(nil)
	_ Preparer = (*Shards)(nil)
)

// NewShards returns the program with the given number of slots. The model belongs to it. The sequences of a step, and
// those of a validation, have to divide into the shards.
func NewShards(m model.Trainable, from Sequences, s Sampling, slots int) (*Shards, error) {
	if s.Shards < 1 || s.Batch < 1 || s.Validation < 1 || s.Batch%s.Shards != 0 || s.Validation%s.Shards != 0 {
		return nil, fmt.Errorf("new program: %d sequences and %d validation sequences do not divide into %d shards", s.Batch,
			s.Validation, s.Shards)
	}
	if s.Window < 2 {
		return nil, fmt.Errorf("new program: a sequence of %d steps; it needs at least 2", s.Window)
	}
	p := &Shards{
		model: m, sequences: from, sampling: s,
		windows: rng.New(s.Seed, rng.Batch),
		noise:   rng.New(s.Seed, rng.Noise),
	}
	p.pack = m.Params().PackRange
	if s.Importance > 0 {
		weighing, ok := m.(model.Weighing)
		if !ok {
			return nil, errors.New("new program: the model draws nothing that an importance-weighted bound could weigh")
		}
		p.weighing = weighing
	}
	for range slots {
		p.slots = append(p.slots, slot{tape: autodiff.NewInferenceTape(m.Params())})
		b := new(batch)
		b.begin(p, s.Batch/s.Shards)
		p.batches.release(b)
	}
	return p, nil
}

// Model is the model that the program trains. It belongs to the program.
func (p *Shards) Model() model.Trainable { return p.model }

// Size is the number of parameters.
func (p *Shards) Size() int { return p.model.Params().Len() }

// Terms are those of the model, and last the importance-weighted bound if it is computed.
func (p *Shards) Terms() []model.Term {
	terms := p.model.Terms()
	if p.weighing == nil {
		return terms
	}
	return append(slices.Clone(terms), model.Term{
		Name: ImportanceTerm, Label: "importance-weighted bound", Short: "iw", Unit: terms[0].Unit, Validation: true,
	})
}

// ImportanceTerm is the name of the importance-weighted bound among the terms. A gradient has 0 there.
const ImportanceTerm = "importance_elbo"

// TermNames names the terms.
func (p *Shards) TermNames() []string { return model.TermNames(p.Terms()) }

// Load installs the parameters of a step. The slots share one copy of the parameters, so none of them may compute
// meanwhile.
func (p *Shards) Load(_ uint64, theta []float32) error {
	params := p.model.Params()
	if len(p.slots) == 1 {
		return params.Load(theta)
	}
	if err := params.Set(theta); err != nil {
		return err
	}
	p.team.Ranges(len(theta), vector.Elements, p.pack)
	return nil
}

// Gradient computes the mean loss of the shard's sequences and its gradient. It is the mean over the sequences of the
// shard, so the mean over shards is that over the batch.
func (p *Shards) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	s := &p.slots[slot]
	b := p.begun(step, shard)
	for !b.full() {
		p.draw(s, b)
	}
	if p.weighing != nil {
		terms[len(terms)-1] = 0
	}
	s.tape.Record(grad)
	s.tape.Backward(p.model.Loss(s.tape, b.Batch, p.noise.At(step, uint32(shard), 0), step, terms))
	s.flops = s.tape.Flops()
	p.batches.release(b)
	return fault(s.tape, grad, terms)
}

// Prepare draws one sequence of a shard and keeps it for Gradient.
func (p *Shards) Prepare(slot int, step uint64, shard int) (more bool) {
	b := p.begun(step, shard)
	if !b.full() {
		p.draw(&p.slots[slot], b)
	}
	more = !b.full()
	p.batches.keep(b)
	return more
}

// begun is the batch of a shard, with the sequences that are prepared. The slot owns it until it is kept or released.
func (p *Shards) begun(step uint64, shard int) *batch {
	b, known := p.batches.take(step, shard)
	if !known {
		b.begin(p, p.sampling.Batch/p.sampling.Shards)
		b.draws = p.windows.At(step, uint32(shard), 0)
	}
	return b
}

// draw draws the next training sequence of a batch.
func (p *Shards) draw(s *slot, b *batch) {
	p.sequences.Training(&s.window, &b.draws, p.sampling.Window)
	b.place(&s.window)
}

// Validate computes the mean loss of the shard's part of the validation set. Windows and noise are the same every time,
// and schedules are at their end, so that values of different steps can be compared.
func (p *Shards) Validate(slot int, _ uint64, shard int, terms []float32) error {
	s := &p.slots[slot]
	n := p.sampling.Validation / p.sampling.Shards
	b := p.batches.empty()
	b.begin(p, n)
	for i := range n {
		// A window belongs to its sequence, and not to the shard.
		index := shard*n + i
		b.draws = p.windows.At(0, uint32(index), validationSample)
		p.sequences.Validation(&s.window, &b.draws, index, p.sampling.Window)
		b.place(&s.window)
	}
	s.tape.Evaluate()
	p.model.Loss(s.tape, b.Batch, p.noise.At(0, uint32(shard), validationSample), model.EndOfSchedule, terms)
	if p.weighing != nil {
		terms[len(terms)-1] = float32(s.bound.Bound(p.weighing, s.tape, b.Batch, p.sampling.Importance,
			func(k int) rng.Stream {
				return p.noise.At(0, uint32(shard), importanceSample+uint32(k))
			}))
	}
	p.batches.release(b)
	return fault(s.tape, nil, terms)
}

// fault returns why a result is not finite, if an operation on the tape knows the reason. nil: the result is finite,
// or nothing is known.
func fault(t *autodiff.Tape, grad, terms []float32) error {
	if t.Err() == nil || kernel.Finite(grad) && kernel.Finite(terms) {
		return nil
	}
	return t.Err()
}

// validationSample separates the random streams of validation from those of training, whose sample is 0, and
// importanceSample those of the first draw of the importance-weighted bound.
const (
	validationSample = 1
	importanceSample = 2
)

// Flops is the number of floating-point operations in matrix products of the last gradient of slot 0,
// times the number of shards: the work of one step.
func (p *Shards) Flops() float64 { return p.slots[0].flops * float64(p.sampling.Shards) }
