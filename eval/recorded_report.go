package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/internal/terminal"
)

// summarise makes estimates and scores of the sums. sums has a row [Horizon,nx,width] for each test recording;
// without rows all is NaN, and the names are those of the report. Squared errors and their ratio are of sums over
// channels, so that each has the standard error of itself.
func (r *RecordedReport) summarise(sums *tally, nx, width int, b *baselines) {
	// Predictor 0 is the model; the others are the baselines in their order, as place and scoreOf count them.
	names := []string{"model"}
	for _, base := range b.list {
		names = append(names, base.name())
	}
	place := func(predictor int) int { return recordedFirst + predictor*recordedSums + sumSquare }
	squared := make([][]Estimate, len(names))
	for k := range r.Horizon {
		// Channels are summed first: an estimate needs no more. A recording of which nothing was measured here is none of
		// those that the standard error is over.
		here := newTally(sums.n, width)
		here.n = 0
		for n := range sums.n {
			row := here.row(here.n)
			for i, v := range sums.row(n)[k*nx*width : (k+1)*nx*width] {
				row[i%width] += v
			}
			if row[recordedCount] > 0 {
				here.n++
			}
		}
		ratio := func(a, b int) Estimate {
			return here.estimate(func(s []float64) float64 { return s[a] / s[b] })
		}
		for i := range names {
			squared[i] = append(squared[i], ratio(place(i), recordedCount))
		}
		r.OverPersistence = append(r.OverPersistence, ratio(place(0), place(1)))
	}
	r.Model, r.Persistence = squared[0], squared[1]
	all := sums.total()
	for i, name := range names {
		if name == linearName {
			r.Linear = squared[i]
		}
		s := r.scoreOf(all, i, nx, width, b.scale)
		s.Name, s.Squared = name, squared[i]
		r.Scores = append(r.Scores, s)
	}
	for k := range r.Horizon {
		rmse := make([]float64, nx)
		for c := range rmse {
			at := all[(k*nx+c)*width:]
			rmse[c] = math.Sqrt(at[place(0)]/at[recordedCount]) * r.unit(c)
		}
		r.RMSE = append(r.RMSE, rmse)
	}
}

// unit is a channel's unit in the data's own; 1 where each recording has one of its own. It scales errors from the
// units of the model to those of the data.
func (r *RecordedReport) unit(c int) float64 {
	if _, test := r.Options.scored(); !r.Options.Each && test[0].Scale.SD != nil {
		return test[0].Scale.SD[c]
	}
	return 1
}

// Scaled reports whether errors are in standard deviations of the channels. Otherwise they are in units of the data.
func (r RecordedReport) Scaled() bool {
	_, test := r.Options.scored()
	return len(test) == 0 || test[0].Scale.SD != nil
}

// scoreOf averages the sums of a predictor over channels that were measured. all are sums [Horizon,nx,width];
// predictor 0 is the model. Each channel counts the same, whatever was measured of it.
func (r *RecordedReport) scoreOf(all []float64, predictor, nx, width int, scale []float64) Score {
	s := Score{Coverage: make([][]float64, len(Levels))}
	for k := range r.Horizon {
		var absolute, square, scaled, scales, ranked, channels float64
		covered, byChannel := make([]float64, len(Levels)), make([]float64, nx)
		for c := range nx {
			at := all[(k*nx+c)*width:]
			n, own := at[recordedCount], at[recordedFirst+predictor*recordedSums:]
			byChannel[c] = own[sumAbsolute] / n * r.unit(c)
			if n == 0 {
				continue
			}
			channels++
			absolute += own[sumAbsolute] / n
			square += own[sumSquare] / n
			ranked += own[sumRanked] / n
			if scale[c] > 0 { // else the channel never changed in training
				scaled += own[sumAbsolute] / n / scale[c]
				scales++
			}
			for l := range Levels {
				covered[l] += own[sumCovered+l] / n
			}
		}
		s.MAE, s.RMSE = append(s.MAE, absolute/channels), append(s.RMSE, math.Sqrt(square/channels))
		s.MASE, s.MAEByChannel = append(s.MASE, scaled/scales), append(s.MAEByChannel, byChannel)
		if nx > mostDistributed {
			ranked = math.NaN()
		}
		s.CRPS = append(s.CRPS, ranked/channels)
		for l := range Levels {
			if nx > mostDistributed {
				covered[l] = math.NaN()
			}
			s.Coverage[l] = append(s.Coverage[l], covered[l]/channels)
		}
	}
	return s
}

