package autodiff

import (
	"errors"
	"math"
	"slices"
	"testing"
)

var choleskyTests = []opTest{
	{
		name: "Symmetric", inputs: [][2]int{{4, 9}},
		f:     func(t *Tape, in []Tensor, _ []*Weight) Tensor { return dot(t, t.Symmetric(in[0])) },
		value: byRow(4, 3, 0, func(a [][]float64) []float64 { return a[0] }),
	},
	{
		name: "Cholesky", inputs: [][2]int{{4, 9}},
		f:     func(t *Tape, in []Tensor, _ []*Weight) Tensor { return dot(t, t.Cholesky(definite(t, in[0]))) },
		value: byRow(4, 3, 10, func(a [][]float64) []float64 { return exactFactor(a[0]) }),
	},
	{
		name: "Cholesky/large", inputs: [][2]int{{2, 64}},
		f:     func(t *Tape, in []Tensor, _ []*Weight) Tensor { return dot(t, t.Cholesky(definite(t, in[0]))) },
		value: byRow(2, 8, 10, func(a [][]float64) []float64 { return exactFactor(a[0]) }),
	},
	{
		name: "LogDet", inputs: [][2]int{{4, 9}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			return dot(t, t.LogDet(t.Cholesky(definite(t, in[0]))))
		},
		value: byRow(4, 3, 10, func(a [][]float64) []float64 {
			_, logDet := eliminated(a[0], nil)
			return []float64{logDet}
		}),
	},
	{
		name: "LowerSolve", inputs: [][2]int{{4, 9}, {4, 6}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			return dot(t, t.LowerSolve(t.Cholesky(definite(t, in[0])), in[1]))
		},
		value: byRow(4, 3, 10, func(a [][]float64) []float64 {
			x, _ := eliminated(exactFactor(a[0]), a[1])
			return x
		}),
	},
	{
		name: "CholeskySolve", inputs: [][2]int{{4, 9}, {4, 6}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			return dot(t, t.CholeskySolve(t.Cholesky(definite(t, in[0])), in[1]))
		},
		value: byRow(4, 3, 10, func(a [][]float64) []float64 {
			x, _ := eliminated(a[0], a[1])
			return x
		}),
	},
	{ // and of constants
		name: "CholeskySolve/large", inputs: [][2]int{{2, 64}, {2, 40}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			l, b := t.Cholesky(definite(t, in[0])), in[1]
			constant := t.Cholesky(definite(t, t.Constant(coefficients(128), 2, 64)))
			constant.Grad = nil
			t.LogDet(constant)
			t.CholeskySolve(constant, constant)
			t.LowerSolve(constant, constant)
			t.Cholesky(t.Symmetric(t.Constant(coefficients(4), 1, 4)))
			x := t.CholeskySolve(l, t.CholeskySolve(constant, b))
			y := t.LowerSolve(l, t.Add(t.LowerSolve(constant, b), t.Constant(coefficients(80), 2, 40)))
			return dot(t, t.Add(t.Add(x, y), t.CholeskySolve(l, t.Constant(coefficients(80), 2, 40))))
		},
	},
	{
		name: "LowerSolve/density", inputs: [][2]int{{4, 9}, {4, 3}, {4, 3}},
		f: func(t *Tape, in []Tensor, _ []*Weight) Tensor {
			return dot(t, logDensity(t, definite(t, in[0]), t.Sub(in[1], in[2])))
		},
		value: byRow(4, 3, 10, func(a [][]float64) []float64 {
			r := make([]float64, 3)
			for i := range r {
				r[i] = a[1][i] - a[2][i]
			}
			return []float64{exactDensity(a[0], r)}
		}),
	},
	{
		name: "BatchMul/kalman", inputs: [][2]int{{1, 9}, {1, 6}, {8, 2}}, f: kalman,
		value: func(in [][]float64) (all []float64) {
			for b := range 2 {
				all = append(all, jointDensity(in[0], in[1], in[2][2*b:], 4, 4))
			}
			return all
		},
	},
}

