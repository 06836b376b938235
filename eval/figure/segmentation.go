package figure

import (
	"fmt"

	"github.com/switchyard-ml/switchyard/eval"
)

// Segmentation draws held-out recordings with their true regimes above those that the model found. The report must
// have a row of the model, its first, and strips.
func Segmentation(r eval.SegmentationReport) Figure {
	s := r.Rows[0]
	lines := Timelines{
		Name: "segmentation", Regimes: s.Regimes,
		Caption: fmt.Sprintf("accuracy %.3f, NMI %.3f, ARI %.3f; a true regime has the colour of the regime assigned to it",
			s.Accuracy.Value, s.NMI.Value, s.ARI.Value),
	}
	for _, strip := range r.Strips {
		line := Timeline{
			Title: strip.Name, First: strip.First, Unit: r.DT, Of: r.TimeUnit, Regimes: strip.Found, True: strip.Truth,
		}
		for c, name := range r.Names {
			k := Track{Name: name}
			for _, row := range strip.Values {
				k.Truth = append(k.Truth, row[c])
			}
			line.Tracks = append(line.Tracks, k)
		}
		lines.Columns = append(lines.Columns, line)
	}
	return lines.Figure()
}
