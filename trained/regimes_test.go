package trained_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/trained"
)

// Times are in the unit of the data, which is named; in steps, where it is not known.
func TestSegmentations_NameTheUnitOfTime(t *testing.T) {
	of := []trained.Recording{{Series: trained.Series{Observations: [][]float64{{1}, {2}, {3}, {4}}}}}
	found := []trained.Segmentation{{Regime: []int{0, 0, 0, 1}, Probability: [][]float64{{1, 0}, {1, 0}, {1, 0}, {0, 1}}}}
	for _, c := range []struct {
		columns trained.Columns
		want    string
		longest float64
	}{
		{trained.Columns{DT: 3, TimeUnit: "month"}, "in months.", 9},
		{trained.Columns{DT: 2, TimeUnit: "h"}, "in h.", 6},
		{trained.Columns{DT: 0.5}, "in the unit of dt.", 1.5},
		{trained.Columns{}, "in steps.", 3},
	} {
		table := trained.Segmentations(of, found, nil, c.columns).Table
		if got := table.Rows[0].Values[3]; got != c.longest || !strings.Contains(table.Notes[0], c.want) {
			t.Errorf("%+v: the longest visit takes %v, %q; want %v and %q in it", c.columns, got, table.Notes[0], c.longest, c.want)
		}
	}
}

// People count regimes from 1 and see those first that have most of the time; files count from 0.
func TestSegmentations_CountRegimes(t *testing.T) {
	of := []trained.Recording{{Series: trained.Series{Observations: [][]float64{{1}, {2}, {3}, {4}}}}}
	found := []trained.Segmentation{{
		Regime: []int{2, 2, 2, 1}, Probability: [][]float64{{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 1, 0}},
	}}
	answer := trained.Segmentations(of, found, nil, trained.Columns{})
	var names []string
	for _, row := range answer.Table.Rows {
		names = append(names, row.Name)
	}
	if got := strings.Join(names, " "); got != "3 2 1" {
		t.Errorf("the table has the regimes %s", got)
	}
	if next := answer.Table.Rows[0].Values[7]; next != 2 {
		t.Errorf("regime 3 is followed by %v", next)
	}
	if first := answer.Rows.Rows[0].Values[1]; first != 2 {
		t.Errorf("the file has regime %v", first)
	}
}

// What is said of a regime is about its base system.
func TestSegmentations_HaveTheSystemsOfTheirRegimes(t *testing.T) {
	of := []trained.Recording{{Series: trained.Series{Observations: [][]float64{{1}, {2}, {3}}}}}
	var systems []trained.System
	for _, a := range []float64{0.1, 0.2, 0.3} {
		systems = append(systems, trained.System{
			A: [][]float64{{a}}, Bias: []float64{0}, Q: [][]float64{{1}}, Modes: []eval.Mode{{Real: a, Modulus: a}},
		})
	}
	answer := trained.Segmentations(of, []trained.Segmentation{{
		Regime: []int{0, 0, 1}, Probability: [][]float64{{1, 0, 0}, {1, 0, 0}, {0, 1, 0}}, System: []int{2, 0, 1},
	}}, systems, trained.Columns{})
	found := arrays(answer)
	if got := found["A"].Values; !slices.Equal(got, []float64{0.3, 0.1, 0.2}) {
		t.Errorf("A is %v", got)
	}
	if got := found["system"].Ints; !slices.Equal(got, []int64{2, 0, 1}) {
		t.Errorf("system is %v", got)
	}
	if row := answer.Table.Rows[0]; row.Name != "1" || row.Values[4] != 0.3 {
		t.Errorf("the first row is %v", row)
	}
}
