package paper

// Judgement is what the results say of a claim. Of several statements the worst counts: fails, not measured,
// undecided, holds.
type Judgement string

// The judgements.
const (
	Holds       Judgement = "holds"
	Fails       Judgement = "does not hold"
	Undecided   Judgement = "undecided"
	NotMeasured Judgement = "not measured"
)

// Verdict is a judgement with the numbers behind it.
type Verdict struct {
	Judgement
	Detail string
}

// both joins the judgements of two statements that a claim makes together.
func (j Judgement) both(o Judgement) Judgement {
	for _, worst := range []Judgement{Fails, NotMeasured, Undecided} {
		if j == worst || o == worst {
			return worst
		}
	}
	return Holds
}

// below judges whether the mean of a lies below that of b. The ranges of the seeds have to differ, too: where one range
// lies within the other, or there is one seed, it is undecided. So it is where a value is not finite, as then is the
// mean.
func below(a, b []float64) Judgement {
	x, y := spreadOf(a), spreadOf(b)
	switch {
	case x.seeds == 0 || y.seeds == 0:
		return NotMeasured
	case x.seeds == 1 || y.seeds == 1, x.n < x.seeds || y.n < y.seeds,
		x.low >= y.low && x.high <= y.high, y.low >= x.low && y.high <= x.high:
		return Undecided
	case x.mean < y.mean:
		return Holds
	}
	return Fails
}

// atLeast judges whether values reach a limit: all of them, none, or some. What is not finite does not reach it. One
// value, of a single seed, decides nothing.
func atLeast(values []float64, limit float64) Judgement {
	s := spreadOf(values)
	switch {
	case s.seeds == 0:
		return NotMeasured
	case s.seeds == 1:
		return Undecided
	case s.high < limit: // that of no finite value is −∞
		return Fails
	case s.low >= limit && s.n == s.seeds:
		return Holds
	}
	return Undecided
}

// and joins the verdict of a further statement.
func (v Verdict) and(o Verdict) Verdict {
	v.Judgement = v.both(o.Judgement)
	if v.Detail != "" && o.Detail != "" {
		v.Detail += "; "
	}
	v.Detail += o.Detail
	return v
}
