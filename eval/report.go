package eval

import (
	"bytes"
	"encoding/json"
	"math"
)

// Report is the result of a protocol in the form that scripts read:
//
//	{"protocol": name, "metrics": {name: value or list}, "paper": {name: value or list}}
//
// The order of the metrics is kept. A value that is not finite, as of a model that diverged,
// becomes null.
type Report struct {
	Protocol string
	Metrics  []Metric // measured here
	Paper    []Metric // published
}

// Metric is a named value or list of values.
type Metric struct {
	Name   string
	Values []float64
	List   bool // Values is a list, even if it has one element
}

// value is a metric of one number.
func value(name string, v float64) Metric { return Metric{Name: name, Values: []float64{v}} }

// count is a metric of one whole number.
func count(name string, n int) Metric { return value(name, float64(n)) }

// flag is a metric that is 1 if b holds, else 0.
func flag(name string, b bool) Metric {
	if b {
		return value(name, 1)
	}
	return value(name, 0)
}

// list is a metric of several numbers.
func list(name string, v []float64) Metric { return Metric{Name: name, Values: v, List: true} }

// integers is a metric of several whole numbers.
func integers(name string, n []int) Metric {
	v := make([]float64, len(n))
	for i, k := range n {
		v[i] = float64(k)
	}
	return list(name, v)
}

// MarshalJSON writes the report as the type's comment says.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Protocol string  `json:"protocol"`
		Metrics  metrics `json:"metrics"`
		Paper    metrics `json:"paper"`
	}{r.Protocol, r.Metrics, r.Paper})
}

// metrics marshals to one JSON object in its own order.
type metrics []Metric

func (ms metrics) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		v, err := m.json()
		if err != nil {
			return nil, err
		}
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (m Metric) json() ([]byte, error) {
	finite := make([]*float64, len(m.Values))
	for i, v := range m.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			finite[i] = &v
		}
	}
	if !m.List && len(finite) == 1 {
		return json.Marshal(finite[0])
	}
	return json.Marshal(finite)
}
