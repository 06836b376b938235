package worker

import "math/bits"

// Memory is the memory that a worker needs for a program, in bytes. Stacks, code and messages need a few MiB more.
type Memory struct {
	Tensors    int `json:"tensors"`    // for all slots: values on the tape and their gradients
	Gradients  int `json:"gradients"`  // of shards that are being summed
	Parameters int `json:"parameters"` // θ as it arrives, as it is used, and packed for products forward and backward
	Episodes   int `json:"episodes"`   // the simulated episodes that are kept, or the data set
	Batches    int `json:"batches"`    // of the shards being computed and of those prepared for the next step; and windows
}

// Total is the sum.
func (m Memory) Total() int {
	return m.Tensors + m.Gradients + m.Parameters + m.Episodes + m.Batches
}

// sums is how many vectors of the size of θ the slots hold at a time. On each level below the top, the tree of a slot's
// shards has at most one sum that waits for its sibling; one more is being computed.
func sums(shards, slots int) int {
	return slots * bits.Len(uint(max(1, shards>>bits.Len(uint(slots-1)))))
}

// Memory is the memory of a worker with that many slots that is alone, so that it computes all shards of a step; with
// other workers it needs less. It is measured on slot 0, which has to have computed a gradient before.
func (p *Shards) Memory(slots int) Memory {
	shards, size := p.sampling.Shards, 4*p.Size()
	m := Memory{
		Tensors:    slots * p.slots[0].tape.Bytes(),
		Gradients:  sums(shards, slots) * size,
		Parameters: 4 * size,
		Batches:    max(shards, slots)*p.batches.size() + slots*p.slots[0].window.bytes(),
	}
	if kept, ok := p.sequences.(interface{ Bytes() int }); ok {
		m.Episodes = kept.Bytes()
	}
	return m
}
