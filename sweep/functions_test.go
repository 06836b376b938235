package sweep

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var allFunctions = flag.Bool("functions", false, "compare the samplers on all test functions, with 20 seeds, and print the table of docs/results/sweeps.md")

// testFunction is a function with a known minimum, of parameters that all lie in [low, high] unless space says otherwise.
type testFunction struct {
	name      string
	dimension int
	low, high float64
	least     float64
	space     []Parameter // nil: x1 … xn, uniform
	f         func(x []float64, s Settings) float64
}

// testFunctions are a dozen functions of the literature; formulas and minima as in Surjanovic and Bingham's virtual
// library of simulation experiments. The last one has a parameter that exists only beside a value of another one.
func testFunctions() []testFunction {
	pure := func(f func(x []float64) float64) func([]float64, Settings) float64 {
		return func(x []float64, _ Settings) float64 { return f(x) }
	}
	return []testFunction{
		{"Branin", 2, 0, 0, 0.397887, []Parameter{
			{Key: "x1", Distribution: Uniform, Min: -5, Max: 10}, {Key: "x2", Distribution: Uniform, Min: 0, Max: 15},
		}, pure(branin)},
		{"six-hump camel", 2, 0, 0, -1.031628, []Parameter{
			{Key: "x1", Distribution: Uniform, Min: -3, Max: 3}, {Key: "x2", Distribution: Uniform, Min: -2, Max: 2},
		}, pure(camel)},
		{"Beale", 2, -4.5, 4.5, 0, nil, pure(beale)},
		{"Goldstein–Price", 2, -2, 2, 3, nil, pure(goldsteinPrice)},
		{"Hartmann 6", 6, 0, 1, -3.32237, nil, pure(hartmann6)},
		{"Ackley", 5, -32.768, 32.768, 0, nil, pure(ackley)},
		{"Levy", 5, -10, 10, 0, nil, pure(levy)},
		{"Griewank", 5, -600, 600, 0, nil, pure(griewank)},
		{"Rastrigin", 5, -5.12, 5.12, 0, nil, pure(rastrigin)},
		{"Styblinski–Tang", 5, -5, 5, -195.830831, nil, pure(styblinskiTang)},
		{"Michalewicz", 5, 0, math.Pi, -4.687658, nil, pure(michalewicz)},
		{"Rosenbrock, conditional", 4, 0, 0, 0, []Parameter{
			{Key: "x1", Distribution: Uniform, Min: -5, Max: 10},
			{Key: "x2", Distribution: Uniform, Min: -5, Max: 10},
			{Key: "bend", Distribution: Categorical, Values: []string{"none", "soft", "hard"}},
			{Key: "x3", Distribution: Uniform, Min: -5, Max: 10, When: []Condition{{Key: "bend", Values: []string{"soft", "hard"}}}},
		}, conditionalRosenbrock},
	}
}

func branin(x []float64) float64 {
	a := x[1] - 5.1/(4*math.Pi*math.Pi)*x[0]*x[0] + 5/math.Pi*x[0] - 6
	return a*a + 10*(1-1/(8*math.Pi))*math.Cos(x[0]) + 10
}

func camel(x []float64) float64 {
	a, b := x[0]*x[0], x[1]*x[1]
	return (4-2.1*a+a*a/3)*a + x[0]*x[1] + (-4+4*b)*b
}

func beale(x []float64) float64 {
	sum := 0.0
	for i, c := range []float64{1.5, 2.25, 2.625} {
		r := c - x[0] + x[0]*math.Pow(x[1], float64(i+1))
		sum += r * r
	}
	return sum
}

func goldsteinPrice(x []float64) float64 {
	a, b := x[0], x[1]
	first := 1 + (a+b+1)*(a+b+1)*(19-14*a+3*a*a-14*b+6*a*b+3*b*b)
	second := 30 + (2*a-3*b)*(2*a-3*b)*(18-32*a+12*a*a+48*b-36*a*b+27*b*b)
	return first * second
}

