package trained

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
	"github.com/switchyard-ml/switchyard/internal/disk"
)

// Questions are answered by methods of Run; functions of the answer files turn what they return into an Answer,
// which knows no model. So every command writes the same forms.

// Answer is one answer in all its forms.
type Answer struct {
	Table  eval.Table // for the eye, short
	Rows   eval.Table // every number, for CSV
	Arrays []Array    // every number, for npz and JSON
	Report []byte     // JSON in place of the arrays; nil: there is none
	Figure *figure.Figure

	Verdict  []string // for the eye, above all tables
	Warnings []string // of what the answer is not worth

	Above, Below eval.Table // for the eye, above and below Table; without rows: there is none
}

// Array is a named array, row-major: of numbers, or one of the other two. A Shape without dimensions is a single
// value; values are as many as the product of the shape, its last dimension running fastest.
type Array struct {
	Name   string
	Shape  []int
	Values []float64
	Ints   []int64
	Text   []string // of one dimension if there is no shape
}

// Endings are those of the files that Write writes.
var Endings = []string{".npz", ".csv", ".json", ".png", ".svg"}

// ErrEnding is returned for a name of a file of no such format.
var ErrEnding = errors.New("no such format is written")

// CheckEnding returns ErrEnding unless the name has one of Endings.
func CheckEnding(path string) error {
	if !slices.Contains(Endings, strings.ToLower(filepath.Ext(path))) {
		return fmt.Errorf("%s: %w", path, ErrEnding)
	}
	return nil
}

// Draws reports whether a file of that name gets a picture.
func Draws(path string) bool {
	return slices.Contains([]string{".png", ".svg"}, strings.ToLower(filepath.Ext(path)))
}

// WriteText prints the verdict and the tables for the eye.
func (a *Answer) WriteText(w io.Writer) error {
	for _, line := range a.Verdict {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("write verdict: %w", err)
		}
	}
	if len(a.Above.Rows) > 0 {
		if err := a.Above.WriteText(w); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return fmt.Errorf("write table: %w", err)
		}
	}
	if err := a.Table.WriteText(w); err != nil || len(a.Below.Rows) == 0 {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return a.Below.WriteText(w)
}

// Write writes the answer in the format of a path's ending. It returns ErrEnding for another ending, and an error
// for a picture that the answer does not have. It may have written a part of the file before an error.
func (a *Answer) Write(w io.Writer, path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".npz":
		return a.writeNPZ(w)
	case ".csv":
		return a.Rows.WriteCSV(w)
	case ".json":
		text, err := a.JSON()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	case ".png", ".svg":
		return a.draw(w, path)
	}
	return CheckEnding(path)
}

// WriteFile writes the answer into a file, in the format of its ending. Whatever fails, an existing file stays whole.
func (a *Answer) WriteFile(path string) error {
	if err := CheckEnding(path); err != nil {
		return err
	}
	return disk.Replace(disk.System(), path, func(w io.Writer) error { return a.Write(w, path) })
}

// draw renders the figure as the ending says.
func (a *Answer) draw(w io.Writer, path string) error {
	if a.Figure == nil {
		return errors.New("there is no picture of this")
	}
	render := a.Figure.PNG
	if strings.EqualFold(filepath.Ext(path), ".svg") {
		render = a.Figure.SVG
	}
	picture, err := render()
	if err == nil {
		_, err = w.Write(picture)
	}
	return err
}

// writeNPZ writes every array as a member of an archive, as numpy.load reads it.
func (a *Answer) writeNPZ(w io.Writer) error {
	archive := array.NewArchiveWriter(w)
	for _, x := range a.Arrays {
		out, err := archive.Array(x.Name)
		if err == nil {
			err = x.writeNPY(out)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", x.Name, err)
		}
	}
	return archive.Close()
}

