package fit

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/eval"
)

// scorable returns files.ErrData, with a hint, if no candidate could have a score: where nothing was measured in a
// part, or where the changes that errors are divided by, from one season of the training part to the next, are all 0.
func scorable(r *eval.Recordings, season int) error {
	for _, p := range []struct {
		name     string
		episodes []int
	}{{"training", r.Split.Training}, {"validation", r.Split.Validation}, {"test", r.Split.Test}} {
		if r.Set.Observed(p.episodes...) == 0 {
			return config.Hint(&files.Error{Problem: fmt.Sprintf("nothing was measured in the %s part", p.name)},
				"leave out rows in which nothing was measured, such as those of the future, or hold out others: env.split, "+
					"env.validation, env.test")
		}
	}
	switch {
	case slices.ContainsFunc(r.Changes(season), func(v float64) bool { return v > 0 }):
		return nil
	case season > 1:
		return config.Hint(&files.Error{Problem: fmt.Sprintf("each season of %d steps repeats the one before it "+
			"without an error in training, so that there is nothing to improve on", season)},
			"the last season is the forecast: train files env.files=FILE model.kind=naive model.season=%d", season)
	}
	return config.Hint(&files.Error{Problem: "nothing changes from step to step in the training part"},
		"give recordings that change there; env.validation and env.test say how much is held out")
}
