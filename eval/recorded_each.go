package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// EachScore is how good the predictions of one recording are, averaged over horizons and channels. MAE is by
// channel, in the units of the data. It is made of the same sums as the scores of all.
type EachScore struct {
	Recording   string // as the files call it
	Starts      int
	MASE        float64 // in the unit of the recording's own training steps; of all in a channel where it has none
	Persistence float64 // the same of the last value
	Coverage    float64 // share of what was observed in the central interval of 80 %
	MAE         []float64
}

// MarshalJSON writes null for what is not finite. The order of the members is fixed.
func (s EachScore) MarshalJSON() ([]byte, error) {
	values := []any{
		s.Recording, s.Starts, Number(s.MASE), Number(s.Persistence), Number(s.Coverage),
		NumberList(s.MAE),
	}
	names := []string{"recording", "starts", "mase", "mase_persistence", "coverage80", "mae"}
	return orderedObject(len(names), func(i int) (string, []byte, error) {
		text, err := json.Marshal(values[i])
		return names[i], text, err
	})
}

// each scores every test recording by itself, if there are several, from the sums of all.
func (r *RecordedReport) each(sums *tally, starts []recordedStart, nx, width int, b *baselines) {
	training, test := r.Options.scored()
	if len(test) < 2 {
		return
	}
	// The training part of the same recording gives its unit of MASE.
	own := map[string][]Recording{}
	for _, e := range training {
		own[e.Of] = append(own[e.Of], e)
	}
	count := make([]int, len(test))
	for _, s := range starts {
		count[s.recording]++
	}
	for n := range sums.n {
		if count[n] == 0 {
			continue
		}
		e := &test[n]
		// A part that is no longer than a season, or that never changes, has no unit.
		scale := naiveScale(own[e.Of], max(b.season, 1), nx)
		for c, v := range scale {
			if !(v > 0) {
				scale[c] = b.scale[c]
			}
		}
		model, last := r.scoreOf(sums.row(n), 0, nx, width, scale), r.scoreOf(sums.row(n), 1, nx, width, scale)
		s := EachScore{
			Recording: cmp.Or(e.Of, e.Name), MASE: average(model.MASE), Persistence: average(last.MASE),
			Coverage: average(model.Coverage[1]), MAE: make([]float64, nx), Starts: count[n],
		}
		for c := range s.MAE {
			list := make([]float64, r.Horizon)
			for k := range list {
				list[k] = model.MAEByChannel[k][c] / r.unit(c)
			}
			if s.MAE[c] = average(list); e.Scale.SD != nil {
				s.MAE[c] *= e.Scale.SD[c]
			}
		}
		r.Each = append(r.Each, s)
	}
}

// mostEach is how many recordings are shown to the eye.
const mostEach = 5

// EachTable has a row for each test recording, the worst first: all of them, or the worst few. It has no rows where
// there is one recording.
func (r RecordedReport) EachTable(all bool) Table {
	list := slices.Clone(r.Each)
	slices.SortStableFunc(list, func(a, b EachScore) int { return cmp.Compare(badness(b), badness(a)) })
	t := Table{
		Title: "scores by recording, the worst first", Corner: "recording", Digits: 3, Whole: []string{"starts"},
		Columns: []string{"starts", "MASE", "persistence", "in 80 %"},
	}
	if n := len(list); !all && n > mostEach {
		t.Title = fmt.Sprintf("scores of the worst %d of %d recordings", mostEach, n)
		list = list[:mostEach]
	}
	for _, name := range r.Options.Names {
		t.Columns = append(t.Columns, "MAE "+name)
	}
	for _, s := range list {
		row := Row{Name: s.Recording, Values: []float64{float64(s.Starts), s.MASE, s.Persistence, 100 * s.Coverage}}
		for c := range r.Options.Names {
			row.Values = append(row.Values, s.MAE[c])
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{"MASE in the unit of each recording's own training steps, of all where it has too few; MAE in " +
		"the units of the data."}
	return t
}

// badness orders recordings; without a score they are last.
func badness(s EachScore) float64 {
	if math.IsNaN(s.MASE) {
		return math.Inf(-1)
	}
	return s.MASE
}
