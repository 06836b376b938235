package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	rounds       = 10
	mult0, mult1 = 0xD2511F53, 0xCD9E8D57

	quarterTurn = 1.5707963267948966 / (1 << 30)
)

var (
	sinPoly = []float64{-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}
	cosPoly = []float64{2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1}

	uniformConstants = words(1.0/(1<<31), 1.0/(1<<32))
)

func random(bytes int) {
	single := func(f func(*emitter, vector) vector) func(*emitter, vector, vector) (vector, vector) {
		return func(e *emitter, a, b vector) (vector, vector) { return f(e, a), f(e, b) }
	}
	groups(bytes, "uniforms", single((*emitter).uniform), uniformConstants)
	groups(bytes, "normals", (*emitter).boxMuller, uniformConstants, logConstants)
	groups(bytes, "gumbels", single((*emitter).gumbel), uniformConstants, logConstants)
	groups(bytes, "logistics", single((*emitter).logistic), uniformConstants)
}

// groups emits the filling of whole groups of 32 values. One block of the generator
// sits in each 64-bit lane: on AVX-512 a group is one step of the loop, on AVX2 two.
// f turns the words 0 and 1 of the blocks, and the words 2 and 3, into numbers.
func groups(bytes int, name string, f func(e *emitter, a, b vector) (vector, vector), hoist ...[]uint32) {
	e := begin(bytes, name, "func(dst *float32, keys *uint32, block uint64, stream0, stream1 uint32, groups int)")
	dst, keys, n := arg("dst"), arg("keys"), arg("groups")
	e.hoist(append(hoist, []uint32{mult0, mult1})...)
	counter, step := e.new(), e.new()
	VPBROADCASTQ(argPlace("block"), counter)
	VPADDQ(table("blockNumbers", 0), counter, counter)
	VPBROADCASTQ(table("blockSteps", 8*(bytes/64)), step)
	if !e.wide() {
		ADDQ(n, n)
	}
	Label("loop")
	a, b := e.philox(counter, keys)
	a, b = f(e, a, b)
	VMOVUPS(a, at(dst))
	VMOVUPS(b, at(dst).Offset(64))
	if e.wide() {
		SUBQ(I8(-128), dst)
	} else {
		Comment("After the first half of a group 32 bytes on, after the second 96.")
		advance := e.copyOf(n)
		ANDQ(U8(1), advance)
		SHLQ(U8(6), advance)
		ADDQ(U8(32), advance)
		ADDQ(advance, dst)
	}
	VPADDQ(step, counter, counter)
	DECQ(n)
	JNZ(LabelRef("loop"))
	e.end()
}

// philox returns words 0 and 1 of the blocks, interleaved, and words 2 and 3. A
// word sits in the lower half of its 64-bit lane; what the multiplications leave in
// the upper halves never matters.
func (e *emitter) philox(counter vector, keys GPVirtual) (vector, vector) {
	x := [4]vector{counter, e.upper(counter), e.new(), e.new()}
	VBROADCASTSS(argPlace("stream0"), x[2])
	VBROADCASTSS(argPlace("stream1"), x[3])
	m0, m1 := e.wordReg(mult0), e.wordReg(mult1)
	for i := range rounds {
		a, b := e.new(), e.new()
		VPMULUDQ(m0, x[0], a)
		VPMULUDQ(m1, x[2], b)
		k0, k1 := e.new(), e.new()
		VPBROADCASTD(at(keys).Offset(8*i), k0)
		VPBROADCASTD(at(keys).Offset(8*i+4), k1)
		x = [4]vector{
			e.xor3(e.upper(b), x[1], k0), b,
			e.xor3(e.upper(a), x[3], k1), a,
		}
	}
	return e.interleave(x[0], x[1]), e.interleave(x[2], x[3])
}

// upper returns the upper halves of 64-bit lanes as lower ones.
func (e *emitter) upper(v vector) vector { r := e.new(); VPSHUFD(U8(0xf5), v, r); return r }

// interleave returns the lower halves of a and b as lower and upper halves.
func (e *emitter) interleave(a, b vector) vector {
	up, r := e.new(), e.new()
	VPSLLQ(U8(32), b, up)
	if e.wide() {
		odd, k := GP32(), K()
		MOVL(U32(0xaaaa), odd)
		KMOVW(odd, k)
		VPBLENDMD(up, a, k, r)
	} else {
		VPBLENDD(U8(0xaa), up, a, r)
	}
	return r
}

// uniform maps words to (0, 1].
func (e *emitter) uniform(w vector) vector {
	r := e.copy(e.valueReg(1.0 / (1 << 32)))
	e.addProduct(r, e.toFloat(e.right(w, 1)), e.value(1.0/(1<<31)))
	return r
}

// boxMuller turns radius words a and angle words b into pairs of normal numbers.
func (e *emitter) boxMuller(a, b vector) (vector, vector) {
	r := e.sqrt(e.mul(e.logNormal(e.uniform(a)), e.value(-2)))
	q := e.right(e.addInt(b, e.word(1<<29)), 30) // the nearest quarter turn
	v := e.subInt(b, e.left(q, 30))
	x := e.mul(e.toFloat(v), e.value(quarterTurn))
	x2 := e.mul(x, x)
	s := e.polynomial(x2, sinPoly)
	e.horner(s, e.mul(x2, x), x)
	c := e.polynomial(x2, cosPoly)
	odd := e.negative(e.left(q, 31))
	sin, cos := e.choose(odd, c, s), e.choose(odd, s, c)
	sin = e.xor(sin, e.left(e.right(q, 1), 31))
	cos = e.xor(cos, e.left(e.right(e.addInt(q, e.word(1)), 1), 31))
	return e.mul(r, cos), e.mul(r, sin)
}

// logUnit is ln u in (0, 1], given w = 1-u.
func (e *emitter) logUnit(u, w vector) vector {
	near := e.compare(u, greater, e.value(sqrtHalf))
	f, k := e.logSplit(u)
	f = e.choose(near, e.negate(w), f)
	return e.logReduced(f, e.except(near, k))
}

func (e *emitter) negate(x vector) vector { return e.xor(x, e.word(signBit)) }

// uniformAndRest returns u and 1-u of words.
func (e *emitter) uniformAndRest(w vector) (u, rest vector) {
	return e.uniform(w), e.uniform(e.xor(w, e.word(0xffffffff)))
}

func (e *emitter) gumbel(w vector) vector {
	u, rest := e.uniformAndRest(w)
	return e.negate(e.logNormal(e.negate(e.logUnit(u, rest))))
}

func (e *emitter) logistic(w vector) vector {
	u, rest := e.uniformAndRest(w)
	return e.sub(e.logUnit(u, rest), e.logUnit(rest, u))
}
