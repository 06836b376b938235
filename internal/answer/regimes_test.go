package answer_test

import (
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard"
	"github.com/switchyard-ml/switchyard/internal/answer"
)

// Times are in the unit of the data, which is named; in steps, where it is not known.
func TestSegmentations_NameTheUnitOfTime(t *testing.T) {
	of := []switchyard.Recording{{Series: switchyard.Series{Observations: [][]float64{{1}, {2}, {3}, {4}}}}}
	found := []switchyard.Segmentation{{Regime: []int{0, 0, 0, 1}, Probability: [][]float64{{1, 0}, {1, 0}, {1, 0}, {0, 1}}}}
	for _, c := range []struct {
		columns switchyard.Columns
		want    string
		longest float64
	}{
		{switchyard.Columns{DT: 3, TimeUnit: "month"}, "in months.", 9},
		{switchyard.Columns{DT: 2, TimeUnit: "h"}, "in h.", 6},
		{switchyard.Columns{DT: 0.5}, "in time.", 1.5},
		{switchyard.Columns{}, "in steps.", 3},
	} {
		table := answer.Segmentations(of, found, nil, c.columns).Table
		if got := table.Rows[0].Values[3]; got != c.longest || !strings.Contains(table.Notes[0], c.want) {
			t.Errorf("%+v: the longest visit takes %v, %q; want %v and %q in it", c.columns, got, table.Notes[0], c.longest, c.want)
		}
	}
}
