package worker

import "math/bits"

// Memory is what a worker needs for a program, in bytes. Stacks, code and messages come on top: a few MiB.
type Memory struct {
	Tensors    int `json:"tensors"`    // of every slot: values on its tape and their gradients
	Gradients  int `json:"gradients"`  // of shards that are being summed to blocks
	Parameters int `json:"parameters"` // θ as it arrives, as it is used, and packed for products forward and backward
	Episodes   int `json:"episodes"`   // that are kept, or the data set
	Batches    int `json:"batches"`    // of the shards in hand and of those prepared for the next step, and windows
}

// Total is the sum.
func (m Memory) Total() int {
	return m.Tensors + m.Gradients + m.Parameters + m.Episodes + m.Batches
}

// Memory is what a worker needs that has so many slots and works alone, so that all shards of a step are its own; it is
// less with others. What a slot takes is what slot 0 has shown: it is to be asked after a gradient.
func (p *Shards) Memory(slots int) Memory {
	shards, size := p.sampling.Shards, 4*p.Size()
	// The sum of a block waits for its sibling, at most one on each level of the tree of a slot's shards below the top, and
	// one is in hand.
	sums := slots * bits.Len(uint(max(1, shards>>bits.Len(uint(slots-1)))))
	m := Memory{
		Tensors:    slots * p.slots[0].tape.Bytes(),
		Gradients:  sums * size,
		Parameters: 4 * size,
		Batches:    max(shards, slots)*p.batches.size() + slots*p.slots[0].window.bytes(),
	}
	if kept, ok := p.sequences.(interface{ Bytes() int }); ok {
		m.Episodes = kept.Bytes()
	}
	return m
}
