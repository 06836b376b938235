package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/autodiff"
)

// Graph is one computation, for programs that run it elsewhere. Every value is a matrix [rows, Width] with as many
// rows as the inputs have, or a weight. Names of inputs, results and weights are in one name space and written
// once each.
type Graph struct {
	// Name is that of the step of a model, such as filter_step; Doc is for people.
	Name    string
	Doc     string
	Inputs  []Value
	Outputs []Value
	Nodes   []Node // in an order in which they can be computed
	Weights []Weight
}

// Value is an input or output.
type Value struct {
	Name  string
	Width int
	Doc   string
}

// Node is an operation, named as in ONNX (opset 13): Gemm (x·W + b), MatMul, Add, Sub, Mul, Div, Relu, Sign, Tanh,
// Sigmoid, Softmax and Hardmax (over the last axis; a one at the largest value), Softplus, Log, Sqrt, Concat (along the
// last axis) and Identity. Elementwise ones broadcast a weight of one row, and a value of one column.
type Node struct {
	Op     string
	Inputs []string
	Output string
}

// Weight is a constant matrix, row-major; one without Rows is a vector of Cols values, which stands for all rows.
type Weight struct {
	Name       string
	Rows, Cols int
	Values     []float32
}

// Builder puts a graph together. Its methods append nodes in the order of the calls and return the name of the
// result, which later calls take as an input; so every value is computed before it is read. An empty name stands
// for a value without columns where a method says so. A Builder serves one goroutine.
type Builder struct {
	// graph grows by every call. known are the parameters of the model by name; used, the weights that the graph
	// has already; count, the results that have a number.
	graph  Graph
	params *autodiff.Params
	known  map[string]autodiff.Named
	used   map[string]bool
	count  int
}

// New begins a graph over the parameters of a model, whose values it copies as they are when a method asks for
// them.
func New(name, doc string, p *autodiff.Params) *Builder {
	b := &Builder{
		graph: Graph{Name: name, Doc: doc}, params: p, known: map[string]autodiff.Named{},
		used: map[string]bool{},
	}
	for _, w := range p.Layout() {
		b.known[w.Name] = w
	}
	return b
}

// Graph is what was built.
func (b *Builder) Graph() Graph { return b.graph }

// Input declares an input and returns its name.
func (b *Builder) Input(name string, width int, doc string) string {
	b.graph.Inputs = append(b.graph.Inputs, Value{name, width, doc})
	return name
}

// Output gives a value a name as an output.
func (b *Builder) Output(name, value string, width int, doc string) {
	b.graph.Nodes = append(b.graph.Nodes, Node{"Identity", []string{value}, name})
	b.graph.Outputs = append(b.graph.Outputs, Value{name, width, doc})
}

// Op adds an operation and returns the name of its result.
func (b *Builder) Op(op string, inputs ...string) string {
	b.count++
	out := fmt.Sprintf("v%d", b.count)
	b.graph.Nodes = append(b.graph.Nodes, Node{op, inputs, out})
	return out
}

// Constant adds a weight of one's own and returns its name; rows = 0 makes it a vector. A name that the graph has
// already keeps its first values, so equal names must mean equal weights. The graph keeps the slice.
func (b *Builder) Constant(name string, rows, cols int, values []float32) string {
	if !b.used[name] {
		b.used[name] = true
		b.graph.Weights = append(b.graph.Weights, Weight{name, rows, cols, values})
	}
	return name
}

// Scalar adds a constant number, as a vector of one column.
func (b *Builder) Scalar(v float32) string {
	return b.Constant(fmt.Sprintf("c%g", v), 0, 1, []float32{v})
}

// Has reports whether the model has a parameter.
func (b *Builder) Has(name string) bool { _, ok := b.known[name]; return ok }

// values are a copy of a parameter, with its shape as a matrix. A name that is not there is a mistake of the program.
func (b *Builder) values(name string) (v []float32, rows, cols int) {
	w, ok := b.known[name]
	if !ok {
		panic("graph: the model has no parameter " + name)
	}
	rows, cols = 0, w.Shape[len(w.Shape)-1]
	if len(w.Shape) == 2 {
		rows = w.Shape[0]
	}
	return slices.Clone(b.params.Values[w.Offset : w.Offset+w.Size]), rows, cols
}

// Columns is how many columns a parameter of the model has.
func (b *Builder) Columns(name string) int {
	shape := b.known[name].Shape
	return shape[len(shape)-1]
}

// Parameter adds a parameter of the model.
func (b *Builder) Parameter(name string) string {
	v, rows, cols := b.values(name)
	return b.Constant(name, rows, cols, v)
}

// Dense is x·W + b with the parameters NAME.weight and NAME.bias.
func (b *Builder) Dense(x, name string) string {
	return b.Op("Gemm", x, b.Parameter(name+".weight"), b.Parameter(name+".bias"))
}

