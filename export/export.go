// Package export writes a trained model for other programs: its tensors as safetensors or npz, and its steps as graphs,
// in ONNX files or in a description that a short interpreter runs (deploy/python/switchyard.py). Graphs take and give
// the units of the data. ONNX files are of opset 13 and IR version 8, and can be read back. The package does not know
// runs or families.
package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/envs/files/npy"

	"github.com/switchyard-ml/switchyard/model"

	"github.com/switchyard-ml/switchyard/store/checkpoint"
)

// Format is how tensors are written.
type Format string

// The formats.
const (
	Safetensors Format = "safetensors"
	NPZ         Format = "npz"
	ONNX        Format = "onnx"
)

// TensorFiles are the names of the files with tensors, as npz and as safetensors.
var TensorFiles = []string{"weights.npz", "model.safetensors"}

// Formats are all.
var Formats = []Format{Safetensors, NPZ, ONNX}

var (
	// ErrFormat is returned for another format.
	ErrFormat = errors.New("export: no such format")
	// ErrGraphs is returned where ONNX is asked of a model without graphs.
	ErrGraphs = errors.New("export: the model has no graphs")
)

// Model is what is exported.
type Model struct {
	Description
	Tensors []Tensor // the parameters of the model under their own names
	Graphs  []model.Graph
	Scale   files.Normalisation
}

// Description is the content of model.json, beside its graphs.
type Description struct {
	Format       string   `json:"format"` // of this file
	Family       string   `json:"family"`
	Step         uint64   `json:"step"` // updates that the parameters have had
	SHA256       string   `json:"params_sha256"`
	NX           int      `json:"nx"`
	NU           int      `json:"nu"`
	NZ           int      `json:"nz"`
	M            int      `json:"m"`
	Warmup       int      `json:"warmup"`  // first observations that graph initial takes; without graphs, lags
	Horizon      int      `json:"horizon"` // steps of graph predict
	DT           float64  `json:"dt"`      // time between two steps; 0: unknown
	Observations []string `json:"observations"`
	Controls     []string `json:"controls"`
}

// Tensor is a named array.
type Tensor struct {
	Name   string
	Shape  []int
	Values []float32
}

// File is one file of an export.
type File struct {
	Name string
	Data []byte
}

// Files are those of a model in a format: model.json with weights.npz or model.safetensors, or an ONNX file for each
// graph.
func Files(m Model, f Format) ([]File, error) {
	if !slices.Contains(Formats, f) {
		return nil, fmt.Errorf("%w: %q", ErrFormat, f)
	}
	var graphs []model.Graph
	for _, g := range m.Graphs {
		graphs = append(graphs, inUnits(g, m))
	}
	if f == ONNX {
		if len(graphs) == 0 {
			return nil, ErrGraphs
		}
		var list []File
		for _, g := range graphs {
			list = append(list, File{g.Name + ".onnx", Encode(g)})
		}
		description, err := describe(m, graphs, "")
		return append(list, File{"model.json", description}), err
	}
	tensors := slices.Clone(m.Tensors)
	known := map[string]bool{}
	for _, t := range tensors {
		known[t.Name] = true
	}
	for _, g := range graphs {
		for _, w := range g.Weights {
			if known[w.Name] {
				continue
			}
			known[w.Name] = true
			shape := []int{w.Cols}
			if w.Rows > 0 {
				shape = []int{w.Rows, w.Cols}
			}
			tensors = append(tensors, Tensor{w.Name, shape, w.Values})
		}
	}
	name, write := TensorFiles[0], writeNPZ
	if f == Safetensors {
		name, write = TensorFiles[1], writeSafetensors
	}
	data, err := write(tensors)
	if err != nil {
		return nil, err
	}
	description, err := describe(m, graphs, name)
	return []File{{name, data}, {"model.json", description}}, err
}

// describe is model.json.
func describe(m Model, graphs []model.Graph, weights string) ([]byte, error) {
	type value struct {
		Name  string `json:"name"`
		Width int    `json:"width"`
		Doc   string `json:"doc"`
	}
	type node struct {
		Op     string   `json:"op"`
		Inputs []string `json:"inputs"`
		Output string   `json:"output"`
	}
	type drawing struct {
		Name    string  `json:"name"`
		Doc     string  `json:"doc"`
		Inputs  []value `json:"inputs"`
		Outputs []value `json:"outputs"`
		Nodes   []node  `json:"nodes,omitempty"`
	}
	all := struct {
		Description
		Weights string              `json:"weights,omitempty"` // the file with the tensors
		Scale   files.Normalisation `json:"scale"`             // already within the graphs
		Graphs  []drawing           `json:"graphs"`
	}{Description: m.Description, Weights: weights, Scale: m.Scale, Graphs: []drawing{}}
	all.Format = "switchyard model 1"
	for _, g := range graphs {
		d := drawing{Name: g.Name, Doc: g.Doc}
		for _, v := range g.Inputs {
			d.Inputs = append(d.Inputs, value(v))
		}
		for _, v := range g.Outputs {
			d.Outputs = append(d.Outputs, value(v))
		}
		for _, n := range g.Nodes {
			if weights != "" {
				d.Nodes = append(d.Nodes, node(n))
			}
		}
		all.Graphs = append(all.Graphs, d)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encode the description: %w", err)
	}
	return append(text, '\n'), nil
}

