package model

import (
	"fmt"
	"slices"
)

// Others is the one operation that a graph of a body has and no other program knows: the mean, over the other bodies of
// the sequence, of tanh of the body's own first input plus the second input of the other. Together replaces it.
const Others = "Others"

// Places says where the columns of an input or output of one body stand among those of all bodies.
type Places struct {
	Width   int     // of all bodies
	Columns [][]int // of each body
	// Product: what a body is given is the product of its columns.
	Product bool
}

// Together turns a graph of one body into that of a sequence of bodies: it computes every node once for each body.
func (g Graph) Together(bodies int, places func(v Value) Places) Graph {
	b := &Builder{graph: Graph{Name: g.Name, Doc: g.Doc, Weights: slices.Clone(g.Weights)}, used: map[string]bool{}}
	for _, w := range g.Weights {
		b.used[w.Name] = true
	}
	u := unrolled{Builder: b, names: make([]map[string]string, bodies)}
	for k := range u.names {
		u.names[k] = map[string]string{}
	}
	for _, in := range g.Inputs {
		u.input(in, places(in))
	}
	for _, n := range g.Nodes {
		if n.Op == Others {
			u.others(n)
		} else {
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
	names []map[string]string // what a value of one body is called, by body
}

func (u unrolled) input(in Value, p Places) {
	u.Input(in.Name, p.Width, in.Doc)
	for k, names := range u.names {
		switch columns := p.Columns[k]; {
		case len(columns) == p.Width && !p.Product:
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
				u.Constant(fmt.Sprintf("%s.body%d", in.Name, k+1), p.Width, len(columns), w))
		}
	}
}

func (u unrolled) node(n Node) {
	for _, names := range u.names {
		inputs := make([]string, len(n.Inputs))
		for i, in := range n.Inputs {
			if inputs[i] = names[in]; inputs[i] == "" {
				inputs[i] = in // a weight
			}
		}
		names[n.Output] = u.Op(n.Op, inputs...)
	}
}

func (u unrolled) others(n Node) {
	share := u.Scalar(1 / float32(len(u.names)-1))
	for k, names := range u.names {
		sum := ""
		for j, other := range u.names {
			if j == k {
				continue
			}
			y := u.Op("Tanh", u.Op("Add", names[n.Inputs[0]], other[n.Inputs[1]]))
			if sum != "" {
				y = u.Op("Add", sum, y)
			}
			sum = y
		}
		names[n.Output] = u.Op("Mul", sum, share)
	}
}

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
		y = u.Op("MatMul", y, u.Constant(out.Name+".order", p.Width, p.Width, w))
	}
	u.Output(out.Name, y, p.Width, out.Doc)
}
