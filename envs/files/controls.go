package files

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files/npy"
)

// controlFault is an error about a file of controls.
func controlFault(path, place, remedy, format string, args ...any) error {
	return &Error{File: path, Place: place, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// ReadControls reads the controls of coming steps, a row each, in the order of names.
func ReadControls(path string, names []string) ([][]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the controls: %w", err)
	}
	defer f.Close()
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npz":
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("read the controls: %w", err)
		}
		archive, err := npy.OpenArchive(f, info.Size())
		if err != nil {
			return nil, controlFault(path, "", "", "%v", err)
		}
		for _, name := range []string{"u", "controls"} {
			if slices.Contains(archive.Names(), name) {
				x, err := archive.Read(name, DefaultLimit)
				return controlRows(path, x, err, len(names))
			}
		}
		return nil, controlFault(path, "", "name the controls u", "it has no array u, but %v", archive.Names())
	case ".npy":
		x, err := npy.Read(f, DefaultLimit)
		return controlRows(path, x, err, len(names))
	}
	return readControlTable(path, f, names)
}

// controlRows are the rows of an array [T,nu], or [T] of a single control.
func controlRows(path string, x *npy.Array, err error, nu int) ([][]float64, error) {
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

// readControlTable reads columns by their names, with or without the u_ of the convention, or all columns if there are
// just as many.
func readControlTable(path string, f *os.File, names []string) ([][]float64, error) {
	in := csv.NewReader(f)
	if strings.EqualFold(filepath.Ext(path), ".tsv") {
		in.Comma = '\t'
	}
	lines, err := in.ReadAll()
	if err != nil || len(lines) < 2 {
		return nil, controlFault(path, "", "give a line of names and a line for each step", "it is no table of controls (%v)",
			errOr(err, "one line"))
	}
	var columns []int
	for _, name := range names {
		i := slices.IndexFunc(lines[0], func(h string) bool {
			h = strings.TrimSpace(h)
			return h == name || "u_"+h == name || h == "u_"+name
		})
		if i < 0 {
			return nil, controlFault(path, "line 1", fmt.Sprintf("it needs %s", strings.Join(names, ", ")),
				"there is no column %s", name)
		}
		columns = append(columns, i)
	}
	var rows [][]float64
	for n, line := range lines[1:] {
		var row []float64
		for i, c := range columns {
			v, err := strconv.ParseFloat(strings.TrimSpace(line[c]), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, controlFault(path, fmt.Sprintf("line %d, column %s", n+2, names[i]), "controls cannot be missing",
					"%q is no number", line[c])
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func errOr(err error, text string) string {
	if err != nil {
		return err.Error()
	}
	return text
}
