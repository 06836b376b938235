package files

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files/array"
)

// controlFault is an error about a file of controls.
func controlFault(path, place, remedy, format string, args ...any) error {
	return &Error{File: path, Place: place, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// Plan are controls of coming steps, as a file has them: a row each. It is immutable.
type Plan struct {
	Rows [][]float64 // in the order of the names that were asked for

	path  string
	times [][]string // nil: the file has none
	key   []string   // columns that tell recordings apart
	keyed []int      // those of them that the file has
	keys  [][]string // of each row, the texts of these
}

// ReadPlan reads the controls with the given names. times are the columns of times of the data, and key are those
// that tell recordings apart; the file may have them, and they may be empty. Accepted are tables, an array u or
// controls in a .npz file, and an array in a .npy file, [T,nu] in the order of names. A control that is missing or
// infinite is refused. An error about a path comes from package os, others are *Error.
func ReadPlan(path string, names, times, key []string) (*Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the controls: %w", err)
	}
	defer f.Close()
	p := &Plan{path: path}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npz":
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("read the controls: %w", err)
		}
		archive, err := array.OpenArchive(f, info.Size())
		if err != nil {
			return nil, controlFault(path, "", "", "%v", err)
		}
		for _, name := range []string{"u", "controls"} {
			if slices.Contains(archive.Names(), name) {
				x, err := archive.Read(name, DefaultLimit)
				p.Rows, err = controlRows(path, x, err, len(names))
				return p, err
			}
		}
		return nil, controlFault(path, "", "name the controls u", "it has no array u, but %v", archive.Names())
	case ".npy":
		x, err := array.Read(f, DefaultLimit)
		p.Rows, err = controlRows(path, x, err, len(names))
		return p, err
	}
	// All other endings are those of tables.
	in, err := tableOf(f, path)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, controlFault(path, "", "save them as .npz, .npy or .csv", "controls are not read from such files")
	}
	return p, inFile(path, p.readTable(in, names, times, key))
}

// controlRows are the rows of an array [T,nu], or [T] of a single control. Also [1,T,nu]. err is that of reading the
// array.
func controlRows(path string, x *array.Array, err error, nu int) ([][]float64, error) {
	if err != nil {
		return nil, controlFault(path, "u", "", "%v", err)
	}
	shape := x.Shape
	if len(shape) == 3 && shape[0] == 1 {
		shape = shape[1:]
	}
	if len(shape) == 1 && nu == 1 {
		shape = append(slices.Clone(shape), 1)
	}
	if len(shape) != 2 || shape[1] != nu {
		return nil, controlFault(path, "u", fmt.Sprintf("save it as [steps, %d]", nu), "its shape is %v", x.Shape)
	}
	values := x.Float64s()
	rows := make([][]float64, shape[0])
	for t := range rows {
		rows[t] = values[t*nu : (t+1)*nu]
		for _, v := range rows[t] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, controlFault(path, fmt.Sprintf("u, step %d", t), "controls cannot be missing", "it holds %v", v)
			}
		}
	}
	return rows, nil
}

// readTable reads columns by their names, with or without the u_ of the convention; u is u1, if there is no other
// control. All names are needed; other columns are ignored. times count only if the file has all of them: a day
// without its time of day says nothing. Of a key count the columns that the file has.
func (p *Plan) readTable(in rowSource, names, times, key []string) error {
	header, err := in.next()
	if err != nil {
		return faultf("", "give a line of names and a line for each step", "it is no table of controls (%v)", err)
	}
	// The cells of a row are valid until the next one is read.
	header = slices.Clone(header)
	for i, cell := range header {
		header[i] = columnName(cell, i)
	}
	find := func(name string) int {
		return slices.IndexFunc(header, func(h string) bool {
			return h == name || "u_"+h == name || h == "u_"+name
		})
	}
	var columns, clocks, of []int
	for _, name := range names {
		i := find(name)
		// The data call a single control u or u1.
		if i < 0 && len(names) == 1 && name == "u1" {
			i = find("u")
		}
		if i < 0 {
			return faultf("line 1", fmt.Sprintf("it needs %s", strings.Join(names, ", ")),
				"there is no column %s; there are %s", name, strings.Join(header, ", "))
		}
		columns = append(columns, i)
	}
	for _, name := range times {
		if i := find(name); i >= 0 {
			clocks = append(clocks, i)
		}
	}
	p.key = key
	for k, name := range key {
		if i := find(name); i >= 0 {
			p.keyed, of = append(p.keyed, k), append(of, i)
		}
	}
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := p.row(in, line, header, columns); err != nil {
			return err
		}
		if len(clocks) > 0 && len(clocks) == len(times) {
			p.times = append(p.times, cellsOf(line, clocks))
		}
		p.keys = append(p.keys, cellsOf(line, of))
	}
	if len(p.Rows) == 0 {
		return faultf("", "give a line of names and a line for each step", "it has no rows")
	}
	return nil
}

