package autodiff

import "reflect"

// VJP is an operation that a package of its own adds to the tape: a record of what was computed, with its
// vector-Jacobian product. The tape calls VJP once, after those of all operations that were recorded later, when the
// gradients of the operation's results are complete.
//
// The rules:
//   - VJP adds to the gradients of its inputs, it never assigns: an input may feed several operations. It changes
//     nothing else, above all no value.
//   - An input whose Grad is nil is a constant and gets nothing.
//   - Equal inputs give equal bits on every machine: functions and sums of package kernel instead of package math and
//     of loops that add up, a product as float32(x*y) before it goes into a sum (a compiler may fuse it otherwise), and
//     neither goroutines, maps nor clocks.
//   - In steady state nothing is allocated: results come from Tape.New, scratch memory from Tape.NewConstant. Within
//     VJP NewConstant is taken back when VJP returns; otherwise all memory of the tape is valid until its Reset.
//   - A record holds tensors and numbers. It does not change once it is on the tape.
type VJP interface{ VJP(t *Tape) }

// Custom puts an operation on the tape. The caller has computed its results from its inputs, both of which are named as
// tensors so that the tape defines their gradients; those of results have to come from Tape.New or be views of such.
// A tape that does not record forgets the operation. See the example of Custom for a complete one.
func Custom[R any, P interface {
	*R
	VJP
}](t *Tape, op R, tensors ...Tensor,
) {
	clearAll(tensors...)
	// The list of a type is made when its first record comes and kept for later recordings, as the lists of the
	// package are.
	kind := reflect.TypeFor[R]()
	kept, known := t.custom[kind].(*list[customRecord[R, P]])
	if !known {
		kept = new(list[customRecord[R, P]])
		if t.custom == nil {
			t.custom = map[reflect.Type]recordList{}
		}
		t.custom[kind] = kept
	}
	record(t, kept, customRecord[R, P]{op})
}

// customRecord is a record of another package. Lists of them are found by their type, since lists of the tape cannot
// know it.
type customRecord[R any, P interface {
	*R
	VJP
}] struct{ op R }

// What VJP allocates is scratch memory and is taken back here.
func (r *customRecord[R, P]) backward(t *Tape) {
	mark := t.values.mark()
	defer t.values.release(mark)
	P(&r.op).VJP(t)
}
