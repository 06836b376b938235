package trained

import (
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/eval/figure"
)

// TestLeading_OfBodies: each body has the regime of the largest of its own weights, and figures of states have a row
// for each, of as many regimes as a body has.
func TestLeading_OfBodies(t *testing.T) {
	r := &Run{numbering: func() []int { return []int{1, 0, 2} }}
	weights := [][]float64{{0, 0, 0, 0, 0, 0}, {0.9, 0, 0.1, 0.2, 0.8, 0}, {0, 0, 1, 1, 0, 0}}
	if got, want := r.leading(weights, 2), [][]int{{1, 1, 2}, {0, 0, 1}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("regimes %v, want %v", got, want)
	}
	of := []Recording{{Series: Series{Observations: [][]float64{{1}, {2}, {3}}}}}
	states := [][]float64{{1}, {2}, {3}}
	filtered := []Filtering{{Mean: states, SD: states, Weights: weights, Regime: []int{1, 1, 2}, Others: [][]int{{0, 0, 1}}}}
	made := []Simulation{{
		Observations: states, Mean: states, States: states, Weights: weights, Regime: []int{1, 1, 2}, Others: [][]int{{0, 0, 1}},
	}}
	columns := Columns{Observations: []string{"x"}}
	for name, f := range map[string]*figure.Figure{
		"filter": Filterings(of, filtered).Figure, "simulate": Simulations(made, columns).Figure,
	} {
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(svg); !strings.Contains(text, ">body 2<") || !strings.Contains(text, ">regime 1<") || strings.Contains(text, "fill:"+figure.Colours(6)[3]) {
			t.Errorf("%s: a row for each body is missing, or there are more regimes than a body has", name)
		}
	}
}
