package eval

import (
	"fmt"
	"math"
	"strconv"
)

// Table shows the measures, and the share of each base system.
func (r SwitchReport) Table() Table {
	t := Table{Title: r.Environment + ", use of the switch", Corner: "", Columns: []string{"value", "± SE"}, Decimals: 3}
	add := func(name string, e Estimate) { t.Rows = append(t.Rows, Row{name, withErrors(e)}) }
	if r.M > 0 {
		add(fmt.Sprintf("perplexity of the mean weights (of %d systems)", r.Systems), r.Perplexity)
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
			"step. The largest is over bodies and weights.", w.Reach))
	}
	return t
}

// CurveTable holds the measures of every mixing weight: of its base system, and if the model has bodies of which of
// their switches it is one. The share is that of the system. Systems, switches and bodies are counted from 1.
func (r SwitchReport) CurveTable() Table {
	t := Table{Corner: "system", Decimals: 6}
	var share []Estimate
	var of []float64 // the switch of each weight
	for i := range r.M {
		t.Rows = append(t.Rows, Row{Name: strconv.Itoa(i%r.Systems + 1)})
		share, of = append(share, r.Share[i%r.Systems]), append(of, float64(i/r.Systems+1))
	}
	if r.M > r.Systems {
		t.column("switch", of)
	}
	t.estimates("share", share)
	if r.Walls != nil {
		for b := range r.Walls.Vertical {
			t.estimates(fmt.Sprintf("vertical_%d", b+1), r.Walls.Vertical[b])
			t.estimates(fmt.Sprintf("horizontal_%d", b+1), r.Walls.Horizontal[b])
		}
	}
	return t
}

// MapTable holds every bin of the maps that anybody was in. x and y are the middle of the bin. Weights are in the
// order of CurveTable and have four decimals.
func (r SwitchReport) MapTable() Table {
	t := Table{Corner: "bin", Columns: []string{"body", "x", "y", "steps"}, Decimals: 4}
	for i := range r.M {
		t.Columns = append(t.Columns, "weight_"+strconv.Itoa(i+1))
	}
	// The middle of a bin in [−1, 1].
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

// Report returns the figures in the form that scripts read. A model without a switch has the first two counts
// alone.
func (r SwitchReport) Report() Report {
	out := Report{Protocol: "switches", Metrics: []Metric{count("episodes", r.Task.Episodes), count("systems", r.Systems)}}
	if r.M == 0 {
		return out
	}
	add := func(m Metric, e ...Estimate) { out.Metrics = append(out.Metrics, estimated(m, e...)...) }
	add(value("perplexity", 0), r.Perplexity)
	out.Metrics = append(out.Metrics, Metric{Name: "share", Values: values(r.Share), List: true, Axis: "system"})
	add(object("information", "contact", r.Contacts, nil), r.Information...)
	add(object("information_of_system", "contact", r.Contacts, nil), r.InformationOfSystem...)
	if r.Walls != nil {
		add(value("correlation_ratio_vertical", 0), r.Walls.LargestVertical)
		add(value("correlation_ratio_horizontal", 0), r.Walls.LargestHorizontal)
	}
	return out
}
