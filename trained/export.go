package trained

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/switchyard-ml/switchyard/export"
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
// for each graph. Graphs take and give the units of the data. Not every family has graphs. The folder is made if
// it is not there; files of the same names are replaced. The errors are ErrUnable for a family without graphs
// where the format needs them, and ErrSeries for a negative horizon.
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the export: %w", err)
	}
	var paths []string
	for _, f := range list {
		path := filepath.Join(dir, f.Name)
		if err := store.WriteFile(path, f.Data); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
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
