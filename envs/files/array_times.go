package files

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// times checks that the steps of each episode are evenly spaced, and takes the time between two from them. An array
// t that nobody asked for and that has no time for each step is not used, which a note says. Rows of arrays are
// steps already: without Resample, none may be left out.
func (b *builder) times() error {
	name, ok := b.found["t"]
	if !ok {
		if b.options.Resample != "" {
			return faultf("--resample "+b.options.Resample, "save an array t with a time for each step, or name the array of "+
				"times: --time NAME", "no array holds the times")
		}
		return nil
	}
	err := b.readTimes(name)
	if err == nil && b.options.Resample != "" {
		return b.data.finer(b.options.Resample)
	}
	var fault *Error
	var uneven *unevenError
	if errors.As(err, &fault) && !errors.As(err, &uneven) && name != b.options.Time && b.options.Resample == "" {
		b.data.Notes = append(b.data.Notes, fmt.Sprintf("array %s is not used: %s", name, fault.Problem))
		return nil
	}
	return err
}

// readTimes reads t as numbers, [N,T] or one row for a single episode, or as dates. Every step has a finite time;
// times behind the end of an episode are padding.
func (b *builder) readTimes(name string) error {
	f, _, err := b.read("t")
	if err != nil {
		return err
	}
	if f.array != nil && (f.array.Kind == array.Text || f.array.Unit != "") {
		return b.dates(name, f.array)
	}
	p, err := b.panel("t", "[N,T]", 0)
	if err != nil {
		return err
	}
	if len(p.data) != len(b.data.Episodes) {
		return faultf(name, "save it as [N,T]", "it has times of %s, the observations have %d",
			terminal.Count(len(p.data), "episode"), len(b.data.Episodes))
	}
	c := &clock{known: true, digits: math.MaxInt, bare: true}
	b.largeTimes(f, p, c)
	whole := true
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		list, err := p.timesOf(i, e)
		if err != nil {
			return err
		}
		for _, at := range list {
			c.largest, whole = max(c.largest, math.Abs(at)), whole && at == math.Trunc(at)
		}
		if err := b.even(e, name, c, list); err != nil {
			return err
		}
	}
	// The numbers of an array have no decimals of their own: they are written with as many as they need, or with none if
	// all are whole. Those of float32 have as many as it holds, or as tell steps apart.
	switch {
	case whole:
		c.digits = 0
	case p.exact[0] == nil:
		c.digits = max(1, float32Digits-1-int(math.Floor(math.Log10(c.largest))))
		if dt := b.data.Spec.DT; dt > 0 {
			c.digits = max(c.digits, int(math.Ceil(1-math.Log10(dt))))
		}
	}
	return nil
}

// timesOf are the times of entry i, which are those of an episode: one for each of its steps.
func (p *panel) timesOf(i int, e *Episode) ([]float64, error) {
	if len(p.data[i]) < e.T {
		return nil, faultf(p.name, "save a time for each step", "%s has %s and %d times", e.Source,
			terminal.Count(e.T, "step"), len(p.data[i]))
	}
	list := make([]float64, e.T)
	for t := range list {
		list[t] = float64(p.data[i][t])
		if p.exact[i] != nil {
			list[t] = p.exact[i][t]
		}
		if math.IsNaN(list[t]) || math.IsInf(list[t], 0) {
			return nil, faultf(p.name, "save a time for each step", "%s, step %d: the time is %v", e.Source, t, list[t])
		}
	}
	return list, nil
}

// largeTimes makes differences to the first of whole numbers of 8 bytes, if float64 does not hold all times among them,
// as reading a table does.
func (b *builder) largeTimes(f field, p *panel, c *clock) {
	list := f.cells
	if f.array != nil {
		list = []*array.Array{f.array}
	}
	var whole []int64
	for _, a := range list {
		values := a.Int64s()
		if values == nil {
			return
		}
		whole = append(whole, values...)
	}
	large := false
	for i := range b.data.Episodes {
		for _, v := range p.exact[i][:min(len(p.exact[i]), b.data.Episodes[i].T)] {
			large = large || math.Abs(v) >= exactly
			if v >= math.MaxInt64 {
				return
			}
		}
	}
	if !large {
		return
	}
	c.base, c.based = whole[0], true
	for _, values := range p.exact { // which follow one another in the array
		for j := range values {
			values[j] = float64(whole[j] - c.base)
		}
		whole = whole[len(values):]
	}
}

// float32Digits is how many digits of a number float32 holds.
const float32Digits = 7

