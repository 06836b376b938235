package files

import (
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files/array"
)

// Read reads files, folders and globs into one data set. Episodes keep the order of the files. An error about the
// content is an *Error that names the file; an error about a path comes from package os.
//
// Every file is checked by itself, has to have the channels of the first, and is joined to it. Then the values of
// all are transformed and rounded to float32 together, because origins are those of all files. The limit of o
// holds for all files together.
func Read(paths []string, o Options) (*Dataset, error) {
	if err := o.checkRoles(); err != nil {
		return nil, err
	}
	transforms, err := ParseTransforms(o.Transform)
	if err != nil {
		return nil, err
	}
	inputs, err := expand(paths)
	if err != nil {
		return nil, err
	}
	if len(inputs) == 0 {
		return nil, faultf("", endings, "there is no file to read")
	}
	// Without a name to look for, none is collected.
	all := &Dataset{}
	left := o.limit()
	if len(o.asked()) > 0 {
		o.seen = &names{known: map[string]bool{}}
	}
	for i, in := range inputs {
		d, err := readFile(in.path, o, &left)
		if err != nil {
			// A wrong name may be why: it is in none of the files once the last one, a table, has shown its header.
			if kind := nameKind(in.path); i == len(inputs)-1 && kind == "column" && o.seen != nil && len(o.seen.order) > 0 {
				return nil, cmp.Or(o.checkNames(kind), err)
			}
			return nil, err
		}
		for j := range d.Episodes {
			e := &d.Episodes[j]
			if e.Part == Unassigned {
				e.Part = in.part
			}
			if len(inputs) > 1 {
				e.Source = in.path + ": " + e.Source
			}
		}
		if i == 0 {
			all = d
			continue
		}
		if err := all.join(d); err != nil {
			return nil, inFile(in.path, err)
		}
	}
	// A name may be in any of the files: which one is nowhere is known only after the last.
	if err := o.checkNames(nameKind(inputs[0].path)); err != nil {
		return nil, err
	}
	if nameKind(inputs[0].path) == "array" {
		all.settleNames()
	}
	all.settleControls()
	if err = all.settle(transforms); err == nil {
		err = all.drowned()
	}
	if err != nil {
		if len(inputs) == 1 {
			err = inFile(inputs[0].path, err)
		}
		return nil, err
	}
	// Cutting follows transforms: a difference at the beginning of a piece reaches back into the one before it.
	if o.Cut > 0 {
		all.cut(max(o.Cut, minSteps))
	}
	if all.Spec.DT == 0 {
		all.Spec.DT = o.DT
	}
	return all, nil
}

// nameKind says whether the names in a file are names of columns or of arrays.
func nameKind(path string) string {
	if f, ok := formatOf(path); ok && f.table != nil {
		return "column"
	}
	return "array"
}

// A format is a way to write data, by the ending of file names. It has rows, which a table reads, or arrays.
// Exactly one of table and read is set.
type format struct {
	ending string
	table  func(f *os.File) (rowSource, error)
	read   func(f *os.File, o Options, left *int64) (*Dataset, error)
}

// formats are the supported endings of file names.
var formats = []format{
	{ending: ".npz", read: readNPZ},
	{ending: ".npy", read: readNPY},
	{ending: ".mat", read: readMAT},
	{ending: ".parquet", table: func(f *os.File) (rowSource, error) { return newParquetRows(f) }},
	{ending: ".csv", table: func(f *os.File) (rowSource, error) { return newCSVRows(explained{f}, false) }},
	{ending: ".tsv", table: func(f *os.File) (rowSource, error) { return newCSVRows(explained{f}, true) }},
	{ending: ".csv.gz", table: func(f *os.File) (rowSource, error) { return gzipRows(f, false) }},
	{ending: ".tsv.gz", table: func(f *os.File) (rowSource, error) { return gzipRows(f, true) }},
}

// formatOf is the format of a file by its name; false if there is none.
func formatOf(path string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return strings.HasSuffix(strings.ToLower(path), f.ending) })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

// readFile reads one file in the format of its extension. left is the rest of the limit, in bytes. What the data
// take is subtracted from it.
func readFile(path string, o Options, left *int64) (*Dataset, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, pathFault(err)
	}
	d, err := readOpen(f, path, o, left)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("read the data: %w", closed)
	}
	return d, err
}

