package formula

// Operands of the LSTM cell and of its reverse: the four gates, then vectors.
const (
	InputGate = iota
	ForgetGate
	CellGate
	OutputGate
	Previous // c, of the earlier step
	Next     // c, of this step
	Hidden   // h; in the reverse, the gradient with respect to it
	TanhNext // tanh of Next
	Gradient // with respect to Next, then with respect to Previous
	Operands // how many there are
)

// LSTMForward emits the cell of kernel.LSTMForward: load and store are of an operand, in the order in which they
// are needed. The reference is lstmForwardPortable. Gates are stored as soon as they are activated, which frees
// their registers.
func (f Formulas[V, C]) LSTMForward(load func(int) V, store func(V, int)) {
	activate := func(gate int, function func(V) V) V {
		v := function(load(gate))
		store(v, gate)
		return v
	}
	i := activate(InputGate, f.Sigmoid)
	cell := activate(CellGate, f.Tanh)
	next := f.Mul(i, cell)
	forget := activate(ForgetGate, f.Sigmoid)
	f.AddProduct(next, forget, load(Previous))
	store(next, Next)
	t := f.Tanh(next)
	store(t, TanhNext)
	o := activate(OutputGate, f.Sigmoid)
	store(f.Mul(o, t), Hidden)
}

// LSTMBackward emits the reverse of the cell, of kernel.LSTMBackward: gates are loaded as activations and stored
// as gradients of what they were made of. The reference is lstmBackwardPortable.
func (f Formulas[V, C]) LSTMBackward(load func(int) V, store func(V, int)) {
	one := f.Register(f.Value(1))
	slope := func(g V) V { return f.Mul(g, f.Sub(one, g)) } // g (1-g)
	tanhSlope := func(t V) V {                              // 1 - t²
		r := f.Copy(one)
		f.SubProduct(r, t, t)
		return r
	}
	o, t, h := load(OutputGate), load(TanhNext), load(Hidden)
	store(f.Mul(f.Mul(h, t), slope(o)), OutputGate)
	cell := load(Gradient)
	f.AddProduct(cell, f.Mul(h, o), tanhSlope(t))
	i, g, forget := load(InputGate), load(CellGate), load(ForgetGate)
	store(f.Mul(f.Mul(cell, g), slope(i)), InputGate)
	store(f.Mul(f.Mul(cell, i), tanhSlope(g)), CellGate)
	store(f.Mul(f.Mul(cell, load(Previous)), slope(forget)), ForgetGate)
	store(f.Mul(cell, forget), Gradient)
}

// AdamStep is kernel.AdamStep, in the order of its fields.
type AdamStep[V any] struct{ Beta1, Rest1, Beta2, Rest2, Rate, Eps V }

// Operands of Adam.
const (
	Parameter = iota
	FirstMoment
	SecondMoment
	ParameterGradient
)

// Adam emits the update of kernel.Adam. The reference is adamPortable.
func (f Formulas[V, C]) Adam(s AdamStep[V], load func(int) V, store func(V, int)) {
	grad := load(ParameterGradient)
	first := f.Mul(grad, s.Rest1)
	f.AddProduct(first, s.Beta1, load(FirstMoment))
	store(first, FirstMoment)
	second := f.Mul(f.Mul(grad, grad), s.Rest2)
	f.AddProduct(second, s.Beta2, load(SecondMoment))
	store(second, SecondMoment)
	param := load(Parameter)
	f.SubProduct(param, s.Rate, f.Div(first, f.Add(f.Sqrt(second), s.Eps)))
	store(param, Parameter)
}
