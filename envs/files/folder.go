package files

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// input is a file to read, and the part of the split to which its folder belongs.
type input struct {
	path string
	part Part
}

// Paths lists the files that Read reads for paths, in the same order. A file that several paths name is there once.
func Paths(paths []string) ([]string, error) {
	inputs, err := expand(paths)
	var list []string
	for _, in := range inputs {
		list = append(list, in.path)
	}
	return list, err
}

// expand lists the files that paths name: files, folders (their data files, and those of the folders training,
// validation and test below) and globs. Numbers in names count as numbers. A path that does not exist and has *, ?
// or [ in it is a glob, in the syntax of filepath.Glob; one that matches nothing is an error for which errors.Is
// finds fs.ErrNotExist. Files keep the order of paths.
func expand(paths []string) ([]input, error) {
	var all []input
	seen := map[string]bool{}
	add := func(list []input) {
		for _, in := range list {
			if clean := filepath.Clean(in.path); !seen[clean] {
				seen[clean] = true
				all = append(all, in)
			}
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			list, err := listFolder(path)
			if err != nil {
				return nil, err
			}
			add(list)
		// What exists is taken as it is, even with a * in its name.
		case err != nil && strings.ContainsAny(path, "*?["):
			list, err := filepath.Glob(path)
			if err != nil {
				return nil, &Error{File: path, Problem: "it is no pattern of file names", cause: err}
			}
			if len(list) == 0 {
				return nil, fmt.Errorf("read the data: %w", &fs.PathError{Op: "match", Path: path, Err: fs.ErrNotExist})
			}
			slices.SortFunc(list, naturalOrder)
			add(inputsOf(list, Unassigned))
		case err != nil:
			return nil, pathFault(err)
		default:
			add([]input{{path, Unassigned}})
		}
	}
	return all, flowing(all)
}

// flowing returns an *Error if what is to be read is no file but a pipe or a device: a file is opened again and again,
// and what such a thing gave is gone.
func flowing(list []input) error {
	for _, in := range list {
		info, err := os.Stat(in.path)
		if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return &Error{
				File: in.path, Problem: "it is a pipe or a device, which gives its data once, and files are read several times",
				Remedy: "keep the data in a file: switchyard data convert - own.npz < " + in.path,
			}
		}
	}
	return nil
}

// inputsOf are files that all belong to one part.
func inputsOf(paths []string, part Part) []input {
	var list []input
	for _, p := range paths {
		list = append(list, input{p, part})
	}
	return list
}

// listFolder lists the data files of a folder. Those in the folder itself have no part; those of folders whose names
// parsePart knows follow, in the order of the parts. Other folders are not looked at. A folder without data files is
// an *Error.
func listFolder(dir string) ([]input, error) {
	list, folders, err := dataFiles(dir)
	if err != nil {
		return nil, err
	}
	all := inputsOf(list, Unassigned)
	for _, want := range []Part{Training, Validation, Test} {
		for _, name := range folders {
			if part, _ := parsePart(strings.ToLower(name)); part != want {
				continue
			}
			list, _, err := dataFiles(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			all = append(all, inputsOf(list, want)...)
		}
	}
	if len(all) == 0 {
		return nil, &Error{File: dir, Problem: "the folder holds no data files", Remedy: endings}
	}
	return all, nil
}

// dataFiles lists the data files and the folders of a folder, without those whose names begin with a dot.
func dataFiles(dir string) (paths, folders []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, pathFault(err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case e.IsDir():
			folders = append(folders, name)
		case isData(name):
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	slices.SortFunc(paths, naturalOrder)
	return paths, folders, nil
}

// isData reports whether a file has the ending of a format.
func isData(name string) bool {
	_, ok := formatOf(name)
	return ok
}

// naturalOrder compares names with their numbers as numbers: run2 comes before run10. Names that differ only in
// zeros in front have the order of their bytes.
func naturalOrder(a, b string) int {
	whole := cmp.Compare(a, b)
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

// digits is the number of decimal digits that s begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// join appends the episodes of another file, which has to describe the same system. Channels, their names and
// images have to be the same, and steps as long to 1 %. Notes are joined too; each is there once.
func (d *Dataset) join(o *Dataset) error {
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"images", o.Image, d.Image},
		{"y", o.Spec.Observation, d.Spec.Observation},
		{"u", o.Spec.Control, d.Spec.Control},
		{"states", o.Spec.State, d.Spec.State},
		{"labels", o.Spec.Labels, d.Spec.Labels},
		{"names of y", o.ObservationNames, d.ObservationNames},
		{"names of u", o.ControlNames, d.ControlNames},
		{"names of states", o.StateNames, d.StateNames},
	} {
		// Texts compare lists and numbers alike.
		if got, want := fmt.Sprint(f.got), fmt.Sprint(f.want); got != want {
			what := "channels"
			if strings.HasPrefix(f.name, "names") || f.name == "labels" {
				what = "columns"
			}
			return faultf(f.name, "give all files the same channels in the same order", "%s %s, in the files before %s", what,
				got, want)
		}
	}
	// A file that does not say its step takes that of the others.
	if d.Spec.DT == 0 {
		d.Spec.DT, d.TimeUnit = o.Spec.DT, o.TimeUnit
	}
	if a, b := d.Spec.DT, o.Spec.DT; b > 0 && (b > 1.01*a || b < 0.99*a || o.TimeUnit != d.TimeUnit) {
		return faultf("dt", "resample one of them", "the time between two steps is %v, in the files before %v",
			strings.TrimSpace(fmt.Sprint(b, " ", o.TimeUnit)), strings.TrimSpace(fmt.Sprint(a, " ", d.TimeUnit)))
	}
	d.Episodes = append(d.Episodes, o.Episodes...)
	for _, note := range o.Notes {
		if !slices.Contains(d.Notes, note) {
			d.Notes = append(d.Notes, note)
		}
	}
	return nil
}
