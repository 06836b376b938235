package worker

import (
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
	"github.com/switchyard-ml/switchyard/model"
)

// Chains is the Program of a model that fits itself. Its parameters are the states of the model's chains, laid out by
// vector.Layout. A shard is a chain, or empty; its step is the first sweep of a round. Its gradient is what the chain
// has gone in the round, before minus after, so that the outer update with the number of shards as rate and without
// momentum puts each chain where it has gone, to the bit. A chain begins in the first round.
type Chains struct {
	fitter     model.Fitter
	recordings []model.Batch
	sweeps     model.Sweeps
	layout     vector.Layout
	theta      []float32 // that the round begins with; nil before the first Load: no chain has begun
	slots      []chainSlot
}

// chainSlot is the memory of one goroutine.
type chainSlot struct {
	state []float64
	terms []float64 // of a sweep
	sums  []float64 // of a round
	held  int       // bytes of the latest chain
}

var _ Gradual = (*Chains)(nil)

// NewChains returns the program with the given number of slots, for sequences one by one, B = 1. The model belongs to
// it.
func NewChains(m model.Fitter, recordings []model.Batch, s model.Sweeps, slots int) (*Chains, error) {
	if s.Chains < 1 || s.Exchange < 1 || s.Total%s.Exchange != 0 || len(m.Terms()) == 0 {
		return nil, fmt.Errorf("new program: %d chains with %d sweeps, exchanged every %d: want at least one chain, one "+
			"sweep between exchanges, a multiple of them, and a loss",
			s.Chains, s.Total, s.Exchange)
	}
	size := 0
	for _, part := range m.Layout(recordings) {
		size += part.Size()
	}
	p := &Chains{fitter: m, recordings: recordings, sweeps: s, layout: vector.Layout{Chains: s.Chains, State: size}}
	for range slots {
		p.slots = append(p.slots, chainSlot{
			state: make([]float64, size), terms: make([]float64, len(m.Terms())), sums: make([]float64, len(m.Terms())),
		})
	}
	return p, nil
}

// Model is the model that the program fits, which stays its own.
func (p *Chains) Model() model.Fitter { return p.fitter }

// Layout is where the states stand in the parameters.
func (p *Chains) Layout() vector.Layout { return p.layout }

// Recordings are what the chains go over.
func (p *Chains) Recordings() []model.Batch { return p.recordings }

// Size is the number of parameters.
func (p *Chains) Size() int { return p.layout.Size() }

// TermNames names the loss terms.
func (p *Chains) TermNames() []string { return model.TermNames(p.fitter.Terms()) }

// Load installs the states that a round begins with. It copies them. No chain may be running.
func (p *Chains) Load(_ uint64, theta []float32) error {
	if len(theta) != p.Size() {
		return fmt.Errorf("load the states of %d chains: %d parameters, want %d", p.layout.Chains, len(theta), p.Size())
	}
	p.theta = append(p.theta[:0], theta...)
	return nil
}

// Golden computes the start of chain 0 and one sweep.
func (p *Chains) Golden(grad, terms []float32) error {
	clear(grad)
	clear(terms)
	return p.round(&p.slots[0], 0, nil, 1, grad, terms, func() bool { return true })
}

// Gradient is GradientWhile to the end.
func (p *Chains) Gradient(slot int, step uint64, shard int, grad, terms []float32) error {
	return p.GradientWhile(slot, step, shard, grad, terms, func() bool { return true })
}

// GradientWhile lets the chain of a shard make the sweeps of a round. It overwrites grad with what the state has moved,
// and terms with their mean over sweeps, such that their mean over shards is that over chains.
func (p *Chains) GradientWhile(slot int, _ uint64, shard int, grad, terms []float32, goOn func() bool) error {
	clear(grad)
	clear(terms)
	chain := p.layout.Chain(shard)
	if chain < 0 {
		goOn()
		return nil
	}
	return p.round(&p.slots[slot], chain, p.theta, p.sweeps.Exchange, grad, terms, goOn)
}

// round lets a chain make some sweeps from θ; nil: it has not begun. It enters what it has gone and its terms where
// there are zeros.
func (p *Chains) round(s *chainSlot, index int, theta []float32, sweeps int, grad, terms []float32,
	goOn func() bool,
) error {
	chain, err := p.chain(s, index, theta)
	if err != nil {
		return fmt.Errorf("chain %d: %w", index, err)
	}
	if sized, ok := chain.(model.Sized); ok {
		s.held = sized.Bytes()
	}
	clear(s.sums)
	for range sweeps {
		if err := chain.Sweep(s.terms); err != nil {
			return fmt.Errorf("chain %d: %w", index, err)
		}
		for i, v := range s.terms {
			s.sums[i] += v
		}
		// Between two sweeps is the place to give up: grad and terms are of no use then.
		if !goOn() {
			return ErrGivenUp
		}
	}
	// The coordinator divides by the number of shards, of which some have no chain.
	scale := float64(p.layout.Shards()) / float64(p.layout.Chains) / float64(sweeps)
	for i, v := range s.sums {
		terms[i] = float32(v * scale)
	}
	chain.State(s.state)
	gone := p.layout.Of(grad, index)
	vector.Put(gone, s.state)
	if theta == nil {
		// Before the first round θ is zero. 0 − v, as −v would make −0 of 0.
		for i, v := range gone {
			gone[i] = 0 - v
		}
		return nil
	}
	kernel.Sub(gone, p.layout.Of(theta, index), gone)
	return nil
}

// chain returns the chain as it stands in θ. An error says that θ holds what no chain has written.
func (p *Chains) chain(s *chainSlot, index int, theta []float32) (model.Chain, error) {
	if theta == nil {
		return p.fitter.NewChain(p.recordings, index, nil)
	}
	begun, ok := vector.Get(s.state, p.layout.Of(theta, index))
	switch {
	case !ok:
		return nil, errors.New("the parameters hold no state")
	case !begun:
		return p.fitter.NewChain(p.recordings, index, nil)
	}
	return p.fitter.NewChain(p.recordings, index, s.state)
}

// Validate is never asked for: a run of chains validates nothing.
func (p *Chains) Validate(int, uint64, int, []float32) error {
	return errors.New("a model that fits itself has no validation")
}

// Memory is the memory of a worker with that many slots that is alone, as Shards.Memory. It is measured on slot 0,
// which has to have computed a round before.
func (p *Chains) Memory(slots int) Memory {
	size, data := 4*p.Size(), 0
	for _, r := range p.recordings {
		data += 4 * (len(r.Observations) + len(r.Controls) + len(r.Seen))
	}
	return Memory{
		Tensors:    slots * (8*p.layout.State + p.slots[0].held),
		Gradients:  sums(p.layout.Shards(), slots) * size,
		Parameters: 2 * size,
		Episodes:   data,
	}
}
