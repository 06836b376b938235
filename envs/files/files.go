// Package files holds a user's own trajectories: it reads them from .npz, .npy, .csv, .tsv, .parquet and .mat
// files, from folders and globs of those, checks them, splits and normalises them, and writes them.
//
// A table whose columns have other names is read with Options: which column is observed, which one is the time,
// which one tells recordings apart. Times may be dates; rows are put on an even grid, on which gaps are missing
// values.
//
// A Dataset is a list of episodes of unequal length. Values that were not measured are marked in a mask and stored
// as zero, so that no NaN ever reaches a model. The same data have the same content hash, whichever format they
// came in, and one canonical encoding, by which a worker fetches them.
//
// The convention (N episodes of at most T steps; arrays of npz and mat files, columns of CSV files):
//
//	y [N,T,dy]            y, y1, y_speed    observations; NaN or empty: missing
//	images [N,T,H,W(,C)]  –                 images in place of y, values in [0,1] or bytes
//	u [N,T,du]            u, u1, u_force    controls; u[t] acts between steps t−1 and t
//	mask [N,T(,dy)]       mask              1 where observed, 0 where missing
//	length [N]            –                 steps of each episode; what follows is padding
//	states [N,T,ns]       state, state1 …   true states, for probes
//	labels [N,T,nl]       label, label1 …   true labels, for probes
//	z [N,T]               z                 true modes, whole numbers
//	dt                    –                 time between two steps
//	t [N,T]               t                 time of each step; evenly spaced
//	split [N]             split             0 training, 1 validation, 2 test
//	episode [N]           episode           names of the episodes; the rows that belong together, else one per file
//	y_names, u_names, state_names, label_names      names of the columns (text)
//
// # How a file becomes a Dataset
//
//	.csv .tsv (.gz)  .parquet         .npz  .npy  .mat
//	       |             |                  |
//	     csv.go     parquet.go       package array
//	       +------+------+                  |
//	              | rows of text            | arrays of numbers
//	          table.go, cells.go        arrays.go, fields.go
//	              | recording.go: order     | array_times.go: checks times
//	              | and even grid           |
//	              +------------+------------+
//	                           | Dataset.check: NaN into the mask, controls held
//	                  Dataset.join: all files
//	                           | settle.go: transforms, origins, float32
//	                  Dataset.cut, SplitByTime
//	                           |
//	           Normalisation.Apply, Encode, WriteNPZ, WriteCSV
//
// # Missing values
//
// In a cell, a missing value is an empty text, a word such as NA or NaN, or a mark such as "..": see parseNumber.
// In an array it is NaN, or a 0 in mask. From there on:
//
//	while rows are collected    NaN, in float64
//	on the even grid            NaN for observations of a step without a row; all else is held
//	in Episode.Levels           NaN
//	in Episode.Observations     0, with a 0 in Episode.Mask
//	in a written file           NaN (.npz), an empty cell, or nan in a table of one column (.csv), a 0 in mask (images
//	                            of bytes)
//
// A missing control is that of the step before. A missing time, state, label or mode is refused.
//
// The package does not know models, batches or how a data set travels.
package files

import (
	"errors"
	"fmt"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// ErrData is matched by every error about the content of a file.
var ErrData = errors.New("files: invalid data")

// Error is a fault in a data file. It matches ErrData. The three texts are made for the user: Problem says what
// was found, and Remedy what to write, or which option to give, in its place.
type Error struct {
	File    string // as the caller gave it
	Place   string // place in the file: an array, an episode, a line and column; may be empty
	Problem string
	Remedy  string // what to do; may be empty

	// of the format reader or the system; nil: the fault was found here
	cause error
}

// Message says what is wrong and where, without the remedy.
func (e *Error) Message() string {
	s := e.Problem
	if e.Place != "" {
		s = e.Place + ": " + s
	}
	if e.File != "" {
		s = e.File + ": " + s
	}
	return terminal.Plain(s)
}

// Error is Message, with the remedy behind a semicolon if there is one. Either fits into a line of a terminal,
// whatever the file holds.
func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Message()
	}
	return e.Message() + "; " + terminal.Plain(e.Remedy)
}

// Is reports whether target is ErrData.
func (e *Error) Is(target error) bool { return target == ErrData }

// Unwrap returns the error of the reader of the format.
func (e *Error) Unwrap() error { return e.cause }

// faultf makes an error about a place in a file; inFile adds the file later. An empty remedy is none.
func faultf(place, remedy, format string, args ...any) *Error {
	return &Error{Place: place, Remedy: remedy, Problem: fmt.Sprintf(format, args...)}
}

// inFile adds the file to an error that names none. It changes the *Error within err in place, and returns err, of
// whatever kind it is.
func inFile(name string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.File == "" {
		e.File = name
	}
	return err
}