func writeNPZ(tensors []Tensor) ([]byte, error) {
	var b bytes.Buffer
	archive := npy.NewArchiveWriter(&b)
	for _, t := range tensors {
		w, err := archive.Array(t.Name)
		if err == nil {
			err = errors.Join(npy.WriteHeader(w, npy.Float32, t.Shape), npy.WriteFloat32s(w, t.Values))
		}
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", t.Name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write npz: %w", err)
	}
	return b.Bytes(), nil
}

func writeSafetensors(tensors []Tensor) ([]byte, error) {
	var list []checkpoint.Array
	for _, t := range tensors {
		list = append(list, checkpoint.New(t.Name, t.Shape, t.Values))
	}
	var b bytes.Buffer
	if _, err := checkpoint.Write(&b, map[string]string{"format": "switchyard model 1"}, list); err != nil {
		return nil, fmt.Errorf("write safetensors: %w", err)
	}
	return b.Bytes(), nil
}

// inUnits is a graph that takes and gives observations and controls in the units of the data.
func inUnits(g model.Graph, m Model) model.Graph {
	g.Inputs, g.Outputs = slices.Clone(g.Inputs), slices.Clone(g.Outputs)
	g.Weights = slices.Clone(g.Weights)
	rename := map[string]string{}
	var before, after []model.Node
	constant := func(name string, v []float32) string {
		g.Weights = append(g.Weights, model.Weight{Name: name, Cols: len(v), Values: v})
		return name
	}
	x, u := channels(m.Scale.Observations, m.NX), channels(m.Scale.Controls, m.NU)
	for _, in := range g.Inputs {
		var parts []channel
		switch in.Name {
		case "x":
			parts = x
		case "u":
			parts = u
		case "controls":
			for range in.Width / max(m.NU, 1) {
				parts = append(parts, u...)
			}
		case "first":
			for range in.Width / (m.NX + m.NU) {
				parts = append(append(parts, x...), u...)
			}
		}
		if parts == nil || !scaled(parts) {
			continue
		}
		mean, inverse := make([]float32, len(parts)), make([]float32, len(parts))
		for i, c := range parts {
			mean[i], inverse[i] = float32(c.mean), float32(1/c.sd)
		}
		rename[in.Name] = in.Name + ".scaled"
		before = append(before,
			model.Node{
				Op: "Sub", Inputs: []string{in.Name, constant(fmt.Sprintf("scale.%s%d.mean", in.Name, in.Width), mean)},
				Output: in.Name + ".centred",
			},
			model.Node{Op: "Mul", Inputs: []string{in.Name + ".centred", constant(fmt.Sprintf("scale.%s%d.inverse", in.Name,
				in.Width), inverse)}, Output: in.Name + ".scaled"})
	}
	nodes := make([]model.Node, 0, len(g.Nodes))
	for _, n := range g.Nodes {
		n.Inputs = slices.Clone(n.Inputs)
		for i, in := range n.Inputs {
			if to, ok := rename[in]; ok {
				n.Inputs[i] = to
			}
		}
		if shift := n.Output == "x"; (shift || n.Output == "sd") && n.Op == "Identity" && scaled(x) {
			var mean, sd []float32
			for i := range outputWidth(g, n.Output) {
				mean, sd = append(mean, float32(x[i%m.NX].mean)), append(sd, float32(x[i%m.NX].sd))
			}
			width := len(sd)
			y := model.Node{Op: "Mul", Inputs: []string{n.Inputs[0], constant(fmt.Sprintf("scale.out%d.sd.%s", width, n.Output),
				sd)}, Output: n.Output}
			if shift {
				y.Output = "x.wide"
				after = append(after, y, model.Node{Op: "Add", Inputs: []string{
					"x.wide",
					constant(fmt.Sprintf("scale.out%d.mean", width), mean),
				}, Output: "x"})
			} else {
				after = append(after, y)
			}
			continue
		}
		nodes = append(nodes, n)
	}
	g.Nodes = slices.Concat(before, nodes, after)
	return g
}

func outputWidth(g model.Graph, name string) int {
	for _, o := range g.Outputs {
		if o.Name == name {
			return o.Width
		}
	}
	return 0
}

type channel struct{ mean, sd float64 }

func channels(s files.Scale, n int) []channel {
	list := make([]channel, n)
	for i := range list {
		list[i] = channel{0, 1}
		if len(s.Mean) > 0 {
			list[i] = channel{s.Mean[i], s.SD[i]}
		}
	}
	return list
}

func scaled(list []channel) bool {
	return slices.ContainsFunc(list, func(c channel) bool { return c != channel{0, 1} })
}
