package files

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// keys are the names of arrays in the convention.
var keys = []string{
	"y", "images", "u", "mask", "length", "states", "labels", "z", "t", "dt", "split",
	"episode", "y_names", "u_names", "state_names", "label_names",
}

// field is an array of a file, or one array per episode. Exactly one of the two is set, or none if the variable
// holds no numbers.
type field struct {
	array *array.Array
	cells []*array.Array
}

// arrays are the named arrays of one file. shapes are texts for notes.
type arrays struct {
	names  []string // as in the file
	shapes map[string]string
	read   func(name string) (field, error)
	// stacked is set if an array of two dimensions cannot be a single episode.
	stacked bool
}

// panel is a field divided into episodes: for each step a row of values, row-major with the given shape. Entry i
// belongs to episode i: shapes[i] is [T, …], and data[i] has the product of it as length.
type panel struct {
	name   string
	shapes [][]int
	data   [][]float32
	exact  [][]float64 // of observations that float32 may round; else nil
	bytes  bool        // the values are whole numbers
}

// builder makes a data set from the arrays of one file. Its steps, from observations on, each read one array and put
// it into the episodes.
type builder struct {
	in      arrays
	options Options
	found   map[string]string // name in the file for each name of the convention
	single  bool              // y is one episode
	steps   []int             // of each episode, without its padding
	after   bool              // the control of a step acts behind it
	grid    calendar          // that the times of the episodes lie on
	data    *Dataset
}