func hartmann6(x []float64) float64 {
	alpha := []float64{1, 1.2, 3, 3.2}
	a := [4][6]float64{{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}
	p := [4][6]float64{
		{1312, 1696, 5569, 124, 8283, 5886}, {2329, 4135, 8307, 3736, 1004, 9991}, {2348, 1451, 3522, 2883, 3047, 6650}, {4047, 8828, 8732, 5743, 1091, 381},
	}
	sum := 0.0
	for i := range 4 {
		d := 0.0
		for j := range 6 {
			d += a[i][j] * (x[j] - p[i][j]*1e-4) * (x[j] - p[i][j]*1e-4)
		}
		sum -= alpha[i] * math.Exp(-d)
	}
	return sum
}

func ackley(x []float64) float64 {
	squares, waves, n := 0.0, 0.0, float64(len(x))
	for _, v := range x {
		squares, waves = squares+v*v, waves+math.Cos(2*math.Pi*v)
	}
	return -20*math.Exp(-0.2*math.Sqrt(squares/n)) - math.Exp(waves/n) + 20 + math.E
}

func levy(x []float64) float64 {
	w := func(i int) float64 { return 1 + (x[i]-1)/4 }
	last := len(x) - 1
	sum := math.Pow(math.Sin(math.Pi*w(0)), 2)
	for i := range last {
		sum += (w(i) - 1) * (w(i) - 1) * (1 + 10*math.Pow(math.Sin(math.Pi*w(i)+1), 2))
	}
	return sum + (w(last)-1)*(w(last)-1)*(1+math.Pow(math.Sin(2*math.Pi*w(last)), 2))
}

func griewank(x []float64) float64 {
	sum, product := 0.0, 1.0
	for i, v := range x {
		sum, product = sum+v*v/4000, product*math.Cos(v/math.Sqrt(float64(i+1)))
	}
	return sum - product + 1
}

func rastrigin(x []float64) float64 {
	sum := 10 * float64(len(x))
	for _, v := range x {
		sum += v*v - 10*math.Cos(2*math.Pi*v)
	}
	return sum
}

func styblinskiTang(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += (v*v*v*v - 16*v*v + 5*v) / 2
	}
	return sum
}

func michalewicz(x []float64) float64 {
	sum := 0.0
	for i, v := range x {
		sum -= math.Sin(v) * math.Pow(math.Sin(float64(i+1)*v*v/math.Pi), 20)
	}
	return sum
}

// conditionalRosenbrock is Rosenbrock's function of two parameters, and with a bend of a third one; 0 is reached with
// the hard bend alone.
func conditionalRosenbrock(_ []float64, s Settings) float64 {
	number := func(key string) float64 {
		text, _ := s.Get(key)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err)
		}
		return v
	}
	valley := func(a, b float64) float64 { return 100*(b-a*a)*(b-a*a) + (1-a)*(1-a) }
	sum := valley(number("x1"), number("x2"))
	switch bend, _ := s.Get("bend"); bend {
	case "none":
		return sum + 30
	case "soft":
		return sum + 0.3*valley(number("x2"), number("x3")) + 10
	}
	return sum + valley(number("x2"), number("x3"))
}

// spec is the search of the function.
func (f *testFunction) spec(method Method, seed uint64) *Spec {
	s := &Spec{Method: method, Seed: seed, Parameters: f.space}
	for i := 0; f.space == nil && i < f.dimension; i++ {
		s.Parameters = append(s.Parameters, Parameter{Key: fmt.Sprintf("x%d", i+1), Distribution: Uniform, Min: f.low, Max: f.high})
	}
	return s
}

func (f *testFunction) value(s Settings) float64 {
	var x []float64
	for _, o := range s {
		if v, err := strconv.ParseFloat(o.Value, 64); err == nil {
			x = append(x, v)
		}
	}
	return f.f(x, s)
}

