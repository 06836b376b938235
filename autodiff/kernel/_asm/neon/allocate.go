package main

import "fmt"

// General registers that a function may use. R16 and R17 are the linker's, R18 the
// platform's, R26 to R30 Go's.
var general = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22, 23, 24, 25}

const vectors = 32

// allocate gives the registers of f their numbers, by linear scan: a register is taken from the first line that
// names it to the last. One that is named before a loop and in it is taken to the loop's end. A register may get
// the number of one whose last line is its own first: an instruction reads its operands before it writes. Nothing
// is spilled: a function that needs more registers than there are is a mistake of the generator, and a panic.
func allocate(f *function) {
	live := lifetimes(f)
	prolong(f, live)

	// Numbers are taken from the front of the list and come back at its end, general ones and those of vectors
	// apart.
	free := map[bool][]int{false: general, true: nil}
	for i := range vectors {
		free[true] = append(free[true], i)
	}
	var taken []*register
	for _, r := range live {
		// Registers whose last line has come are free again.
		var still []*register
		for _, t := range taken {
			if t.last <= r.first {
				free[t.vector] = append(free[t.vector], t.number)
			} else {
				still = append(still, t)
			}
		}
		taken = still
		if len(free[r.vector]) == 0 {
			panic(fmt.Sprintf("%s: more registers in use at line %d than there are", f.name, r.first))
		}
		r.number = free[r.vector][0]
		free[r.vector] = free[r.vector][1:]
		taken = append(taken, r)
	}
}

// lifetimes returns the registers of f in the order of first use.
func lifetimes(f *function) []*register {
	var list []*register
	seen := map[*register]bool{}
	for i, l := range f.lines {
		for _, o := range l.operands {
			r := o.register
			if !seen[r] {
				seen[r] = true
				r.first = i
				list = append(list, r)
			}
			r.last = i
		}
	}
	return list
}

// prolong keeps what a loop uses from outside until the loop's end: a branch back to a label before it makes a
// loop of the lines between. It repeats until nothing changes, since a longer life may reach into an outer loop.
func prolong(f *function, live []*register) {
	places := map[string]int{}
	for i, l := range f.lines {
		if l.label != "" {
			places[l.label] = i
		}
	}
	for changed := true; changed; {
		changed = false
		for end, l := range f.lines {
			start, ok := places[l.target]
			if l.target == "" || !ok || start > end {
				continue
			}
			for _, r := range live {
				if r.first < start && r.last >= start && r.last < end {
					r.last, changed = end, true
				}
			}
		}
	}
}