// build reads the arrays according to the convention.
func build(in arrays, options Options) (*Dataset, error) {
	b := &builder{in: in, options: options, found: map[string]string{}, data: &Dataset{}}
	b.data.Spec = envs.Spec{Name: "files"}
	if err := b.match(); err != nil {
		return nil, err
	}
	// Observations make the episodes. Padding is cut off all signals at once, so that follows them; times come behind it,
	// and the width of a label has to be known before its name.
	for _, step := range []func() error{
		b.observations, b.lengths, b.controls, b.masks, b.states, b.labels, b.modes, b.cut, b.splits, b.interval, b.times,
		b.names, b.columnNames,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.data, nil
}

// match finds the arrays that are used. Others are noted. There has to be exactly one array of observations.
func (b *builder) match() error {
	for _, name := range b.in.names { // all of them, whatever is wrong with one
		b.options.seen.add(name)
	}
	if err := b.options.checkArrays(b.in.names); err != nil {
		return err
	}
	for _, name := range b.in.names {
		key := b.options.array(name)
		if !slices.Contains(keys, key) {
			b.data.Notes = append(b.data.Notes, fmt.Sprintf("array %s%s is not used", name, b.in.shapes[name]))
			continue
		}
		if other, twice := b.found[key]; twice {
			return faultf(name, "rename only one of them", "%s and %s are both read as %s", other, name, key)
		}
		b.found[key] = name
	}
	_, y := b.found["y"]
	_, images := b.found["images"]
	switch {
	case y && images:
		return faultf("", "leave one of them out", "it has both y and images")
	case !y && !images && len(b.options.Observe) > 0: // none of them is there
		return faultf("--observe "+b.options.Observe[0], "", "there is no such array; there are %s", list(b.in.names))
	case !y && !images:
		return faultf("", missingRemedy(b.in.names), "no array is named y or images; it has %s", list(b.in.names))
	}
	return nil
}

// missingRemedy says how to name the observations of a file without y: by an array with a usual name, if it has one.
func missingRemedy(names []string) string {
	for _, name := range names {
		lower := strings.ToLower(name)
		if lower == "y" || slices.Contains(arrayNames, lower) {
			return fmt.Sprintf("say that it holds the observations: --observe %s (env.observe)", terminal.Quoted(name))
		}
	}
	if len(names) == 0 {
		return "write the observations as an array y of shape [N,T,dy]"
	}
	return "say which holds the observations: --observe NAME (env.observe)"
}

// list joins at most twelve names for a message.
func list(names []string) string {
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) > 12:
		return strings.Join(names[:12], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// read returns the field with a name of the convention; false if the file has none.
func (b *builder) read(key string) (field, bool, error) {
	name, ok := b.found[key]
	if !ok {
		return field{}, false, nil
	}
	f, err := b.in.read(name)
	var fault *Error
	if errors.Is(err, array.ErrObject) && errors.As(err, &fault) && (key == "split" || strings.HasSuffix(key, "_names")) {
		fault.Remedy = fmt.Sprintf("save it as text: np.array(%s, dtype=str)", name)
	}
	return f, true, err
}

// panel reads a field of the form [N, T, …] with the given numbers of dimensions after T; nil if the file has none.
// Refused are texts, dates, empty arrays, other numbers of dimensions, and observations that are whole numbers from
// 2⁵³ on. form is the shape that a message asks for.
//
// Accepted as well are one array for each episode, from a cell array, and a single episode [T, …] where shapes allow
// it: a row or column of MATLAB is a single channel.
func (b *builder) panel(key, form string, trailing ...int) (*panel, error) {
	f, ok, err := b.read(key)
	if !ok || err != nil {
		return nil, err
	}
	name := b.found[key]
	p := &panel{name: name}
	list := f.cells
	if f.array != nil {
		list = []*array.Array{f.array}
	}
	if len(list) == 0 {
		return nil, faultf(name, "save it as float32", "it holds no numbers")
	}
	// With fewer dimensions than [N,T,dy] the file holds one recording: its other arrays of up to two dimensions are
	// one episode as well.
	if key == "y" && b.in.stacked && len(list[0].Shape) < 3 && list[0].Len() > 0 {
		b.in.stacked = false
		steps, channels := list[0].Shape, 1
		if len(steps) == 2 {
			channels = steps[1]
		}
		if len(steps) > 0 && steps[0] > 1 {
			b.data.Notes = append(b.data.Notes, fmt.Sprintf("%s of shape %v is one recording of %s with %s; several have the "+
				"shape [N,T,dy]",
				name, steps, terminal.Count(steps[0], "step"), terminal.Count(channels, "channel")))
		}
	}
	for i, a := range list {
		if a.Kind == array.Text {
			return nil, faultf(name, "save it as float32", "it holds text in place of numbers")
		}
		if a.Unit != "" {
			return nil, faultf(name, "name it as the array of times: --time "+name, "it holds dates in place of numbers")
		}
		if a.Len() == 0 {
			return nil, faultf(name, "leave it out", "it is empty: its shape is %v", a.Shape)
		}
		p.bytes = a.Kind != array.Float
		if v, ok := beyond(a); ok && key == "y" {
			return nil, faultf(name, "subtract an offset before saving", "the whole number %s has more digits than float64 "+
				"holds", v)
		}
		// Observations, controls and times keep their digits, where float32 would round them.
		keeps := (key == "y" || key == "u" || key == "t") && rounds(a)
		if f.array != nil && !b.oneEpisode(a, trailing) {
			p.stack(a, keeps)
		} else {
			shape := a.Shape
			if len(shape) == 1 && trailing[0] == 1 {
				shape = []int{shape[0], 1}
			}
			if len(shape) == 2 && (shape[0] == 1 || trailing[0] == 0 && shape[1] == 1) {
				shape = []int{shape[0] * shape[1], 1} // a row vector is T values of one channel
				if trailing[0] == 0 {
					shape = shape[:1]
				}
			}
			p.shapes, p.data = append(p.shapes, shape), append(p.data, a.Float32s())
			if keeps {
				p.exact = append(p.exact, a.Float64s())
			} else {
				p.exact = append(p.exact, nil)
			}
		}
		// Whichever way the shape came about, each entry has to have the form.
		if at := len(p.shapes) - 1; at < 0 || !slices.Contains(trailing, len(p.shapes[at])-1) {
			where := name
			if f.cells != nil {
				where = fmt.Sprintf("%s, cell %d", name, i+1)
			}
			return nil, faultf(where, shapeRemedy(a.Shape, name, b.in.stacked), "shape %v in place of %s", a.Shape, form)
		}
	}
	return p, nil
}

// oneEpisode reports whether an array has no dimension for episodes. In a MATLAB file, an array of two dimensions is
// one episode if y is one.
func (b *builder) oneEpisode(a *array.Array, trailing []int) bool {
	if b.in.stacked {
		return false
	}
	return len(a.Shape) <= 2 && (trailing[0] == 1 || b.single)
}

// beyond finds a whole number that float64 does not hold.
func beyond(a *array.Array) (string, bool) {
	if a.Kind != array.Int && a.Kind != array.Uint || a.Size < 8 {
		return "", false
	}
	for _, v := range a.Float64s() {
		if math.Abs(v) >= exactly {
			return fmt.Sprintf("%.0f", v), true
		}
	}
	return "", false
}

// rounds reports whether float32 may round the values of an array.
func rounds(a *array.Array) bool {
	return a.Kind == array.Float && a.Size == 8 || (a.Kind == array.Int || a.Kind == array.Uint) && a.Size >= 4
}

// stack divides an array along its first dimension. exact keeps the values in float64 too.
func (p *panel) stack(a *array.Array, exact bool) {
	if len(a.Shape) == 0 {
		return
	}
	data := a.Float32s()
	var digits []float64
	if exact {
		digits = a.Float64s()
	}
	n := a.Shape[0]
	for i := range n {
		size := len(data) / n
		p.shapes, p.data = append(p.shapes, a.Shape[1:]), append(p.data, data[i*size:(i+1)*size:(i+1)*size])
		if exact {
			p.exact = append(p.exact, digits[i*size:(i+1)*size:(i+1)*size])
		} else {
			p.exact = append(p.exact, nil)
		}
	}
}

// shapeRemedy says how to give an array the shape that is asked for.
func shapeRemedy(shape []int, name string, stacked bool) string {
	if stacked && len(shape) == 2 {
		return fmt.Sprintf("for one channel save %s[:, :, None], for one episode %s[None]", name, name)
	}
	return "reshape it before saving"
}

// observations makes the episodes from y.
func (b *builder) observations() error {
	p, err := b.panel("y", "[N,T,dy]", 1)
	if err == nil && p == nil {
		return b.images()
	}
	if err != nil {
		return err
	}
	if err := p.sameWidth(); err != nil {
		return err
	}
	b.data.Spec.Observation = p.width(0)
	b.begin(p)
	return nil
}

// images makes the episodes from images, with values in [0, 1]. The last dimension is the channels; without it there
// is one. Other values are refused by Dataset.check.
func (b *builder) images() error {
	p, err := b.panel("images", "[N,T,H,W] or [N,T,H,W,C]", 2, 3)
	if err != nil {
		return err
	}
	if err := p.sameWidth(); err != nil {
		return err
	}
	shape := p.shapes[0]
	b.data.Image = [3]int{shape[1], shape[2], 1}
	if len(shape) == 4 {
		b.data.Image[2] = shape[3]
		if b.data.Image[2] > 4 && shape[1] <= 4 {
			b.data.Notes = append(b.data.Notes, fmt.Sprintf("images have %d×%d pixels with %d channels: if their channels "+
				"come first, save them as [N,T,H,W,C]", shape[1], shape[2], shape[3]))
		}
	}
	b.data.Spec.Observation = p.width(0)
	if p.bytes {
		if err := p.divideBytes(); err != nil {
			return err
		}
	}
	b.begin(p)
	return nil
}

// divideBytes maps bytes to [0, 1]. Whole numbers that are all 0 or 1 stay unchanged. Whole numbers above 255 are
// refused.
func (p *panel) divideBytes() error {
	largest := float32(0)
	for _, data := range p.data {
		for _, v := range data {
			largest = max(largest, v)
		}
	}
	if largest > 255 {
		return faultf(p.name, "divide by the largest value and save float32", "whole numbers up to %v are no bytes", largest)
	}
	if largest <= 1 {
		return nil
	}
	for _, data := range p.data {
		for i := range data {
			data[i] = float32(float64(data[i]) / 255)
		}
	}
	return nil
}

// begin makes an episode for each entry of the observations. The episodes own the memory of p.
func (b *builder) begin(p *panel) {
	b.single = len(p.data) == 1 && !b.in.stacked
	for i := range p.data {
		b.data.Episodes = append(b.data.Episodes, Episode{
			Episode: envs.Episode{T: p.shapes[i][0], Observations: p.data[i]},
			Levels:  p.exact[i],
			Part:    Unassigned,
			Source:  fmt.Sprintf("episode %d", i),
		})
	}
}

// width is the number of values of a step of entry i.
func (p *panel) width(i int) int {
	n := 1
	for _, d := range p.shapes[i][1:] {
		n *= d
	}
	return n
}

// sameWidth returns an error unless the steps of all entries have one shape.
func (p *panel) sameWidth() error {
	for i := range p.shapes {
		if !slices.Equal(p.shapes[i][1:], p.shapes[0][1:]) {
			return faultf(p.name, "give all episodes the same channels", "episode %d has steps of shape %v, episode 0 of %v", i,
				p.shapes[i][1:], p.shapes[0][1:])
		}
	}
	return nil
}

// wholeNumber returns v as an integer in [lo, hi].
func wholeNumber(v float64, lo, hi int) (int, bool) {
	if v != math.Trunc(v) || !(v >= float64(lo) && v <= float64(hi)) {
		return 0, false
	}
	return int(v), true
}
