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
	"github.com/switchyard-ml/switchyard/envs/files/array"
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

// DescriptionFile is the name of the file that describes a model. It is the last of Files.
const DescriptionFile = "model.json"

// FormatName is what model.json gives as its format. By it an export knows the files of an earlier one.
const FormatName = "switchyard model 1"

// Formats are all.
var Formats = []Format{Safetensors, NPZ, ONNX}

var (
	// ErrFormat is returned for another format.
	ErrFormat = errors.New("export: no such format")
	// ErrGraphs is returned where ONNX is asked of a model without graphs.
	ErrGraphs = errors.New("export: the model has no graphs")
)

// Model is what is exported. Graphs take and give the units of the model; Files puts Scale into them.
type Model struct {
	Description
	Tensors []Tensor // the parameters of the model under their own names
	Graphs  []model.Graph
	Scale   files.Normalisation
}

// Description is the content of model.json, beside its graphs. Dimensions are those of the model: NX observations,
// NU controls, NZ latent, M systems.
type Description struct {
	Format       string   `json:"format"` // of this file
	Family       string   `json:"family"`
	Step         uint64   `json:"step"`          // updates that the parameters have had
	SHA256       string   `json:"params_sha256"` // of these parameters, before averaging
	NX           int      `json:"nx"`
	NU           int      `json:"nu"`
	NZ           int      `json:"nz"`
	M            int      `json:"m"`
	Warmup       int      `json:"warmup"`         // first observations that graph initial takes; without graphs, lags
	Horizon      int      `json:"horizon"`        // steps of graph predict
	DT           float64  `json:"dt"`             // time between two steps; 0: unknown
	Residual     bool     `json:"residual"`       // whether each base system has z in it, see model.Systems
	Floor        float64  `json:"variance_floor"` // that each has in its noise
	Observations []string `json:"observations"`
	Controls     []string `json:"controls"`
}

// Tensor is a named array. It is row-major.
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
// graph. Nothing is written to disk. Weights of graphs are among the tensors, each name once: a parameter of the
// model before a weight of the same name. Another format is ErrFormat, and ONNX without graphs ErrGraphs. Equal
// models give equal bytes.
func Files(m Model, f Format) ([]File, error) {
	if !slices.Contains(Formats, f) {
		return nil, fmt.Errorf("%w: %q", ErrFormat, f)
	}
	// Graphs are put into units whatever the format. Where an interpreter runs them, it takes the scale from model.json,
	// in float64: as float32 constants, means far from zero would shift the model.
	var graphs []model.Graph
	for _, g := range m.Graphs {
		graphs = append(graphs, inUnits(g, m, f != ONNX))
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
		return append(list, File{DescriptionFile, description}), err
	}
	// Weights of graphs that are no parameters join the tensors.
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
	return []File{{name, data}, {DescriptionFile, description}}, err
}

// describe is model.json. weights is the file with the tensors; empty for ONNX, whose files hold the nodes, so that
// the description has none.
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
		Scale   files.Normalisation `json:"scale"`             // which graphs take as inputs; ONNX files hold it, but for scales of recordings
		Graphs  []drawing           `json:"graphs"`
	}{Description: m.Description, Weights: weights, Scale: m.Scale, Graphs: []drawing{}}
	all.Format = FormatName
	for _, g := range graphs {
		d := drawing{Name: g.Name, Doc: g.Doc}
		for _, v := range g.Inputs {
			d.Inputs = append(d.Inputs, value(v))
		}
		for _, v := range g.Outputs {
			d.Outputs = append(d.Outputs, value(v))
		}
		// Nodes stand where their weights do: here, or in the ONNX files.
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

// writeNPZ returns a .npz archive, an array for each tensor.
func writeNPZ(tensors []Tensor) ([]byte, error) {
	var b bytes.Buffer
	archive := array.NewArchiveWriter(&b)
	for _, t := range tensors {
		w, err := archive.Array(t.Name)
		if err == nil {
			err = errors.Join(array.WriteHeader(w, array.Float32, t.Shape), array.WriteFloat32s(w, t.Values))
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

// writeSafetensors returns a safetensors file, whose metadata names the format of the description.
func writeSafetensors(tensors []Tensor) ([]byte, error) {
	var list []checkpoint.Array
	for _, t := range tensors {
		list = append(list, checkpoint.New(t.Name, t.Shape, t.Values))
	}
	var b bytes.Buffer
	if _, err := checkpoint.Write(&b, map[string]string{"format": FormatName}, list); err != nil {
		return nil, fmt.Errorf("write safetensors: %w", err)
	}
	return b.Bytes(), nil
}
