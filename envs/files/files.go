// Package files holds a user's own trajectories: it reads them from .npz, .npy, .csv, .tsv and .mat
// files, from folders and globs of those, checks them, splits and normalises them, and writes them.
//
// A Dataset is a list of episodes of unequal length. Values that were not measured are marked in a
// mask and stored as zero, so that no NaN ever reaches a model. The same data have the same content
// hash, whichever format they came in, and one canonical encoding, by which a worker fetches them.
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
//	dt                    t                 time between two steps
//	split [N]             split             0 training, 1 validation, 2 test
//	–                     episode           which rows belong together; else one episode per file
//	y_names, u_names, state_names, label_names      names of the columns (text)
//
// The package does not know models, batches or how a data set travels.
package files

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrData is matched by every error about the content of a file.
var ErrData = errors.New("files: invalid data")

// Error is a fault in a data file. It matches ErrData.
type Error struct {
	File    string // as the caller gave it
	Place   string // place in the file: an array, an episode, a line and column; may be empty
	Problem string
	Remedy  string // what to do; may be empty

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
	return s
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Message()
	}
	return e.Message() + "; " + e.Remedy
}

// Is reports whether target is ErrData.
func (e *Error) Is(target error) bool { return target == ErrData }

// Unwrap returns the error of the reader of the format.
func (e *Error) Unwrap() error { return e.cause }

// faultf makes an error about a place in a file; inFile adds the file later.
func faultf(place, remedy, format string, args ...any) *Error {
	return &Error{Place: place, Remedy: remedy, Problem: fmt.Sprintf(format, args...)}
}

// inFile adds the file to an error that names none.
func inFile(name string, err error) error {
	var e *Error
	if errors.As(err, &e) && e.File == "" {
		e.File = name
	}
	return err
}

// Options say how files are read. The zero value reads them by the convention.
type Options struct {
	// Rename maps names of arrays and columns in the file to names of the convention.
	Rename map[string]string
	// ControlsAfter is set if u[t] acts between steps t and t+1, as in reinforcement learning. Controls are then moved
	// by one step.
	ControlsAfter bool
	// Cut divides episodes into pieces of at most this many steps. A rest of one step is dropped. 0: episodes stay
	// whole.
	Cut int
	// DT is the time between two steps for files that do not contain it; 0: unknown.
	DT float64
	// Limit is the largest size of the data of all files together, in bytes. 0: 2 GiB.
	Limit int64

	seen *names // if not nil, collects the names that renamed has seen
}

// names are the names of columns or arrays, in the order of the files.
type names struct {
	order []string
	known map[string]bool
}

func (n *names) add(name string) {
	if n != nil && !n.known[name] {
		n.order, n.known[name] = append(n.order, name), true
	}
}

// DefaultLimit is the limit of Options in bytes.
const DefaultLimit = 2 << 30

func (o Options) limit() int64 {
	if o.Limit == 0 {
		return DefaultLimit
	}
	return o.Limit
}

// renamed is the name in the convention for a name in a file.
func (o Options) renamed(name string) string {
	o.seen.add(name)
	if to, ok := o.Rename[name]; ok {
		return to
	}
	return name
}

// checkRename returns an error if Rename has a name that no file contains. kind says whether the names are those of
// columns or arrays.
func (o Options) checkRename(kind string) error {
	for _, name := range slices.Sorted(maps.Keys(o.Rename)) {
		if !o.seen.known[name] {
			return faultf("--rename "+name, "", "there is no such %s; there are %s", kind, list(o.seen.order))
		}
	}
	return nil
}