// readOpen is readFile for an open file, which stays open. The episodes are checked, and an error names the file.
func readOpen(f *os.File, path string, o Options, left *int64) (*Dataset, error) {
	how, ok := formatOf(path)
	if !ok {
		return nil, noFormat(path)
	}
	d, err := how.dataset(f, o, left)
	if err == nil {
		err = d.check()
	}
	if err != nil {
		return nil, inFile(path, err)
	}
	return d, nil
}

// dataset reads an open file, without the checks that all formats have in common.
func (how format) dataset(f *os.File, o Options, left *int64) (*Dataset, error) {
	if how.table == nil {
		return how.read(f, o, left)
	}
	in, err := how.table(f)
	if err != nil {
		return nil, err
	}
	return readTable(in, left, o)
}

// tableOf returns the rows of an open file; nil if it holds arrays. The rows read from f, which has to stay open.
func tableOf(f *os.File, path string) (rowSource, error) {
	how, ok := formatOf(path)
	if !ok {
		return nil, noFormat(path)
	}
	if how.table == nil {
		return nil, nil
	}
	in, err := how.table(f)
	if err != nil {
		return nil, inFile(path, err)
	}
	return in, nil
}

// endings are the formats that are read, for messages.
const endings = "files end in .npz, .npy, .csv, .tsv (also .gz), .parquet or .mat"

// noFormat is the error about a file name with another ending; it says how to convert the formats that people try
// most.
func noFormat(path string) error {
	remedy := endings
	switch strings.ToLower(filepath.Ext(path)) {
	case ".h5", ".hdf5":
		remedy = "convert it: python3 deploy/python/h5_to_npz.py " + filepath.Base(path) + " out.npz"
	case ".pkl", ".pickle", ".pt":
		remedy = "only Python reads pickles: save the arrays with numpy.savez"
	case ".xlsx", ".json", ".jsonl":
		remedy = "export it as CSV"
	}
	return &Error{File: path, Problem: "the ending of its name is of no format that is read", Remedy: remedy}
}

// pathFault is an error about a path. One that nobody could read is a fault of the data. A path that does not
// exist stays an error of package os, so that errors.Is finds fs.ErrNotExist.
func pathFault(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && !errors.Is(err, fs.ErrNotExist) {
		remedy := ""
		if errors.Is(err, fs.ErrPermission) {
			remedy = "give yourself the right to read it"
		}
		return &Error{File: p.Path, Problem: p.Err.Error(), Remedy: remedy, cause: err}
	}
	return fmt.Errorf("read the data: %w", err)
}

// readNPZ reads an archive of NumPy. The directory stands at its end, so the size has to be known.
func readNPZ(f *os.File, o Options, left *int64) (*Dataset, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the data: %w", err)
	}
	return decodeNPZ(f, info.Size(), o, left)
}

// decodeNPZ is readNPZ for size bytes from anywhere. An array is inflated when it is asked for, so those that are
// not used cost a look at their header. An array with a damaged header is left to whoever reads it.
func decodeNPZ(r io.ReaderAt, size int64, o Options, left *int64) (*Dataset, error) {
	archive, err := array.OpenArchive(r, size)
	if err != nil {
		return nil, formatFault("", err)
	}
	in := arrays{names: archive.Names(), shapes: map[string]string{}, stacked: true}
	for _, name := range in.names {
		if a, err := archive.Header(name); err == nil {
			in.shapes[name] = fmt.Sprintf(" %v", a.Shape)
		}
	}
	in.read = func(name string) (field, error) {
		a, err := archive.Read(name, *left)
		if err != nil {
			return field{}, formatFault(name, err)
		}
		*left -= int64(len(a.Raw))
		return field{array: a}, nil
	}
	return build(in, o)
}

// readNPY reads a file with one array of NumPy.
func readNPY(f *os.File, o Options, left *int64) (*Dataset, error) { return decodeNPY(f, o, left) }

