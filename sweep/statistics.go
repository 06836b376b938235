package sweep

import "math"

// Estimate is what a few runs with different seeds say about a metric.
type Estimate struct {
	N         int     `json:"n"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"sd"` // of one run; 0 for a single one
	// Low and High are the ends of the interval that covers the mean of all seeds in 95 of 100 cases, if the values are
	// about normal (Student's t). With a single run they are the value itself: nothing is known of the spread.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// NewEstimate returns the estimate from the values of the runs; at least one. With N values y,
//
//	Mean = ȳ,  Deviation = √(Σ(y−ȳ)²/(N−1)),  Low, High = ȳ ∓ t·Deviation/√N
//
// where t is the 97.5 % quantile of Student's t with N−1 degrees of freedom.
func NewEstimate(values []float64) Estimate {
	e := Estimate{N: len(values)}
	for _, v := range values {
		e.Mean += v / float64(e.N)
	}
	e.Low, e.High = e.Mean, e.Mean
	if e.N < 2 {
		return e
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - e.Mean) * (v - e.Mean)
	}
	e.Deviation = math.Sqrt(squares / float64(e.N-1))
	half := student(e.N-1) * e.Deviation / math.Sqrt(float64(e.N))
	e.Low, e.High = e.Mean-half, e.Mean+half
	return e
}

// students are the 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom.
var students = [...]float64{
	12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.30600, 2.26216, 2.22814,
	2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
	2.07961, 2.07387, 2.06866, 2.06390, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227,
}

// student is the 97.5 % quantile of Student's t with at least one degree of freedom. Beyond the table it is the
// Cornish-Fisher expansion about the quantile z of the normal law,
//
//	t = z + (z³ + z)/4n + (5z⁵ + 16z³ + 3z)/96n²
//
// which is right to four digits there.
func student(freedom int) float64 {
	if freedom <= len(students) {
		return students[freedom-1]
	}
	z, n := 1.959964, float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}
