package trained

import (
	"encoding/json"
	"fmt"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

// Backtest is the test of a model of recordings. Arrays are mae, rmse, mase and crps [predictors, horizon], coverage
// [predictors, levels, horizon], levels and predictors, the model first; of several recordings also recording, and
// recording_mase, recording_persistence, recording_coverage80 and recording_mae [recordings, channels]. JSON is that of
// eval. It does not measure: r is what Run.Backtest returned.
func Backtest(r eval.RecordedReport) (*Answer, error) {
	a := &Answer{Above: r.ScoreTable(), Table: r.Table(), Rows: r.CurveTable()}
	var err error
	if a.Report, err = json.Marshal(r.Report()); err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	shape := []int{len(r.Scores), r.Horizon}
	lists := map[string]*Array{}
	for _, name := range []string{"mae", "rmse", "mase", "crps"} {
		lists[name] = &Array{Name: name, Shape: shape}
	}
	coverage := Array{Name: "coverage", Shape: []int{len(r.Scores), len(eval.Levels), r.Horizon}}
	var names []string
	for _, s := range r.Scores {
		names = append(names, s.Name)
		// Every list is written by predictors and then horizons; the order of the map plays no part.
		for name, values := range map[string][]float64{"mae": s.MAE, "rmse": s.RMSE, "mase": s.MASE, "crps": s.CRPS} {
			lists[name].Values = append(lists[name].Values, values...)
		}
		for _, c := range s.Coverage {
			coverage.Values = append(coverage.Values, c...)
		}
	}
	a.Arrays = []Array{
		*lists["mae"], *lists["rmse"], *lists["mase"], *lists["crps"], coverage,
		{Name: "levels", Shape: []int{len(eval.Levels)}, Values: eval.Levels},
		{Name: "predictors", Text: names},
	}
	// Several recordings are scored one by one below the table.
	if each := r.EachTable(false); len(each.Rows) > 0 {
		a.Below = each
		a.Arrays = append(a.Arrays, ofEach(r)...)
	}
	drawn := figure.Recorded(r)
	a.Figure = &drawn
	return a, nil
}

// ofEach are the scores of each recording, by the names that Backtest lists. There is one at least.
func ofEach(r eval.RecordedReport) []Array {
	n := len(r.Each)
	names := Array{Name: "recording"}
	mase, last, held := Array{Name: "recording_mase"}, Array{Name: "recording_persistence"}, Array{
		Name: "recording_coverage80",
	}
	mae := Array{Name: "recording_mae"}
	for _, s := range r.Each {
		names.Text = append(names.Text, s.Recording)
		mase.Values, last.Values = append(mase.Values, s.MASE), append(last.Values, s.Persistence)
		held.Values, mae.Values = append(held.Values, s.Coverage), append(mae.Values, s.MAE...)
	}
	mase.Shape, last.Shape, held.Shape, mae.Shape = []int{n}, []int{n}, []int{n}, []int{n, len(mae.Values) / n}
	return []Array{names, mase, last, held, mae}
}
