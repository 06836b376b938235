package export

import (
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/model"
)

// units makes a graph take and give the units of the data. The scales are constants, which are float32, or inputs:
// x_mean, x_sd, u_mean and u_sd.
//
//	inputs    x' = (x − mean)/sd     of x, u, controls and first
//	outputs   x = x'·sd + mean       of x;  sd = sd'·sd  of sd
//
// Latent states and switches have no units, and pass unchanged.
type units struct {
	graph         model.Graph
	each, asked   bool // whether each recording has a scale of its own; whether scales are inputs
	nx            int
	x, u          files.Scale
	width         map[string]int // of the signals x and u
	renamed       map[string]string
	before, after []model.Node
}

// inUnits is a graph that takes and gives observations and controls in the units of the data. g is not changed.
// Scales are inputs if asked says so, and where each recording has its own. Transforms of the data, as log, are not
// part of it.
func inUnits(g model.Graph, m Model, asked bool) model.Graph {
	g.Inputs, g.Outputs = slices.Clone(g.Inputs), slices.Clone(g.Outputs)
	g.Weights = slices.Clone(g.Weights)
	w := &units{
		graph: g, each: m.Scale.Recordings != nil, asked: asked, nx: m.NX, x: m.Scale.Observations,
		u: m.Scale.Controls, width: map[string]int{"x": m.NX, "u": m.NU}, renamed: map[string]string{},
	}
	// Scaled inputs have other names inside; the names outside stay.
	for _, in := range slices.Clone(g.Inputs) {
		w.take(in, m.NU)
	}
	nodes := make([]model.Node, 0, len(g.Nodes))
	for _, n := range g.Nodes {
		n.Inputs = slices.Clone(n.Inputs)
		for i, in := range n.Inputs {
			if to, ok := w.renamed[in]; ok {
				n.Inputs[i] = to
			}
		}
		// A node that gives an output is replaced by those that give it in units, which come last.
		if !w.give(n) {
			nodes = append(nodes, n)
		}
	}
	w.graph.Nodes = slices.Concat(w.before, nodes, w.after)
	return w.graph
}

// take scales an input. A wide one holds a signal several times, or observations and controls by turns, for steps
// side by side.
func (w *units) take(in model.Value, nu int) {
	var signals []string
	switch in.Name {
	case "x", "u":
		signals = []string{in.Name}
	case "controls":
		signals = slices.Repeat([]string{"u"}, in.Width/max(nu, 1))
	case "first":
		signals = slices.Repeat([]string{"x", "u"}, in.Width/(w.nx+nu))
	}
	if !w.scaled(signals) {
		return
	}
	name := fmt.Sprintf("%s%d", in.Name, in.Width)
	centred, to := in.Name+".centred", in.Name+".scaled"
	mean, sd := w.vector(&w.before, name, signals, "mean"), w.vector(&w.before, name, signals, "sd")
	w.before = append(w.before, model.Node{Op: "Sub", Inputs: []string{in.Name, mean}, Output: centred},
		model.Node{Op: "Div", Inputs: []string{centred, sd}, Output: to})
	w.renamed[in.Name] = to
}

// give puts an output into units, if the node makes one that has any. It reports whether it has put other nodes in
// the place of n. Outputs are copied by a node Identity, which is where the units come in.
func (w *units) give(n model.Node) bool {
	shift := n.Output == "x"
	if !shift && n.Output != "sd" || n.Op != "Identity" {
		return false
	}
	i := slices.IndexFunc(w.graph.Outputs, func(o model.Value) bool { return o.Name == n.Output })
	if i < 0 {
		return false
	}
	width := w.graph.Outputs[i].Width
	signals := slices.Repeat([]string{"x"}, width/w.nx)
	if !w.scaled(signals) {
		return false
	}
	name := fmt.Sprintf("out%d.%s", width, n.Output)
	sd, mean := w.vector(&w.after, name, signals, "sd"), ""
	y := model.Node{Op: "Mul", Inputs: []string{n.Inputs[0], sd}, Output: n.Output}
	if shift {
		mean = w.vector(&w.after, name, signals, "mean")
		y.Output = "x.wide"
	}
	w.after = append(w.after, y)
	if shift {
		w.after = append(w.after, model.Node{Op: "Add", Inputs: []string{"x.wide", mean}, Output: "x"})
	}
	return true
}

// scaled reports whether there are signals, and some have a scale. Without, the graph stays as it is there.
func (w *units) scaled(signals []string) bool {
	return slices.ContainsFunc(signals, func(s string) bool {
		return w.width[s] > 0 && (w.each || len(w.of(s).Mean) > 0)
	})
}

// of is the scale of a signal, x or u.
func (w *units) of(signal string) files.Scale {
	if signal == "x" {
		return w.x
	}
	return w.u
}

// vector is the mean or the deviation of signals that stand side by side: a constant, or what an input says. Nodes
// that put it together go to list. It returns the name of the value. A signal without a scale has mean 0 and
// deviation 1.
func (w *units) vector(list *[]model.Node, name string, signals []string, what string) string {
	if w.each || w.asked {
		return w.taken(list, name, signals, what)
	}
	var values []float32
	for _, s := range signals {
		scale, identity := w.of(s).SD, float32(1)
		if what == "mean" {
			scale, identity = w.of(s).Mean, 0
		}
		for c := range w.width[s] {
			if len(scale) == 0 {
				values = append(values, identity)
			} else {
				values = append(values, float32(scale[c]))
			}
		}
	}
	full := "scale." + name + "." + what
	w.graph.Weights = append(w.graph.Weights, model.Weight{Name: full, Cols: len(values), Values: values})
	return full
}

// taken is the mean or the deviation of signals, from inputs. It declares each of them once.
func (w *units) taken(list *[]model.Node, name string, signals []string, what string) string {
	var parts []string
	for _, s := range signals {
		if w.width[s] == 0 {
			continue
		}
		input := s + "_" + what
		parts = append(parts, input)
		if slices.ContainsFunc(w.graph.Inputs, func(v model.Value) bool { return v.Name == input }) {
			continue
		}
		words := map[string]string{
			"x": " of observations, as scale.observations has it", "u": " of controls, as scale.controls has it",
		}
		if w.each {
			words = map[string]string{
				"x": " of the recording's observations, as scale.recordings has it",
				"u": " of the recording's controls, as scale.recording_controls or scale.controls has it",
			}
		}
		w.graph.Inputs = append(w.graph.Inputs, model.Value{Name: input, Width: w.width[s], Doc: what + words[s]})
	}
	if len(parts) == 1 {
		return parts[0]
	}
	joined := name + "." + what
	*list = append(*list, model.Node{Op: "Concat", Inputs: parts, Output: joined})
	return joined
}
