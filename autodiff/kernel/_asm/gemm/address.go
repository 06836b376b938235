package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rowAddresses forms the addresses of up to 14 rows of A from few registers: two
// bases and the odd multiples of the distance of rows that no scale factor gives.
type rowAddresses struct {
	base, ninth        GPVirtual // rows 0 and 9
	by1, by3, by5, by7 GPVirtual // multiples of the distance
	rows               int
}

// loadRowAddresses loads the address and the row distance of A and emits the multiples that so many rows need.
func loadRowAddresses(k *kernel) *rowAddresses {
	a := &rowAddresses{rows: k.rows}
	a.base, a.by1 = loadParam("a"), k.loadWord(aRow)
	if a.rows > 3 {
		a.by3 = GP64()
		LEAQ(Mem{Base: a.by1}.Idx(a.by1, 2), a.by3)
	}
	if a.rows > 5 {
		a.by5 = GP64()
		LEAQ(Mem{Base: a.by1}.Idx(a.by1, 4), a.by5)
	}
	if a.rows > 7 {
		a.by7 = GP64()
		LEAQ(Mem{Base: a.by3}.Idx(a.by1, 4), a.by7)
	}
	if a.rows > 9 {
		a.ninth = GP64()
		LEAQ(Mem{Base: a.base}.Idx(a.by1, 8), a.ninth)
		ADDQ(a.by1, a.ninth)
	}
	return a
}

// row returns the place of row i at the current k, in one addressing mode of base, index and scale.
func (a *rowAddresses) row(i int) Mem {
	base := a.base
	if i >= 9 {
		base, i = a.ninth, i-9
	}
	m := Mem{Base: base}
	switch i {
	case 0:
		return m
	case 1, 2, 4, 8:
		return m.Idx(a.by1, uint8(i))
	case 3:
		return m.Idx(a.by3, 1)
	case 5:
		return m.Idx(a.by5, 1)
	case 6:
		return m.Idx(a.by3, 2)
	case 7:
		return m.Idx(a.by7, 1)
	}
	panic("no such row")
}

// next moves on to the next k: column is the distance of two columns of A, in bytes.
func (a *rowAddresses) next(column GPVirtual) {
	ADDQ(column, a.base)
	if a.rows > 9 {
		ADDQ(column, a.ninth)
	}
}

// prefetch fetches A eight steps of k ahead, for an A by columns.
func (a *rowAddresses) prefetch(column GPVirtual) {
	PREFETCHT0(Mem{Base: a.base}.Idx(column, 8))
	if a.rows > 9 {
		PREFETCHT0(Mem{Base: a.ninth}.Idx(column, 8))
	}
}
