package main

import "github.com/switchyard-ml/switchyard/autodiff/kernel/_asm/formula"

// draw turns the words 0 and 1 of blocks, and the words 2 and 3, into numbers.
type draw func(e *emitter, a, b *register) (*register, *register)

// random emits the distributions of the bulk generator. Their references are in portable_random.go.
func (out *file) random() {
	single := func(f func(formulas, *register) *register) draw {
		return func(e *emitter, a, b *register) (*register, *register) {
			return f(e.formulas(), a), f(e.formulas(), b)
		}
	}
	normals := func(e *emitter, a, b *register) (*register, *register) { return e.formulas().BoxMuller(a, b) }
	out.groups("uniforms", single(formulas.Uniform), formula.UniformConstants)
	out.groups("normals", normals, formula.UniformConstants)
	out.groups("gumbels", single(formulas.Gumbel), formula.UniformConstants)
	out.groups("logistics", single(formulas.Logistic), formula.UniformConstants)
}

// groups emits the filling of whole groups of 32 values, from eight blocks each.
func (out *file) groups(name string, f draw, hoist []uint32) {
	e := out.begin(name, "dst *float32, keys *uint32, block uint64, stream0, stream1 uint32, groups int")
	dst := e.load("dst")
	e.hoist(hoist)
	e.eachGroup(func(a, b *register, displacement int) {
		a, b = f(e, a, b)
		e.storeVector(a, dst.at(displacement))
		e.storeVector(b, dst.at(displacement+64))
	}, func() { e.addBytes(dst, 128) })
	e.end()
}

// eachGroup emits a loop over groups of blocks: body for the words 0 and 1 of two blocks,
// and the words 2 and 3, with the place of the former among the words of the group. One
// word of four blocks is in a vector, so a group is two halves of four blocks.
func (e *emitter) eachGroup(body func(a, b *register, displacement int), next func()) {
	keys, block, n := e.load("keys"), e.load("block"), e.load("groups")
	stream := [2]*register{e.spread(e.load("stream0")), e.spread(e.load("stream1"))}
	e.hoist([]uint32{formula.Mult0, formula.Mult1})
	e.label("loop")
	for half := range 2 {
		x := e.philox([4]*register{nil, nil, stream[0], stream[1]}, block, keys)
		// x holds one word of four blocks in each vector; zipped, words 0 and 1 of two blocks stand side by side.
		for i, zip := range []instruction{vzip1, vzip2} {
			body(e.new(zip, x[0], x[1]), e.new(zip, x[2], x[3]), 32*half+16*i)
		}
	}
	next()
	e.subtract(n, 1)
	e.branch("BNE", "loop")
}

// spread returns a word of a general register in all lanes.
func (e *emitter) spread(r *register) *register {
	d := newVector()
	e.op("VDUP %s, %s", r.gp(), d.words())
	return d
}

// philox returns the four words of the next four blocks, and moves block on. Words 0 and 1 of the counters are
// made here. The ten rounds read their two keys one after another from keys. The reference is Philox.Block.
func (e *emitter) philox(x [4]*register, block, keys *register) [4]*register {
	x[0], x[1] = e.counters(block)
	m0, m1 := e.Word(formula.Mult0), e.Word(formula.Mult1)
	at := e.copyGP(keys)
	for range formula.Rounds {
		high0, low0 := e.product(x[0], m0)
		high1, low1 := e.product(x[2], m1)
		key := [2]*register{newVector(), newVector()}
		for i := range key {
			e.op("VLD1R.P 4(%s), [%s]", operand{at, "R%d"}, key[i].words())
		}
		x = [4]*register{
			e.Xor(e.Xor(high1, x[1]), key[0]), low1,
			e.Xor(e.Xor(high0, x[3]), key[1]), low0,
		}
	}
	return x
}

// counters returns the lower and the upper words of four numbers from block on.
func (e *emitter) counters(block *register) (low, high *register) {
	pairs := [2]*register{newVector(), newVector()}
	for _, v := range pairs {
		for i := range 2 {
			e.op("VMOV %s, %s", block.gp(), operand{v, [2]string{"V%d.D[0]", "V%d.D[1]"}[i]})
			e.addBytes(block, 1)
		}
	}
	return e.new(vuzp1, pairs[0], pairs[1]), e.new(vuzp2, pairs[0], pairs[1])
}

// product returns the upper and the lower words of the products of the lanes.
func (e *emitter) product(a, b *register) (high, low *register) {
	first, second := e.new(umull, a, b), e.new(umull2, a, b)
	return e.new(vuzp2, first, second), e.new(vuzp1, first, second)
}
