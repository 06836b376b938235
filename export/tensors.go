package export

import (
	"slices"

	"github.com/switchyard-ml/switchyard/model"
)

// Parameters are those of a model under their own names. Values are copies, in the order of the layout.
func Parameters(m model.Model) []Tensor {
	p := m.Params()
	var list []Tensor
	for _, w := range p.Layout() {
		list = append(list, Tensor{w.Name, w.Shape, slices.Clone(p.Values[w.Offset : w.Offset+w.Size])})
	}
	return list
}

// Fitted are the base systems of a forecaster, as systems.A, systems.B, systems.bias and systems.Q, and its arrays,
// as far as it has them. Empty ones are left out. They are float32, rounded from float64, in the units of the model.
// M is the number of systems; model.Systems says how weights mix them.
//
//	systems.A [M,NZ,NZ]   systems.B [M,NZ,NU]   systems.bias [M,NZ]   systems.Q [M,NZ,NZ]
func Fitted(f model.Forecaster) []Tensor {
	var list []Tensor
	add := func(name string, values []float64, shape ...int) {
		t := Tensor{Name: name, Shape: shape, Values: make([]float32, len(values))}
		for i, v := range values {
			t.Values[i] = float32(v)
		}
		if len(values) > 0 {
			list = append(list, t)
		}
	}
	if s, ok := f.(model.Systematic); ok {
		y := s.Systems()
		add("systems.A", y.A, y.M, y.NZ, y.NZ)
		add("systems.B", y.B, y.M, y.NZ, y.NU)
		add("systems.bias", y.Bias, y.M, y.NZ)
		add("systems.Q", y.Q, y.M, y.NZ, y.NZ)
	}
	if t, ok := f.(model.Tabular); ok {
		for _, a := range t.Arrays() {
			add(a.Name, a.Values, a.Shape...)
		}
	}
	return list
}