// average is the mean of what was measured, without NaN; NaN of nothing.
func average(v []float64) float64 {
	sum, n := 0.0, 0.0
	for _, x := range v {
		if !math.IsNaN(x) {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// shownHorizons are up to ten, the first and the last among them.
func shownHorizons(horizon int) []int {
	var list []int
	for i := range min(horizon, 10) {
		k := 1 + i*(horizon-1)/max(min(horizon, 10)-1, 1)
		list = append(list, k)
	}
	return list
}

// Table shows the squared error at up to ten horizons, then the averages of all scores over horizons.
func (r RecordedReport) Table() Table {
	t := Table{Title: "recordings, squared error of predictions k steps ahead", Corner: "k", Digits: 3}
	shown := shownHorizons(r.Horizon)
	for _, k := range shown {
		t.Columns = append(t.Columns, strconv.Itoa(k))
	}
	add := func(name string, at func(k int) float64) {
		row := Row{Name: name}
		for _, k := range shown {
			row.Values = append(row.Values, at(k-1))
		}
		t.Rows = append(t.Rows, row)
	}
	for i, s := range r.Scores {
		add(s.Name, func(k int) float64 { return s.Squared[k].Value })
		if i == 0 && len(r.Options.Test) > 1 {
			add("  standard error", func(k int) float64 { return s.Squared[k].SE })
		}
	}
	add("model / persistence", func(k int) float64 { return r.OverPersistence[k].Value })
	if len(r.Options.Test) > 1 {
		add("  standard error", func(k int) float64 { return r.OverPersistence[k].SE })
	}
	o := r.Options
	// What the notes have to say depends on the data: a season, transforms, and scales by recording.
	season := "No season was found."
	if r.Season > 1 {
		season = fmt.Sprintf("Season: %d steps.", r.Season)
	}
	in := "in the units that the model was trained in"
	if o.Untransformed != nil {
		in = "in standard deviations of the data, after transforms were undone"
	}
	if o.Each {
		in += ", which are those of each recording by itself"
	}
	of := "test recordings, which training never saw"
	if o.Part == PartValidation {
		of = "recordings that training was validated on"
	}
	t.Notes = []string{
		fmt.Sprintf("%s in %d of %d %s; %d steps seen; mean of %d rollouts.", terminal.Count(r.Starts, "start"), r.Episodes,
			len(o.Test), of, o.Prefix, o.Samples),
		"Per measured value, " + in + ". Persistence: nothing changes. Linear, ARX: from the last observations and the " +
			"controls. " + season,
	}
	switch measured := func(e Estimate) bool { return !math.IsNaN(e.Value) }; {
	case !slices.ContainsFunc(r.Persistence, measured):
		t.Notes = append(t.Notes, "Nothing was measured in the steps that are predicted.")
	case len(r.Linear) > 0 && !slices.ContainsFunc(r.Linear, measured):
		t.Notes = append(t.Notes, "Linear has no data: "+errNothingWhole.Error()+".")
	}
	if len(o.Test) > 1 {
		t.Notes = append(t.Notes, "Standard errors are over recordings.")
	}
	return t
}

// ScoreTable has a row for each predictor: its scores averaged over horizons. Coverages are in per cent.
func (r RecordedReport) ScoreTable() Table {
	t := Table{
		Title: fmt.Sprintf("scores, averaged over %d horizons and all channels", r.Horizon), Corner: "predictor",
		Digits: 3, Columns: []string{"MAE", "RMSE", "MASE", "CRPS"},
	}
	for _, level := range Levels {
		t.Columns = append(t.Columns, fmt.Sprintf("in %g %%", 100*level))
	}
	for _, s := range r.Scores {
		row := Row{Name: s.Name, Values: []float64{average(s.MAE), average(s.RMSE), average(s.MASE), average(s.CRPS)}}
		for l := range Levels {
			row.Values = append(row.Values, 100*average(s.Coverage[l]))
		}
		t.Rows = append(t.Rows, row)
	}
	in := "units of a channel's standard deviation"
	if !r.Scaled() {
		in = "the units of the data"
	}
	t.Notes = []string{
		"Verdict: " + r.Verdict(),
		"MAE, RMSE and CRPS in " + in + ". MASE: MAE over that of the last season, or of the last step, in training.",
		"in 50 %: share of what was observed that lay in the central 50 % of the predicted distribution, in per cent.",
	}
	return t
}

// column is a predictor's name as one word.
func (s Score) column() string { return columnOf(s.Name) }

// columnOf is the first word of a predictor's name in small letters, without what stands in parentheses.
func columnOf(name string) string {
	word, _, _ := strings.Cut(strings.ToLower(name), "(")
	word, _, _ = strings.Cut(word, " ")
	return word
}

// CurveTable holds every horizon: the squared error with its standard error, the scores of every predictor, and the
// error of each channel in the data's own units.
func (r RecordedReport) CurveTable() Table {
	t := Table{Corner: "k", Decimals: 6}
	t.estimates("error", r.Model)
	t.estimates("persistence", r.Persistence)
	t.estimates("linear", r.Linear)
	t.estimates("over_persistence", r.OverPersistence)
	for _, s := range r.Scores {
		suffix := "_" + s.column()
		t.column("mae"+suffix, s.MAE)
		t.column("rmse"+suffix, s.RMSE)
		t.column("mase"+suffix, s.MASE)
		t.column("crps"+suffix, s.CRPS)
		for l, level := range Levels {
			t.column(fmt.Sprintf("coverage%g%s", 100*level, suffix), s.Coverage[l])
		}
	}
	for c, name := range r.Options.Names {
		t.column(r.channelColumn(name), r.channel(c))
	}
	return t
}

// channelColumn names the error of a channel. A channel that is called as a predictor has channel_ before its name.
func (r RecordedReport) channelColumn(name string) string {
	if slices.ContainsFunc(r.Scores, func(s Score) bool { return s.column() == name }) {
		name = "channel_" + name
	}
	return "rmse_" + name
}

// channel is the error of a channel at each horizon, in its own unit.
func (r RecordedReport) channel(c int) []float64 {
	errors := make([]float64, r.Horizon)
	for k := range errors {
		errors[k] = r.RMSE[k][c]
	}
	return errors
}

// Report returns the figures in the form that scripts read. Lists hold horizons 1, 2, …
func (r RecordedReport) Report() Report {
	o := r.Options
	out := Report{Protocol: "recordings", Metrics: []Metric{
		count("recordings", len(o.Test)), count("starts", r.Starts), count("prefix", o.Prefix), count("horizon", r.Horizon),
		count("samples", o.Samples),
		count("season", r.Season), count("arx_order", r.Order),
	}}
	for _, m := range []struct {
		name string
		e    []Estimate
	}{
		{"error", r.Model},
		{"error_persistence", r.Persistence},
		{"error_linear", r.Linear},
		{"ratio_to_persistence", r.OverPersistence},
	} {
		pair := estimated(list(m.name, nil), m.e...)
		if m.name != "ratio_to_persistence" {
			pair = in(squaredUnit, pair...)
		}
		out.Metrics = append(out.Metrics, pair...)
	}
	for i, s := range r.Scores {
		suffix := "_" + s.column()
		if i == 0 {
			suffix = ""
		}
		out.Metrics = append(out.Metrics, in(unit, list("mae"+suffix, s.MAE), list("rmse"+suffix, s.RMSE))...)
		out.Metrics = append(out.Metrics, list("mase"+suffix, s.MASE))
		out.Metrics = append(out.Metrics, in(unit, list("crps"+suffix, s.CRPS))...)
		for l, level := range Levels {
			out.Metrics = append(out.Metrics, list(fmt.Sprintf("coverage%g%s", 100*level, suffix), s.Coverage[l]))
		}
	}
	out.Metrics = append(out.Metrics, Metric{Name: "mase_mean", Values: []float64{average(r.Scores[0].MASE)}})
	for _, c := range r.Against {
		out.Metrics = append(out.Metrics, estimated(list("mae_ratio_to_"+columnOf(c.Name), nil), c.ByHorizon...)...)
	}
	// Of channels the errors are in the data's own units, unless each recording has a scale of its own.
	own := "the channel's own unit"
	if o.Each {
		own = "standard deviations of each recording"
	}
	for c, name := range o.Names {
		out.Metrics = append(out.Metrics, in(own, list(r.channelColumn(name), r.channel(c)))...)
	}
	out.Each = r.Each
	return out
}
