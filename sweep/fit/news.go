package fit

import (
	"fmt"
	"math"

	"github.com/switchyard-ml/switchyard/sweep"
)

// News are lines about candidates that have ended, of the records that have just been applied to s: the number of
// the trial, the name and the score, or what went wrong. Confirmations by further seeds are no news.
func News(s *sweep.State, records []sweep.Record) []string {
	list := tried(s)
	find := func(id int) *Tried {
		for i := range list {
			if list[i].trial.ID == id {
				return &list[i]
			}
		}
		return nil
	}
	var lines []string
	for _, r := range records {
		c := find(r.Trial)
		switch {
		case c == nil:
		case r.Kind == sweep.KindResult && r.Result != nil:
			lines = append(lines, fmt.Sprintf("%3d  %-50s %s", c.trial.ID, c.Name(), scoreText(r.Result.Values[metric])))
		case r.Kind == sweep.KindFault && (r.Fate == sweep.Failed || r.Fate == sweep.Diverged):
			lines = append(lines, fmt.Sprintf("%3d  %-50s %s: %s", c.trial.ID, c.Name(), r.Fate, r.Reason))
		}
	}
	return lines
}

// scoreText is a score with three decimals, or a dash where there is none.
func scoreText(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.3f", v)
}
