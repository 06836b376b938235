package eval

import (
	"bytes"
	"encoding/json"
)

// Report is the result of a protocol in the form that scripts read:
//
//	{"protocol": name, "metrics": {name: value, list or object}, "paper": {name: value, list or object}}
//
// The order of the metrics is kept, within an object too. A value that is not finite, as of a model that diverged,
// becomes null. Predictions of several recordings are scored by recording, too, in a list by_recording.
type Report struct {
	Protocol string
	Metrics  []Metric // measured here
	Paper    []Metric // published
	Each     []EachScore
}

// Metric is a named value, list of values or object of values. Scripts find a value by its name, which is unique
// within a report.
type Metric struct {
	Name   string
	Values []float64
	List   bool     // Values is a list, even if it has one element
	Keys   []string // of an object, as long as Values; nil: it is none
	Axis   string   // along which the values of a list or an object lie; empty: there is one value
	Unit   string   // of the values; empty: they have none, as counts, ratios, R² and F1
}

// in gives metrics a unit. It writes into the list and returns it.
func in(unit string, list ...Metric) []Metric {
	for i := range list {
		list[i].Unit = unit
	}
	return list
}

// Units of errors.
const (
	squaredUnit = "squared units of an observation"
	unit        = "units of an observation"
)

// horizonAxis are the steps from the last one that is seen to the one that is predicted, from 1.
const horizonAxis = "horizon"

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

// list is a metric of several numbers, for the horizons 1, 2, …
func list(name string, v []float64) Metric {
	return Metric{Name: name, Values: v, List: true, Axis: horizonAxis}
}

// integers is a metric of several whole numbers.
func integers(name string, n []int) Metric {
	v := make([]float64, len(n))
	for i, k := range n {
		v[i] = float64(k)
	}
	return list(name, v)
}

// object is a metric of several numbers with names of their own. keys are as many as values; they are copied, so
// that no keys make an empty object and not none.
func object(name, axis string, keys []string, v []float64) Metric {
	return Metric{Name: name, Values: v, Keys: append([]string{}, keys...), Axis: axis}
}

// estimated is a metric with the values of estimates, and NAME_standard_error, of the same shape, with their
// errors. The values of m are replaced; its keys and axis stay.
func estimated(m Metric, e ...Estimate) []Metric {
	se := m
	m.Values, se.Values = values(e), errorsOf(e)
	se.Name += "_standard_error"
	return []Metric{m, se}
}

// MarshalJSON writes the report as the type's comment says. by_recording is left out where there is none.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Protocol string  `json:"protocol"`
		Metrics  metrics `json:"metrics"`
		Paper    metrics `json:"paper"`

		Each []EachScore `json:"by_recording,omitempty"`
	}{r.Protocol, r.Metrics, r.Paper, r.Each})
}

// metrics marshals to one JSON object in its own order.
type metrics []Metric

func (ms metrics) MarshalJSON() ([]byte, error) {
	return orderedObject(len(ms), func(i int) (string, []byte, error) {
		v, err := ms[i].json()
		return ms[i].Name, v, err
	})
}

// orderedObject is a JSON object of n members, which the function lists. encoding/json sorts the keys of a map, so
// the object is written by hand.
func orderedObject(n int, member func(i int) (name string, value []byte, err error)) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		name, value, err := member(i)
		if err != nil {
			return nil, err
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// json is the value of the metric: a number, a list or an object.
func (m Metric) json() ([]byte, error) {
	list := NumberList(m.Values)
	if m.Keys != nil {
		return orderedObject(len(m.Keys), func(i int) (string, []byte, error) {
			v, err := json.Marshal(list[i])
			return m.Keys[i], v, err
		})
	}
	if !m.List && len(list) == 1 {
		return json.Marshal(list[0])
	}
	return json.Marshal(list)
}
