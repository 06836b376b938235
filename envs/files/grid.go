package files

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// jitter is the part of a step by which times may miss an even grid. Measured times are rounded; times that miss by
// more are uneven.
const jitter = 0.05

// mostRounding is the part of a step that rounding to the decimals of the file may explain.
const mostRounding = 0.25

// sparse is how many times the rows that are there a grid may have: beyond, times are not those of one recording.
const sparse = 200

// even finds the grid on which rows lie: the one of all recordings, or if that is not known yet, their own. times
// ascend. It returns the step at which each row lies, counted from the first, or an error that says where the times
// are uneven. Grids are tried in the order of candidates. The step of the grid that is returned is the one that fits
// all rows best.
func (c *clock) even(times []float64, common calendar) (calendar, []int, error) {
	if len(times) < 2 {
		return calendar{}, make([]int, len(times)), nil
	}
	grids := []calendar{common}
	if common.step == 0 {
		grids = c.candidates(times)
	}
	for _, grid := range grids {
		at, dt, bad := steps(times, grid, c.rounding())
		if bad < 0 && common.step > 0 && !grid.fits(dt, at[len(at)-1], c.rounding()) {
			bad = 1
		}
		if bad < 0 {
			grid.step = dt
			return grid, at, nil
		}
	}
	// The grid that holds longest says where the times are uneven.
	row := 1
	for _, grid := range grids {
		if _, _, bad := steps(times, grid, c.rounding()); bad > row {
			row = bad
		}
	}
	uneven := &unevenError{row: row, from: c.text(times[row-1]), to: c.text(times[row])}
	if uneven.usual = c.gap(median(gaps(times))); common.step > 0 {
		uneven.usual, uneven.shared = c.gap(common.length()), true
	}
	return calendar{}, nil, uneven
}

// unevenError says which time is off every grid. Its texts are in the form of the column.
type unevenError struct {
	row             int
	from, to, usual string
	shared          bool   // usual is the step of the recordings together
	step            string // a step to resample with
}

// ResampleStep returns a step by which rows can be brought to an even grid, if err says that their times are uneven.
func ResampleStep(err error) (step string, uneven bool) {
	var e *unevenError
	if !errors.As(err, &e) {
		return "", false
	}
	return e.step, true
}

func (e *unevenError) Error() string {
	if e.shared {
		return fmt.Sprintf("t goes from %s to %s, off the grid of %s that other recordings have", e.from, e.to, e.usual)
	}
	return fmt.Sprintf("t goes from %s to %s, where %s is usual", e.from, e.to, e.usual)
}

// rounding is the largest error by rounding to the decimals that the column has.
func (c *clock) rounding() float64 {
	if c.dates || c.digits == 0 {
		return 0
	}
	return 0.5 * math.Pow10(-c.digits)
}

// candidates are the grids that the times may lie on, the finest unit last. Of numbers they are the usual gap, then
// the smallest. Of dates they are whole months and business days, if the dates are such, and then the same gaps, in
// the longest unit that divides them.
func (c *clock) candidates(times []float64) []calendar {
	smallest, usual := slices.Min(gaps(times)), median(gaps(times))
	if !c.dates {
		return []calendar{{step: usual}, {step: smallest}}
	}
	var list []calendar
	if smallest >= 27*day && !c.numbered {
		list = append(list, monthGrids(times)...)
	}
	if !c.numbered && businessDays(times) {
		list = append(list, calendar{step: 1, unit: "business day"})
	}
	for _, gap := range []float64{usual, smallest} {
		unit := "s"
		for _, u := range []string{"min", "h", "day"} {
			if math.Mod(gap, secondsOf[u]) == 0 {
				unit = u
			}
		}
		list = append(list, calendar{step: gap / secondsOf[unit], unit: unit})
	}
	return list
}

// monthGrids are grids of whole months, if all times are at the same place of their months: the same day, or the
// last. The step is the largest number of months that divides all gaps.
func monthGrids(times []float64) []calendar {
	months := make([]int, len(times))
	same, last := true, true
	first := time.Unix(int64(times[0]), 0).UTC()
	for i, t := range times {
		d := time.Unix(int64(t), 0).UTC()
		months[i] = month(t)
		same = same && d.Day() == first.Day()
		last = last && d.AddDate(0, 0, 1).Day() == 1
	}
	if !same && !last {
		return nil
	}
	step := 0
	for i := 1; i < len(months); i++ {
		step = gcd(step, months[i]-months[i-1])
	}
	return []calendar{{step: float64(step), unit: "month"}}
}

