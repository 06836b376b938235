package statespace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/autodiff"
	"github.com/switchyard-ml/switchyard/model"
)

// ErrBodies is returned for a division into bodies that channels or controls do not have.
var ErrBodies = errors.New("bodies")

// Layout says which channels and which controls belong to which body of a sequence. A row of a batch with all of them
// is, body after body, a row for each.
type Layout struct {
	Bodies int
	NX, NU int // of all bodies

	channels, controls []int // of body 0, body 1, …; nil: as they lie
	each               struct{ nx, nu int }
}

// NewLayout reads a division: a number of bodies, or lists such as 1,2/3,4 of the channels of each, counted from 1,
// with its controls behind a colon (1,2:1/3,4:2). Every channel belongs to one body, and all bodies have as many.
// Controls without a list are divided in their order, if they can be, or belong to all bodies. The error wraps
// ErrBodies.
func NewLayout(text string, nx, nu int) (Layout, error) {
	if count, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		return evenLayout(count, nx, nu)
	}
	l := Layout{NX: nx, NU: nu}
	lists := strings.Split(text, "/")
	// A model of one body has all channels and controls as they lie, whatever its list says.
	if l.Bodies = len(lists); l.Bodies == 1 {
		return l, fmt.Errorf("%w: %q lists a single body, which has all channels and controls: leave it out, or part bodies "+
			"by slashes", ErrBodies, text)
	}
	listed, err := l.read(lists)
	switch {
	case err != nil:
		return l, err
	case listed != 0 && listed != l.Bodies:
		return l, fmt.Errorf("%w: %d of %d bodies have controls listed", ErrBodies, listed, l.Bodies)
	case listed == 0:
		l.divideControls()
	}
	return l, l.checkChannels()
}

// read reads the list of each body. listed is how many of them list controls.
func (l *Layout) read(lists []string) (listed int, err error) {
	for k, list := range lists {
		channels, controls, colon := strings.Cut(list, ":")
		x, err := places(channels, l.NX)
		u, worse := places(controls, l.NU)
		if err = errors.Join(err, worse); err != nil {
			return 0, fmt.Errorf("%w: body %d: %w", ErrBodies, k+1, err)
		}
		if colon {
			listed++
		}
		// Body 1 sets the numbers that all others must have.
		if k > 0 && len(x) != l.each.nx || colon && k > 0 && len(u) != l.each.nu {
			return 0, fmt.Errorf("%w: body %d has %d channels and %d controls, body 1 has %d and %d: networks that all "+
				"bodies share need as many of each", ErrBodies, k+1, len(x), len(u), l.each.nx, l.each.nu)
		}
		l.each.nx, l.each.nu = len(x), len(u)
		l.channels, l.controls = append(l.channels, x...), append(l.controls, u...)
	}
	return listed, nil
}

// places are the numbers of a list, less 1. Each may be there once.
func places(list string, most int) ([]int, error) {
	var all []int
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		i, err := strconv.Atoi(word)
		if err != nil || i < 1 || i > most {
			return nil, fmt.Errorf("%q is none of the numbers 1 to %d", word, most)
		}
		if slices.Contains(all, i-1) {
			return nil, fmt.Errorf("%d is listed twice", i)
		}
		all = append(all, i-1)
	}
	return all, nil
}

// evenLayout divides channels by their order into equal parts.
func evenLayout(count, nx, nu int) (Layout, error) {
	l := Layout{Bodies: count, NX: nx, NU: nu}
	if count < 1 || nx%count != 0 {
		return l, fmt.Errorf("%w: %d channels are not those of %d bodies", ErrBodies, nx, count)
	}
	l.each.nx = nx / count
	l.divideControls()
	return l, nil
}

// divideControls gives each body its part of the controls, or all of them.
func (l *Layout) divideControls() {
	if l.each.nu = l.NU / l.Bodies; l.NU%l.Bodies == 0 {
		return
	}
	l.each.nu = l.NU
	for range l.Bodies {
		for i := range l.NU {
			l.controls = append(l.controls, i)
		}
	}
}

// checkChannels finds channels that belong to no body or to several.
func (l *Layout) checkChannels() error {
	// Sorted, the channels have to be 0, 1, 2, …: the first that is not its index is missing or there twice.
	sorted := slices.Sorted(slices.Values(l.channels))
	for i, c := range sorted {
		if c != i {
			return fmt.Errorf("%w: each of the %d channels must be that of one body: channel %d is not", ErrBodies, l.NX,
				min(i, c)+1)
		}
	}
	if len(sorted) != l.NX {
		return fmt.Errorf("%w: channel %d of %d belongs to no body", ErrBodies, len(sorted)+1, l.NX)
	}
	// Channels in their order need not be gathered.
	if slices.Equal(l.channels, sorted) {
		l.channels = nil
	}
	return nil
}

// Each are the channels and controls of each body.
func (l *Layout) Each() (nx, nu int) { return l.each.nx, l.each.nu }

// Batch has a sequence for each body: [T, B, n] becomes [T, B·K, n/K], with the bodies of a sequence beside each
// other. What lies as it should is not copied; what is copied is on the tape.
func (l *Layout) Batch(t *autodiff.Tape, b model.Batch) model.Batch {
	return model.Batch{
		T: b.T, B: b.B * l.Bodies, NX: l.each.nx, NU: l.each.nu,
		Observations: gathered(t, b.Observations, l.channels, l.NX), Controls: l.Controls(t, b.Controls),
		Seen: gathered(t, b.Seen, l.channels, l.NX),
	}
}

// Controls are rows of controls, with a row for each body.
func (l *Layout) Controls(t *autodiff.Tape, u []float32) []float32 {
	return gathered(t, u, l.controls, l.NU)
}

// gathered has the columns from of each row of x, which has so many; nil columns: x itself. A column may be there
// more than once, as a control that all bodies have.
func gathered(t *autodiff.Tape, x []float32, from []int, width int) []float32 {
	if from == nil || len(x) == 0 {
		return x
	}
	y := t.NewConstant(len(x)/width, len(from))
	for row := range y.Rows {
		for j, c := range from {
			y.Value[row*y.Cols+j] = x[row*width+c]
		}
	}
	return y.Value
}

// Restore puts rows of channels, body after body, into the order of the channels, in place: the inverse of what
// Batch does to observations.
func (l *Layout) Restore(rows ...[]float32) {
	if l.channels == nil {
		return
	}
	one := make([]float32, l.NX)
	for _, x := range rows {
		for at := 0; at+l.NX <= len(x); at += l.NX {
			copy(one, x[at:])
			for j, c := range l.channels {
				x[at+c] = one[j]
			}
		}
	}
}
