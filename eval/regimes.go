package eval

import (
	"cmp"
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Dwell is how long a regime lasts, once it has begun. A visit is a stretch of steps of the same regime; times are
// in steps.
type Dwell struct {
	Visits       int
	Steps        int     // of all visits
	Mean, Median float64 // steps of a visit; NaN if there is none
	Longest      int
}

// Dwells are those of each of m regimes in sequences of regimes. The first and last visit of a sequence count with
// what is seen of them. The list has m elements, in the order of the regimes.
func Dwells(sequences [][]int, m int) []Dwell {
	visits := make([][]float64, m)
	for _, s := range sequences {
		for from := 0; from < len(s); {
			to := from
			for to < len(s) && s[to] == s[from] {
				to++
			}
			visits[s[from]] = append(visits[s[from]], float64(to-from))
			from = to
		}
	}
	list := make([]Dwell, m)
	for k, lengths := range visits {
		d := Dwell{Visits: len(lengths), Mean: math.NaN(), Median: math.NaN()}
		if len(lengths) > 0 {
			// Of an even number of visits the median is the mean of the two in the middle.
			slices.Sort(lengths)
			sum := 0.0
			for _, v := range lengths {
				sum += v
			}
			n := len(lengths)
			d.Steps, d.Mean, d.Longest = int(sum), sum/float64(n), int(lengths[n-1])
			d.Median = (lengths[(n-1)/2] + lengths[n/2]) / 2
		}
		list[k] = d
	}
	return list
}

// Transitions counts, in sequences of m regimes, how often regime j (column) follows regime i (row). The result is
// [m][m]; pairs across two sequences do not count.
func Transitions(sequences [][]int, m int) [][]int {
	counts := make([][]int, m)
	for i := range counts {
		counts[i] = make([]int, m)
	}
	for _, s := range sequences {
		for t := 1; t < len(s); t++ {
			counts[s[t-1]][s[t]]++
		}
	}
	return counts
}

// Mode is an eigenvalue of a linear system x_t = A x_{t−1} and what it means in time. Times are in the unit of dt.
type Mode struct {
	Real, Imaginary, Modulus float64
	// −dt/ln|λ|: the time to shrink to 1/e; negative: it grows to e times; infinite: neither
	TimeConstant float64
	Period       float64 // 2π dt/|arg λ|; infinite if it does not turn
}

// Modes are the eigenvalues of A [n,n], row-major, the largest modulus first; dt is the time between two steps. An
// eigenvalue of zero has the time constant 0. Complex ones come in pairs, that of the positive imaginary part
// first. It returns an error where the algorithm does not converge.
func Modes(a []float64, n int, dt float64) ([]Mode, error) {
	var e mat.Eigen
	if !e.Factorize(mat.NewDense(n, n, slices.Clone(a)), mat.EigenNone) {
		return nil, fmt.Errorf("eval: the eigenvalues of a matrix of order %d do not converge", n)
	}
	var modes []Mode
	for _, v := range e.Values(nil) {
		m := Mode{Real: real(v), Imaginary: imag(v), Modulus: cmplx.Abs(v), TimeConstant: math.Inf(1), Period: math.Inf(1)}
		// Closer to 1 it is 1, as rounding has left it.
		if math.Abs(m.Modulus-1) > 1e-9 {
			m.TimeConstant = -dt / math.Log(m.Modulus)
		}
		if turn := math.Abs(cmplx.Phase(v)); turn > 0 {
			m.Period = 2 * math.Pi * dt / turn
		}
		modes = append(modes, m)
	}
	slices.SortFunc(modes, func(a, b Mode) int {
		return cmp.Or(-cmp.Compare(a.Modulus, b.Modulus), -cmp.Compare(a.Real, b.Real),
			-cmp.Compare(a.Imaginary, b.Imaginary))
	})
	return modes, nil
}