// gcd is the greatest common divisor of two numbers, of which one may be 0.
func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// businessDays reports whether times are days from Monday to Friday over more than a week, mostly one after the other.
func businessDays(times []float64) bool {
	return len(times) >= 6 && median(gaps(times)) == day && weekdays(times) && times[len(times)-1]-times[0] > 7*day
}

// weekdays reports whether all times are whole days from Monday to Friday.
func weekdays(times []float64) bool {
	return !slices.ContainsFunc(times, func(t float64) bool {
		weekday := time.Unix(int64(t), 0).UTC().Weekday()
		return math.Mod(t, day) != 0 || weekday == time.Saturday || weekday == time.Sunday
	})
}

// with is the grid that recordings with two grids share: of months the largest number that divides both, else the one
// with the shorter steps. The zero calendar is no grid yet.
func (c calendar) with(other calendar) calendar {
	switch {
	case c.step == 0:
		return other
	case c.unit == "month" && other.unit == "month":
		return calendar{step: float64(gcd(int(c.step), int(other.step))), unit: "month"}
	case other.length() < c.length()*(1-1e-6):
		return other
	}
	return c
}

// fits reports whether a recording of n steps that dt fits best has the steps of this grid: it may be 5 % off, as two
// clocks are, or what rounding of the first and the last time explains.
func (c calendar) fits(dt float64, n int, rounding float64) bool {
	return math.Abs(dt-c.step)*float64(n) <= jitter*c.step*float64(n)+2*rounding
}

// steps counts the steps of a grid between the rows. dt is the step that fits all rows best. bad is the first row
// that is off the grid, −1 if there is none. A time may miss the grid by 5 % of a step, or by what rounding to the
// decimals of the file explains, up to 25 %. The grid is laid through the first and the last time, so that the
// errors of gaps do not add up.
func steps(times []float64, grid calendar, rounding float64) (at []int, dt float64, bad int) {
	at = make([]int, len(times))
	if !(grid.step > 0) || grid.unit == "month" && len(monthGrids(times)) == 0 {
		return nil, 0, 1
	}
	for i := 1; i < len(times); i++ {
		n := math.Round((grid.position(times[i]) - grid.position(times[i-1])) / grid.step)
		if grid.unit == "month" { // months are of unequal lengths: whole ones are counted
			if n = float64(month(times[i])-month(times[i-1])) / grid.step; n != math.Trunc(n) {
				return nil, 0, i
			}
		}
		// Two rows of one step, or a gap that no recording has.
		if n < 1 || n > 1<<40 {
			return nil, 0, i
		}
		at[i] = at[i-1] + int(n)
	}
	if grid.unit == "month" || grid.unit == "business day" {
		return at, grid.step, -1
	}
	start := grid.position(times[0])
	dt = (grid.position(times[len(times)-1]) - start) / float64(at[len(at)-1])
	allowed := max(jitter, min(rounding/dt, mostRounding)) * dt * (1 + 1e-9)
	for i, t := range times {
		if math.Abs(grid.position(t)-start-float64(at[i])*dt) > allowed {
			return nil, 0, max(i, 1)
		}
	}
	return at, dt, -1
}

// gaps are the differences of neighbours: one less than there are times.
func gaps(t []float64) []float64 {
	list := make([]float64, len(t)-1)
	for i := range list {
		list[i] = t[i+1] - t[i]
	}
	return list
}

// median is the upper one of the two in the middle for an even number of values; there is at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// text is a time as the file has it.
func (c *clock) text(t float64) string {
	if c.ofDay {
		return c.write(t)
	}
	if c.based {
		return fmt.Sprint(c.base + int64(t))
	}
	if !c.dates {
		return fmt.Sprint(t)
	}
	d := time.Unix(int64(math.Floor(t)), 0).UTC()
	if c.numbered {
		return fmt.Sprintf("day %.0f, %s", math.Floor(t/day), d.Format("15:04"))
	}
	if math.Mod(t, day) == 0 {
		return d.Format(time.DateOnly)
	}
	return d.Format(time.DateTime)
}

// gap is a duration in the unit of the times. Of dates that is days or seconds.
func (c *clock) gap(v float64) string {
	switch {
	case !c.dates:
		return fmt.Sprintf("%.6g", v)
	case v >= day:
		return fmt.Sprintf("%.6g d", v/day)
	}
	return fmt.Sprintf("%.6g s", v)
}