// regret is what is left to the minimum after so many trials. A proposal knows the results of the trials whose cohort is
// at least two before its own, as in a sweep; with cohorts of 0, those of all trials before it.
func (f *testFunction) regret(t *testing.T, method Method, seed uint64, trials, cohort int) float64 {
	t.Helper()
	spec := f.spec(method, seed)
	draws := proposer{spec, func(Settings) error { return nil }}
	var tried []Settings
	var values []float64
	from, best := uint64(0), math.Inf(1)
	for id := 1; id <= trials; id++ {
		known := len(tried)
		if cohort > 0 {
			known = max(0, (id-1)/cohort-1) * cohort
		}
		order := make([]int, known)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
		var h history
		for _, i := range order {
			h.ranked = append(h.ranked, observation{i + 1, tried[i]})
		}
		for i := known; i < len(tried); i++ {
			h.pending = append(h.pending, observation{i + 1, tried[i]})
		}
		p, err := draws.next(id, from, h, tried)
		if err != nil {
			t.Fatal(err)
		}
		v := f.value(p.settings)
		tried, values, from = append(tried, p.settings), append(values, v), p.draw+1
		best = min(best, v)
	}
	return best - f.least
}

// quartiles of a list, by linear interpolation.
func quartiles(list []float64) (q [3]float64) {
	list = slices.Sorted(slices.Values(list))
	for i := range q {
		at := float64(i+1) / 4 * float64(len(list)-1)
		low := int(at)
		q[i] = list[low] + (at-float64(low))*(list[min(low+1, len(list)-1)]-list[low])
	}
	return q
}

// TestFunctions_Minima checks the formulas at the minima that the literature gives.
func TestFunctions_Minima(t *testing.T) {
	at := map[string][]float64{
		"Branin": {math.Pi, 2.275}, "six-hump camel": {0.0898, -0.7126}, "Beale": {3, 0.5}, "Goldstein–Price": {0, -1},
		"Hartmann 6": {0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}, "Ackley": make([]float64, 5), "Levy": {1, 1, 1, 1, 1},
		"Griewank": make([]float64, 5), "Rastrigin": make([]float64, 5), "Styblinski–Tang": {-2.903534, -2.903534, -2.903534, -2.903534, -2.903534},
		"Michalewicz": {2.202906, 1.570796, 1.284992, 1.923058, 1.720470},
	}
	for _, f := range testFunctions() {
		s := Settings{{"x1", "1"}, {"x2", "1"}, {"bend", "hard"}, {"x3", "1"}}
		if got := f.f(at[f.name], s); math.Abs(got-f.least) > 1e-4 {
			t.Errorf("%s: %g at its minimum, want %g", f.name, got, f.least)
		}
	}
}

// TestFunctions_TPE compares the samplers at 100 trials. By default it looks at two functions and a few seeds, where the
// estimator has to be better than chance in the median; -functions prints the whole table.
func TestFunctions_TPE(t *testing.T) {
	list, seeds := testFunctions(), uint64(20)
	if !*allFunctions {
		list = slices.DeleteFunc(list, func(f testFunction) bool { return f.name != "Hartmann 6" && f.name != "Styblinski–Tang" })
		seeds = 5
	}
	samplers := []struct {
		name   string
		method Method
		cohort int
	}{{"random", Random, 0}, {"Sobol", Sobol, 0}, {"TPE", TPE, 0}, {"TPE in cohorts of 9", TPE, 9}}
	var table strings.Builder
	for _, f := range list {
		fmt.Fprintf(&table, "| %s, %d |", f.name, f.dimension)
		regrets := make([][]float64, len(samplers))
		for i, s := range samplers {
			for seed := range seeds {
				if seed > 0 && !*allFunctions && s.name != "random" && s.name != "TPE" { // nothing is asked of their figures
					break
				}
				regrets[i] = append(regrets[i], f.regret(t, s.method, seed+1, 100, s.cohort))
			}
			q := quartiles(regrets[i])
			fmt.Fprintf(&table, " %.3g (%.3g to %.3g) |", q[1], q[0], q[2])
		}
		wins := 0
		for seed := range seeds {
			if regrets[2][seed] < regrets[0][seed] {
				wins++
			}
		}
		fmt.Fprintf(&table, " %d |\n", wins)
		if !*allFunctions && quartiles(regrets[2])[1] >= quartiles(regrets[0])[1] {
			t.Errorf("%s: TPE leaves %.3g in the median, chance %.3g", f.name, quartiles(regrets[2])[1], quartiles(regrets[0])[1])
		}
	}
	if *allFunctions {
		fmt.Printf("| function, dimensions | random | Sobol | TPE | TPE in cohorts of 9 | TPE before random, of %d seeds |\n|---|---|---|---|---|---|\n%s", seeds, table.String())
	}
}
