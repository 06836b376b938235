package files

import (
	"slices"

	"github.com/switchyard-ml/switchyard/envs"
)

// InOrder returns the data set with its channels in the order of the given names, which are what Channels and Actions
// call them, if it has exactly these: files of one kind may have their columns in another order. Else the order stays.
// What changes is copied.
func (d *Dataset) InOrder(channels, actions []string) *Dataset {
	y, u := places(d.Channels(), channels), places(d.Actions(), actions)
	if y == nil && u == nil {
		return d
	}
	o := *d
	o.ObservationNames, o.ControlNames = moved(d.ObservationNames, y, 1), moved(d.ControlNames, u, 1)
	o.Origins, o.Transforms = moved(d.Origins, y, 1), moved(d.Transforms, y, 1)
	o.Episodes = make([]Episode, len(d.Episodes))
	for i, e := range d.Episodes {
		e.Episode = envs.Episode{
			T: e.T, Observations: moved(e.Observations, y, e.T), Controls: moved(e.Controls, u, e.T),
			States: e.States, Labels: e.Labels,
		}
		e.Levels, e.Mask, e.Before = moved(e.Levels, y, e.T), moved(e.Mask, y, e.T), moved(e.Before, u, 1)
		e.exact, e.acts = moved(e.exact, y, e.T), moved(e.acts, u, e.T)
		o.Episodes[i] = e
	}
	return &o
}

// places are where the wanted names are among those that are there; nil if they are in order, or not the same.
func places(there, wanted []string) []int {
	if slices.Equal(there, wanted) || len(there) != len(wanted) {
		return nil
	}
	var list []int
	for _, name := range wanted {
		at := slices.Index(there, name)
		if at < 0 || slices.Contains(list, at) {
			return nil
		}
		list = append(list, at)
	}
	return list
}

// moved are rows of values with column from[j] in the place of column j; without from, or without values, as they are.
func moved[V any](values []V, from []int, rows int) []V {
	if from == nil || len(values) == 0 {
		return values
	}
	width := len(from)
	list := make([]V, 0, len(values))
	for row := range rows {
		for _, j := range from {
			list = append(list, values[row*width+j])
		}
	}
	return list
}
