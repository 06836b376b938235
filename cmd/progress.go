package cmd

import (
	"github.com/hashicorp/go-hclog"

	"github.com/switchyard-ml/switchyard/internal/terminal"
	"github.com/switchyard-ml/switchyard/lead"
	"github.com/switchyard-ml/switchyard/lead/job"
)

// progress returns a function that shows the progress of a run: in the status line of the screen, or as records if the
// log has records.
func (a *app) progress(screen *terminal.Screen, log hclog.Logger) func(terminal.Progress) {
	if a.logFormat == "json" {
		return lead.NewProgressLog(log).Show
	}
	return func(p terminal.Progress) {
		screen.Status(p.Line(lineWidth(screen)))
	}
}

// lineWidth is the width of a terminal; 0, which is no limit, for another screen.
func lineWidth(screen *terminal.Screen) int {
	if !screen.Terminal() {
		return 0
	}
	return screen.Width()
}

// introduce prints the plan of a run before it begins.
func (a *app) introduce(p *job.Plan, flags trainFlags, folder string, screen *terminal.Screen, log hclog.Logger) error {
	facts := planFacts(p, flags, folder)
	if a.logFormat != "json" {
		if a.quiet {
			return nil
		}
		return writeFacts(screen, facts)
	}
	var fields []any
	for _, f := range facts {
		fields = append(fields, f.name, f.text)
	}
	log.Info("plan", fields...)
	return nil
}
