package files

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/switchyard-ml/switchyard/envs/files/array"
	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// perStep reads a field with a row of values for each step of each episode; nil if the file has none. The field may
// have fewer rows than steps, by at most fewer. Its episodes have to be those of the observations, all with the same
// width. fewer is 1 for controls and else 0.
func (b *builder) perStep(key, form string, fewer int, trailing ...int) (*panel, error) {
	p, err := b.panel(key, form, trailing...)
	if p == nil || err != nil {
		return nil, err
	}
	if len(p.data) != len(b.data.Episodes) {
		return nil, faultf(p.name, "", "it has %s, the observations have %d", terminal.Count(len(p.data), "episode"),
			len(b.data.Episodes))
	}
	if err := p.sameWidth(); err != nil {
		return nil, err
	}
	for i := range p.data {
		want := b.data.Episodes[i].T
		if rows := p.shapes[i][0]; rows != want && rows != want-fewer {
			return nil, faultf(p.name, "", "episode %d has %s, its observations have %d", i, terminal.Count(rows, "step"), want)
		}
	}
	return p, nil
}

// controls reads u. If it has one row less than steps, row i acts between steps i and i+1. A NaN stays one until
// Dataset.check fills it in.
func (b *builder) controls() error {
	p, err := b.perStep("u", "[N,T,du]", 1, 1)
	if p == nil || err != nil {
		return err
	}
	b.data.Spec.Control = p.width(0)
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		e.Controls, e.acts = p.data[i], p.exact[i]
		if p.shapes[i][0] < e.T || b.options.ControlsAfter {
			e.Controls = shifted(p.data[i], e.T, b.data.Spec.Control)
			if e.acts != nil {
				e.acts = shifted(e.acts, e.T, b.data.Spec.Control)
			}
			b.after = true
		}
	}
	return nil
}

// shifted moves rows of controls one step later; the first row is zero. Rows that do not fit into T are dropped.
func shifted[V float32 | float64](data []V, T, width int) []V {
	moved := make([]V, T*width)
	if T > 0 {
		copy(moved[width:], data)
	}
	return moved
}

// masks reads mask: one value per step, or one per observed value. Other values than 0 and 1 are refused, but for those
// of the padding. The mask of an episode is [T,dy] either way.
func (b *builder) masks() error {
	p, err := b.perStep("mask", "[N,T] or [N,T,dy]", 0, 0, 1)
	if p == nil || err != nil {
		return err
	}
	nx := b.data.Spec.Observation
	width := p.width(0)
	if width != 1 && width != nx {
		return faultf(p.name, "give one value per step, or one per channel", "%d values per step for %d channels", width, nx)
	}
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		for j, v := range p.data[i][:b.steps[i]*width] {
			if v != 0 && v != 1 {
				return faultf(p.name, "use 1 for observed and 0 for missing", "%s, step %d: the value is %v", e.Source, j/width, v)
			}
		}
		e.Mask = p.data[i]
		// One value of a step stands for all channels.
		if width < nx {
			e.Mask = make([]float32, e.T*nx)
			for j := range e.Mask {
				e.Mask[j] = p.data[i][j/nx]
			}
		}
	}
	return nil
}

// states reads the true states, [N,T,ns].
func (b *builder) states() error {
	p, err := b.perStep("states", "[N,T,ns]", 0, 1)
	if p == nil || err != nil {
		return err
	}
	b.data.Spec.State = p.width(0)
	for i := range b.data.Episodes {
		b.data.Episodes[i].States = p.data[i]
	}
	return nil
}

// labels reads the true labels, [N,T,nl], and calls them label1, label2, … until label_names says otherwise.
func (b *builder) labels() error {
	p, err := b.perStep("labels", "[N,T,nl]", 0, 1)
	if p == nil || err != nil {
		return err
	}
	for i := range p.width(0) {
		b.data.Spec.Labels = append(b.data.Spec.Labels, fmt.Sprintf("label%d", i+1))
	}
	for i := range b.data.Episodes {
		b.data.Episodes[i].Labels = p.data[i]
	}
	return nil
}

// modes reads the true modes z, [N,T]: whole numbers of 16 bits with a sign.
func (b *builder) modes() error {
	p, err := b.perStep("z", "[N,T]", 0, 0)
	if p == nil || err != nil {
		return err
	}
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		e.Modes = make([]int32, e.T)
		for t, v := range p.data[i][:b.steps[i]] {
			z, ok := wholeNumber(float64(v), math.MinInt16, math.MaxInt16)
			if !ok {
				return faultf(p.name, "number the modes 0, 1, 2, …", "%s, step %d: the mode is %v", e.Source, t, v)
			}
			e.Modes[t] = int32(z)
		}
	}
	return nil
}

// lengths reads how many steps each episode has without its padding, from 1 to T.
func (b *builder) lengths() error {
	values, err := b.vector("length", len(b.data.Episodes))
	if err != nil {
		return err
	}
	b.steps = make([]int, len(b.data.Episodes))
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		if b.steps[i] = e.T; values == nil {
			continue
		}
		n, ok := wholeNumber(values[i], 1, e.T)
		if !ok {
			return faultf(b.found["length"], "give the number of steps", "%s: the length is %v, the array has %s", e.Source,
				values[i], terminal.Count(e.T, "step"))
		}
		b.steps[i] = n
	}
	return nil
}

