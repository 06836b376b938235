package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Numbers are the metrics of an evaluation by name, see Metric.Names. What is not finite is NaN.
type Numbers map[string]float64

// asked are the metrics that say what was asked for, or how it was measured: numbers of evaluations that differ in one
// of them do not compare.
var asked = []string{"episodes", "length", "horizon", "prefix", "samples", "window", "paths", "fresh"}

// counted are the metrics that say what there was to measure.
var counted = []string{
	"step", "recordings", "starts", "steps", "labels", "season", "arx_order", "systems", "boundary_tolerance",
	"fitted_episodes", "scored_episodes",
}

// Fact reports whether a metric of one number says what was measured, and not how well.
func Fact(name string) bool { return slices.Contains(asked, name) || slices.Contains(counted, name) }

// Asked says what the evaluation was asked for, as text: numbers compare where these are the same.
func (n Numbers) Asked() string {
	var list []string
	for _, name := range asked {
		if v, ok := n[name]; ok {
			list = append(list, fmt.Sprintf("%s %v", name, v))
		}
	}
	return strings.Join(list, ", ")
}

// Name is the name of one number of a metric: METRIC/KEY with a key of an object, or the place in a list, counted
// from 1, as the horizon of a prediction.
func Name(metric string, key any) string { return fmt.Sprintf("%s/%v", metric, key) }

// Names are the names of the numbers of a metric, in order: NAME of a single one, NAME/KEY of an object, and NAME/1,
// NAME/2, … of a list, whose places are horizons unless its Axis says otherwise.
func (m Metric) Names() []string {
	if m.Keys == nil && !m.List && len(m.Values) == 1 {
		return []string{m.Name}
	}
	var list []string
	for i := range m.Values {
		if m.Keys != nil {
			list = append(list, Name(m.Name, m.Keys[i]))
		} else {
			list = append(list, Name(m.Name, i+1))
		}
	}
	return list
}

// Numbers are the metrics of the report, without those that were published.
func (r Report) Numbers() Numbers {
	n := Numbers{}
	for _, m := range r.Metrics {
		for i, name := range m.Names() {
			n[name] = m.Values[i]
			if !Finite(m.Values[i]) {
				n[name] = math.NaN()
			}
		}
	}
	return n
}

// ReadNumbers reads the metrics of a report in its JSON form. It returns what Numbers of a Report with the same
// metrics does.
func ReadNumbers(report []byte) (Numbers, error) {
	var in struct{ Metrics map[string]Metric }
	if err := json.Unmarshal(report, &in); err != nil {
		return nil, fmt.Errorf("read a report: %w", err)
	}
	var r Report
	for name, m := range in.Metrics {
		m.Name = name
		r.Metrics = append(r.Metrics, m)
	}
	return r.Numbers(), nil
}

// UnmarshalJSON reads the values of a metric. Its name stands before it. An object's keys come in ascending order:
// JSON's own order is lost.
func (m *Metric) UnmarshalJSON(b []byte) error {
	*m = Metric{List: b[0] == '['}
	switch b[0] {
	case '{':
		var object map[string]Number
		if err := json.Unmarshal(b, &object); err != nil {
			return err
		}
		m.Keys = append([]string{}, slices.Sorted(maps.Keys(object))...)
		for _, key := range m.Keys {
			m.Values = append(m.Values, float64(object[key]))
		}
		return nil
	case '[':
		var list []Number
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
		m.Values = Floats(list)
		return nil
	}
	var v Number
	err := json.Unmarshal(b, &v)
	m.Values = []float64{float64(v)}
	return err
}

// Get is the metric of that name; NaN if there is none.
func (n Numbers) Get(name string) float64 {
	if v, ok := n[name]; ok {
		return v
	}
	return math.NaN()
}

// Names lists the metrics in order.
func (n Numbers) Names() []string { return slices.Sorted(maps.Keys(n)) }

// MarshalJSON writes null for what is not finite. Nil Numbers are null.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if n == nil {
		return []byte("null"), nil
	}
	out := map[string]Number{}
	for name, v := range n {
		out[name] = Number(v)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads null as NaN. Where the whole is null, n stays as it is.
func (n *Numbers) UnmarshalJSON(data []byte) error {
	var in map[string]Number
	if err := json.Unmarshal(data, &in); err != nil || in == nil {
		return err
	}
	*n = Numbers{}
	for name, v := range in {
		(*n)[name] = float64(v)
	}
	return nil
}
