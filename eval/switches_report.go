package eval

import (
	"fmt"
	"math"
	"strconv"
)

// Table shows the measures, and the share of each base system.
func (r SwitchReport) Table() Table {
	t := Table{Title: r.Environment + ", use of the switch", Corner: "", Columns: []string{"value", "± SE"}, Decimals: 3}
	add := func(name string, e Estimate) { t.Rows = append(t.Rows, Row{name, []float64{e.Value, e.SE}}) }
	if r.M > 0 {
		add(fmt.Sprintf("perplexity of the mean weights (of %d systems)", r.M), r.Perplexity)
		for i, c := range r.Contacts {
			add("information of the weights about "+c+" over its entropy, at least", r.Information[i])
			add("  of which system acts", r.InformationOfSystem[i])
		}
	}
	if w := r.Walls; w != nil {
		add("largest correlation ratio with being near a vertical wall", w.LargestVertical)
		add("largest correlation ratio with being near a horizontal wall", w.LargestHorizontal)
	}
	t.Notes = append([]string{fmt.Sprintf("%d test episodes that training never saw; weights of one draw from the "+
		"posterior given the whole episode, all steps but the first.", r.Task.Episodes)}, r.Notes...)
	if w := r.Walls; w != nil {
		t.Notes = append(t.Notes, fmt.Sprintf("Near: the centre within %.3f of a wall, the radius of a body and its mean "+
			"step. The largest is over bodies and systems.", w.Reach))
	}
	return t
}

// CurveTable holds the measures of every base system.
func (r SwitchReport) CurveTable() Table {
	t := Table{Corner: "system", Columns: []string{"share", "share_se"}, Decimals: 6}
	if r.Walls != nil {
		for b := range r.Walls.Vertical {
			for _, kind := range []string{"vertical", "horizontal"} {
				name := fmt.Sprintf("%s_%d", kind, b+1)
				t.Columns = append(t.Columns, name, name+"_se")
			}
		}
	}
	for i := range r.M {
		row := Row{strconv.Itoa(i + 1), []float64{r.Share[i].Value, r.Share[i].SE}}
		if r.Walls != nil {
			for b := range r.Walls.Vertical {
				v, h := r.Walls.Vertical[b][i], r.Walls.Horizontal[b][i]
				row.Values = append(row.Values, v.Value, v.SE, h.Value, h.SE)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// MapTable holds every bin of the maps that anybody was in.
func (r SwitchReport) MapTable() Table {
	t := Table{Corner: "bin", Columns: []string{"body", "x", "y", "steps"}, Decimals: 4}
	for i := range r.M {
		t.Columns = append(t.Columns, "weight_"+strconv.Itoa(i+1))
	}
	middle := func(bin int) float64 { return (float64(bin)+0.5)*2/MapBins - 1 }
	for _, m := range r.Maps {
		for bin, n := range m.Count {
			if n == 0 {
				continue
			}
			row := Row{strconv.Itoa(bin), []float64{
				float64(m.Body + 1), middle(bin % MapBins), middle(bin / MapBins),
				float64(n),
			}}
			for _, v := range m.Mean[bin*r.M : (bin+1)*r.M] {
				row.Values = append(row.Values, math.Round(v*1e4)/1e4)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Report returns the figures in the form that scripts read.
func (r SwitchReport) Report() Report {
	out := Report{Protocol: "switches", Metrics: []Metric{count("episodes", r.Task.Episodes), count("systems", r.M)}}
	if r.M == 0 {
		return out
	}
	add := func(name string, e Estimate) {
		out.Metrics = append(out.Metrics, value(name, e.Value), value(name+"_standard_error", e.SE))
	}
	add("perplexity", r.Perplexity)
	out.Metrics = append(
		out.Metrics, Metric{Name: "share", Values: values(r.Share), List: true, Axis: "system"},
		object("information", "contact", r.Contacts, values(r.Information)),
		object("information_standard_error", "contact", r.Contacts, errorsOf(r.Information)),
		object("information_of_system", "contact", r.Contacts, values(r.InformationOfSystem)),
		object("information_of_system_standard_error", "contact", r.Contacts, errorsOf(r.InformationOfSystem)),
	)
	if r.Walls != nil {
		add("correlation_ratio_vertical", r.Walls.LargestVertical)
		add("correlation_ratio_horizontal", r.Walls.LargestHorizontal)
	}
	return out
}
