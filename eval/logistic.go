package eval

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// logistic is a logistic regression: the probability of a positive is 1 / (1 + exp(−w·x − b)). The probability of
// a class is compared with a threshold by the caller.
type logistic struct{ w []float64 } // the last element is b

const (
	// Half the squared norm is penalised, the intercept is not; steps are those of Newton's method at most.
	logisticPenalty = 1.0 // ½·penalty·|w|² is added to the sum of the losses, as scikit-learn does by default
	logisticSteps   = 50
)

// fitLogistic fits to n examples x [n,m] by Newton's method. It minimises Σ log(1 + e^{∓z}) + ½·penalty·|w|² and
// stops when a step lowers the loss by less than a share of 1e-10, after logisticSteps steps, or where the
// curvature is singular.
func fitLogistic(x []float64, y []bool, m int) logistic {
	l := logistic{make([]float64, m+1)}
	loss := l.loss(x, y, m)
	for range logisticSteps {
		step := l.newton(x, y, m)
		if step == nil {
			break
		}
		before, previous := loss, slices.Clone(l.w)
		// A full step may overshoot where classes are nearly separable: halve it until the loss does not rise.
		for scale := 1.0; scale > 1e-6; scale /= 2 {
			for i := range l.w {
				l.w[i] = previous[i] - scale*step[i]
			}
			if loss = l.loss(x, y, m); loss <= before {
				break
			}
		}
		if before-loss <= 1e-10*math.Abs(before) {
			break
		}
	}
	return l
}

// newton is the step of Newton's method: the inverse of the curvature times the gradient. It is nil where the
// curvature cannot be factored.
func (l logistic) newton(x []float64, y []bool, m int) []float64 {
	gradient, curvature := make([]float64, m+1), make([]float64, (m+1)*(m+1))
	row := make([]float64, m+1)
	row[m] = 1
	for n := range y {
		copy(row, x[n*m:(n+1)*m])
		p := l.probability(row[:m])
		e := p
		if y[n] {
			e--
		}
		for i, a := range row {
			gradient[i] += e * a
			for j, b := range row[:i+1] {
				curvature[i*(m+1)+j] += p * (1 - p) * a * b
			}
		}
	}
	symmetric := mat.NewSymDense(m+1, nil)
	for i := range m + 1 {
		for j := range i + 1 {
			symmetric.SetSym(i, j, curvature[i*(m+1)+j])
		}
		if i < m { // b is not penalised
			gradient[i] += logisticPenalty * l.w[i]
			symmetric.SetSym(i, i, symmetric.At(i, i)+logisticPenalty)
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(symmetric) {
		return nil
	}
	var step mat.VecDense
	if err := factor.SolveVecTo(&step, mat.NewVecDense(m+1, gradient)); err != nil {
		return nil
	}
	return step.RawVector().Data
}

// loss is the penalty and the cross-entropy in nats, log(1 + e^{−z}) of a positive and log(1 + e^z) of a negative,
// in a form that does not overflow.
func (l logistic) loss(x []float64, y []bool, m int) float64 {
	sum := 0.0
	for _, w := range l.w[:m] {
		sum += logisticPenalty * w * w / 2
	}
	for n := range y {
		z := l.score(x[n*m : (n+1)*m])
		if y[n] {
			z = -z
		}
		sum += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
	}
	return sum
}

// score is z = w·x + b, the log odds of a positive.
func (l logistic) score(x []float64) float64 {
	z := l.w[len(x)]
	for i, v := range x {
		z += l.w[i] * v
	}
	return z
}

func (l logistic) probability(x []float64) float64 { return 1 / (1 + math.Exp(-l.score(x))) }

// bestThreshold is the probability above which calling an example positive gives the best F1 on these examples:
// half-way between two neighbouring probabilities, or just below the least. It is ½ where there are no positives.
// O(n log n).
func bestThreshold(p []float64, y []bool) float64 {
	order := make([]int, len(p))
	positives := 0
	for i := range order {
		order[i] = i
		if y[i] {
			positives++
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	best, threshold, hits := 0.0, 0.5, 0
	for k, i := range order {
		if y[i] {
			hits++
		}
		if k+1 < len(order) && p[order[k+1]] == p[i] {
			continue // a threshold cannot part them
		}
		// k+1 examples are called positive: F1 is 2·hits over calls and positives together.
		if f := 2 * float64(hits) / float64(k+1+positives); f > best {
			best, threshold = f, p[i]-1e-12
			if k+1 < len(order) {
				threshold = (p[i] + p[order[k+1]]) / 2
			}
		}
	}
	return threshold
}