// cut takes the padding off. It runs after the signals, whose arrays have all steps, and shortens them together.
func (b *builder) cut() error {
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		// The source stays: slice would add the steps to it, though what follows them is no data.
		source := e.Source
		*e = e.slice(b.data.Spec, 0, b.steps[i])
		e.Source = source
	}
	return nil
}

// vector reads one number per episode; nil if there is none. The values are float64, in the order of the array,
// whatever its shape.
func (b *builder) vector(key string, n int) ([]float64, error) {
	f, ok, err := b.read(key)
	if !ok || err != nil {
		return nil, err
	}
	if f.array == nil || f.array.Kind == array.Text {
		return nil, faultf(b.found[key], "", "it is no array of numbers")
	}
	if f.array.Len() != n {
		return nil, faultf(b.found[key], "give one number per episode", "shape %v for %s", f.array.Shape,
			terminal.Count(n, "episode"))
	}
	return f.array.Float64s(), nil
}

// splits reads the part of each episode, by name or number as in a table.
func (b *builder) splits() error {
	f, ok, err := b.read("split")
	if !ok || err != nil {
		return err
	}
	var names []string
	if f.array != nil {
		if names = f.array.Strings(); names == nil {
			for _, v := range f.array.Float64s() {
				names = append(names, fmt.Sprint(v))
			}
		}
	}
	if len(names) != len(b.data.Episodes) {
		return faultf(b.found["split"], "give one part per episode", "%s for %s", terminal.Count(len(names), "part"),
			terminal.Count(len(b.data.Episodes), "episode"))
	}
	for i, name := range names {
		part, ok := parsePart(strings.TrimSpace(name))
		if !ok {
			return faultf(b.found["split"], "use 0 for training, 1 for validation and 2 for test", "%s: the part is %s",
				b.data.Episodes[i].Source, terminal.Plain(name))
		}
		b.data.Episodes[i].Part = part
	}
	return nil
}

// interval reads the time between two steps, which is positive and finite.
func (b *builder) interval() error {
	values, err := b.vector("dt", 1)
	if values == nil || err != nil {
		return err
	}
	if !(values[0] > 0) || math.IsInf(values[0], 0) {
		return faultf(b.found["dt"], "give the time between two steps, or leave it out", "it is %v", values[0])
	}
	b.data.Spec.DT = values[0]
	return nil
}

// names reads episode, which names each recording. An array that has no name of its own for each is not used, which a
// note says, or refused if it was asked for.
func (b *builder) names() error {
	name, ok := b.found["episode"]
	if !ok {
		return nil
	}
	var names []string
	if f, _, err := b.read("episode"); err == nil && f.array != nil {
		names = f.array.Strings()
	}
	seen := map[string]bool{"": true}
	for i := range names {
		names[i] = strings.TrimSpace(terminal.Plain(names[i]))
		seen[names[i]] = true
	}
	if n := len(b.data.Episodes); len(names) != n || len(seen) != n+1 {
		if name == b.options.ID {
			remedy := "save a text of its own for each of " + terminal.Count(n, "episode") + ", or leave out --id " + name
			return faultf(name, remedy, "it does not name the episodes")
		}
		b.data.Notes = append(b.data.Notes, fmt.Sprintf("array %s%s is not used", name, b.in.shapes[name]))
		return nil
	}
	b.data.Key = []string{name}
	for i := range b.data.Episodes {
		e := &b.data.Episodes[i]
		e.Name, e.Key, e.Source = names[i], names[i:i+1:i+1], "episode "+names[i]
	}
	return nil
}

// settleNames drops the names of recordings in files of arrays, with a note, unless each has one of its own over all
// files.
func (d *Dataset) settleNames() {
	seen, named := map[string]bool{}, false
	for i := range d.Episodes {
		seen[d.Episodes[i].Name] = true
		named = named || d.Episodes[i].Name != ""
	}
	if !named || len(seen) == len(d.Episodes) && !seen[""] {
		return
	}
	d.Notes = append(d.Notes, "the names in arrays episode are not used: each recording of all files needs one of its own")
	d.Key = nil
	for i := range d.Episodes {
		d.Episodes[i].Name, d.Episodes[i].Key = "", nil
	}
}

// columnNames reads the names of channels. Each has to have as many as there are channels, none of them empty, in an
// array of text of fixed width.
func (b *builder) columnNames() error {
	for _, n := range []struct {
		key  string
		dst  *[]string
		want int
	}{
		{"y_names", &b.data.ObservationNames, b.data.Spec.Observation},
		{"u_names", &b.data.ControlNames, b.data.Spec.Control},
		{"state_names", &b.data.StateNames, b.data.Spec.State},
		{"label_names", &b.data.Spec.Labels, len(b.data.Spec.Labels)},
	} {
		f, ok, err := b.read(n.key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		var names []string
		if f.array != nil {
			names = f.array.Strings()
		}
		for i := range names {
			names[i] = strings.TrimSpace(terminal.Plain(names[i]))
		}
		if len(names) != n.want || slices.Contains(names, "") {
			return faultf(b.found[n.key], "give one text per channel, or leave it out", "%d names for %s", len(names),
				terminal.Count(n.want, "channel"))
		}
		*n.dst = names
	}
	return nil
}