// definite adds 10 to the diagonals of the matrices in the rows of a.
func definite(t *Tape, a Tensor) Tensor {
	n := order("definite", a)
	return t.Add(a, diagonal(t, n, 10))
}

// diagonal is the row of the matrix c·I.
func diagonal(t *Tape, n int, c float32) Tensor {
	d := t.NewConstant(1, n*n)
	clear(d.Value)
	for i := range n {
		d.Value[i*n+i] = c
	}
	return d
}

// logDensity is log N(r; 0, S), a column.
func logDensity(t *Tape, s, r Tensor) Tensor {
	l := t.Cholesky(s)
	z := t.LowerSolve(l, r)
	y := t.Scale(t.Add(t.LogDet(l), t.SumRows(t.Square(z))), -0.5)
	return t.AddScalar(y, -float32(r.Cols)*halfLog2Pi)
}

// kalman is the log-likelihood of two sequences of four observations y of two values, a column: z₁ ~ N(0, I),
// z_t = A·z_{t−1} + N(0, I), y_t = C·z_t + N(0, I) with three states.
func kalman(t *Tape, in []Tensor, _ []*Weight) Tensor {
	const steps, rows, n, k = 4, 2, 3, 2
	a, c, y := t.Repeat(in[0], rows), t.Repeat(in[1], rows), in[2]
	mean, p := t.NewConstant(rows, n), t.Repeat(diagonal(t, n, 1), rows)
	clear(mean.Value)
	var sum Tensor
	for i := range steps {
		if i > 0 {
			mean = t.BatchMul(a, mean, n)
			p = t.Add(t.BatchMulTransB(t.BatchMul(a, p, n), a, n), diagonal(t, n, 1))
		}
		cp := t.BatchMul(c, p, n)
		s := t.Add(t.BatchMulTransB(cp, c, n), diagonal(t, k, 1))
		residual := t.Sub(y.Block(i, rows), t.BatchMul(c, mean, n))
		if term := logDensity(t, s, residual); i == 0 {
			sum = term
		} else {
			sum = t.Add(sum, term)
		}
		gain := t.CholeskySolve(t.Cholesky(s), cp) // transposed
		mean = t.Add(mean, t.BatchMulTransA(gain, residual, k))
		p = t.Symmetric(t.Sub(p, t.BatchMulTransA(gain, cp, k)))
	}
	return dot(t, sum)
}

// jointDensity is what kalman is to compute, from the covariance of all observations at once: cov(z_s, z_t) =
// V_s·(Aᵀ)^{t−s} with V_t = A·V_{t−1}·Aᵀ + I. y begins with the observations of the sequence, a step apart.
func jointDensity(a, c, y []float64, steps, step int) float64 {
	const n, k = 3, 2
	identity := []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	size := steps * k
	joint, all := make([]float64, size*size), make([]float64, size)
	v := identity
	for s := range steps {
		if s > 0 {
			v = exactMul(exactMul(a, v, n, n, n), turned(a, n, n), n, n, n)
			for i := range v {
				v[i] += identity[i]
			}
		}
		cross := v
		for t := s; t < steps; t++ {
			block := exactMul(exactMul(c, cross, k, n, n), turned(c, k, n), k, n, k)
			for i := range k {
				for j := range k {
					joint[(s*k+i)*size+t*k+j] = block[i*k+j]
					joint[(t*k+j)*size+s*k+i] = block[i*k+j]
				}
			}
			cross = exactMul(cross, turned(a, n, n), n, n, n)
		}
		for i := range k {
			joint[(s*k+i)*size+s*k+i]++
			all[s*k+i] = y[s*step+i]
		}
	}
	return exactDensity(joint, all)
}

