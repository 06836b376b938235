package files

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// rowSource gives the rows of a table, the header first. All rows have as many cells as the header. A source may
// have notes() []string, too: what was done to the file.
type rowSource interface {
	next() ([]string, error) // io.EOF after the last row
	row() int                // number of the last row, for messages
	what() string            // what a row is called: line or row
	decimalCommas() bool     // whether 1,5 may be a number
}

// table collects the rows of a table into recordings. It holds all rows in float64, and makes episodes of them once
// the last one is read: rows of a recording may lie apart, and the grid is the finest that any recording needs.
type table struct {
	in      rowSource
	options Options
	left    *int64 // bytes that may still be held
	header  []string
	roles   []role
	data    *Dataset
	clock   clock
	kept    *clock // the clock of the times of recordings
	dayClock

	list     []*rows          // in the order of their first rows
	byID     map[string]*rows // by Episode.Name
	last     *rows
	keyed    []int    // columns that tell recordings apart
	key      []string // of the last row: their texts
	hasTime  bool
	twoFold  bool  // days and times of the day are in two columns
	parts    []int // columns of the parts of a date; nil: one column has all
	style    partStyle
	hasID    bool
	comma    bool // a number had a decimal comma
	point    bool // a number had a decimal point
	decimal  bool // a number had a comma that is none for thousands
	added    int  // rows that gaps of the time gave
	sorted   int  // recordings whose rows were put in the order of time
	dropped  int  // recordings of one row
	blanks   int  // blank lines of a table of one column
	comments int  // lines up to the last row that are comments
	rowsRead int
	zoneNote string         // of offsets from UTC that change
	signs    []commaSigns   // of each column
	marked   map[string]int // cells by the mark that stands for a missing value there
	unused   []*leftOut     // of each column; nil: it is used
	common   calendar
}

// readTable reads the rows of a table. What rows take is subtracted from left.
func readTable(in rowSource, left *int64, options Options) (*Dataset, error) {
	t := &table{
		in: in, options: options, left: left, data: &Dataset{Spec: envs.Spec{Name: "files"}},
		byID: map[string]*rows{}, marked: map[string]int{}, clock: clock{order: options.Dates, commas: in.decimalCommas()},
	}
	if err := t.readHeader(); err != nil {
		return nil, err
	}
	for {
		record, err := t.in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := t.blank(); err != nil {
			return nil, err
		}
		if err := t.row(record); err != nil {
			return nil, err
		}
	}
	if len(t.list) == 0 {
		return nil, noRows()
	}
	if err := t.commas(); err != nil {
		return nil, err
	}
	// What times mean (an order of day and month, 1430 as half past two) is decided by all of them together.
	if err := t.grids(); err != nil {
		return nil, err
	}
	for _, r := range t.list {
		if err := t.close(r); err != nil {
			return nil, err
		}
	}
	if len(t.data.Episodes) == 0 {
		return nil, faultf("", "name another column with --id (env.id)", "every recording has one row")
	}
	if t.options.Resample != "" {
		if err := t.data.finer(t.options.Resample); err != nil {
			return nil, err
		}
	}
	t.notes()
	return t.data, nil
}

// notes say what was done to the rows.
func (t *table) notes() {
	t.sayWhy()
	if in, ok := t.in.(interface{ notes() []string }); ok {
		t.data.Notes = append(t.data.Notes, in.notes()...)
	}
	note := func(n int, format string, args ...any) {
		if n > 0 {
			t.data.Notes = append(t.data.Notes, fmt.Sprintf(format, args...))
		}
	}
	if t.zoneNote != "" {
		t.data.Notes = append(t.data.Notes, t.zoneNote)
	}
	note(t.sorted, "rows of %s were put in the order of their times", terminal.Count(t.sorted, "recording"))
	note(t.blanks, "%s: missing values", terminal.Count(t.blanks, "blank line"))
	for _, mark := range slices.Sorted(maps.Keys(t.marked)) {
		note(t.marked[mark], "%q is read as a missing value, in %s", mark, terminal.Count(t.marked[mark], "cell"))
	}
	note(t.dropped, "%s of one row left out", terminal.Count(t.dropped, "recording"))
	note(t.added, "the even grid has %s without a row: observations are missing there", terminal.Count(t.added, "step"))
}

func (t *table) place() string { return fmt.Sprintf("%s %d", t.in.what(), t.in.row()) }

