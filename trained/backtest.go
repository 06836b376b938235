package trained

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Backtest predicts recordings from starts all along them (a rolling origin) and scores the model and the baselines:
// persistence, the last season, linear least squares and an autoregression with controls, which are fitted to the
// training recordings. Nothing is fitted to what is predicted: data, in their own units, or what the run held out of
// its own if data is nil. The errors are ErrUnable, ErrSeries and a usage error where the test would take too much
// memory.
func (r *Run) Backtest(data *files.Dataset, q eval.Question) (eval.RecordedReport, error) {
	if q.Horizon < 0 || q.Prefix < 0 || q.Stride < 0 || q.Season < 0 {
		return eval.RecordedReport{}, fmt.Errorf("%w: horizon %d, prefix %d, stride %d, season %d; none is negative",
			ErrSeries, q.Horizon, q.Prefix, q.Stride, q.Season)
	}
	subject, err := r.subject(q)
	if err != nil {
		return eval.RecordedReport{}, err
	}
	if subject.Recordings == nil {
		return eval.RecordedReport{}, fmt.Errorf("%w: env.kind=%s is simulated, eval measures it; backtest is for recordings",
			ErrUnable, r.Environment())
	}
	subject.Seed = cmp.Or(q.Seed, subject.Seed)
	// Other data take the place of the run's test part, under the scale of the run.
	if data != nil {
		if err := r.Fits(columnsOf(data)); err != nil {
			return eval.RecordedReport{}, err
		}
		seen, err := subject.Seen()
		if err != nil {
			return eval.RecordedReport{}, err
		}
		data = named(data)
		subject.Recordings = held(subject.Recordings, r.scale.For(data, seen), data)
	}
	subject.Fits = func(starts, horizon, samples int, bytes float64) error {
		return fitsMemory(bytes, terminal.Count(horizon, "step")+" from "+terminal.Count(starts, "start")+" with "+
			terminal.Count(samples, "path"), "a shorter --horizon or a larger --stride, or set eval.samples lower")
	}
	report, err := subject.Backtest()
	if err != nil {
		return report, fmt.Errorf("backtest: %w", err)
	}
	return report, nil
}

// Seen is how many steps Backtest sees of the run's own recordings before a prediction.
func (r *Run) Seen(q eval.Question) (int, error) {
	subject, err := r.subject(q)
	if err != nil {
		return 0, err
	}
	return subject.Seen()
}

// Starts are where Backtest begins to predict the run's own recordings, see eval.Subject.Starts.
func (r *Run) Starts(q eval.Question) ([][2]int, error) {
	subject, err := r.subject(q)
	if err != nil {
		return nil, err
	}
	return subject.Starts()
}

// held are the training recordings of a run with other data as the test.
// What training did not see is scaled by what is seen before the first prediction, where each recording has a
// scale. The training episodes share their memory with those of the run.
func held(own *eval.Recordings, scale files.Normalisation, test *files.Dataset) *eval.Recordings {
	set := *own.Set
	set.Episodes = nil
	all := &eval.Recordings{Set: &set, Scale: scale}
	test = scale.Apply(test)
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

// named is a data set whose recordings without a name have that of their place: their numbers are those of the run's
// own. The data that it is given stay as they are.
func named(data *files.Dataset) *files.Dataset {
	all := *data
	all.Episodes = slices.Clone(data.Episodes)
	for i := range all.Episodes {
		e := &all.Episodes[i]
		e.Name = cmp.Or(e.Name, e.Source)
	}
	return &all
}
