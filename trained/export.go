package trained

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/switchyard-ml/switchyard/config"
	"github.com/switchyard-ml/switchyard/envs/files"
	"github.com/switchyard-ml/switchyard/export"
	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/model"
	"github.com/switchyard-ml/switchyard/store"
)

// ExportOptions say how a model is written for other programs.
type ExportOptions struct {
	Format  string // safetensors, npz or onnx
	Horizon int    // steps of the graph that predicts; 0: as in the run's configuration
}

// Export writes the model into a folder and returns the paths of the files: the tensors as safetensors or npz with
// model.json, which describes the steps of the model as graphs that deploy/python/switchyard.py runs; or an ONNX file
// for each graph, see Rounded. Graphs take and give the units of the data. Not every family has graphs. The folder is
// made if it is not there; files of the same names are replaced if an earlier export wrote them. The errors are
// ErrUnable for a family without graphs where the format needs them, ErrSeries for a negative horizon, and
// config.ErrUsage for other files of these names.
func (r *Run) Export(dir string, o ExportOptions) ([]string, error) {
	if o.Horizon < 0 {
		return nil, fmt.Errorf("%w: a horizon of %d steps; at least one is needed", ErrSeries, o.Horizon)
	}
	if o.Horizon == 0 {
		o.Horizon = r.Horizon()
	}
	m, err := r.exported(o.Horizon)
	if err != nil {
		return nil, err
	}
	// What cannot be written as graphs is refused with the families that can.
	list, err := export.Files(m, export.Format(o.Format))
	if errors.Is(err, export.ErrGraphs) {
		_, err = Ask(r, Exports)
	}
	if err != nil {
		return nil, err
	}
	if err := spareOthers(dir, list); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the export: %w", err)
	}
	var paths []string
	for _, f := range list {
		paths = append(paths, filepath.Join(dir, f.Name))
	}
	// The description, which is the last of them, comes first: the next export knows the folder by it if this one is cut
	// short.
	for i, f := range slices.Backward(list) {
		if err := store.WriteFile(paths[i], f.Data); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// What float32 keeps: a mean that lies farFromZero deviations from zero is rounded by a thousandth of a deviation or
// so, because a number is rounded by at most rounding times itself.
const (
	farFromZero = 1e4
	rounding    = 1.0 / (1 << 24)
)

// Rounded names the channels and controls so far from zero that ONNX files, which take and give float32, lose digits
// of them that matter, and says how many. Where each recording has a scale of its own, the farthest one counts.
// A channel that did not vary in training loses nothing. The other formats keep all digits.
func (r *Run) Rounded() []string {
	farthest := map[string]float64{} // by name, in deviations
	measure := func(names, s files.Scale, word string) {
		for c, mean := range s.Mean {
			if s.SD[c] != files.ConstantSD {
				name := names.Name(c, word)
				farthest[name] = max(farthest[name], math.Abs(mean)/s.SD[c])
			}
		}
	}
	measure(r.scale.Observations, r.scale.Observations, "y")
	measure(r.scale.Controls, r.scale.Controls, "u")
	for _, s := range r.scale.Recordings {
		measure(r.scale.Observations, s, "y")
	}
	for _, s := range r.scale.RecordingControls {
		measure(r.scale.Controls, s, "u")
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(farthest)) {
		if far := farthest[name]; far > farFromZero {
			list = append(list, fmt.Sprintf("%s lies %s standard deviations from zero: float32 rounds it by up to %s of them",
				name, terminal.Digits(far), terminal.Digits(far*rounding)))
		}
	}
	return list
}

// exported is the model as what is exported. Where the files of training are gone, it has no names of columns.
func (r *Run) exported(horizon int) (export.Model, error) {
	f, err := r.Forecaster()
	if err != nil {
		return export.Model{}, err
	}
	d := f.Dims()
	m := export.Model{Description: export.Description{
		Family: r.config.Model.Kind, Step: r.Step(), SHA256: r.SHA256(), NX: d.NX, NU: d.NU, NZ: d.NZ,
		M: d.M, Horizon: horizon,
	}, Scale: r.scale, Tensors: export.Parameters(r.model)}
	if columns, err := r.Columns(); err == nil { // names are a convenience: the files of training may be gone
		m.Observations, m.Controls, m.DT = columns.Observations, columns.Controls, columns.DT
	}
	if s, ok := f.(model.Systematic); ok {
		y := s.Systems()
		m.Residual, m.Floor = y.Residual, y.Floor
	}
	if e, ok := f.(model.Exporter); ok {
		m.Warmup, m.Graphs = e.Warmup(), e.Graphs(horizon)
	}
	if l, ok := f.(model.Lagged); ok && m.Graphs == nil {
		m.Warmup = l.Lags()
	}
	m.Tensors = append(m.Tensors, export.Fitted(f)...)
	return m, nil
}

// spareOthers returns a usage error if these files would replace one that no earlier export wrote. All in a folder with
// the description of a model count as written by one.
func spareOthers(dir string, list []export.File) error {
	var d struct{ Format string }
	text, err := store.ReadFile(filepath.Join(dir, export.DescriptionFile))
	if err == nil && json.Unmarshal(text, &d) == nil && d.Format == export.FormatName {
		return nil
	}
	for _, f := range list {
		path := filepath.Join(dir, f.Name)
		if _, err := os.Lstat(path); err == nil {
			return config.Hint(config.Usagef("--out %s: the export would replace %s, which no earlier export wrote", dir, path),
				"choose another folder, or move %s away", f.Name)
		}
	}
	return nil
}
