package statespace

import (
	"testing"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/rng"
)

// TestEmission_Floor: with the parameters as low as they get, the standard deviation is the floor: SDFloor, or the one
// that the configuration says. A linear decoder has the deviations that it was given also below SDFloor.
func TestEmission_Floor(t *testing.T) {
	for _, sd := range []SD{ConstantSD, StateSD} {
		for floor, want := range map[float64]float32{0: SDFloor, 1e-4: 1e-4, 0.5: 0.5} {
			p := autodiff.NewParams()
			draws := rng.New(1, rng.Init).At(0, 0, 0)
			n := NewEmission(p, EmissionConfig{
				Density: Gaussian, SD: sd, Floor: floor, NX: 2, NZ: 2, Hidden: 3, Skip: true,
			}, &draws)
			deviation := func() float32 {
				p.Pack()
				tape := autodiff.NewInferenceTape(p)
				_, y := n.Predict(tape, tape.Constant([]float32{1, -1}, 1, 2))
				return y.Value[0]
			}
			n.SetLinear(make([]float64, 4), make([]float64, 2), []float64{2e-4, 2e-4})
			if got := deviation(); floor == 1e-4 && max(got-2e-4, 2e-4-got) > 1e-8 {
				t.Errorf("%s, floor %g: %g of a linear decoder, want 2e-4", sd, floor, got)
			}
			head := n.sd.B
			if sd == ConstantSD {
				head = n.constant
			}
			for i := range head.Values() {
				head.Values()[i] = -40
			}
			if got := deviation(); got != want {
				t.Errorf("%s, floor %g: %g, want %g", sd, floor, got, want)
			}
		}
	}
}
