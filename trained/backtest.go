package trained

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/protocol"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// BacktestOptions say how a run on recordings is tested.
type BacktestOptions struct {
	// Data are what is predicted, in their own units; nil: what the run held out of its own data.
	Data    *files.Dataset
	Horizon int // steps predicted; 0: as in the run's configuration
	Prefix  int // steps seen before a prediction; 0: half a training window, or less where recordings are short
	Stride  int // steps from one start of a prediction to the next; 0: a horizon
	Season  int // steps of the season that a baseline repeats; 0: found in the training data
	Threads int // never changes a result; 0: one per core
}

// Backtest predicts recordings from starts all along them (a rolling origin) and scores the model and the baselines:
// persistence, the last season, linear least squares and an autoregression with controls, which are fitted to the
// training recordings. Nothing is fitted to what is predicted.
func (r *Run) Backtest(o BacktestOptions) (eval.RecordedReport, error) {
	if o.Horizon < 0 || o.Prefix < 0 || o.Stride < 0 || o.Season < 0 {
		return eval.RecordedReport{}, fmt.Errorf("%w: horizon %d, prefix %d, stride %d, season %d; none is negative",
			ErrSeries, o.Horizon, o.Prefix, o.Stride, o.Season)
	}
	own, err := job.Recordings(r.trained.Config, r.trained.Folder)
	if err != nil {
		return eval.RecordedReport{}, err
	}
	if own == nil {
		return eval.RecordedReport{}, fmt.Errorf("%w: env.kind=%s is simulated, eval measures it; backtest is for recordings",
			ErrUnable, r.trained.Config.Env.Kind)
	}
	if o.Data != nil {
		if err := r.Fits(columnsOf(o.Data)); err != nil {
			return eval.RecordedReport{}, err
		}
		own = held(own, r.trained.Scale.Apply(o.Data))
	}
	return r.trained.Backtest(MeasureOptions{
		Recordings: own, Horizon: o.Horizon, Prefix: o.Prefix, Stride: o.Stride, Season: o.Season, Threads: o.Threads,
	})
}

// held are the training recordings of a run with other data as the test.
func held(own *protocol.Recordings, test *files.Dataset) *protocol.Recordings {
	set := *own.Set
	set.Episodes = nil
	all := &protocol.Recordings{Set: &set, Scale: own.Scale}
	for _, i := range own.Split.Training {
		all.Split.Training = append(all.Split.Training, len(set.Episodes))
		set.Episodes = append(set.Episodes, own.Set.Episodes[i])
	}
	for i := range test.Episodes {
		all.Split.Test = append(all.Split.Test, len(set.Episodes))
		set.Episodes = append(set.Episodes, test.Episodes[i])
	}
	return all
}
