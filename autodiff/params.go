package autodiff

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/autodiff/kernel"
)

// Params is all parameters of a model in one flat buffer, with named views into it. Optimiser, checkpoint and wire
// see only the buffer; the order of declaration is the layout. All weights are declared before the first tape is
// made. Tapes of several goroutines may share Params as long as nobody changes Values or packs.
type Params struct {
	Values  []float32 // all weights, one after another; after a change of it Pack
	weights []*Weight
}

// Weight is a named view of the parameters: a Rows×Cols matrix, or a vector with Rows = 1.
// A layer computes x·W, so W maps its Rows inputs to its Cols outputs.
type Weight struct {
	Name       string
	Rows, Cols int
	Offset     int // of its first value in the flat buffer

	params            *Params
	index             int  // in the order of declaration
	packed            bool // whether a layer multiplies by it
	forward, backward kernel.Packed
}

// Size is the number of values of the weight.
func (w *Weight) Size() int { return w.Rows * w.Cols }

// Values is the weight's part of the flat buffer.
func (w *Weight) Values() []float32 { return w.params.Values[w.Offset : w.Offset+w.Size()] }

// Named describes one weight in the flat buffer.
type Named struct {
	Name         string
	Shape        []int
	Offset, Size int
}

// NewParams returns an empty set of parameters.
func NewParams() *Params { return &Params{} }

// Matrix declares a weight that layers multiply by.
func (p *Params) Matrix(name string, rows, cols int) *Weight {
	w := p.declare(name, rows, cols)
	w.packed = true
	return w
}

// Vector declares a bias or another weight that is used element by element.
func (p *Params) Vector(name string, n int) *Weight { return p.declare(name, 1, n) }

// Table declares a matrix that is used element by element or through an operation's output,
// so that it is never packed.
func (p *Params) Table(name string, rows, cols int) *Weight { return p.declare(name, rows, cols) }

// declare appends a weight of zeros to the buffer. It panics if the name is taken.
func (p *Params) declare(name string, rows, cols int) *Weight {
	for _, w := range p.weights {
		if w.Name == name {
			panic(fmt.Sprintf("autodiff: parameter %q declared twice", name))
		}
	}
	w := &Weight{Name: name, Rows: rows, Cols: cols, Offset: len(p.Values), params: p, index: len(p.weights)}
	p.Values = append(p.Values, make([]float32, rows*cols)...)
	p.weights = append(p.weights, w)
	return w
}

// Len is the number of parameters.
func (p *Params) Len() int { return len(p.Values) }

// Layout lists the weights in the order of the buffer. The shape of a weight with one row is that of a vector.
func (p *Params) Layout() []Named {
	layout := make([]Named, len(p.weights))
	for i, w := range p.weights {
		shape := []int{w.Rows, w.Cols}
		if w.Rows == 1 {
			shape = []int{w.Cols}
		}
		layout[i] = Named{Name: w.Name, Shape: shape, Offset: w.Offset, Size: w.Size()}
	}
	return layout
}

// Load copies new values and packs every matrix once for all tapes. No tape may be in use. The error says that the
// number of values is another than the model's.
func (p *Params) Load(values []float32) error {
	if err := p.Set(values); err != nil {
		return err
	}
	p.Pack()
	return nil
}

// Set copies new values, which have to be packed before a tape uses them. No tape may be in use.
func (p *Params) Set(values []float32) error {
	if len(values) != len(p.Values) {
		return fmt.Errorf("load parameters: %d values for a model of %d", len(values), len(p.Values))
	}
	copy(p.Values, values)
	return nil
}

// Pack rearranges every matrix for the kernels, W for the forward and Wᵀ for the backward pass.
// It must follow every change of Values.
func (p *Params) Pack() { p.PackRange(0, len(p.Values)+1) }

// PackRange packs the matrices whose middle lies in [from, to) of the buffer. Ranges that make up the buffer pack all
// of them, and may do so at the same time.
func (p *Params) PackRange(from, to int) {
	for _, w := range p.weights {
		if middle := w.Offset + w.Size()/2; w.packed && middle >= from && middle < to {
			m := kernel.Dense(w.Values(), w.Rows, w.Cols)
			w.forward.Pack(m)
			w.backward.PackTransposed(m)
		}
	}
}

// Source yields uniform random numbers in [0, 1); rng.Stream is one.
type Source interface{ Float64() float64 }

// NormalSource yields standard normal random numbers; rng.Stream is one.
type NormalSource interface{ Normal() float64 }

// InitUniform draws U(−bound, bound), value by value. After it, or any other Init, the parameters have to be
// packed.
func (w *Weight) InitUniform(src Source, bound float64) {
	for i := range w.Values() {
		w.Values()[i] = float32(bound * (2*src.Float64() - 1))
	}
}

// InitFanIn draws U(−1/√n, 1/√n) for n inputs, the default of common deep-learning libraries.
func (w *Weight) InitFanIn(src Source, inputs int) {
	w.InitUniform(src, 1/math.Sqrt(float64(max(inputs, 1))))
}

// InitNormal draws N(0, sd²).
func (w *Weight) InitNormal(src NormalSource, sd float64) {
	for i := range w.Values() {
		w.Values()[i] = float32(sd * src.Normal())
	}
}

// InitSoftplusInverse draws softplus⁻¹(U(0, bound)), so that the softplus of the weight is uniform. bound is at most 1.
func (w *Weight) InitSoftplusInverse(src Source, bound float64) {
	values := w.Values()
	for i := range values {
		values[i] = expMinusOne(bound * src.Float64())
	}
	kernel.Log(values, values)
}

// FillSoftplusInverse sets every value to softplus⁻¹(y), so that the softplus of the weight is y, which is at most 1.
func (w *Weight) FillSoftplusInverse(y float64) {
	values := w.Values()
	for i := range values {
		values[i] = expMinusOne(y)
	}
	kernel.Log(values, values)
}

// expMinusOne is eʸ − 1 = y(1 + y/2(1 + y/3(…))) for 0 < y ≤ 1, far below float32 rounding after twelve terms; its
// logarithm is softplus⁻¹(y).
func expMinusOne(y float64) float32 {
	const smallest = 1e-8
	y = max(y, smallest)
	series := 1.0
	for k := 12; k > 1; k-- {
		series = 1 + float64(y/float64(k)*series)
	}
	return float32(y * series)
}

// Fill sets every value of the weight.
func (w *Weight) Fill(value float32) {
	for i := range w.Values() {
		w.Values()[i] = value
	}
}