// decodeNPY reads a single array, which holds the observations. An array of four dimensions or more is images
// [N,T,H,W(,C)]. It has no name, so Rename has nothing to say.
func decodeNPY(r io.Reader, o Options, left *int64) (*Dataset, error) {
	a, err := array.Read(r, *left)
	if err != nil {
		return nil, formatFault("", err)
	}
	*left -= int64(len(a.Raw))
	name := "y"
	if len(a.Shape) > 3 {
		name = "images"
	}
	o.Rename = nil
	return build(arrays{names: []string{name}, stacked: true, read: func(string) (field, error) {
		return field{array: a},
			nil
	}}, o)
}

// readMAT reads the variables of a MATLAB file of version 4 or 5.
func readMAT(f *os.File, o Options, left *int64) (*Dataset, error) { return decodeMAT(f, o, left) }

// decodeMAT is readMAT for bytes from anywhere. Only variables with a name of the convention are held in memory.
// MATLAB has no arrays of one dimension, and drops trailing dimensions of length 1: so an array of two dimensions
// may be one episode, and in.stacked stays unset. A cell array has an episode in each cell. Of variables with the
// same name the first counts.
func decodeMAT(r io.Reader, o Options, left *int64) (*Dataset, error) {
	variables, err := array.ReadMATLAB(r, *left, func(name string) bool { return slices.Contains(keys, o.array(name)) })
	if err != nil {
		return nil, formatFault("", err)
	}
	in := arrays{shapes: map[string]string{}}
	byName := map[string]array.Variable{}
	for _, v := range variables {
		if _, twice := byName[v.Name]; twice || v.Name == "" {
			continue
		}
		in.names = append(in.names, v.Name)
		in.shapes[v.Name] = fmt.Sprintf(" (%s %v)", v.Class, v.Shape)
		byName[v.Name] = v
	}
	in.read = func(name string) (field, error) {
		v := byName[name]
		if v.Unread != "" {
			return field{}, faultf(name, "save a real array, or a cell array of those", "%s", v.Unread)
		}
		if v.Texts != nil {
			a, err := array.Texts(v.Texts, *left)
			if err != nil {
				return field{}, formatFault(name, err)
			}
			return field{array: a}, nil
		}
		return field{array: v.Array, cells: v.Cells}, nil
	}
	d, err := build(in, o)
	if err == nil {
		for _, v := range variables {
			for _, a := range append(slices.Clone(v.Cells), v.Array) {
				if a != nil {
					*left -= int64(len(a.Raw))
				}
			}
		}
	}
	return d, err
}

// gzipRows are the rows of a compressed CSV file.
func gzipRows(f *os.File, tabs bool) (rowSource, error) {
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, &Error{Problem: "it is no gzip file", Remedy: "name it without .gz if it is not compressed", cause: err}
	}
	return newCSVRows(explained{z}, tabs)
}

// explained is a reader whose errors say what to do.
type explained struct{ r io.Reader }

// Read is that of the reader below. Every error but io.EOF becomes an *Error: the file is cut off or damaged.
func (l explained) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &Error{Problem: err.Error(), Remedy: "write or copy the file again", cause: err}
	}
	return n, err
}

// errLimit is returned for a table that is larger than may be held.
var errLimit = array.ErrLimit

// formatFault adds a remedy to an error of a format. The first target that err matches gives the remedy. place is
// an array, or empty.
func formatFault(place string, err error) error {
	remedy := ""
	for _, r := range []struct {
		target error
		remedy string
	}{
		{array.ErrObject, "pad the episodes to [N,T,dy], add length [N], and save numbers"},
		{array.ErrType, "save it as float32"},
		{array.ErrTruncated, "write or copy the file again"},
		{array.ErrLimit, "raise the limit (--limit), or cast to a smaller type"},
		{array.ErrFormat, "write or copy the file again"},
		{array.ErrVersion, "save it in MATLAB with save('FILE.mat', '-v7'), or convert it: python3 " +
			"deploy/python/h5_to_npz.py FILE.mat out.npz"},
		{array.ErrMATLAB, "write or copy the file again"},
	} {
		if errors.Is(err, r.target) {
			remedy = r.remedy
			break
		}
	}
	return &Error{Place: place, Problem: err.Error(), Remedy: remedy, cause: err}
}
