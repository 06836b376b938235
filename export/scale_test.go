package export

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard-ml/switchyard/envs/files"
)

// far is a model of data that float32 cannot tell apart from their mean.
func far(m Model) Model {
	m.Scale = files.Normalisation{
		Observations: files.Scale{Mean: []float64{100000003.8679, -2e9 - 1}, SD: []float64{2.19, 8}},
		Controls:     files.Scale{Mean: []float64{7000001.5}, SD: []float64{0.25}},
	}
	return m
}

// TestFiles_ScaleIsFloat64: the graphs of model.json take the scale, which model.json has in float64: none is a tensor of
// float32.
func TestFiles_ScaleIsFloat64(t *testing.T) {
	t.Parallel()
	m, _ := exported(t, nil)
	m = far(m)
	for _, format := range []Format{NPZ, Safetensors} {
		list, err := Files(m, format)
		if err != nil {
			t.Fatal(err)
		}
		var y struct {
			Scale  files.Normalisation
			Graphs []struct {
				Name   string
				Inputs []struct{ Name, Doc string }
			}
		}
		for _, f := range list {
			if strings.Contains(string(f.Data), "scale.x2.mean") || strings.Contains(string(f.Data), "scale.first") {
				t.Errorf("%s has a scale among the tensors", f.Name)
			}
			if f.Name == "model.json" {
				err = json.Unmarshal(f.Data, &y)
			}
		}
		if err != nil || !slices.Equal(y.Scale.Observations.Mean, m.Scale.Observations.Mean) || len(y.Graphs) != len(m.Graphs) {
			t.Fatalf("%s: %d graphs, %v, %v", format, len(y.Graphs), y.Scale, err)
		}
		for _, g := range y.Graphs {
			docs := map[string]string{}
			for _, in := range g.Inputs {
				docs[in.Name] = in.Doc
			}
			if doc := docs["x_mean"]; (g.Name == "encoder" || g.Name == "predict") && doc != "mean of observations, as scale.observations has it" {
				t.Errorf("%s, graph %s: x_mean is %q", format, g.Name, doc)
			}
		}
	}
}

// TestPython_DataFarFromZero: the reader answers about data far from zero as about the same deviations near zero.
func TestPython_DataFarFromZero(t *testing.T) {
	t.Parallel()
	name := python(t, "numpy")
	close, _ := exported(t, nil)
	distant := far(close)
	there := func(m Model) map[string]any {
		x, u := [][]float64{}, [][]float64{}
		of, by := m.Scale.Observations, m.Scale.Controls
		for i := range 8 {
			a, b, c := math.Sin(float64(3*i)), float64(i*i%7)/3-1, float64(i%3)-1
			x = append(x, []float64{of.Mean[0] + a*of.SD[0], of.Mean[1] + b*of.SD[1]})
			u = append(u, []float64{by.Mean[0] + c*by.SD[0]})
		}
		return map[string]any{"x": x, "u": u}
	}
	want := run(t, there(close), name, "-c", stepwise, write(t, close, NPZ))
	for _, format := range []Format{NPZ, Safetensors} {
		got := run(t, there(distant), name, "-c", stepwise, write(t, distant, format))
		near(t, "mean", flat(got["mean"]), narrow(flat(want["mean"])))
		near(t, "path", deviations(got["path"], distant), narrow(deviations(want["path"], close)))
	}
}

// deviations are rows of observations in deviations from their mean.
func deviations(rows [][]float64, m Model) []float64 {
	var list []float64
	for _, row := range rows {
		for c, v := range row {
			list = append(list, m.Scale.Observations.Scaled(c, v))
		}
	}
	return list
}