// row adds the controls of a line.
func (p *Plan) row(in rowSource, line, header []string, columns []int) error {
	var row []float64
	for _, c := range columns {
		v, err := parseNumber(strings.TrimSpace(line[c]), in.decimalCommas())
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return faultf(fmt.Sprintf("%s %d, column %s", in.what(), in.row(), header[c]), "controls cannot be missing",
				"%q is no number", line[c])
		}
		row = append(row, v)
	}
	p.Rows = append(p.Rows, row)
	return nil
}

// After are the controls of the steps from one on, of a recording with a key and times. Rows are joined by the key,
// or by those of its columns that the file has, and by the time, if it has that; else they are taken in their order.
// It returns the controls [horizon][nu], which share memory with the plan, or an *Error: for a time that is off the
// grid of the recording, for two rows of a step, and for a step without a row. Rows of other recordings and of other
// steps are ignored. Rows may be in any order, but for times of the day without a day.
func (p *Plan) After(key []string, times *Times, from, horizon int) ([][]float64, error) {
	if p.times == nil {
		times = nil
	}
	// In such files the control between two steps stands beside the first of them.
	if times != nil && times.after {
		from--
	}
	of, steps, err := p.steps(key, times, from, horizon)
	if err != nil {
		return nil, err
	}
	coming := map[int]int{} // the row of each step
	for i, step := range steps {
		if other, twice := coming[step]; twice {
			remedy := "leave one of them out"
			if missing := p.missing(); len(key) > 0 && len(missing) > 0 {
				remedy += ", or say which recording each row is for: there is no column " + strings.Join(missing, " or ")
			}
			return nil, controlFault(p.path, fmt.Sprintf("row %d", of[i]+1), remedy, "it has the same time as row %d", other+1)
		}
		coming[step] = of[i]
	}
	rows := make([][]float64, horizon)
	for h := range rows {
		i, ok := coming[from+h]
		if !ok {
			return nil, p.short(key, times, from, h, horizon)
		}
		rows[h] = p.Rows[i]
	}
	return rows, nil
}

// steps are the rows for a recording with a key, and the steps that they are for: by its times, or from one on if it
// has none.
func (p *Plan) steps(key []string, times *Times, from, horizon int) (rows, steps []int, err error) {
	var written [][]string
	for i := range p.Rows {
		if !p.of(key, i) {
			continue
		}
		steps, rows = append(steps, from+len(rows)), append(rows, i)
		if times != nil {
			written = append(written, p.times[i])
		}
	}
	if times == nil {
		return rows, steps, nil
	}
	steps, bad, err := times.Steps(written, from, horizon)
	if err != nil {
		return nil, nil, controlFault(p.path, fmt.Sprintf("row %d", rows[bad]+1), "write times in the form of the data, "+
			"which continue with "+strings.Join(times.Text(from), " "), "%v", err)
	}
	return rows, steps, nil
}

// of reports whether row i is for the recording with a key: where the file has a column of it, the texts are the same.
func (p *Plan) of(key []string, i int) bool {
	for j, k := range p.keyed {
		if k < len(key) && p.keys[i][j] != key[k] {
			return false
		}
	}
	return true
}

// missing are the columns of the key that the file has not.
func (p *Plan) missing() []string {
	var names []string
	for k, name := range p.key {
		if !slices.Contains(p.keyed, k) {
			names = append(names, name)
		}
	}
	return names
}

// short is the error that step h of a forecast has no row. times are nil where rows are not joined by them.
func (p *Plan) short(key []string, times *Times, from, h, horizon int) error {
	what := fmt.Sprintf("step %d of the forecast", h+1)
	if times != nil {
		what = strings.Join(times.Text(from+h), " ")
	}
	if len(key) > 0 && len(p.keyed) > 0 {
		what += " of " + NameOf(key)
	}
	return controlFault(p.path, "", fmt.Sprintf("give a row for each of the %d steps, or a shorter --horizon", horizon),
		"it has no row for %s", what)
}
