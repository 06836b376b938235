package gibbs

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/switchyard-ml/switchyard/internal/matrix"
	"github.com/switchyard-ml/switchyard/rng"
)

func testSource(index uint32) source { return source{stream: rng.New(7, rng.Noise).At(0, 0, index)} }

func randoms(s *source, n int) []float64 {
	x := make([]float64, n)
	s.normals(x)
	return x
}

// definite returns a random positive definite matrix.
func definite(s *source, n int) *mat.SymDense {
	g := mat.NewDense(n, n, randoms(s, n*n))
	a := mat.NewSymDense(n, nil)
	a.SymOuterK(1, g)
	for i := range n {
		a.SetSym(i, i, a.At(i, i)+0.1)
	}
	return a
}

func flat(m mat.Matrix) []float64 { return mat.DenseCopyOf(m).RawMatrix().Data }

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Errorf("%s: element %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// Every operation is compared with gonum's.
func TestMatrix_IsThatOfGonum(t *testing.T) {
	for n := 1; n <= 6; n++ {
		s := testSource(uint32(n))
		a := definite(&s, n)
		var chol mat.Cholesky
		if !chol.Factorize(a) {
			t.Fatal("the test's matrix is not positive definite")
		}
		var lower mat.TriDense
		chol.LTo(&lower)
		l := flat(a)
		if !matrix.Cholesky(l, n) {
			t.Fatal("not positive definite")
		}
		near(t, "cholesky", l, flat(&lower), 1e-12)
		if got, want := 2*matrix.LogDiagonal(l, n), chol.LogDet(); math.Abs(got-want) > 1e-10 {
			t.Errorf("log determinant %v, want %v", got, want)
		}

		const m = 3
		b := mat.NewDense(n, m, randoms(&s, n*m))
		var want mat.Dense
		if err := want.Solve(&lower, b); err != nil {
			t.Fatal(err)
		}
		got := flat(b)
		matrix.SolveLowerRows(l, got, n, m)
		near(t, "solveLowerRows", got, flat(&want), 1e-9)
		column := mat.Col(nil, 1, b)
		matrix.SolveLower(l, column)
		near(t, "solveLower", column, mat.Col(nil, 1, &want), 1e-9)
		if err := want.Solve(lower.T(), b); err != nil {
			t.Fatal(err)
		}
		got = flat(b)
		matrix.SolveUpperRows(l, got, n, m)
		near(t, "solveUpperRows", got, flat(&want), 1e-9)
		column = mat.Col(nil, 1, b)
		matrix.SolveUpper(l, column)
		near(t, "solveUpper", column, mat.Col(nil, 1, &want), 1e-9)

		var inverted mat.Dense
		if err := inverted.Inverse(a); err != nil {
			t.Fatal(err)
		}
		got = make([]float64, n*n)
		matrix.Inverse(got, append([]float64(nil), l...), n)
		near(t, "inverse", got, flat(&inverted), 1e-9)

		c := mat.NewDense(m, n, randoms(&s, n*m))
		want.Reset()
		want.Mul(c, b)
		got = make([]float64, m*m)
		matrix.Multiply(got, flat(c), flat(b), m, n, m)
		near(t, "multiply", got, flat(&want), 1e-12)
		want.Reset()
		want.Mul(c, b)
		got = make([]float64, m*m)
		matrix.MultiplyT(got, flat(c), flat(b.T()), m, n, m)
		near(t, "multiplyT", got, flat(&want), 1e-12)
		got = make([]float64, n*m)
		matrix.Transpose(got, flat(b), n, m)
		near(t, "transpose", got, flat(b.T()), 0)

		var spectrum mat.EigenSym
		if !spectrum.Factorize(a, true) {
			t.Fatal("no eigenvalues")
		}
		values, vectors := matrix.Eigen(flat(a), n)
		for i := range n {
			if w := spectrum.Values(nil)[n-1-i]; math.Abs(values[i]-w) > 1e-10*(1+w) {
				t.Errorf("eigenvalue %d is %v, want %v", i, values[i], w)
			}
			v := mat.NewVecDense(n, vectors[i*n:(i+1)*n])
			var av mat.VecDense
			av.MulVec(a, v)
			av.AddScaledVec(&av, -values[i], v)
			if mat.Norm(&av, 2) > 1e-9 || math.Abs(mat.Norm(v, 2)-1) > 1e-12 {
				t.Errorf("eigenvector %d: |Av − λv| = %g", i, mat.Norm(&av, 2))
			}
		}
	}
}

func TestCholesky_RefusesWhatIsNotPositiveDefinite(t *testing.T) {
	for _, a := range [][]float64{{1, 0, 2, 1}, {0, 0, 0, 0}, {math.NaN(), 0, 0, 1}, {math.Inf(1), 0, 0, 1}} {
		if matrix.Cholesky(a, 2) {
			t.Errorf("%v was accepted", a)
		}
	}
}