// writeNPY writes the array in the format of NumPy: float64 or int64, little-endian, or text.
func (x Array) writeNPY(w io.Writer) error {
	switch {
	case x.Text != nil:
		return array.WriteStrings(w, x.Text, x.Shape...)
	case x.Ints != nil:
		return errors.Join(array.WriteHeader(w, array.Int64, x.Shape), array.WriteInts(w, x.Ints))
	}
	if err := array.WriteHeader(w, array.Float64, x.Shape); err != nil {
		return err
	}
	buffer := make([]byte, 0, 8*len(x.Values))
	for _, v := range x.Values {
		buffer = binary.LittleEndian.AppendUint64(buffer, math.Float64bits(v))
	}
	_, err := w.Write(buffer)
	return err
}

// JSON is an object with a nested list for each array; what is not finite is null. A Report stands in place of the
// arrays. It ends with a newline.
func (a *Answer) JSON() ([]byte, error) {
	if a.Report != nil {
		return append(a.Report, '\n'), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range a.Arrays {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(x.Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		// A text without a shape is a list.
		if x.Text != nil && x.Shape == nil {
			x.Shape = []int{len(x.Text)}
		}
		at := 0
		if err := x.nest(&b, 0, &at); err != nil {
			return nil, err
		}
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// nest writes the elements from at on of dimension d and those behind it. at counts the values that are written.
func (x Array) nest(b *bytes.Buffer, d int, at *int) error {
	if d == len(x.Shape) {
		var v any
		switch {
		case x.Text != nil:
			v = x.Text[*at]
		case x.Ints != nil:
			v = x.Ints[*at]
		default:
			v = eval.Number(x.Values[*at])
		}
		*at++
		text, err := json.Marshal(v)
		b.Write(text)
		return err
	}
	b.WriteByte('[')
	for i := range x.Shape[d] {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := x.nest(b, d+1, at); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// stack joins arrays of several series, of up to so many steps each, behind an axis of series; those of a single series
// get none. Shorter ones are filled up with NaN. All arrays are there in the order in which they were first added;
// an array that no series added to is not there.
type stack struct {
	series int
	arrays []Array
	index  map[string]int
}

// add adds rows of series i: [len(rows), width], of steps if they have as many as the longest. The first call with
// a name makes the array, [series,steps,width].
func (s *stack) add(i int, name string, rows [][]float64, steps, width int) {
	x := s.array(name, steps*width, []int{steps, width})
	for t, row := range rows {
		copy(x.Values[(i*steps+t)*width:], row)
	}
}

// array finds the array with a name, or makes one of NaN: size values for each series, of the given shape. The
// pointer holds until the next array is made.
func (s *stack) array(name string, size int, shape []int) *Array {
	if s.index == nil {
		s.index = map[string]int{}
	}
	at, ok := s.index[name]
	if !ok {
		at = len(s.arrays)
		s.index[name] = at
		if s.series > 1 {
			shape = append([]int{s.series}, shape...)
		}
		x := Array{Name: name, Shape: shape, Values: make([]float64, s.series*size)}
		for j := range x.Values {
			x.Values[j] = math.NaN()
		}
		s.arrays = append(s.arrays, x)
	}
	return &s.arrays[at]
}

// cube adds planes of a series: [planes, steps, width]. Every series has as many planes and steps.
func (s *stack) cube(i int, name string, planes [][][]float64, steps, width int) {
	x := s.array(name, len(planes)*steps*width, []int{len(planes), steps, width})
	for p, rows := range planes {
		for t, row := range rows {
			copy(x.Values[((i*len(planes)+p)*steps+t)*width:], row)
		}
	}
}

// ints adds whole numbers of a series; −1 fills up.
func (s *stack) ints(i int, name string, values []int, steps int) {
	at, ok := s.index[name]
	if !ok {
		x := s.array(name, 0, []int{steps})
		x.Ints = make([]int64, s.series*steps)
		for j := range x.Ints {
			x.Ints[j] = -1
		}
		at = s.index[name]
	}
	for t, v := range values {
		s.arrays[at].Ints[i*steps+t] = int64(v)
	}
}

// finish adds the array length [series], the steps of each, if there are several, and returns all.
func (s *stack) finish(lengths []int) []Array {
	if s.series > 1 {
		x := Array{Name: "length", Shape: []int{s.series}}
		for _, n := range lengths {
			x.Ints = append(x.Ints, int64(n))
		}
		s.arrays = append(s.arrays, x)
	}
	return s.arrays
}