// Body is a model.Body of that name: residual blocks, or one dense layer with a rectifier.
func (b *Builder) Body(x, name string) string {
	if b.Has(name + ".dense.weight") {
		return b.Op("Relu", b.Dense(x, name+".dense"))
	}
	for i := 1; b.Has(fmt.Sprintf("%s.block%d.first.weight", name, i)); i++ {
		block := fmt.Sprintf("%s.block%d", name, i)
		y, skip := b.Dense(b.Op("Relu", b.Dense(x, block+".first")), block+".second"), x
		if b.Has(block + ".shortcut") {
			skip = b.Op("MatMul", x, b.Parameter(block+".shortcut"))
		}
		x = b.Op("Relu", b.Op("Add", y, skip))
	}
	return x
}

// SD is softplus(x) + floor.
func (b *Builder) SD(x string, floor float32) string {
	return b.Op("Add", b.Op("Softplus", x), b.Scalar(floor))
}

// Variance is (softplus(x) + floor)².
func (b *Builder) Variance(x string, floor float32) string {
	sd := b.SD(x, floor)
	return b.Op("Mul", sd, sd)
}

// Draw is mean + √variance ⊙ noise.
func (b *Builder) Draw(mean, variance, noise string) string {
	return b.Op("Add", mean, b.Op("Mul", b.Op("Sqrt", variance), noise))
}

// Fuse is the product of two diagonal Gaussians; where seen is 0, the first of them:
//
//	mean = (m₁v₂ + m₂v₁)/(v₁ + v₂),  variance = v₁v₂/(v₁ + v₂)
func (b *Builder) Fuse(m1, v1, m2, v2, seen string) (mean, variance string) {
	d := b.Op("Add", v1, v2)
	mean = b.Op("Div", b.Op("Add", b.Op("Mul", m1, v2), b.Op("Mul", m2, v1)), d)
	variance = b.Op("Div", b.Op("Mul", v1, v2), d)
	return b.Choose(seen, mean, m1), b.Choose(seen, variance, v1)
}

// Choose is a where seen is 1 and other where it is 0: seen·a + (1 − seen)·other. Both must be finite, also where
// they are not chosen.
func (b *Builder) Choose(seen, a, other string) string {
	return b.Op("Add", b.Op("Mul", seen, a), b.Op("Mul", b.Op("Sub", b.Scalar(1), seen), other))
}

// Mixture is Σᵢ wᵢ (x·Aᵢ), with x [n, rows], weights [n, M] and a result [n, cols]. The Aᵢ [rows, cols] are parts
// of a parameter [M·stride, cols]: rows from … from+rows−1 of each block of stride rows. It multiplies by all Aᵢ
// at once, side by side, and then sums the products with their weights.
func (b *Builder) Mixture(x, weights, name string, systems, from, rows int) string {
	v, all, cols := b.values(name)
	stride := all / systems
	side := make([]float32, rows*systems*cols) // the matrices side by side
	for k := range systems {
		for i := range rows {
			copy(side[i*systems*cols+k*cols:], v[((k*stride)+from+i)*cols:][:cols])
		}
	}
	products := b.Op("MatMul", x, b.Constant(fmt.Sprintf("%s.%d.side", name, from), rows, systems*cols, side))
	return b.WeightedSum(weights, products, systems, cols)
}

// WeightedSum is Σᵢ wᵢ yᵢ for vectors yᵢ of so many columns side by side: y [n, M·cols], weights [n, M], result
// [n, cols]. Sums and repetitions are products with matrices of zeros and ones, since the operations of a graph
// know no axes.
func (b *Builder) WeightedSum(weights, y string, systems, cols int) string {
	return b.Op("MatMul", b.Op("Mul", y, b.Spread(weights, systems, cols)), b.sum(systems, cols))
}

// SideBySide is x of so many columns, repeated for each system: [n, cols] becomes [n, M·cols].
func (b *Builder) SideBySide(x string, systems, cols int) string {
	w := make([]float32, cols*systems*cols)
	for i := range len(w) / cols {
		w[i%cols*systems*cols+i] = 1
	}
	return b.Op("MatMul", x, b.Constant(fmt.Sprintf("side.%d_%d", systems, cols), cols, systems*cols, w))
}

// SystemSums is the sum of the columns of each system, of vectors of so many columns side by side: [n, M·cols]
// becomes [n, M].
func (b *Builder) SystemSums(y string, systems, cols int) string {
	w := make([]float32, systems*cols*systems)
	for i := range systems * cols {
		w[i*systems+i/cols] = 1
	}
	return b.Op("MatMul", y, b.Constant(fmt.Sprintf("within.%d_%d", systems, cols), systems*cols, systems, w))
}

