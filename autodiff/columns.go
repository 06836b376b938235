package autodiff

import "github.com/switchyard-ml/switchyard/autodiff/kernel"

// Columns returns the columns [from, to) of x. Rows need no operation: see Tensor.Slice.
func (t *Tape) Columns(x Tensor, from, to int) Tensor {
	shapeCheck(0 <= from && from <= to && to <= x.Cols, "Columns", x, Tensor{Rows: x.Rows, Cols: to - from})
	y := t.result(x.Rows, to-from, x)
	for row := range x.Rows {
		copy(y.row(row), x.row(row)[from:to])
	}
	record(t, &t.lists.columns, columnsRecord{x, y, from})
	return y
}

type columnsRecord struct {
	x, y Tensor
	from int
}

// x̄ += ȳ in the columns taken
func (r *columnsRecord) backward(*Tape) {
	if r.x.Grad == nil {
		return
	}
	for row := range r.y.Rows {
		to := r.x.gradRow(row)[r.from:]
		for j, g := range r.y.gradRow(row) {
			to[j] += g
		}
	}
}

// Concat writes the columns of the parts side by side: y = [x₁ x₂ …]. It takes up to four parts; a part without
// columns is left out, but needs the rows of y. With one part it is a copy: into the blocks of a tensor it stacks
// the results of the steps of a recurrence.
func (t *Tape) Concat(y Tensor, parts ...Tensor) {
	r := concatRecord{y: y}
	if len(parts) > len(r.parts) {
		panic("autodiff: Concat: too many parts")
	}
	col := 0
	for i, x := range parts {
		shapeCheck(x.Rows == y.Rows && col+x.Cols <= y.Cols, "Concat", x, y)
		for row := range y.Rows {
			copy(y.Value[row*y.Cols+col:], x.Value[row*x.Cols:(row+1)*x.Cols])
		}
		r.parts[i] = x
		col += x.Cols
	}
	shapeCheck(col == y.Cols, "Concat", parts[0], y)
	record(t, &t.lists.concat, r)
}

type concatRecord struct {
	y     Tensor
	parts [4]Tensor
}

// x̄ᵢ += the columns of ȳ that came from xᵢ
func (r *concatRecord) backward(*Tape) {
	r.y.settle()
	col := 0
	for _, x := range r.parts {
		if x.Grad != nil {
			addColumns(x, r.y, col)
		}
		col += x.Cols
	}
}

// addColumns adds the gradients of y, from column col on, to those of x.
func addColumns(x, y Tensor, col int) {
	write := x.claim()
	for row := range y.Rows {
		to, from := x.gradRow(row), y.gradRow(row)[col:][:x.Cols]
		switch {
		case write:
			copy(to, from)
		case x.Cols >= 16:
			kernel.Add(to, from)
		default:
			for j, g := range from {
				to[j] += g
			}
		}
	}
}
