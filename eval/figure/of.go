package figure

import (
	"github.com/switchyard-ml/switchyard/envs"
	"github.com/switchyard-ml/switchyard/eval"
)

// Of lays out what a protocol found; false if there is nothing to draw. env gives the walls of maps and tracks; it may
// be nil. Every type that eval.Findings.Picture may have is here.
func Of(found eval.Findings, env envs.Env) (Figure, bool) {
	switch r := found.Picture.(type) {
	case eval.FHNDrawing:
		return FHN(r.Report, r.Picture), true
	case eval.Table1Report:
		return Table1(r), true
	case eval.VelocityReport:
		return Velocity(r), true
	case eval.SwitchReport:
		return Switches(r, wallsOf(env)), true
	case eval.LatentReport:
		return Latent(r), true
	case eval.TrajectoryReport:
		return Predictions(r, wallsOf(env)), true
	case eval.PixelReport:
		return Pixels(r), true
	case eval.SegmentationReport:
		return Segmentation(r), true
	case eval.RecordedReport:
		return Recorded(r), true
	}
	return Figure{}, false
}