// even gives an episode its times; an error if they are not evenly spaced. Equal times are uneven, unless the steps
// are resampled.
func (b *builder) even(e *Episode, name string, c *clock, list []float64) error {
	for i := 1; i < len(list); i++ {
		if list[i] < list[i-1] {
			back := &unevenError{row: i, from: c.text(list[i-1]), to: c.text(list[i])}
			return &Error{
				Place:   fmt.Sprintf("%s, %s, step %d", name, e.Source, i),
				Problem: fmt.Sprintf("t goes from %s to %s", back.from, back.to), cause: back,
				Remedy: "sort the steps by time before saving, or take them as even with --time none (env.time=none)",
			}
		}
	}
	if b.options.Resample != "" {
		return b.resample(e, name, c, list)
	}
	grid, at, err := c.even(list, calendar{})
	// A few days of one week are business days, if others are.
	if err == nil && b.grid.step > 0 && grid.unit != b.grid.unit {
		if shared, of, failed := c.even(list, b.grid); failed == nil && of[len(of)-1] == len(of)-1 {
			grid, at = shared, of
		}
	}
	var uneven *unevenError
	switch {
	case len(list) < 2:
		return nil
	case errors.As(err, &uneven):
	case err != nil:
		return err
	// A gap of several steps: find where it begins.
	case at[len(at)-1] != len(at)-1:
		row := 1
		for at[row] == row {
			row++
		}
		uneven = &unevenError{row: row, from: c.text(list[row-1]), to: c.text(list[row]), usual: c.gap(grid.length())}
	}
	if uneven != nil {
		return &Error{
			Place: fmt.Sprintf("%s, %s, step %d", name, e.Source, uneven.row), Problem: uneven.Error() +
				": steps have to be equally long", cause: uneven,
			Remedy: fmt.Sprintf("bring the rows to a grid with --resample (env.resample), e.g. --resample %s, or take them as "+
				"even with --time none (env.time=none)", c.suggestedStep(list)),
		}
	}
	if b.grid.step > 0 && (grid.unit != b.grid.unit || !b.grid.fits(grid.step, len(list)-1, 0)) {
		return &Error{
			Place: fmt.Sprintf("%s, %s", name, e.Source), cause: &unevenError{step: c.suggestedStep(list)},
			Problem: fmt.Sprintf("its steps are %s long, those before %s", c.gap(grid.length()), c.gap(b.grid.length())),
			Remedy:  "bring all to one grid with --resample (env.resample)",
		}
	}
	if b.grid.step == 0 {
		b.grid = grid
	}
	e.Times = b.timesOf(name, list[0], grid, c)
	e.Times.ends = grid.unit == "month" && monthEnds(list)
	if b.data.Spec.DT == 0 {
		b.stepsOf(grid)
	}
	return nil
}

// timesOf are the times of an episode. first is that of step 0.
func (b *builder) timesOf(name string, first float64, grid calendar, c *clock) *Times {
	return &Times{
		Columns: []string{name}, first: first, grid: grid, clock: c, after: b.options.ControlsAfter, offset: c.offset,
	}
}

// stepsOf takes the time between two steps from their grid.
func (b *builder) stepsOf(grid calendar) {
	grid = grid.named()
	b.data.Spec.DT, b.data.TimeUnit = rounded(grid.step), grid.unit
}

// resample brings the steps of an episode to the even grid that was asked for, as those of a table. It gives the
// episode new arrays of the length of the grid. Steps without a row are missing, and noted.
func (b *builder) resample(e *Episode, name string, c *clock, list []float64) error {
	if b.data.Images() {
		return faultf("--resample "+b.options.Resample, "bring images to even steps before saving",
			"images are not resampled")
	}
	grid, err := c.step(b.options.Resample, list[0])
	if err != nil {
		return faultf("--resample", "", "%v", err)
	}
	r := &rows{time: list}
	begin := c.begin(grid, r)
	at, err := bins(grid, begin, list)
	if err != nil {
		return err
	}
	n := at[len(at)-1] + 1
	if n/sparse > len(at) {
		return faultf(name, "is it one of times?", "%d steps lie on an even grid of %d", len(at), n)
	}
	if int64(n)*int64(8*(2*(b.data.Spec.Observation+b.data.Spec.Control)+b.data.Spec.State)) > b.options.limit() {
		return formatFault("", errLimit)
	}
	if empty := n - len(slices.Compact(slices.Clone(at))); empty > 0 {
		b.data.Notes = append(b.data.Notes, fmt.Sprintf("%s: the even grid has %s without a row: observations are "+
			"missing there", e.Source, terminal.Count(empty, "step")))
	}
	// A table spreads float64 rows, in which NaN is missing: so the episode becomes one of these, and back.
	e.level()
	r.observations, r.controls = e.Levels, converted[float64](e.Controls)
	r.states, r.labels = converted[float64](e.States), converted[float64](e.Labels)
	for _, z := range e.Modes {
		r.modes = append(r.modes, float64(z))
	}
	r.spread(b.data.Spec, at, n, b.after)
	if e.acts != nil { // apart, so that those in float32 stay the same where these are not kept
		exact := &rows{controls: e.acts}
		exact.spread(b.data.Spec, at, n, b.after)
		e.acts = exact.controls
	}
	e.T, e.Mask, e.Levels = n, nil, r.observations
	e.Observations, e.Controls = converted[float32](r.observations), converted[float32](r.controls)
	e.States, e.Labels, e.Modes = converted[float32](r.states), converted[float32](r.labels), nil
	for _, z := range r.modes {
		e.Modes = append(e.Modes, int32(z))
	}
	e.Times = b.timesOf(name, grid.firstBin(begin, list[0]), grid, c)
	b.stepsOf(grid)
	return nil
}
