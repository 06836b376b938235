package files

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/switchyard-ml/switchyard/envs/files/array"
)

// WriteNPZ writes the data set in the convention, so that numpy.load can read it. Episodes are padded to the
// longest. Missing values are NaN; in images of bytes they are zero, and the mask marks them. The same data set
// gives the same bytes.
//
// Left out are signals without channels, length where all episodes are equally long, z unless every episode has
// modes, split unless every episode has a part, dt where it is unknown or dates say it, and names where there are none.
// Times are left out unless KeepsTimes, and names of episodes where two have the same.
func (d *Dataset) WriteNPZ(w io.Writer) error {
	out := &npzWriter{archive: array.NewArchiveWriter(w), data: d, n: len(d.Episodes)}
	for i := range d.Episodes {
		out.steps = max(out.steps, d.Episodes[i].T)
	}
	if d.Images() {
		out.images()
	} else {
		out.observations()
	}
	out.controls()
	out.rows("states", d.Spec.State, 0, func(e *Episode) []float32 { return e.States })
	out.rows("labels", len(d.Spec.Labels), 0, func(e *Episode) []float32 { return e.Labels })
	out.perEpisode()
	dates := out.times(d.writtenTimes(true))
	if d.Spec.DT > 0 && !dates { // beside dates, dt would have no unit
		out.array("dt", func(w io.Writer) error { return array.WriteFloat64(w, d.Spec.DT) })
	}
	out.names("episode", d.writtenNames())
	out.names("y_names", d.ObservationNames)
	out.names("u_names", d.ControlNames)
	out.names("state_names", d.StateNames)
	out.names("label_names", d.Spec.Labels)
	if out.err == nil {
		out.err = out.archive.Close()
	}
	if out.err != nil {
		return fmt.Errorf("write npz: %w", out.err)
	}
	return nil
}

// observations writes y: as float64 where the files have more digits than float32.
func (o *npzWriter) observations() {
	d := o.data
	if !slices.ContainsFunc(d.Episodes, func(e Episode) bool { return e.Levels != nil }) {
		o.rows("y", d.Spec.Observation, float32(math.NaN()), func(e *Episode) []float32 { return e.marked() })
		return
	}
	o.exact("y", d.Spec.Observation, math.NaN(), func(e *Episode, list []float64) {
		// An episode without levels has the same values in float32.
		if copy(list, e.Levels) == 0 {
			for j, v := range e.marked() {
				list[j] = float64(v)
			}
		}
	})
}

// controls writes u: as float64 where they have more digits than float32.
func (o *npzWriter) controls() {
	nu := o.data.Spec.Control
	if !slices.ContainsFunc(o.data.Episodes, func(e Episode) bool { return e.acts != nil }) {
		o.rows("u", nu, 0, func(e *Episode) []float32 { return e.Controls })
		return
	}
	o.exact("u", nu, 0, func(e *Episode, list []float64) {
		for j := range e.Controls {
			list[j] = e.Acted(j)
		}
	})
}

// exact writes an array [N,T,width] of float64: fill writes the values of an episode over the padding.
func (o *npzWriter) exact(name string, width int, padding float64, fill func(e *Episode, list []float64)) {
	o.array(name, func(w io.Writer) error {
		if err := array.WriteHeader(w, array.Float64, []int{o.n, o.steps, width}); err != nil {
			return err
		}
		for i := range o.data.Episodes {
			list := slices.Repeat([]float64{padding}, o.steps*width)
			fill(&o.data.Episodes[i], list)
			if err := array.WriteFloat64s(w, list); err != nil {
				return err
			}
		}
		return nil
	})
}

// marked returns the observations with NaN where they are missing. The result is shared with e if nothing is
// missing.
func (e *Episode) marked() []float32 {
	if e.Mask == nil {
		return e.Observations
	}
	data := slices.Clone(e.Observations)
	for i, m := range e.Mask {
		if m == 0 {
			data[i] = float32(math.NaN())
		}
	}
	return data
}

// npzWriter writes arrays until the first error.
type npzWriter struct {
	archive *array.ArchiveWriter
	data    *Dataset
	n       int // number of episodes
	steps   int // length of the longest
	err     error
}

// array writes one array, header and data, by write. After an error it does nothing.
func (o *npzWriter) array(name string, write func(io.Writer) error) {
	if o.err != nil {
		return
	}
	w, err := o.archive.Array(name)
	if err == nil {
		err = write(w)
	}
	o.err = err
}

// rows writes an array [N,T,width] of float32, padded with the given value.
func (o *npzWriter) rows(name string, width int, padding float32, of func(*Episode) []float32) {
	if width == 0 {
		return
	}
	o.array(name, func(w io.Writer) error {
		if err := array.WriteHeader(w, array.Float32, []int{o.n, o.steps, width}); err != nil {
			return err
		}
		return o.padded(w, width, padding, of)
	})
}

