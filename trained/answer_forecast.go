package trained

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/switchyard-ml/switchyard/eval"
	"github.com/switchyard-ml/switchyard/eval/figure"
)

// shownRows and shownChannels are the most of a table for the eye.
const (
	shownRows     = 10
	shownChannels = 3
)

// Forecasts are those of what follows each recording. levels are those of the quantiles, in ascending order. Arrays are
// mean [H,nx], quantiles [levels,H,nx] and levels, behind an axis of recordings if there are several. All
// forecasts have the same horizon. past and list are in the same order.
func Forecasts(past []Recording, list []Forecast, c Columns, levels []float64) *Answer {
	H, nx := len(list[0].Mean), len(list[0].Mean[0])
	a := &Answer{Rows: headed(past)}
	names := observed(c, nx)
	for _, name := range names {
		a.Rows.Columns = append(a.Rows.Columns, name)
		for _, level := range levels {
			a.Rows.Columns = append(a.Rows.Columns, name+"_q"+percent(level))
		}
	}
	all := stack{series: len(list)}
	lines := figure.Timelines{Name: "forecast", Means: "mean of the forecast", Caption: caption(past)}
	if len(levels) > 1 {
		lines.Bands = fmt.Sprintf("%s %% of what is expected", percent(levels[len(levels)-1]-levels[0]))
	}
	called := labels(past)
	for i, f := range list {
		if far := f.far(past[i], c); far != "" {
			a.Warnings = append(a.Warnings, far)
		}
		quantiles := make([][][]float64, len(levels))
		for l, level := range levels {
			quantiles[l] = f.Quantile(level)
		}
		all.add(i, "mean", f.Mean, H, nx)
		all.cube(i, "quantiles", quantiles, H, nx)
		for h := range H {
			step := len(past[i].Observations) + h
			row := eval.Row{Name: called[i].name, Values: []float64{float64(step)}}
			for channel := range names {
				row.Values = append(row.Values, f.Mean[h][channel])
				for l := range levels {
					row.Values = append(row.Values, quantiles[l][h][channel])
				}
			}
			a.Rows.Rows = append(a.Rows.Rows, row)
			a.Rows.Marked = append(a.Rows.Marked, called[i].marks(past[i].Times, step))
		}
		lines.Columns = append(lines.Columns, fan(past[i], f.Mean, quantiles, c))
	}
	a.Arrays = append(all.arrays, Array{Name: "levels", Shape: []int{len(levels)}, Values: levels},
		Array{Name: "names", Text: names})
	a.Arrays = append(a.Arrays, timed(past, H, func(i int) int { return len(past[i].Observations) },
		func(int) int { return H })...)
	a.Table = forecastTable(past[0], list[0], names, levels)
	if len(list) > 1 {
		a.Table.Notes = append(a.Table.Notes, fmt.Sprintf("The first of %d recordings; --out has all.", len(list)))
	}
	if len(c.Observations) > 0 { // not of images
		drawn := lines.Figure()
		a.Figure = &drawn
	}
	return a
}

// percent is a share in per cent, in as few digits as it takes.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 6, 64) }

// fan is the end of a recording and what is expected after it. It shows twice the horizon of the past, or 40 steps
// if that is more, and the band between the outermost quantiles.
func fan(past Recording, mean [][]float64, quantiles [][][]float64, c Columns) figure.Timeline {
	from := max(0, len(past.Observations)-max(2*len(mean), 40))
	line := figure.Timeline{Title: past.Name, First: from, Unit: c.DT, Of: c.TimeUnit}
	for channel, name := range c.Observations {
		k := figure.Track{
			Name: name, Truth: column(past.Observations[from:], channel), Start: len(past.Observations) - from,
			Mean: column(mean, channel),
		}
		if len(quantiles) > 1 {
			k.Lower, k.Upper = column(quantiles[0], channel), column(quantiles[len(quantiles)-1], channel)
		}
		line.Tracks = append(line.Tracks, k)
	}
	return line
}

// column is channel i of rows.
func column(rows [][]float64, i int) []float64 {
	list := make([]float64, len(rows))
	for t, row := range rows {
		list[t] = row[i]
	}
	return list
}

// caption says that only the first series are drawn, where there are more than a figure shows.
func caption(list []Recording) string {
	if len(list) > 3 {
		return fmt.Sprintf("the first 3 of %d recordings", len(list))
	}
	return ""
}

// forecastTable is the forecast of one recording for the eye: up to shownRows steps and shownChannels channels,
// each with the outermost quantiles.
func forecastTable(past Recording, f Forecast, names []string, levels []float64) eval.Table {
	t := eval.Table{Title: fmt.Sprintf("forecast of %s, %d steps after the last of %d", past.Name, len(f.Mean),
		len(past.Observations)), Corner: "step", Digits: 5}
	channels := names[:min(len(names), shownChannels)]
	for _, name := range channels {
		t.Columns = append(t.Columns, name)
		if len(levels) > 1 {
			t.Columns = append(t.Columns, percent(levels[0])+" %", percent(levels[len(levels)-1])+" %")
		}
	}
	if past.Times != nil {
		t.Corner = strings.Join(past.Times.Columns, " ")
	}
	for _, h := range shown(len(f.Mean)) {
		row := eval.Row{Name: "+" + strconv.Itoa(h+1)}
		// Where the files have dates, a row bears the date that the step would have.
		if at := past.Times.Text(len(past.Observations) + h); at != nil {
			row.Name = strings.Join(at, " ")
		}
		for i := range channels {
			row.Values = append(row.Values, f.Mean[h][i])
			if len(levels) > 1 {
				row.Values = append(row.Values, f.quantile(h, i, levels[0]), f.quantile(h, i, levels[len(levels)-1]))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// shown are up to shownRows of n places, the first and the last among them.
func shown(n int) []int {
	if n <= shownRows {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		return list
	}
	var list []int
	for i := range shownRows {
		list = append(list, i*(n-1)/(shownRows-1))
	}
	return list
}