// readHeader gives each column its role, and each channel its name. It refuses a table without observations, with
// two columns of one name, or without a column that the options need; columns without a role are noted.
func (t *table) readHeader() error {
	header, err := t.in.next()
	if errors.Is(err, io.EOF) {
		return faultf("", "begin with a line of column names, e.g. t,y1,y2,u1", "it is empty")
	}
	if err != nil {
		return err
	}
	columns := map[role][]string{}
	seen := map[string]bool{}
	twice := ""
	for i, cell := range header {
		name := columnName(cell, i)
		r, column := t.options.column(name)
		if r != unused && seen[column] && twice == "" {
			if twice = column; slices.Contains(t.header, name) {
				twice = name
			}
		}
		seen[column] = seen[column] || r != unused
		if r == unused {
			note := fmt.Sprintf("column %s is not used", name)
			if t.options.Time == "" && slices.Contains(onlyTimes, strings.ToLower(name)) {
				note += fmt.Sprintf(": to take it as the times, say --time %s (env.time=%s)", name, name)
			}
			t.data.Notes = append(t.data.Notes, note)
		}
		t.header, t.roles = append(t.header, name), append(t.roles, r)
		columns[r] = append(columns[r], column)
		t.unused = append(t.unused, nil)
		if r == unused {
			t.unused[i] = &leftOut{note: len(t.data.Notes) - 1}
		}
	}
	if twice != "" {
		return faultf("line 1", "give every column its own name", "column %s is there twice", twice)
	}
	if len(columns[observation]) == 0 {
		return t.unobserved()
	}
	t.signs = make([]commaSigns, len(header))
	// Channels have the order of their columns.
	d := t.data
	d.Spec.Observation, d.ObservationNames = len(columns[observation]), channelNames(columns[observation])
	d.Spec.Control, d.ControlNames = len(columns[control]), channelNames(columns[control])
	d.Spec.State, d.StateNames = len(columns[state]), channelNames(columns[state])
	for i, c := range columns[label] {
		if names := channelNames(columns[label]); names != nil {
			c = names[i]
		}
		d.Spec.Labels = append(d.Spec.Labels, c)
	}
	for i, r := range t.roles {
		if r == episodeID {
			t.keyed = append(t.keyed, i)
		}
	}
	// A key has the order of the option in each file, whatever the order of the columns.
	order := words(t.options.ID)
	slices.SortStableFunc(t.keyed, func(a, b int) int {
		return slices.Index(order, t.header[a]) - slices.Index(order, t.header[b])
	})
	for _, i := range t.keyed {
		d.Key = append(d.Key, t.header[i])
	}
	t.hasTime, t.hasID = len(columns[timeOf]) > 0, len(t.keyed) > 0
	t.twoFold = len(columns[clockOf]) > 0
	if len(columns[dateOf]) > 0 {
		for _, name := range words(t.options.Time) {
			t.parts = append(t.parts, slices.Index(t.header, name))
		}
	}
	for _, of := range []struct{ flag, names string }{{"--time ", t.options.Time}, {"--id ", t.options.ID}} {
		for _, name := range words(of.names) {
			if !slices.Contains(t.header, name) && len(words(of.names)) > 1 {
				return faultf(of.flag+name, "", "there is no such column; there are %s", list(t.header))
			}
		}
	}
	if t.options.Resample != "" && !t.hasTime {
		return faultf("--resample "+t.options.Resample, "name the column of times: --time NAME", "no column holds the times")
	}
	return nil
}

// blank adds the rows of blank lines, which a reader of tables skips: in a table of one column they are missing values,
// but for those that are comments.
func (t *table) blank() error {
	comments := t.comments
	if in, ok := t.in.(interface{ comments() int }); ok {
		t.comments = in.comments()
	}
	if len(t.header) > 1 || t.last == nil {
		return nil
	}
	before, line := t.last.lines[len(t.last.lines)-1], t.in.row()
	for before += t.comments - comments; line-before > 1; before++ {
		t.blanks++
		if err := t.row([]string{""}); err != nil {
			return err
		}
	}
	return nil
}

// row adds a row to its recording. Without times, rows of a recording have to lie together: their order is all that
// is known.
func (t *table) row(record []string) error {
	if *t.left -= int64(8*len(t.roles) + 16); *t.left < 0 {
		return formatFault("", errLimit)
	}
	e, err := t.recording(record)
	if err != nil {
		return err
	}
	t.last = e
	e.lines = append(e.lines, t.in.row())
	t.rowsRead++
	for i, cell := range record {
		// The first part stands for the whole date; the others have the role dateOf.
		if t.parts != nil && i == t.parts[0] {
			cell = joinParts(words(t.options.Time), t.partsOf(record))
		}
		if err := t.cell(i, strings.TrimSpace(cell)); err != nil {
			return err
		}
	}
	return nil
}

// NameOf is the name of a recording with a key, as Episode.Name; empty without one.
func NameOf(key []string) string { return strings.Join(key, "/") }

// recording is the recording that a row belongs to, which is new if no row before had its key.
func (t *table) recording(record []string) (*rows, error) {
	t.key = t.key[:0]
	for _, i := range t.keyed {
		text := terminal.Plain(strings.TrimSpace(record[i]))
		if text == "" {
			return nil, t.cellFault(i, "name the recording in each row", "the cell is empty: the row belongs to no recording")
		}
		t.key = append(t.key, text)
	}
	if t.last != nil && slices.Equal(t.last.key, t.key) {
		return t.last, nil
	}
	id := NameOf(t.key)
	e, known := t.byID[id]
	switch {
	case !known:
		e = &rows{key: slices.Clone(t.key), part: Unassigned}
		t.byID[id], t.list = e, append(t.list, e)
	case !slices.Equal(e.key, t.key):
		return nil, faultf(t.place(), "leave the / out of the cells", "the recordings %s and %s have the same name, %s",
			strings.Join(e.key, ","), strings.Join(t.key, ","), id)
	case !t.hasTime:
		return nil, faultf(t.place(), "sort the rows by episode", "episode %s continues after another one began", id)
	}
	return e, nil
}

// partsOf are the parts of the date of a row.
func (t *table) partsOf(record []string) []string {
	list := cellsOf(record, t.parts)
	for _, part := range list {
		t.style.learn(part)
	}
	return list
}

// cellsOf are the cells of a row in some columns, without the spaces around them.
func cellsOf(record []string, columns []int) []string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = strings.TrimSpace(record[c])
	}
	return list
}
