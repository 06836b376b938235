package model

import (
	"cmp"
	"fmt"
	"slices"
)

// The operations that a graph of a body has and no other program knows; Together replaces them. A pair are the body and
// another one of its sequence. What is computed from values of pairs and of bodies is a value of each pair, for which
// values of bodies are those of its own.
const (
	PairAdd = "PairAdd" // a value of each pair: the first input of the body plus the second input of the other
	PairSum = "PairSum" // a value of the body: the sum of a value of its pairs
)

// Places says where the columns of an input or output of one body stand among those of all bodies.
type Places struct {
	Width   int     // of all bodies
	Columns [][]int // of each body
	// Product: what a body is given is the product of its columns.
	Product bool
}

// Together turns a graph of one body into that of a sequence of bodies: it computes every node once for each body,
// and every node of pairs once for each ordered pair. Weights are shared. places says for every input and output
// of g where the columns of the bodies stand; the graph that is returned has inputs and outputs of all bodies
// under the same names. g is not changed.
func (g Graph) Together(bodies int, places func(v Value) Places) Graph {
	b := &Builder{graph: Graph{Name: g.Name, Doc: g.Doc, Weights: slices.Clone(g.Weights)}, used: map[string]bool{}}
	for _, w := range g.Weights {
		b.used[w.Name] = true
	}
	u := unrolled{
		Builder: b, names: make([]map[string]string, bodies), pairs: make([]map[string]string, bodies*bodies),
		paired: map[string]bool{},
	}
	for k := range u.names {
		u.names[k] = map[string]string{}
	}
	for p := range u.pairs {
		u.pairs[p] = map[string]string{}
	}
	for _, in := range g.Inputs {
		u.input(in, places(in))
	}
	for _, n := range g.Nodes {
		// A node is one of pairs as soon as an input is, until PairSum turns it back into one of a body.
		switch {
		case n.Op == PairAdd:
			u.pairAdd(n)
		case n.Op == PairSum:
			u.pairSum(n)
		case slices.ContainsFunc(n.Inputs, func(in string) bool { return u.paired[in] }):
			u.pairNode(n)
		default:
			u.node(n)
		}
	}
	for _, out := range g.Outputs {
		u.output(out, places(out))
	}
	return b.Graph()
}

// unrolled is a graph of several bodies in the making.
type unrolled struct {
	*Builder
	names  []map[string]string // what a value of one body is called, by body
	pairs  []map[string]string // what a value of pairs is called, by body and other body
	paired map[string]bool     // the values of pairs
}

// eachPair calls do with what values of a body, of another one and of the pair are called.
func (u unrolled) eachPair(do func(own, other, pair map[string]string)) {
	for k, own := range u.names {
		for j, other := range u.names {
			if j != k {
				do(own, other, u.pairs[k*len(u.names)+j])
			}
		}
	}
}

// pairAdd is PairAdd for every pair: own[first input] + other[second input].
func (u unrolled) pairAdd(n Node) {
	u.paired[n.Output] = true
	u.eachPair(func(own, other, pair map[string]string) {
		pair[n.Output] = u.Op("Add", own[n.Inputs[0]], other[n.Inputs[1]])
	})
}

// pairNode computes a node for every pair. An input is looked up as a value of the pair, then of the body, then as
// a weight.
func (u unrolled) pairNode(n Node) {
	u.paired[n.Output] = true
	u.eachPair(func(own, _, pair map[string]string) {
		inputs := make([]string, len(n.Inputs))
		for i, in := range n.Inputs {
			inputs[i] = cmp.Or(pair[in], own[in], in) // the last is a weight
		}
		pair[n.Output] = u.Op(n.Op, inputs...)
	})
}

// pairSum adds up a value of the pairs of each body, in the order of the other bodies.
func (u unrolled) pairSum(n Node) {
	u.eachPair(func(own, _, pair map[string]string) {
		if sum := own[n.Output]; sum != "" {
			own[n.Output] = u.Op("Add", sum, pair[n.Inputs[0]])
		} else {
			own[n.Output] = pair[n.Inputs[0]]
		}
	})
}

// input declares an input of all bodies and gives each body its columns of it: the input itself if it has all in their
// order, their product, or a matrix product that selects them.
func (u unrolled) input(in Value, p Places) {
	u.Input(in.Name, p.Width, in.Doc)
	for k, names := range u.names {
		switch columns := p.Columns[k]; {
		case len(columns) == p.Width && slices.IsSorted(columns) && !p.Product:
			names[in.Name] = in.Name
		case p.Product:
			y := ""
			for _, c := range columns {
				if one := u.Part(in.Name, p.Width, c, 1); y == "" {
					y = one
				} else {
					y = u.Op("Mul", y, one)
				}
			}
			names[in.Name] = y
		default:
			w := make([]float32, p.Width*len(columns))
			for j, c := range columns {
				w[c*len(columns)+j] = 1
			}
			names[in.Name] = u.Op("MatMul", in.Name,
				u.Constant(fmt.Sprintf("%s%d.body%d", in.Name, p.Width, k+1), p.Width, len(columns), w))
		}
	}
}

// node computes a node once for each body.
func (u unrolled) node(n Node) {
	for _, names := range u.names {
		inputs := make([]string, len(n.Inputs))
		for i, in := range n.Inputs {
			inputs[i] = cmp.Or(names[in], in) // the last is a weight
		}
		names[n.Output] = u.Op(n.Op, inputs...)
	}
}

// output joins a value of all bodies into one output, body after body, and puts its columns into the order of the
// places if they lie otherwise.
func (u unrolled) output(out Value, p Places) {
	var parts []string
	var order []int
	for k, names := range u.names {
		parts = append(parts, names[out.Name])
		order = append(order, p.Columns[k]...)
	}
	y := u.Concat(parts...)
	if !slices.IsSorted(order) {
		w := make([]float32, p.Width*p.Width)
		for i, c := range order {
			w[i*p.Width+c] = 1
		}
		// Graphs of a model share weights by name, and x of several steps is wider than x of one.
		y = u.Op("MatMul", y, u.Constant(fmt.Sprintf("%s.order%d", out.Name, p.Width), p.Width, p.Width, w))
	}
	u.Output(out.Name, y, p.Width, out.Doc)
}