// padded writes the data of all episodes, each with padding up to the longest.
func (o *npzWriter) padded(w io.Writer, width int, padding float32, of func(*Episode) []float32) error {
	rest := make([]float32, o.steps*width)
	for i := range rest {
		rest[i] = padding
	}
	for i := range o.data.Episodes {
		data := of(&o.data.Episodes[i])
		if err := array.WriteFloat32s(w, data); err != nil {
			return err
		}
		if err := array.WriteFloat32s(w, rest[len(data):]); err != nil {
			return err
		}
	}
	return nil
}

// images writes bytes if they can represent every value, and float32 otherwise. Bytes cannot be NaN: a mask [N,T,dy]
// is written beside them if any episode has one.
func (o *npzWriter) images() {
	d := o.data
	shape := []int{o.n, o.steps, d.Image[0], d.Image[1], d.Image[2]}
	if d.Image[2] == 1 {
		shape = shape[:4]
	}
	scale, exact := d.byteScale()
	o.array("images", func(w io.Writer) error {
		if !exact {
			if err := array.WriteHeader(w, array.Float32, shape); err != nil {
				return err
			}
			return o.padded(w, d.Spec.Observation, 0, func(e *Episode) []float32 { return e.marked() })
		}
		if err := array.WriteHeader(w, array.Uint8, shape); err != nil {
			return err
		}
		frame := make([]byte, o.steps*d.Spec.Observation)
		for i := range d.Episodes {
			clear(frame)
			for j, v := range d.Episodes[i].Observations {
				frame[j] = byte(math.Round(float64(v) * scale))
			}
			if _, err := w.Write(frame); err != nil {
				return err
			}
		}
		return nil
	})
	if exact && slices.ContainsFunc(d.Episodes, func(e Episode) bool { return e.Mask != nil }) {
		o.rows("mask", d.Spec.Observation, 0, func(e *Episode) []float32 {
			if e.Mask != nil {
				return e.Mask
			}
			return slices.Repeat([]float32{1}, len(e.Observations))
		})
	}
}

// byteScale returns the factor that turns the values of all images into bytes, and whether there is one from which
// the same values can be read back. It is 1 for images of 0 and 1 alone, else 255.
func (d *Dataset) byteScale() (float64, bool) {
	binary, bytes := true, true
	for i := range d.Episodes {
		for _, v := range d.Episodes[i].Observations {
			binary = binary && (v == 0 || v == 1)
			bytes = bytes && float32(math.Round(float64(v)*255)/255) == v
		}
	}
	if binary {
		return 1, true
	}
	return 255, bytes
}

// perEpisode writes lengths, modes and parts, if there are any.
func (o *npzWriter) perEpisode() {
	var lengths, modes, parts []int64
	unequal, hasModes, given := false, true, true
	for i := range o.data.Episodes {
		e := &o.data.Episodes[i]
		lengths = append(lengths, int64(e.T))
		unequal = unequal || e.T != o.steps
		parts = append(parts, int64(e.Part))
		given = given && e.Part != Unassigned
		hasModes = hasModes && e.Modes != nil
		// Padding of modes is 0.
		for t := range o.steps {
			z := int64(0)
			if t < len(e.Modes) {
				z = int64(e.Modes[t])
			}
			modes = append(modes, z)
		}
	}
	ints := func(name string, shape []int, data []int64, wanted bool) {
		if wanted {
			o.array(name, func(w io.Writer) error {
				if err := array.WriteHeader(w, array.Int64, shape); err != nil {
					return err
				}
				return array.WriteInts(w, data)
			})
		}
	}
	ints("z", []int{o.n, o.steps}, modes, hasModes)
	ints("length", []int{o.n}, lengths, unequal)
	ints("split", []int{o.n}, parts, given)
}

// times writes t [N,T]: numbers as float64, or dates as text; nothing if texts are nil. Padding is the last time.
// It reports whether they are dates.
func (o *npzWriter) times(texts [][]string) (dates bool) {
	if texts == nil {
		return false
	}
	padded := make([]string, 0, o.n*o.steps)
	for _, list := range texts {
		padded = append(append(padded, list...), slices.Repeat(list[len(list)-1:], o.steps-len(list))...)
	}
	shape := []int{o.n, o.steps}
	if o.data.Episodes[0].Times.clock.dates {
		o.array("t", func(w io.Writer) error { return array.WriteStrings(w, padded, shape...) })
		return true
	}
	o.array("t", func(w io.Writer) error {
		values := make([]float64, len(padded))
		for i, text := range padded {
			values[i], _ = strconv.ParseFloat(text, 64) // which writtenTimes has read
		}
		if err := array.WriteHeader(w, array.Float64, shape); err != nil {
			return err
		}
		return array.WriteFloat64s(w, values)
	})
	return false
}

// names writes an array of text, unless there are no names.
func (o *npzWriter) names(key string, names []string) {
	if len(names) > 0 {
		o.array(key, func(w io.Writer) error { return array.WriteStrings(w, names) })
	}
}
