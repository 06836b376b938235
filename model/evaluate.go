package model

import (
	"fmt"
	"math"
)

// Evaluate computes the outputs of a graph for so many rows, plainly and in float64: what an exporter writes is
// compared with it. An input and an output of width w are [rows, w], row-major; inputs that the graph does not
// declare are ignored. It returns an error for an input that is missing or has another size, for a node whose
// operands are not computed before it or do not fit, for an operation that is not known, and for an output of
// another shape than it declares.
func (g *Graph) Evaluate(rows int, inputs map[string][]float32) (map[string][]float32, error) {
	// Weights, inputs and results of nodes share one name space, as in ONNX.
	values := map[string]operand{}
	for _, w := range g.Weights {
		values[w.Name] = newOperand(max(w.Rows, 1), w.Cols, w.Values)
	}
	for _, in := range g.Inputs {
		x, ok := inputs[in.Name]
		if !ok || len(x) != rows*in.Width {
			return nil, fmt.Errorf("graph %s: input %s has %d values, want %d rows of %d", g.Name, in.Name, len(x), rows,
				in.Width)
		}
		values[in.Name] = newOperand(rows, in.Width, x)
	}
	for _, n := range g.Nodes {
		var x []operand
		for _, name := range n.Inputs {
			m, ok := values[name]
			if !ok {
				return nil, fmt.Errorf("graph %s: %s needs %s, which is not computed before it", g.Name, n.Op, name)
			}
			x = append(x, m)
		}
		y, err := apply(n.Op, x)
		if err != nil {
			return nil, fmt.Errorf("graph %s: %s: %w", g.Name, n.Output, err)
		}
		values[n.Output] = y
	}
	// Outputs are rounded to float32 only here, so that the comparison sees no rounding of intermediate values.
	out := map[string][]float32{}
	for _, o := range g.Outputs {
		m := values[o.Name]
		if m.cols != o.Width || m.rows != rows {
			return nil, fmt.Errorf("graph %s: output %s is %d×%d, want %d×%d", g.Name, o.Name, m.rows, m.cols, rows, o.Width)
		}
		for _, v := range m.data {
			out[o.Name] = append(out[o.Name], float32(v))
		}
	}
	return out, nil
}

// operand is a weight, an input or a result of a node: a row-major matrix of rows·cols numbers. A vector is one
// row.
type operand struct {
	rows, cols int
	data       []float64
}

// newOperand widens x, which has rows·cols values, to float64.
func newOperand(rows, cols int, x []float32) operand {
	m := operand{rows, cols, make([]float64, len(x))}
	for i, v := range x {
		m.data[i] = float64(v)
	}
	return m
}

// unary returns the elementwise operation of one operand that ONNX calls op, or nil if op is none.
func unary(op string) func(x float64) float64 {
	return map[string]func(x float64) float64{
		"Relu": func(x float64) float64 { return max(x, 0) }, "Tanh": math.Tanh, "Sqrt": math.Sqrt, "Log": math.Log,
		"Identity": func(x float64) float64 { return x }, "Sign": sign,
		"Sigmoid":  func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		"Softplus": func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
	}[op]
}

// sign is −1, 0 or 1.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// binary returns the elementwise operation of two operands that ONNX calls op, or nil if op is none.
func binary(op string) func(a, b float64) float64 {
	return map[string]func(a, b float64) float64{
		"Add": func(a, b float64) float64 { return a + b }, "Sub": func(a, b float64) float64 { return a - b },
		"Mul": func(a, b float64) float64 { return a * b }, "Div": func(a, b float64) float64 { return a / b },
	}[op]
}