// Spread repeats each of so many weights for the columns of its system: [n, M] becomes [n, M·cols].
func (b *Builder) Spread(weights string, systems, cols int) string {
	w := make([]float32, systems*systems*cols)
	for i := range systems * cols {
		w[i/cols*systems*cols+i] = 1
	}
	return b.Op("MatMul", weights, b.Constant(fmt.Sprintf("spread.%d_%d", systems, cols), systems, systems*cols, w))
}

// sum is the matrix [M·cols, cols] that adds up vectors side by side.
func (b *Builder) sum(systems, cols int) string {
	w := make([]float32, systems*cols*cols)
	for i := range systems * cols {
		w[i*cols+i%cols] = 1
	}
	return b.Constant(fmt.Sprintf("sum.%d_%d", systems, cols), systems*cols, cols, w)
}

// VarianceMixture is Σᵢ wᵢ softplus(vᵢ) + floor for a parameter [M, n]. The softplus is taken here, in float64, so
// that the graph holds its values.
func (b *Builder) VarianceMixture(weights, name string, floor float32) string {
	v, rows, cols := b.values(name)
	for i, x := range v {
		v[i] = float32(max(float64(x), 0) + math.Log1p(math.Exp(-math.Abs(float64(x)))))
	}
	return b.Op("Add", b.Op("MatMul", weights, b.Constant(name+".softplus", rows, cols, v)), b.Scalar(floor))
}

// LSTM is the output of an LSTM of that name after one step from a state of zeros:
//
//	h = σ(o) ⊙ tanh(σ(i) ⊙ tanh(g))
//
// The forget gate and the recurrent weights have no effect then and are left out.
func (b *Builder) LSTM(x, name string) string {
	input, rows, cols := b.values(name + ".input")
	bias, _, _ := b.values(name + ".bias")
	units := cols / 4
	gate := func(k int, word string) string { // input, forget, cell and output gates stand side by side
		w := make([]float32, rows*units)
		for i := range rows {
			copy(w[i*units:], input[i*cols+k*units:][:units])
		}
		return b.Op("Gemm", x, b.Constant(name+".input."+word, rows, units, w),
			b.Constant(name+".bias."+word, 0, units, bias[k*units:(k+1)*units]))
	}
	cell := b.Op("Mul", b.Op("Sigmoid", gate(0, "input")), b.Op("Tanh", gate(2, "cell")))
	return b.Op("Mul", b.Op("Sigmoid", gate(3, "output")), b.Op("Tanh", cell))
}

// Part are the columns from … from+width−1 of a value with so many columns.
func (b *Builder) Part(x string, columns, from, width int) string {
	w := make([]float32, columns*width)
	for j := range width {
		w[(from+j)*width+j] = 1
	}
	return b.Op("MatMul", x, b.Constant(fmt.Sprintf("part.%d_%d_%d", columns, from, width), columns, width, w))
}

// Concat joins values without those that have no columns, which are empty names.
func (b *Builder) Concat(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(parts) == 1 {
		return parts[0]
	}
	return b.Op("Concat", parts...)
}

// BackwardLSTM runs a body over each of k parts of x of the given width, then an LSTM from the last to the first,
// and is its output there: x is [n, k·width], the result [n, units]. The recurrence is unrolled into k copies of
// its nodes, which share their weights; the first copy, from a state of zeros, needs neither recurrent weights nor
// a forget gate.
func (b *Builder) BackwardLSTM(x, body, name string, k, width int) string {
	recurrent, _, cols := b.values(name + ".recurrent")
	units := cols / 4
	input, rows, _ := b.values(name + ".input")
	bias, _, _ := b.values(name + ".bias")
	gate := func(y, h string, g int, word string) string {
		part := func(w []float32, rows int) []float32 {
			p := make([]float32, rows*units)
			for i := range rows {
				copy(p[i*units:], w[i*cols+g*units:][:units])
			}
			return p
		}
		out := b.Op("Gemm", y, b.Constant(name+".input."+word, rows, units, part(input, rows)),
			b.Constant(name+".bias."+word, 0, units, bias[g*units:(g+1)*units]))
		if h == "" {
			return out
		}
		return b.Op("Add", out, b.Op("MatMul", h, b.Constant(name+".recurrent."+word, units, units, part(recurrent, units))))
	}
	// Empty names stand for the state of zeros behind the last part.
	h, cell := "", ""
	for i := k - 1; i >= 0; i-- {
		y := b.Body(b.Part(x, k*width, i*width, width), body)
		next := b.Op("Mul", b.Op("Sigmoid", gate(y, h, 0, "input")), b.Op("Tanh", gate(y, h, 2, "cell")))
		if cell != "" {
			next = b.Op("Add", next, b.Op("Mul", b.Op("Sigmoid", gate(y, h, 1, "forget")), cell))
		}
		cell = next
		h = b.Op("Mul", b.Op("Sigmoid", gate(y, h, 3, "output")), b.Op("Tanh", cell))
	}
	return h
}
