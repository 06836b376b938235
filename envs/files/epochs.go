package files

import (
	"errors"
	"fmt"
	"math"
	"regexp"
)

// epochs are the units in which numbers count from 1970, with the range of numbers from 1973 to 2286. They are
// seconds, milliseconds, microseconds and nanoseconds; no number is within two of the ranges.
var epochs = []struct{ perSecond, low, high float64 }{
	{1, 1e8, 1e10}, {1e3, 1e11, 1e13}, {1e6, 1e14, 1e16}, {1e9, 1e17, 1e19},
}

// step reads the step of a grid of the times of the clock, of which first is one. Numbers that count from 1970 take
// steps such as 15min too, but no months or business days, which are not equally long.
func (c *clock) step(text string, first float64) (calendar, error) {
	grid, err := parseStep(text, c.dates)
	if err == nil || c.dates {
		return grid, err
	}
	asked, wrong := parseStep(text, true)
	if wrong != nil {
		return grid, err
	}
	seconds, even := secondsOf[asked.unit]
	if !even {
		return grid, fmt.Errorf("%s is a step of dates, and the times are numbers: write the times as dates", text)
	}
	for _, e := range epochs {
		if at := first + float64(c.base); at >= e.low && at < e.high {
			return calendar{step: asked.step * seconds * e.perSecond, epoch: e.perSecond, weeks: asked.unit == "week"}, nil
		}
	}
	return grid, errors.New(text + " is a step of dates, and the unit of the times is not known: write a number in that " +
		"unit, or the times as dates")
}

// since is how long a time lies behind midnight of its day, or behind Monday of its week where steps are weeks.
// grid.epoch, which is above 0, says how many numbers are a second.
func (c *clock) since(at float64, grid calendar) float64 {
	period, before := day*grid.epoch, 0.0
	if grid.weeks {
		period, before = 7*period, 3*period // 1970 began on a Thursday
	}
	if c.based { // beyond the digits of float64
		return float64((c.base + int64(at) + int64(before)) % int64(period))
	}
	return math.Mod(at+before, period)
}

// epochNames are names of columns that count from 1970: beside them, numbers as large may be anything.
var epochNames = regexp.MustCompile(`(?i)time|epoch|unix|^ts$|[_.](ts|at)$`)

// epochs reports whether the column says by its name that it is one of times, and its numbers count from 1970.
func (c *sampled) epochs() bool {
	if c.dates || len(c.numbers) == 0 || !epochNames.MatchString(c.name) {
		return false
	}
	for _, e := range epochs {
		within := true
		for _, v := range c.numbers {
			within = within && v >= e.low && v < e.high
		}
		if within {
			return true
		}
	}
	return false
}
