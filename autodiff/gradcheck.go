package autodiff

import (
	"fmt"
	"math"
)

// GradCheck compares a gradient with central differences along random directions. It sees a function of a flat buffer
// and knows nothing of how its gradient was made.
type GradCheck struct {
	// Values are the arguments x. Loss reads them; Run moves them and puts them back.
	Values []float32
	// Gradient is ∇f at x.
	Gradient []float32
	// Loss returns f at the current Values; the sum over its terms is best formed in float64.
	Loss func() float64

	Directions int // random directions, each of independent signs and sizes
	// Steps are lengths per coordinate, tried from first to last: a long step stands above the
	// rounding of float32, a short one stays on this side of a rectifier's kink.
	Steps     []float64
	Tolerance float64 // allowed |difference| relative to the root-sum-square of gradient times direction
}

// Run returns an error that names a derivative that is not finite, or the first direction v in which (f(x+hv) −
// f(x−hv))/2h and ⟨∇f, v⟩ differ at every step h by more than the tolerance times √Σ(∇fᵢvᵢ)², the size that a sum of so
// many terms has. The elements of the directions are drawn from normal, standard normals. It evaluates Loss twice for
// every step that is tried.
func (c GradCheck) Run(normal func() float64) error {
	for i, g := range c.Gradient {
		if g-g != 0 {
			return fmt.Errorf("derivative %d of %d is %v", i, len(c.Gradient), g)
		}
	}
	at := append([]float32(nil), c.Values...)
	defer copy(c.Values, at)
	direction := make([]float64, len(at))
	for d := range c.Directions {
		var want, size float64
		for i := range direction {
			direction[i] = normal()
			g := float64(c.Gradient[i]) * direction[i]
			want += g
			size += g * g
		}
		if err := c.compare(at, direction, want, math.Sqrt(size)); err != nil {
			return fmt.Errorf("direction %d: %w", d, err)
		}
	}
	return nil
}

// compare takes the steps in their order and is content with the first that agrees.
func (c GradCheck) compare(at []float32, direction []float64, want, size float64) error {
	move := func(h float64) float64 {
		for i := range at {
			c.Values[i] = float32(float64(at[i]) + h*direction[i])
		}
		return c.Loss()
	}
	var got []float64
	for _, h := range c.Steps {
		difference := (move(h) - move(-h)) / (2 * h)
		if math.Abs(difference-want) <= c.Tolerance*(size+1e-6) {
			return nil
		}
		got = append(got, difference)
	}
	return fmt.Errorf("central differences %.6g at steps %g, gradient %.6g (size %.3g)", got, c.Steps, want, size)
}