// byRow computes row by row, with the first input A as ½(A + Aᵀ) and something added to its diagonal.
func byRow(rows, n int, add float64, f func(in [][]float64) []float64) func(in [][]float64) []float64 {
	return func(in [][]float64) (all []float64) {
		for row := range rows {
			var parts [][]float64
			for _, x := range in {
				parts = append(parts, slices.Clone(x[row*len(x)/rows:(row+1)*len(x)/rows]))
			}
			a := turned(parts[0], n, n)
			for i := range a {
				parts[0][i] = (parts[0][i] + a[i]) / 2
				if i%(n+1) == 0 {
					parts[0][i] += add
				}
			}
			all = append(all, f(parts)...)
		}
		return all
	}
}

func turned(a []float64, rows, cols int) []float64 {
	t := make([]float64, len(a))
	for i := range rows {
		for j := range cols {
			t[j*rows+i] = a[i*cols+j]
		}
	}
	return t
}

func exactMul(x, y []float64, n, k, m int) []float64 {
	z := make([]float64, n*m)
	for i := range z {
		for l := range k {
			z[i] += x[i/m*k+l] * y[l*m+i%m]
		}
	}
	return z
}

func exactFactor(a []float64) []float64 {
	n := int(math.Sqrt(float64(len(a))))
	l := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			s := a[i*n+j]
			for k := range j {
				s -= l[i*n+k] * l[j*n+k]
			}
			if i == j {
				l[i*n+i] = math.Sqrt(s)
			} else {
				l[i*n+j] = s / l[j*n+j]
			}
		}
	}
	return l
}

// eliminated is A⁻¹·B and log det A by Gauss and Jordan, without pivots.
func eliminated(a, b []float64) (x []float64, logDet float64) {
	n := int(math.Sqrt(float64(len(a))))
	a, x = slices.Clone(a), slices.Clone(b)
	m := len(b) / n
	for i := range n {
		pivot := a[i*n+i]
		logDet += math.Log(pivot)
		scale := func(row []float64) {
			for j := range row {
				row[j] /= pivot
			}
		}
		scale(a[i*n : (i+1)*n])
		scale(x[i*m : (i+1)*m])
		for r := range n {
			if f := a[r*n+i]; r != i {
				for j := range n {
					a[r*n+j] -= f * a[i*n+j]
				}
				for j := range m {
					x[r*m+j] -= f * x[i*m+j]
				}
			}
		}
	}
	return x, logDet
}

// exactDensity is log N(r; 0, S).
func exactDensity(s, r []float64) float64 {
	x, logDet := eliminated(s, r)
	y := logDet + float64(len(r))*math.Log(2*math.Pi)
	for i, v := range r {
		y += v * x[i]
	}
	return -y / 2
}

// TestCholesky_NamesWhatIsNotPositiveDefinite: its row is NaN, the others keep their bits, and the tape says which.
func TestCholesky_NamesWhatIsNotPositiveDefinite(t *testing.T) {
	tape := NewTape(NewParams())
	run := func(data []float32) ([]float32, error) {
		tape.Reset()
		return tape.Cholesky(tape.Constant(data, 3, 4)).Value, tape.Err()
	}
	good := []float32{4, 2, 2, 5, 9, 3, 3, 5, 2, 1, 1, 2}
	l, err := run(good)
	if want := []float32{2, 0, 1, 2, 3, 0, 1, 2}; !slices.Equal(l[:8], want) || err != nil {
		t.Errorf("got %v, %v, want %v", l, err, want)
	}
	want := slices.Clone(l)
	bad := slices.Clone(good)
	bad[7] = 0.5
	l, err = run(bad)
	if !errors.Is(err, ErrNotPositiveDefinite) {
		t.Fatalf("got %v", err)
	}
	if got, want := err.Error(), "autodiff: Cholesky: matrix 1 of 3: matrix is not positive definite: pivot 1 of 2 is -0.5; add something to its diagonal"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, v := range l {
		if row := i / 4; row == 1 && v == v || row != 1 && v != want[i] {
			t.Errorf("value %d is %v, of positive definite matrices %v", i, v, want[i])
		}
	}
	bad[7] = float32(math.NaN())
	if _, err := run(bad); err != nil {
		t.Errorf("a NaN that came in is not the fault of Cholesky: %v", err)
	}
}
