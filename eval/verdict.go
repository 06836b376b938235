package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// Standing is how a model stands beside a baseline that predicted the same.
type Standing string

// The standings. A difference counts from two standard errors on.
const (
	Better  Standing = "better"
	Level   Standing = "no difference"
	Behind  Standing = "behind"
	Unclear Standing = "too few starts to tell"
)

// standing is that of an error over another. The interval of two standard errors about the ratio must not hold 1.
func standing(e Estimate) Standing {
	switch {
	case math.IsInf(e.Value, 1): // the other makes no error, or this one's is infinite
		return Behind
	case math.IsNaN(e.Value) || math.IsNaN(e.SE):
		return Unclear
	case e.Value+2*e.SE < 1:
		return Better
	case e.Value-2*e.SE > 1:
		return Behind
	}
	return Level
}

// Standing is that of the model over all horizons.
func (c Comparison) Standing() Standing { return standing(c.Ratio) }

// Same reports whether the model is the baseline: it predicts the same.
func (c Comparison) Same() bool { return math.Abs(c.Ratio.Value-1) < 1e-6 && !(c.Ratio.SE > 1e-6) }

// Simple reports whether the baseline is a rule, and no autoregression of several lags.
func (c Comparison) Simple() bool { return !strings.HasPrefix(c.Name, "ARX") }

// Hardest is the baseline of the least error; only among simple rules if that is asked for. ok is false if there is
// none. The largest ratio is that of the baseline with the least error. Those that predict nothing do not count.
func (r RecordedReport) Hardest(simple bool) (best Comparison, ok bool) {
	for _, c := range r.Against {
		if (c.Simple() || !simple) && !math.IsNaN(c.Ratio.Value) && (!ok || c.Ratio.Value > best.Ratio.Value) {
			best, ok = c, true
		}
	}
	return best, ok
}

// Beaten is the model's standing beside the hardest baseline, and beside persistence if it is behind that. It is
// Unclear without a baseline.
func (r RecordedReport) Beaten() (Comparison, Standing) {
	if len(r.Against) > 0 && r.Against[0].Standing() == Behind {
		return r.Against[0], Behind
	}
	c, ok := r.Hardest(false)
	if !ok {
		return c, Unclear
	}
	return c, c.Standing()
}

// Verdict says in words whether the model is better than the baselines. It is one line of sentences.
func (r RecordedReport) Verdict() string {
	rule, ok := r.Hardest(true)
	if !ok {
		return "No errors can be compared: nothing was measured in what is predicted, or nothing changes in training."
	}
	ahead := terminal.Count(r.Horizon, "step")
	if k := r.diverges(); k > 0 {
		return fmt.Sprintf("The model is behind every rule: its predictions are not finite from %s ahead on.",
			terminal.Count(k, "step"))
	}
	text := fmt.Sprintf("Predicts %s ahead with %s of the error of the best simple rule (%s): %s", ahead,
		Ratio(rule.Ratio), rule.Name, rule.Standing())
	switch spans := rule.spans(); {
	case math.IsInf(rule.Ratio.Value, 1):
		text = fmt.Sprintf("The best simple rule (%s) makes no error %s ahead, and the model does", rule.Name, ahead)
	case rule.Same():
		text = fmt.Sprintf("Predicts %s ahead as the best simple rule does, %s", ahead, rule.Name)
	case spans != "":
		text += "; " + spans
	}
	for _, c := range r.Against {
		switch {
		case c.Simple():
		case math.IsInf(c.Ratio.Value, 1):
			text += fmt.Sprintf(". The autoregression %s makes no error", c.Name)
		default:
			text += fmt.Sprintf(". Its error is %s of that of the autoregression %s: %s", Ratio(c.Ratio), c.Name, c.Standing())
		}
	}
	return strings.TrimSpace(text + ". " + r.Calibration())
}

// diverges is the first horizon at which the model predicts something that is not finite; 0 if it never does.
func (r RecordedReport) diverges() int {
	if len(r.Scores) == 0 {
		return 0
	}
	return 1 + slices.IndexFunc(r.Scores[0].MAE, func(v float64) bool { return math.IsInf(v, 1) })
}

// intervals are the central intervals that a verdict speaks of, among Levels, and how far their coverage may be off.
const (
	intervals = 1
	offBy     = 0.1
)

// Calibration says how much of what was observed the model's intervals hold; empty where nothing was measured.
func (r RecordedReport) Calibration() string {
	if len(r.Scores) == 0 {
		return ""
	}
	return Calibrated(r.Scores[0].Coverage[intervals])
}

// CoverageName is the number of a report whose values by horizon Calibrated judges.
func CoverageName() string { return fmt.Sprintf("coverage%g", 100*Levels[intervals]) }

// Calibrated judges the shares of what was observed that central intervals held, by horizon; empty where nothing was
// measured.
func Calibrated(coverage []float64) string {
	held, word := average(coverage), "about right"
	switch {
	case math.IsNaN(held):
		return ""
	case held < Levels[intervals]-offBy:
		word = "they are too narrow"
	case held > Levels[intervals]+offBy:
		word = "they are too wide"
	}
	return fmt.Sprintf("Its %g %% intervals hold %.0f %% of what was observed: %s.", 100*Levels[intervals], 100*held, word)
}

// Ratio writes an estimate of a ratio, as .54 ± .06. Without a standard error the value stands alone.
func Ratio(e Estimate) string {
	text := bare(e.Value)
	if !math.IsNaN(e.SE) {
		text += " ± " + bare(e.SE)
	}
	return text
}

// bare writes two digits behind the point, and no zero before it.
func bare(v float64) string {
	return strings.TrimPrefix(strconv.FormatFloat(v, 'f', 2, 64), "0")
}

// spans names the horizons at which the model is better than the baseline, and behind it, if that is not the same at
// all.
func (c Comparison) spans() string {
	var parts []string
	for _, s := range []Standing{Better, Behind} {
		var list []string
		n := 0
		for k := 0; k < len(c.ByHorizon); k++ {
			if standing(c.ByHorizon[k]) != s {
				continue
			}
			first := k
			for k+1 < len(c.ByHorizon) && standing(c.ByHorizon[k+1]) == s {
				k++
			}
			n += k + 1 - first
			if list = append(list, strconv.Itoa(first+1)); k > first {
				list[len(list)-1] += " to " + strconv.Itoa(k+1)
			}
		}
		if n > 0 && n < len(c.ByHorizon) {
			parts = append(parts, fmt.Sprintf("%s at %s %s", s, terminal.Noun(n, "horizon"), strings.Join(list, ", ")))
		}
	}
	return strings.Join(parts, ", ")
}