// apply computes a node. Gemm takes x, W and a row b; MatMul takes x and W; Concat takes values with as many rows
// as the first.
func apply(op string, x []operand) (operand, error) {
	if len(x) == 0 || len(x) == 1 && (binary(op) != nil || op == "Gemm" || op == "MatMul") {
		return operand{}, fmt.Errorf("%s of %d values", op, len(x))
	}
	if f := unary(op); f != nil {
		y := operand{x[0].rows, x[0].cols, make([]float64, len(x[0].data))}
		for i, v := range x[0].data {
			y.data[i] = f(v)
		}
		return y, nil
	}
	if f := binary(op); f != nil {
		return broadcast(f, x[0], x[1])
	}
	switch op {
	case "Gemm", "MatMul":
		return product(x)
	case "Softmax":
		return softmax(x[0]), nil
	case "Hardmax":
		return hardmax(x[0]), nil
	case "Concat":
		return concat(x)
	}
	return operand{}, fmt.Errorf("the operation %s is not known", op)
}

// concat joins values along the last axis.
func concat(x []operand) (operand, error) {
	y := operand{rows: x[0].rows}
	for _, m := range x {
		if m.rows != y.rows {
			return y, fmt.Errorf("%d and %d rows side by side", y.rows, m.rows)
		}
		y.cols += m.cols
	}
	for r := range y.rows {
		for _, m := range x {
			y.data = append(y.data, m.data[r*m.cols:(r+1)*m.cols]...)
		}
	}
	return y, nil
}

// softmax is exp x / Σ exp x along every row. The largest value is taken out first, so that no exponential
// overflows.
func softmax(x operand) operand {
	y := operand{x.rows, x.cols, make([]float64, len(x.data))}
	for r := range y.rows {
		row, largest, total := x.data[r*y.cols:(r+1)*y.cols], math.Inf(-1), 0.0
		for _, v := range row {
			largest = max(largest, v)
		}
		for i, v := range row {
			y.data[r*y.cols+i] = math.Exp(v - largest)
			total += y.data[r*y.cols+i]
		}
		for i := range row {
			y.data[r*y.cols+i] /= total
		}
	}
	return y
}

// hardmax has a one at the first of the largest values of every row.
func hardmax(x operand) operand {
	y := operand{x.rows, x.cols, make([]float64, len(x.data))}
	for r := range y.rows {
		best := r * y.cols
		for i := best; i < (r+1)*y.cols; i++ {
			if x.data[i] > x.data[best] {
				best = i
			}
		}
		y.data[best] = 1
	}
	return y
}

// broadcast applies f element by element. An operand of one row stands for all rows, one of one column for all
// columns; any other difference in shape is an error.
func broadcast(f func(a, b float64) float64, a, b operand) (operand, error) {
	y := operand{rows: max(a.rows, b.rows), cols: max(a.cols, b.cols)}
	for _, m := range []operand{a, b} {
		if m.rows != y.rows && m.rows != 1 || m.cols != y.cols && m.cols != 1 {
			return y, fmt.Errorf("%d×%d and %d×%d do not fit", a.rows, a.cols, b.rows, b.cols)
		}
	}
	at := func(m operand, r, c int) float64 { return m.data[min(r, m.rows-1)*m.cols+min(c, m.cols-1)] }
	for r := range y.rows {
		for c := range y.cols {
			y.data = append(y.data, f(at(a, r, c), at(b, r, c)))
		}
	}
	return y, nil
}

// product is x[0]·x[1], plus the row x[2] if there is one.
func product(x []operand) (operand, error) {
	a, w := x[0], x[1]
	if a.cols != w.rows {
		return operand{}, fmt.Errorf("%d×%d times %d×%d", a.rows, a.cols, w.rows, w.cols)
	}
	if len(x) > 2 && len(x[2].data) < w.cols {
		return operand{}, fmt.Errorf("%d columns plus %d", w.cols, len(x[2].data))
	}
	y := operand{a.rows, w.cols, make([]float64, a.rows*w.cols)}
	for r := range y.rows {
		for c := range y.cols {
			sum := 0.0
			if len(x) > 2 {
				sum = x[2].data[c]
			}
			for k := range a.cols {
				sum += a.data[r*a.cols+k] * w.data[k*w.cols+c]
			}
			y.data[r*y.cols+c] = sum
		}
	}
	return y, nil
}
