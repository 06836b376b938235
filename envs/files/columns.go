package files

import (
	"slices"
	"strings"
)

// A role is the meaning of a column of a table.
type role uint8

const (
	// unused columns are named in a note.
	unused role = iota
	observation
	control
	state
	label
	// episodeID tells recordings apart; rows with the same text are one recording.
	episodeID
	timeOf
	clockOf // the time of the day, beside a day
	dateOf  // a part of the date, beside a year
	// maskOf is 1 where the observations of a row were measured, and 0 where they are missing.
	maskOf
	// modeOf is the true mode, and partOf the part of the split.
	modeOf
	partOf
)

// signals are the roles that can have several columns, with the word that begins the names of these columns.
var signals = []struct {
	word string
	role role
}{{"y", observation}, {"u", control}, {"state", state}, {"label", label}}

// singles are the roles that one column has, by its whole name.
var singles = map[string]role{"episode": episodeID, "t": timeOf, "mask": maskOf, "z": modeOf, "split": partOf}

// roleOf returns the role of a column: y, y1, y_speed and y[2] are observations, and so on. A word goes on with a
// digit, "_", ".", "[" or "-": year and unit are no signals.
func roleOf(name string) role {
	if r, ok := singles[name]; ok {
		return r
	}
	for _, s := range signals {
		rest, ok := strings.CutPrefix(name, s.word)
		if ok && (rest == "" || strings.ContainsRune("0123456789_.[-", rune(rest[0]))) {
			return s.role
		}
	}
	return unused
}

// channelName is the name of a column's channel: speed for y_speed, and y1 for y1. plain is set if the name is only a
// number.
func channelName(column string) (name string, plain bool) {
	for _, s := range signals {
		rest, ok := strings.CutPrefix(column, s.word)
		if !ok {
			continue
		}
		bare := strings.Trim(rest, "_.[]-")
		if strings.Trim(bare, "0123456789") == "" {
			return column, true
		}
		// Behind y_ the name stands as it is: y_speed [m/s] is speed [m/s].
		if exact, ok := strings.CutPrefix(rest, "_"); ok {
			return exact, false
		}
		return bare, false
	}
	return column, false
}

// channelNames are the names of the channels; nil if they are only numbers, from 0 or 1 and in order. If two columns
// have the same name, both keep the whole heading.
func channelNames(columns []string) []string {
	names := make([]string, len(columns))
	first := 1
	for i, c := range columns {
		name, plain := channelName(c)
		if slices.Contains(names[:i], name) {
			name = c
		}
		names[i] = name
		number := strings.TrimLeft(c, "abcdefghijklmnopqrstuvwxyz_.[")
		number = strings.TrimRight(number, "]")
		if i == 0 && number == "0" {
			first = 0
		}
		if !plain || number != itoa(first+i) && len(columns) > 1 {
			first = -1 << 62 // no later number continues the sequence
		}
	}
	if first >= 0 {
		return nil
	}
	return names
}

// heading is the name of a column for a channel of a role. The heading is read back as a column of the role word
// with the same channel name. Names that are only numbers are word1, word2, …
func heading(word string, names []string, i int) string {
	if i >= len(names) {
		return word + itoa(i+1)
	}
	if back, _ := channelName(names[i]); back == names[i] && roleOf(names[i]) == roleOf(word) {
		return names[i]
	}
	return word + "_" + names[i]
}

// ObservationName is the heading of an observed channel in a CSV file.
func (d *Dataset) ObservationName(channel int) string {
	return heading("y", d.ObservationNames, channel)
}

// ChannelName is what the user calls an observed channel: speed for a column speed or y_speed, y1 if it has no name.
func (d *Dataset) ChannelName(channel int) string {
	return userName(d.ObservationNames, channel, d.ObservationName)
}

// ActionName is what the user calls a control.
func (d *Dataset) ActionName(channel int) string {
	return userName(d.ControlNames, channel, d.ControlName)
}

// Channels are what the user calls the observed channels; nil for images, whose pixels have no names.
func (d *Dataset) Channels() []string {
	if d.Images() {
		return nil
	}
	return listed(d.Spec.Observation, d.ChannelName)
}

// Actions are what the user calls the controls.
func (d *Dataset) Actions() []string { return listed(d.Spec.Control, d.ActionName) }

// listed are the names of n channels; nil if there are none.
func listed(n int, name func(int) string) (names []string) {
	for c := range n {
		names = append(names, name(c))
	}
	return names
}

// userName is the name of channel c, or its heading if it has no name.
func userName(names []string, c int, heading func(int) string) string {
	if c < len(names) {
		return names[c]
	}
	return heading(c)
}

// ControlName is the heading of a control in a CSV file.
func (d *Dataset) ControlName(channel int) string { return heading("u", d.ControlNames, channel) }

// LabelName is the heading of a label in a CSV file.
func (d *Dataset) LabelName(label int) string { return heading("label", d.Spec.Labels, label) }
