package trained

import "testing"

// TestSimulations_Times: the times of a made-up series are multiples of its step as they are written, without the
// digits of a product.
func TestSimulations_Times(t *testing.T) {
	rows := make([][]float64, 34)
	for i := range rows {
		rows[i] = []float64{0}
	}
	made := []Simulation{{Observations: rows, Mean: rows, States: rows, Weights: rows}}
	table := Simulations(made, Columns{Observations: []string{"x"}, DT: 0.1}).Rows
	for i, want := range map[int]float64{0: 0, 3: 0.3, 33: 3.3} {
		if got := table.Rows[i].Values[0]; got != want {
			t.Errorf("step %d is at %v, want %v", i, got, want)
		}
	}
}
