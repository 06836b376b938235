package worker

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
	"github.com/switchyard-ml/switchyard/internal/vector"
)

// Optimizer has the constants of a replica's Adam.
type Optimizer = vector.Schedule

// LocalSteps says how the replicas of a run train between two exchanges.
type LocalSteps struct {
	Replicas  int // a power of two
	Steps     int // updates in a round
	Shards    int // of an update, over all replicas; a power of two
	Optimizer Optimizer
}

// Replicas is the Program of a run with local steps (DiLoCo, Douillard et al. 2023). Its shards are the replicas, and
// its step is the first update of a round. Its gradient is how far a replica has moved in the round: Δ = θ − θₖ after
// Steps updates by Adam, which begin at θ, with moments that are zero at the beginning of every round. At update t,
// replica k of K computes the shards [kS/K, (k+1)S/K) of the S shards of the update, so that data and noise are those
// of a synchronous run.
type Replicas struct {
	local LocalSteps
	theta []float32 // of the round's beginning; nil before the first Load
	slots []replica
}

// replica is the state with which one slot trains. It belongs to the goroutine of its slot.
type replica struct {
	program Program // with one slot
	common  bool    // its parameters are those of the round's beginning
	adam    *vector.Adam
	theta   []float32
	tree    *vector.Tree
	free    []vector.Partial
}

var _ Gradual = (*Replicas)(nil)

// NewReplicas returns the program with a slot for each of the given programs, which compute the shards of an update.
// Each of these has one slot and its own parameters. They belong to the result.
func NewReplicas(programs []Program, l LocalSteps) (*Replicas, error) {
	if !vector.PowerOfTwo(l.Replicas) || !vector.PowerOfTwo(l.Shards) || l.Replicas > l.Shards || l.Steps < 1 {
		return nil, fmt.Errorf("new replicas: %d replicas with %d local steps for %d shards: want powers of two, the "+
			"first not above the second, and at least one step",
			l.Replicas, l.Steps, l.Shards)
	}
	if err := l.Optimizer.Validate(); err != nil {
		return nil, fmt.Errorf("new replicas: %w", err)
	}
	p := &Replicas{local: l}
	for _, program := range programs {
		n := program.Size()
		p.slots = append(p.slots, replica{
			program: program, adam: vector.NewAdam(l.Optimizer, n), theta: make([]float32, n),
			tree: vector.NewTree(vector.Block{Count: 1}),
		})
	}
	return p, nil
}

// Size is the number of parameters.
func (p *Replicas) Size() int { return p.slots[0].program.Size() }

// TermNames names the loss terms.
func (p *Replicas) TermNames() []string { return p.slots[0].program.TermNames() }

// Load installs the parameters at the beginning of a round. It copies them.
func (p *Replicas) Load(_ uint64, theta []float32) error {
	p.theta = append(p.theta[:0], theta...)
	for i := range p.slots {
		p.slots[i].common = false
	}
	return nil
}

// Golden computes shard 0 of update 0 at the initial parameters, as a synchronous run does. So it does not depend on
// the number of local steps.
func (p *Replicas) Golden(grad, terms []float32) error {
	return p.slots[0].program.Gradient(0, 0, 0, grad, terms)
}

// Gradient is GradientWhile without giving up.
func (p *Replicas) Gradient(slot int, step uint64, k int, grad, terms []float32) error {
	return p.GradientWhile(slot, step, k, grad, terms, func() bool { return true })
}

// GradientWhile lets replica k make the updates step to step+Steps−1. It overwrites grad with the movement of the
// parameters, before minus after, and terms with the mean over updates and shards.
func (p *Replicas) GradientWhile(slot int, step uint64, k int, grad, terms []float32, goOn func() bool) error {
	if p.theta == nil {
		return errors.New("local steps before the first parameters")
	}
	r := &p.slots[slot]
	r.common = false
	// Nothing is left of the round before: the result is a function of θ, step and k.
	r.adam.Reset()
	copy(r.theta, p.theta)
	clear(terms)
	n := p.local.Shards / p.local.Replicas
	for i := range p.local.Steps {
		at := step + uint64(i)
		if err := r.update(at, vector.Block{First: k * n, Count: n}, terms); err != nil {
			return fmt.Errorf("local update %d: %w", at+1, err)
		}
		if !goOn() {
			return ErrGivenUp
		}
	}
	// The outer optimiser descends, so the movement counts backwards.
	kernel.Sub(grad, p.theta, r.theta)
	kernel.Scale(terms, 1/float32(p.local.Steps))
	return nil
}

// update makes one update from a block of shards, and adds their mean terms to terms.
func (r *replica) update(step uint64, b vector.Block, terms []float32) error {
	if err := r.program.Load(step, r.theta); err != nil {
		return fmt.Errorf("load the parameters: %w", err)
	}
	r.tree.Reset(b, r.put)
	for shard := b.First; shard < b.First+b.Count; shard++ {
		g := r.get(len(terms))
		if err := r.program.Gradient(0, step, shard, g.Values, g.Terms); err != nil {
			r.put(g)
			return fmt.Errorf("shard %d: %w", shard, err)
		}
		r.tree.Add(vector.Block{First: shard, Count: 1}, g, r.put)
	}
	sum, _ := r.tree.Take()
	defer r.put(sum)
	kernel.AddScaled(terms, 1/float32(b.Count), sum.Terms)
	_, _, err := r.adam.Update(r.theta, sum.Values, b.Count, step)
	return err
}

// get is memory for a gradient with so many terms, of whatever content.
func (r *replica) get(terms int) vector.Partial {
	n := len(r.free)
	if n == 0 {
		return vector.Partial{Values: make([]float32, len(r.theta)), Terms: make([]float32, terms)}
	}
	g := r.free[n-1]
	r.free = r.free[:n-1]
	return g
}

// put takes that memory back.
func (r *replica) put(g vector.Partial) { r.free = append(r.free, g) }

// Validate computes a shard of the validation at the parameters of the round's beginning. They are loaded once for
// all shards of the slot.
func (p *Replicas) Validate(slot int, step uint64, shard int, terms []float32) error {
	r := &p.slots[slot]
	if !r.common && p.theta != nil {
		if err := r.program.Load(step, p.theta); err != nil {
			return fmt.Errorf("load the parameters: %w", err)
		}
		r.common = true
	}
	return r.program.Validate(0, step, shard, terms)
}

// Memory is the memory of a worker with that many slots, as Shards.Memory.
func (p *Replicas) Memory(slots int) Memory {
	size, n := 4*p.Size(), p.local.Shards/p.local.Replicas
	var m Memory
	if known, ok := p.slots[0].program.(interface{ Memory(slots int) Memory }); ok {
		m = known.Memory(1)
	}
	return Memory{
		Tensors: slots * m.Tensors,
		// For each slot: its movement, a sum that waits for its sibling, and the gradients in the tree of an update.
		Gradients: slots * (2 + bits.Len(uint(n))) * size,
		// θ as it arrives and as the round begins; for each slot the model's in three arrangements, the replica's, and
		// two moments.
		Parameters: (2 + 6*slots) * size,
		Episodes:   m.Episodes,
		Batches:    slots * m.Batches / p.local.Shards, // shards are computed one at a time
	}
}
